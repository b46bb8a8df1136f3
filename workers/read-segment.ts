/**
 * Renders events of stored segments as the event records of the API. A payload that no longer
 * decodes is left out and reported.
 */
import type { DamagedRead, RecordFormat, SegmentRead } from '../src/model/batch/segment-read.ts'
import { type Decoded, EventRecords } from './event-records.ts'
import { EventFacts } from './facts/event-facts.ts'
import { ArenaFullError } from './kernel/arena.ts'
import { decodeChosenEvents } from './segment/chosen-events.ts'
import { PayloadDecoder } from './segment/payload-decoder.ts'
import { DecodedEvents } from './tape/decoded-events.ts'
import { JsonTape } from './tape/json-tape.ts'
import { PathTrie } from './tape/path-trie.ts'

const COMMA = 0x2c
const LINE_FEED = 0x0a
const LIST: RecordFormat = { kind: 'list' }
/** To parse some events costs less than to parse all only while they are few. */
const CHOSEN_SHARE_MAX = 0.5

export class SegmentReader {
  readonly #stored: PayloadDecoder
  readonly #chosen = { events: new DecodedEvents(), facts: new EventFacts() }
  readonly #records = new EventRecords()
  #damaged: DamagedRead[] = []
  #format = LIST

  constructor(stored = new PayloadDecoder(new JsonTape(new PathTrie()))) {
    this.#stored = stored
  }

  /** Event records as `format` says; empty when no ordinal is in range. */
  run(reads: readonly SegmentRead[], format = LIST): Uint8Array {
    this.#records.begin(format)
    this.#damaged = []
    this.#format = format
    this.#stored.reset()
    for (const [index, read] of reads.entries()) {
      const damage = this.#isFew(read) ? this.#readChosen(read) : this.#readSegment(read)
      if (damage !== undefined) this.#damaged.push({ index, reason: damage })
    }
    this.#stored.reset()
    return this.#records.take()
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

  #record(read: SegmentRead, decoded: Decoded, ordinal: number, event: number): void {
    const { kind } = this.#format
    if (kind === 'list' && this.#records.length > 0) this.#records.writeByte(COMMA)
    this.#records.write(read, decoded, ordinal, event)
    if (kind === 'lines') this.#records.writeByte(LINE_FEED)
  }
}
