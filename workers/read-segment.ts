/**
 * Renders events of stored segments as the event records of the API. The payload is the stored
 * text, byte for byte: never parsed into values and written again, so 64-bit integers and duplicate
 * keys stay what they were. A payload that does not decode any more is left out and told.
 */
import type { DamagedRead, RecordFormat, SegmentRead } from '../src/model/batch.ts'
import { EventFacts, SOURCE_RECEIPT } from './facts/event-facts.ts'
import { ArenaFullError } from './kernel/arena.ts'
import { allocateOutside, ByteWriter } from './kernel/byte-writer.ts'
import { FieldPicker } from './pick-fields.ts'
import { shapeText } from './schema/schema-delta.ts'
import { decodeChosenEvents } from './segment/chosen-events.ts'
import { PayloadDecoder } from './segment/payload-decoder.ts'
import { DecodedEvents } from './tape/decoded-events.ts'
import { JsonTape } from './tape/json-tape.ts'
import { PathTrie } from './tape/path-trie.ts'

const COMMA = 0x2c
const LINE_FEED = 0x0a
const QUOTE = 0x22
const CLOSE_OBJECT = 0x7d
const SOURCE_NAMES = ['receipt', 'field', 'otlp'] as const
const LIST: RecordFormat = { kind: 'list' }
/** To parse some events costs less than to parse all only while they are few. */
const CHOSEN_SHARE_MAX = 0.5

/** Decoded events of one payload. */
interface Decoded {
  readonly bytes: Uint8Array
  readonly events: DecodedEvents
  readonly facts: EventFacts
}

export class SegmentReader {
  readonly #stored: PayloadDecoder
  readonly #chosen = { events: new DecodedEvents(), facts: new EventFacts() }
  readonly #writer = new ByteWriter(64 * 1024, allocateOutside)
  #damaged: DamagedRead[] = []
  #format = LIST
  #fields: readonly string[] = []
  #picker: FieldPicker | undefined

  constructor(tape = new JsonTape(new PathTrie())) {
    this.#stored = new PayloadDecoder(tape)
  }

  /** Event records as `format` says; empty when no ordinal is in range. */
  run(reads: readonly SegmentRead[], format = LIST): Uint8Array {
    this.#writer.length = 0
    this.#damaged = []
    this.#format = format
    this.#fields = format.fields ?? []
    this.#picker = format.fields && new FieldPicker(format.fields)
    this.#stored.reset()
    for (const [index, read] of reads.entries()) {
      const damage = this.#isFew(read) ? this.#readChosen(read) : this.#readSegment(read)
      if (damage !== undefined) this.#damaged.push({ index, reason: damage })
    }
    this.#stored.reset()
    return this.#writer.take()
  }

  /** What the last run left out. */
  get damaged(): readonly DamagedRead[] {
    return this.#damaged
  }

  #isFew({ ordinals, fromOrdinal, toOrdinal }: SegmentRead): boolean {
    if (ordinals === undefined) return false
    return ordinals.length < (toOrdinal - fromOrdinal) * CHOSEN_SHARE_MAX
  }

  /** Returns why the payload does not decode, if so. */
  #readSegment(read: SegmentRead): string | undefined {
    const damage = this.#stored.decode(read.payload)
    if (damage !== undefined) return damage
    const { bytes, events, facts } = this.#stored
    const first = read.firstEvent ?? 0
    const from = Math.max(0, read.fromOrdinal)
    const to = Math.min(events.count - first, read.toOrdinal)
    const count = read.ordinals?.length ?? to - from
    for (let i = 0; i < count; i++) {
      const at = read.newestFirst ? count - 1 - i : i
      const ordinal = read.ordinals?.[at] ?? from + at
      if (ordinal >= from && ordinal < to) {
        this.#record(read, { bytes, events, facts }, ordinal, first + ordinal)
      }
    }
    return undefined
  }

  #readChosen(read: SegmentRead): string | undefined {
    const { events, facts } = this.#chosen
    const first = read.firstEvent ?? 0
    const wanted = read.ordinals!.filter((at) => at >= read.fromOrdinal && at < read.toOrdinal)
    const ordinals = wanted.map((ordinal) => first + ordinal)
    let bytes: Uint8Array
    this.#stored.reset() // The tape is another's from here on.
    try {
      bytes = decodeChosenEvents(read.payload, ordinals, this.#stored.tape, events, facts)
    } catch (cause) {
      if (cause instanceof ArenaFullError) throw cause // Of the worker, not of the payload.
      return cause instanceof Error ? cause.message : String(cause)
    }
    for (let i = 0; i < events.count; i++) {
      const event = read.newestFirst ? events.count - 1 - i : i
      this.#record(read, { bytes, events, facts }, wanted[event]!, event)
    }
    return undefined
  }

  /** `ordinal` is the event's in its segment, `event` its place among those decoded. */
  #record(read: SegmentRead, { bytes, events, facts }: Decoded, ordinal: number, event: number) {
    const id = `${read.segmentId}-${ordinal}`
    const ingestedAt = new Date(read.ingestedAtMs).toISOString()
    const source = facts.timeSource[event]!
    const eventTime =
      source === SOURCE_RECEIPT
        ? ingestedAt
        : formatTime(facts.timeMs[event]!, facts.timeNanos[event]!)
    const [start, end] = [events.start[event]!, events.end[event]!]
    if (this.#format.kind === 'csv') {
      const stream = read.streamId === undefined ? '' : `${read.streamId},`
      this.#text(`${stream}${id},${ingestedAt},${eventTime}`)
      this.#csvFields(bytes, start, end)
      return
    }
    const shape = shapeText(facts.shapeLow[event]!, facts.shapeHigh[event]!)
    if (this.#format.kind === 'list' && this.#writer.length > 0) this.#byte(COMMA)
    const stream = read.streamId === undefined ? '' : `"_stream":"${read.streamId}",`
    this.#text(
      `{${stream}"id":"${id}","ingested_at":"${ingestedAt}"` +
        `,"event_time":"${eventTime}","event_time_source":"${SOURCE_NAMES[source]}"` +
        `,"shape":"${shape}",`,
    )
    if (this.#picker === undefined) {
      this.#text('"payload":')
      this.#bytes(bytes, start, end)
    } else {
      this.#jsonFields(this.#picker, bytes, start, end)
    }
    this.#byte(CLOSE_OBJECT)
    if (this.#format.kind === 'lines') this.#byte(LINE_FEED)
  }

  #jsonFields(picker: FieldPicker, bytes: Uint8Array, start: number, end: number): void {
    picker.pick(bytes, start, end)
    this.#text('"fields":{')
    let isFirst = true
    for (const [index, path] of this.#fields.entries()) {
      const from = picker.start[index]!
      if (from < 0) continue
      this.#text(`${isFirst ? '' : ','}${JSON.stringify(path)}:`)
      this.#bytes(bytes, from, picker.end[index]!)
      isFirst = false
    }
    this.#byte(CLOSE_OBJECT)
  }

  #csvFields(bytes: Uint8Array, start: number, end: number): void {
    this.#picker?.pick(bytes, start, end)
    for (const index of this.#fields.keys()) {
      const from = this.#picker?.start[index] ?? -1
      const text = from < 0 ? '' : textOf(bytes, from, this.#picker?.end[index] ?? from)
      const isString = from >= 0 && bytes[from] === QUOTE
      const value = isString ? (JSON.parse(text) as string) : text === 'null' ? '' : text
      this.#text(`,${csvCell(value, isString)}`)
    }
    this.#text('\r\n')
  }

  #text(text: string): void {
    const writer = this.#writer
    writer.reserve(text.length * 3)
    writer.length += writer.bytes.write(text, writer.length)
  }

  #bytes(bytes: Uint8Array, start: number, end: number): void {
    const writer = this.#writer
    writer.reserve(end - start)
    writer.bytes.set(bytes.subarray(start, end), writer.length)
    writer.length += end - start
  }

  #byte(byte: number): void {
    this.#writer.reserve(1)
    this.#writer.bytes[this.#writer.length++] = byte
  }
}

/** A value as RFC 4180 has it. */
export function csvCell(value: string, isString: boolean): string {
  // An empty string is written in quotes: a field that is not there is nothing at all.
  const isPlain = !/[",\r\n]/.test(value) && !(isString && value === '')
  return isPlain ? value : `"${value.replaceAll('"', '""')}"`
}

function textOf(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('utf8')
}

/** RFC 3339 in UTC; nine fraction digits only where the event has them. */
function formatTime(ms: number, nanos: number): string {
  const text = new Date(ms).toISOString()
  return nanos === 0 ? text : `${text.slice(0, -1)}${String(nanos).padStart(6, '0')}Z`
}
