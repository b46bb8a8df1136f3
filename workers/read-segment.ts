/**
 * Renders events of stored segments as the event records of the API. The payload is the stored
 * text, byte for byte: never parsed into values and written again, so 64-bit integers and duplicate
 * keys stay what they were. A payload that does not decode any more is left out and told.
 */
import type { DamagedRead, SegmentRead } from '../src/model/batch.ts'
import { SOURCE_RECEIPT } from './facts/event-facts.ts'
import { allocateOutside, ByteWriter } from './kernel/byte-writer.ts'
import { shapeText } from './schema/schema-delta.ts'
import { PayloadDecoder } from './segment/payload-decoder.ts'
import { JsonTape } from './tape/json-tape.ts'
import { PathTrie } from './tape/path-trie.ts'

const COMMA = 0x2c
const CLOSE_OBJECT = 0x7d
const SOURCE_NAMES = ['receipt', 'field', 'otlp'] as const

export class SegmentReader {
  readonly #stored: PayloadDecoder
  readonly #writer = new ByteWriter(64 * 1024, allocateOutside)
  #damaged: DamagedRead[] = []

  constructor(tape = new JsonTape(new PathTrie())) {
    this.#stored = new PayloadDecoder(tape)
  }

  /** Event records separated by commas; empty when no ordinal is in range. */
  run(reads: readonly SegmentRead[]): Uint8Array {
    this.#writer.length = 0
    this.#damaged = []
    this.#stored.reset()
    for (const [index, read] of reads.entries()) {
      const damage = this.#stored.decode(read.payload)
      if (damage === undefined) this.#readSegment(read)
      else this.#damaged.push({ index, reason: damage })
    }
    this.#stored.reset()
    return this.#writer.take()
  }

  /** What the last run left out. */
  get damaged(): readonly DamagedRead[] {
    return this.#damaged
  }

  #readSegment(read: SegmentRead): void {
    const first = read.firstEvent ?? 0
    const from = Math.max(0, read.fromOrdinal)
    const to = Math.min(this.#stored.events.count - first, read.toOrdinal)
    for (let i = 0; i < to - from; i++) {
      this.#record(read, first, read.newestFirst ? to - 1 - i : from + i)
    }
  }

  /** `ordinal` is the event's in its segment, whose first is the payload's `first`. */
  #record(read: SegmentRead, first: number, ordinal: number): void {
    const { facts, events, bytes } = this.#stored
    const event = first + ordinal
    const ingestedAt = new Date(read.ingestedAtMs).toISOString()
    const source = facts.timeSource[event]!
    const eventTime =
      source === SOURCE_RECEIPT
        ? ingestedAt
        : formatTime(facts.timeMs[event]!, facts.timeNanos[event]!)
    const head = Buffer.from(
      `{"id":"${read.segmentId}-${ordinal}","ingested_at":"${ingestedAt}"` +
        `,"event_time":"${eventTime}","event_time_source":"${SOURCE_NAMES[source]}"` +
        `,"shape":"${shapeText(facts.shapeLow[event]!, facts.shapeHigh[event]!)}","payload":`,
    )
    const start = events.start[event]!
    const end = events.end[event]!
    const writer = this.#writer
    writer.reserve(head.length + end - start + 2)
    if (writer.length > 0) writer.bytes[writer.length++] = COMMA
    writer.bytes.set(head, writer.length)
    writer.length += head.length
    writer.bytes.set(bytes.subarray(start, end), writer.length)
    writer.length += end - start
    writer.bytes[writer.length++] = CLOSE_OBJECT
  }
}

/** RFC 3339 in UTC; nine fraction digits only where the event has them. */
function formatTime(ms: number, nanos: number): string {
  const text = new Date(ms).toISOString()
  return nanos === 0 ? text : `${text.slice(0, -1)}${String(nanos).padStart(6, '0')}Z`
}
