/** HEC decoders as a worker has them, and their tape held against that of the JSON they wrote. */
import assert from 'node:assert/strict'
import type { HecPartOptions } from '../../../src/model/batch/hec-part.ts'
import type { PartResult } from '../../../src/model/batch/part-result.ts'
import {
  hecArrayDecoder,
  hecDecoder,
  hecRawDecoder,
} from '../../../workers/decode/hec/hec-decoders.ts'
import { DecodedEvents } from '../../../workers/tape/decoded-events.ts'
import { EventBuffer } from '../../../workers/tape/event-buffer.ts'
import { JsonTape, TAPE_PADDING } from '../../../workers/tape/json-tape.ts'
import { PathTrie, ROOT } from '../../../workers/tape/path-trie.ts'

export interface DecodedHec {
  /** The events' JSON, as it will be stored. */
  readonly events: readonly string[]
  /** By event: its given time in nanoseconds as digits, or undefined. */
  readonly times: readonly (string | undefined)[]
  readonly result: PartResult
}

const DECODERS = { hec: hecDecoder, 'hec-array': hecArrayDecoder, 'hec-raw': hecRawDecoder }
export type HecFraming = keyof typeof DECODERS

const tape = new JsonTape(new PathTrie())
const parsed = new JsonTape(tape.trie)
const events = new DecodedEvents()
const generated = new EventBuffer()
const target = { tape, events, generated }
const opened = new Map(
  Object.entries(DECODERS).map(([framing, { create }]) => [framing, create(target)]),
)
const settings = { parseUserAgents: false, redactSensitive: false, redactFields: [] }

/** What may come behind a part: what would complete one that is cut short. */
const RESTS = [
  '"]}}]}"}{"event":"next"}',
  '{"a":1},"host":"x"}',
  ':{"b":2}}',
  ',"event":{}}',
  '}',
  ']}',
]

/** Decodes `body`, a part in the midst of others; they never change what it is. */
export function decodeHec(
  framing: HecFraming,
  body: string | Uint8Array,
  options: HecPartOptions = {},
): DecodedHec {
  const [first, ...others] = RESTS.map((rest) => decodeBefore(rest, framing, body, options))
  for (const other of others) assert.deepEqual(other, first, 'whatever comes behind it')
  return first!
}

function decodeBefore(
  behind: string,
  framing: HecFraming,
  body: string | Uint8Array,
  options: HecPartOptions,
): DecodedHec {
  const bytes = Buffer.from(body)
  const rest = Buffer.from(`\n${behind}\n`)
  const shared = new Uint8Array(
    new SharedArrayBuffer(bytes.length + 2 * rest.length + TAPE_PADDING),
  )
  shared.set(rest)
  shared.set(bytes, rest.length)
  shared.set(rest, rest.length + bytes.length)
  events.reset()
  generated.reset()
  tape.begin(generated.bytes)
  const held = tape.batch.hold(shared)
  const part = { framing, start: rest.length, end: rest.length + bytes.length, options }
  const result = opened.get(framing)!(held, part, {
    settings,
    receivedAtMs: 0,
    items: undefined,
  }).toResult()
  assert.equal(events.count, result.accepted)
  if (events.count === 0) assert.deepEqual([tape.length, generated.length], [0, 0], 'no rest')
  const texts: string[] = []
  const times: (string | undefined)[] = []
  for (let i = 0; i < events.count; i++) {
    texts.push(generated.bytes.toString('utf8', events.start[i], events.end[i]))
    assert.deepEqual(entriesOf(tape, i), parsedEntries(i))
    const isGiven = events.hasTimes && events.timeGiven[i] !== 0
    const ms = BigInt(events.timeMs[i] ?? 0)
    times.push(isGiven ? String(ms * 1_000_000n + BigInt(events.timeNanos[i]!)) : undefined)
  }
  return { events: texts, times, result }
}

/** An event's entries, whose nodes are the same in both tapes. */
function entriesOf({ entries }: JsonTape, event: number): number[] {
  return [...entries.subarray(events.tapeStart[event], events.tapeEnd[event])]
}

/** What parsing the event's JSON where it lies makes of it, as if it came after the others. */
function parsedEntries(event: number): number[] {
  const at = events.tapeStart[event]!
  parsed.begin(generated.bytes)
  parsed.reserve(at)
  parsed.length = at
  const end = parsed.parse(events.start[event]!, ROOT, false)
  assert.equal(end, events.end[event], 'an event is valid JSON')
  assert.equal(generated.bytes[end], 0x0a, 'an event ends with a line feed')
  return [...parsed.entries.subarray(at, parsed.length)]
}
