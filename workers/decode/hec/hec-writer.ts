/**
 * Writes the events of HEC parts as JSON behind what is in the batch's buffer, and has them parsed
 * there: their entries are those of any JSON event.
 */
import { EVENT_BYTES_MAX, HEC_GENERATED_BYTES_MAX } from '../../../src/limits.ts'
import { HEC_METADATA, type HecPartOptions } from '../../../src/model/batch/hec-part.ts'
import { copyRange, heldBytes } from '../../kernel/arena-copy.ts'
import type { DecodedEvents } from '../../tape/decoded-events.ts'
import { EventBuffer } from '../../tape/event-buffer.ts'
import { ESCAPE_BYTES_MAX, writeEscaped } from '../../tape/json-escape.ts'
import type { JsonTape } from '../../tape/json-tape.ts'
import { ROOT } from '../../tape/path-trie.ts'
import { DEAD, ENTRY } from '../../tape/tape-types.ts'
import type { DecodeTarget } from '../decoder.ts'

const LINE_FEED = 0x0a
const SPACE = 0x20
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
/** Braces, the longest key of ours, a line feed. */
const EVENT_ROOM = 64

/** What `finish` found. */
export const WRITTEN = 0
export const TOO_LARGE = 1
export const TOO_DEEP = 2
/** A name recurs in the event. */
export const RECURS = 3

const GENERATED_LIMIT = `${HEC_GENERATED_BYTES_MAX} bytes (HEC_GENERATED_BYTES_MAX)`
export const GENERATED_TOO_LARGE = `a batch's events would be over ${GENERATED_LIMIT}`

/** Keys with what is before their values. */
export const MESSAGE_KEY = heldBytes(Buffer.from('"message":'))
export const LOG_KEY = heldBytes(Buffer.from('"log":'))
export const EVENT_KEY = heldBytes(Buffer.from('"event":'))
export const METADATA_KEYS = HEC_METADATA.map((name) => heldBytes(Buffer.from(`,"${name}":`)))
const COMMA = heldBytes(Buffer.from(','))
const QUOTE = heldBytes(Buffer.from('"'))

export class HecWriter {
  readonly #tape: JsonTape
  readonly #events: DecodedEvents
  readonly #into: EventBuffer
  #known: Buffer
  /** JSON of the part's defaults; by member of `HEC_METADATA` where it lies, -1 for none. */
  readonly #defaults = new EventBuffer()
  readonly #defaultStart = new Int32Array(HEC_METADATA.length)
  readonly #defaultEnd = new Int32Array(HEC_METADATA.length)
  #eventStart = 0
  #tapeStart = 0
  #generatedLeft = 0

  constructor({ tape, events, generated }: DecodeTarget) {
    this.#tape = tape
    this.#events = events
    this.#into = generated
    this.#known = generated.bytes
  }

  /** Starts a part. */
  begin(options: HecPartOptions): void {
    this.#generatedLeft = HEC_GENERATED_BYTES_MAX
    this.#follow()
    const defaults = this.#defaults
    defaults.reset()
    for (const [member, name] of HEC_METADATA.entries()) {
      const value = options[name]
      this.#defaultStart[member] = value === undefined ? -1 : defaults.length
      if (value === undefined) continue
      const json = Buffer.from(JSON.stringify(value))
      defaults.reserve(json.length)
      defaults.bytes.set(json, defaults.length)
      defaults.length += json.length
      this.#defaultEnd[member] = defaults.length
    }
  }

  /** Whether fewer bytes than may be were made of the part so far, dropped events included. */
  get hasBudget(): boolean {
    return this.#generatedLeft >= 0
  }

  /** Opens an event that takes up to `bytes` beside its defaults and a key. */
  open(bytes: number): void {
    this.#tapeStart = this.#tape.length
    this.#into.reserve(bytes + this.#defaults.length + METADATA_ROOM + EVENT_ROOM)
    this.#follow()
    this.#eventStart = this.#into.length
    this.#into.bytes[this.#into.length++] = OPEN_OBJECT
  }

  /** Forgets what was written of the event, and opens it again. */
  reopen(bytes: number): void {
    this.drop()
    this.open(bytes)
  }

  /** Writes bytes of the arena. */
  copy(from: Uint8Array, start = 0, end = from.length): void {
    const into = this.#into
    into.length = copyRange(into.bytes, into.length, from, start, end)
  }

  /** Writes bytes from anywhere; few, or rarely. */
  write(from: Uint8Array): void {
    this.#into.bytes.set(from, this.#into.length)
    this.#into.length += from.length
  }

  /** Writes JSON that may be on several lines. */
  copyJson(from: Uint8Array, start: number, end: number, hasLineFeeds: boolean): void {
    const into = this.#into
    const at = into.length
    this.copy(from, start, end)
    if (!hasLineFeeds) return
    // Inside valid JSON they stand between tokens only, where a space means the same.
    for (let i = at; i < into.length; i++) {
      if (into.bytes[i] === LINE_FEED) into.bytes[i] = SPACE
    }
  }

  comma(): void {
    this.copy(COMMA)
  }

  /** Writes text as a JSON string. */
  string(from: DataView, start: number, end: number): void {
    const into = this.#into
    into.reserve((end - start) * ESCAPE_BYTES_MAX + this.#defaults.length + METADATA_ROOM)
    this.#follow()
    this.copy(QUOTE)
    into.length = writeEscaped(from, start, end, into.view, into.bytes, into.length)
    this.copy(QUOTE)
  }

  /** The default of a member of `HEC_METADATA` as JSON; undefined without one. */
  defaultOf(member: number): { readonly start: number; readonly end: number } | undefined {
    const start = this.#defaultStart[member]!
    return start < 0 ? undefined : { start, end: this.#defaultEnd[member]! }
  }

  /** What the ranges of `defaultOf` refer to. */
  get defaultBytes(): Buffer {
    return this.#defaults.bytes
  }

  /** Writes the default of a member of `HEC_METADATA` with its key, if there is one. */
  writeDefault(member: number): void {
    if (this.#defaultStart[member]! < 0) return
    this.copy(METADATA_KEYS[member]!)
    this.copy(this.#defaults.bytes, this.#defaultStart[member]!, this.#defaultEnd[member]!)
  }

  /** Closes the event and parses it. Unless it is WRITTEN, the caller calls `drop`, or `reopen`. */
  finish(bytesMax = EVENT_BYTES_MAX): number {
    const into = this.#into
    into.bytes[into.length++] = CLOSE_OBJECT
    const length = into.length - this.#eventStart
    this.#generatedLeft -= length
    into.bytes[into.length++] = LINE_FEED
    if (length > bytesMax) return TOO_LARGE
    // What is put together of values that were judged can only be too deep.
    if (this.#tape.parse(this.#eventStart, ROOT, false) < 0) return TOO_DEEP
    const { entries, length: tapeEnd } = this.#tape
    for (let at = this.#tapeStart; at < tapeEnd; at += ENTRY) {
      if (entries[at + 1] === DEAD) return RECURS
    }
    return WRITTEN
  }

  /** Adds the event that was finished. */
  add(): void {
    this.#events.add(this.#eventStart, this.#into.length - 1, this.#tape.length)
  }

  drop(): void {
    this.#into.length = this.#eventStart
    this.#tape.length = this.#tapeStart
  }

  /** The buffer may have grown. */
  #follow(): void {
    if (this.#into.bytes === this.#known) return
    this.#known = this.#into.bytes
    this.#tape.extend(this.#known)
  }
}

/** For the keys of all defaults. */
const METADATA_ROOM = METADATA_KEYS.reduce((sum, key) => sum + key.length, 0)
