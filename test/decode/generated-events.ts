/**
 * Decoders that generate their events, as a worker has them, kept from request to request as in a
 * worker. Their tape is held against what `JsonTape` makes of the JSON that they wrote.
 */
import assert from 'node:assert/strict'
import type { PartResult } from '../../src/model/batch/part-result.ts'
import type { DecodeTarget } from '../../workers/decode/decoder.ts'
import type { PartOutcome } from '../../workers/decode/part-outcome.ts'
import { DecodedEvents } from '../../workers/tape/decoded-events.ts'
import { EventBuffer } from '../../workers/tape/event-buffer.ts'
import { JsonTape, TAPE_PADDING } from '../../workers/tape/json-tape.ts'
import { PathTrie, ROOT } from '../../workers/tape/path-trie.ts'
import { DEAD, ENTRY, EXTENSION } from '../../workers/tape/tape-types.ts'

export interface GeneratedEvents {
  readonly events: readonly string[]
  /** By event: its given time in nanoseconds as digits, or undefined. */
  readonly times: readonly (string | undefined)[]
  readonly result: PartResult
}

const tape = new JsonTape(new PathTrie())
const parsed = new JsonTape(tape.trie)
const events = new DecodedEvents()
const into = new EventBuffer()

/** Where the decoders write to. */
export const target: DecodeTarget = { tape, events, generated: into }

/** Decodes one part up to `end`, in shared memory as in the service. */
export function decodeGenerated(
  bytes: Uint8Array,
  end: number,
  decode: (held: Uint8Array) => PartOutcome,
): GeneratedEvents {
  const shared = new Uint8Array(new SharedArrayBuffer(bytes.length + 1 + TAPE_PADDING))
  shared.set(bytes)
  shared[end] = 0x0a
  shared.fill(0, end + 1)
  events.reset()
  into.reset()
  tape.begin(into.bytes)
  const result = decode(tape.batch.hold(shared)).toResult()
  assert.equal(events.count, result.accepted)
  if (events.count === 0) assert.deepEqual([tape.length, into.length], [0, 0], 'nothing is left')
  const texts: string[] = []
  const times: (string | undefined)[] = []
  for (let i = 0; i < events.count; i++) {
    checkTape(i)
    texts.push(into.bytes.toString('utf8', events.start[i], events.end[i]))
    const isGiven = events.hasTimes && events.timeGiven[i] !== 0
    const ms = BigInt(events.timeMs[i] ?? 0)
    times.push(isGiven ? String(ms * 1_000_000n + BigInt(events.timeNanos[i]!)) : undefined)
  }
  return { events: texts, times, result }
}

/** The event's entries must be those of parsing its JSON: with the same trie, the same nodes. */
function checkTape(event: number): void {
  const start = events.start[event]!
  const end = events.end[event]!
  assert.equal(into.bytes[end], 0x0a, 'an event ends with a line feed')
  const line = Buffer.concat([into.bytes.subarray(start, end + 1), Buffer.alloc(TAPE_PADDING)])
  parsed.begin(line)
  const parsedEnd = parsed.parse(0, ROOT, false)
  assert.equal(parsedEnd, end - start, 'the event is valid JSON')
  const tapeStart = events.tapeStart[event]!
  const written = relativeEntries(tape, tapeStart, events.tapeEnd[event]!, start)
  assert.deepEqual(written, relativeEntries(parsed, 0, parsed.length, 0))
}

/** Entries with positions from the event's start, and ends on the tape from its entries' start. */
function relativeEntries(from: JsonTape, start: number, end: number, byteStart: number) {
  const entries: (readonly number[])[] = []
  for (let i = start; i < end; i += ENTRY) {
    const [node, type, a, b] = from.entries.subarray(i, i + ENTRY) as unknown as number[]
    if (type === DEAD) entries.push([node!, DEAD])
    else if (type === EXTENSION) entries.push([node!, EXTENSION, a!, b! - start])
    else entries.push([node!, type!, a! - byteStart, b! - byteStart])
  }
  return entries
}
