/** Events as they come back from a stored segment: on the tape, and as the reference takes them. */
import assert from 'node:assert/strict'
import { LEVELS } from '../../src/model/event-labels.ts'
import { EventCursor, type EventOrigin } from '../../workers/evaluate/event-cursor.ts'
import { timeMsOf, timeNanosOf } from '../../workers/evaluate/system-test.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import { shapeText } from '../../workers/schema/schema-delta.ts'
import { PayloadDecoder } from '../../workers/segment/payload-decoder.ts'
import { JsonTape } from '../../workers/tape/json-tape.ts'
import { PathTrie } from '../../workers/tape/path-trie.ts'
import type { NaiveEvent } from '../language/naive.ts'
import { batchOf } from '../workers/batch-of.ts'

const NS_PER_MS = 1_000_000n

export class TapedBatch {
  readonly cursor = new EventCursor()
  readonly #ingest = new IngestPipeline()
  readonly #stored = new PayloadDecoder(new JsonTape(new PathTrie()))

  /** Stores events, one a line, as one segment, and reads it; how the reference sees them. */
  load(lines: readonly string[], origin: EventOrigin): NaiveEvent[] {
    const { segments } = this.#ingest.run(batchOf(lines.join('\n')))
    assert.equal(segments.length, 1)
    this.#stored.reset()
    assert.equal(this.#stored.decode(segments[0]!.payload), undefined)
    this.cursor.begin(this.#stored)
    this.cursor.origin = origin
    return lines.map((line, ordinal) => this.#naive(line, ordinal))
  }

  #naive(line: string, ordinal: number): NaiveEvent {
    const { cursor } = this
    cursor.moveTo(ordinal)
    const { facts, origin } = cursor
    const { level, service, names } = facts.labels
    const { events, bytes } = this.#stored
    const json = Buffer.from(bytes.subarray(events.start[ordinal], events.end[ordinal])).toString()
    assert.equal(json, line)
    return {
      json,
      id: `${origin.segmentId}-${ordinal}`,
      ingestedAtNs: BigInt(origin.ingestedAtMs) * NS_PER_MS,
      eventTimeNs: BigInt(timeMsOf(cursor)) * NS_PER_MS + BigInt(timeNanosOf(cursor)),
      shape: shapeText(facts.shapeLow[ordinal]!, facts.shapeHigh[ordinal]!),
      level: LEVELS[level[ordinal]! - 1],
      service:
        service[ordinal] === 0
          ? undefined
          : Buffer.from(names.nameOf(service[ordinal]!)).toString(),
    }
  }
}
