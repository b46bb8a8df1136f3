/**
 * Rebuilds the Native block of a stored segment, through the same transforms and encoders as
 * ingest, so that after a crash the projection is completed from what was committed. Or repeats
 * what the segment said about its stream's schema. Pure, like ingest.
 */
import assert from 'node:assert/strict'
import type { SchemaDelta } from '../src/model/batch/schema-delta.ts'
import { MIXED_STREAM } from '../src/model/mixed-runs.ts'
import type { StreamRows } from '../src/model/projection.ts'
import type { SegmentPart } from '../src/model/stored-row.ts'
import type { StreamId } from '../src/model/stream.ts'
import type { ReplayedSegment, TextFieldsOf } from '../src/pool/messages.ts'
import { NativeBlockEncoder } from './block/native-block.ts'
import { tapeSource } from './block/native-json.ts'
import { EventFacts } from './facts/event-facts.ts'
import { SchemaDeltaEncoder } from './schema/schema-delta.ts'
import { decodeStoredEvents } from './segment/stored-events.ts'
import { DecodedEvents } from './tape/decoded-events.ts'
import { JsonTape } from './tape/json-tape.ts'
import { PathTrie } from './tape/path-trie.ts'

const DEFAULT_TEXT_FIELDS: TextFieldsOf = new Map()

export class ReplayPipeline {
  readonly #tape: JsonTape
  readonly #events = new DecodedEvents()
  readonly #facts = new EventFacts()
  readonly #blocks = new NativeBlockEncoder()
  readonly #deltas = new SchemaDeltaEncoder()

  constructor(tape = new JsonTape(new PathTrie())) {
    this.#tape = tape
  }

  /**
   * For `MIXED_STREAM` the block is for the shared table. `part`: only these events, of segments
   * with `counts` events each; for the shared table it says which streams they are of. Throws
   * when the payload is damaged: a committed segment decodes.
   */
  run(
    payload: Uint8Array,
    streamId: number,
    part?: SegmentPart,
    textFields: TextFieldsOf = DEFAULT_TEXT_FIELDS,
  ): ReplayedSegment {
    const { source, counts, first } = this.#decode(payload, part)
    const range = { first, count: counts.reduce((sum, count) => sum + count, 0) }
    const [blocks, events, facts] = [this.#blocks, this.#events, this.#facts]
    let next = first
    for (const [index, count] of counts.entries()) {
      const of = part?.streamIds?.[index] ?? (streamId as StreamId)
      const own = textFields.get(of)
      facts.patterns.describe(this.#tape, source.bytes, events, facts, { first: next, count }, own)
      next += count
    }
    const encoded =
      streamId === MIXED_STREAM
        ? blocks.encodeShared(source, events, facts, range, runsOf(counts, part?.streamIds))
        : blocks.encode(source, events, facts, range, undefined, counts)
    return { eventCount: range.count, ...encoded }
  }

  /** What each of the part's segments says of its stream's schema. */
  describe(payload: Uint8Array, streamId: number, part?: SegmentPart): SchemaDelta[] {
    const { source, counts, first } = this.#decode(payload, part)
    const [events, facts] = [this.#events, this.#facts]
    let next = first
    return counts.map((count) => {
      const range = { first: next, count }
      next += count
      const origin = { streamId, receivedAtMs: undefined }
      const index = this.#blocks.index(source, events, facts, range)
      return this.#deltas.encode(source, events, facts, range, origin, index)
    })
  }

  #decode(payload: Uint8Array, part: SegmentPart | undefined) {
    const bytes = decodeStoredEvents(payload, this.#tape, this.#events, this.#facts)
    const counts = part?.counts ?? [this.#events.count]
    const first = part?.first ?? 0
    const count = counts.reduce((sum, each) => sum + each, 0)
    assert(count > 0 && first + count <= this.#events.count)
    return { source: tapeSource(bytes, this.#tape), counts, first }
  }
}

function runsOf(counts: readonly number[], streamIds: readonly StreamId[] = []): StreamRows[] {
  assert.equal(streamIds.length, counts.length, 'a stream for each run')
  return counts.map((count, i) => ({ streamId: streamIds[i]!, count }))
}
