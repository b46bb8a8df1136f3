/** Runs the transforms over a batch and reads the events back, from the bytes and from the tape. */
import assert from 'node:assert/strict'
import type { StreamId, TransformSettings } from '../../src/model/stream.ts'
import { decodeNdjson } from '../../workers/decode/ndjson.ts'
import { PartOutcome } from '../../workers/decode/part-outcome.ts'
import { DecodedEvents } from '../../workers/tape/decoded-events.ts'
import { EventBuffer } from '../../workers/tape/event-buffer.ts'
import { JsonTape, TAPE_PADDING } from '../../workers/tape/json-tape.ts'
import { PathTrie } from '../../workers/tape/path-trie.ts'
import { ARRAY, DEAD, ELEMENT, ENTRY } from '../../workers/tape/tape-types.ts'
import { type TransformedBatch, Transforms } from '../../workers/transform/plan.ts'

export const OFF: TransformSettings = {
  parseUserAgents: false,
  redactSensitive: false,
  redactFields: [],
}
export const REDACT: TransformSettings = { ...OFF, redactSensitive: true }
export const AGENTS: TransformSettings = { ...OFF, parseUserAgents: true }

export interface Transformed {
  readonly texts: readonly string[]
  readonly batch: TransformedBatch
  /** Bytes written behind the batch's own. */
  readonly bytesWritten: number
}

/** A worker's tape and transforms, reused from batch to batch as a worker reuses them. */
export class Worker {
  readonly #tape = new JsonTape(new PathTrie())
  readonly #events = new DecodedEvents()
  readonly #transforms = new Transforms()
  readonly #buffer = new EventBuffer()

  /** Transforms lines of JSON, and checks the tape against the text that came out. */
  run(
    lines: readonly string[],
    settings: TransformSettings,
    { streamId = 1, receivedAtMs = 0 } = {},
  ): Transformed {
    const body = Buffer.from(lines.map((line) => `${line}\n`).join(''))
    const tape = this.#tape
    const events = this.#events
    const outcome = new PartOutcome()
    events.reset()
    const sent = Buffer.concat([body, Buffer.from('\n'), Buffer.alloc(TAPE_PADDING)])
    const input = tape.begin(this.#buffer.hold(sent))
    decodeNdjson(tape, events, input, { start: 0, end: body.length }, outcome)
    assert.equal(outcome.accepted, lines.length, 'the test sends valid events')
    const origin = { streamId: streamId as StreamId, settings, receivedAtMs }
    const batch = this.#transforms.run(tape, events, this.#buffer, origin)
    const texts = lines.map((_, i) => {
      const text = batch.bytes.subarray(events.start[i]!, events.end[i]!)
      return Buffer.from(text).toString()
    })
    const seen = lines.map((_, i) =>
      describe(tape, batch.bytes, events.tapeStart[i]!, events.tapeEnd[i]!),
    )
    assert.deepEqual(seen, texts.map(describeText), 'the tape says what the text says')
    return { texts, batch, bytesWritten: this.#buffer.length - sent.length }
  }
}

/** The live entries as path, type and text; sizes of containers as the tape has them. */
function describe(tape: JsonTape, bytes: Uint8Array, start: number, end: number): string[] {
  const { entries, trie } = tape
  const seen: string[] = []
  for (let at = start; at < end; at += ENTRY) {
    const type = entries[at + 1]!
    if (type === DEAD) continue
    const text = Buffer.from(bytes.subarray(entries[at + 2]!, entries[at + 3]!)).toString()
    seen.push(`${trie.displayPath(entries[at]!)} ${type} ${text}`)
    if (type !== ARRAY && type !== ELEMENT) continue
    const [kinds, , count, tapeEnd] = entries.subarray(at + ENTRY, at + 2 * ENTRY)
    seen.push(`kinds ${kinds} count ${count} entries ${tapeEnd! - at}`)
    at += ENTRY
  }
  return seen
}

/** One for all: the arena of a thread never shrinks. */
const textTrie = new PathTrie()
const textTape = new JsonTape(textTrie)

/** The same of a text that is parsed on another tape. */
function describeText(text: string): string[] {
  const bytes = Buffer.concat([Buffer.from(`${text}\n`), Buffer.alloc(TAPE_PADDING)])
  const tape = textTape
  if (textTrie.isFull) textTrie.reset()
  tape.begin(bytes)
  assert.equal(tape.parse(0, 1, false), bytes.length - 1 - TAPE_PADDING, text)
  return describe(tape, bytes, 0, tape.length)
}

/** One event, transformed by a new worker. */
export function transformed(line: string, settings: TransformSettings): string {
  return new Worker().run([line], settings).texts[0]!
}
