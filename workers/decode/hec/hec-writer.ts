/**
 * Writes the events of HEC parts as JSON behind what is in the batch's buffer, and their entries
 * onto the tape: those that the tape would write if it parsed that JSON.
 *
 * Subtle: an object is copied before it is known where it ends, and parsed where it will stay. What
 * was copied too much is written over; where it was too little, it is copied again.
 */
import { EVENT_BYTES_MAX, HEC_GENERATED_BYTES_MAX } from '../../../src/limits.ts'
import { HEC_METADATA, type HecPartOptions } from '../../../src/model/batch/hec-part.ts'
import { copyRange, heldBytes } from '../../kernel/arena-copy.ts'
import type { DecodedEvents } from '../../tape/decoded-events.ts'
import { EventBuffer } from '../../tape/event-buffer.ts'
import { ESCAPE_BYTES_MAX, writeEscaped } from '../../tape/json-escape.ts'
import { TOO_DEEP as NESTED_TOO_DEEP, SYNTAX_NUMBER } from '../../tape/json-syntax.ts'
import { type JsonTape, TAPE_PADDING } from '../../tape/json-tape.ts'
import { ROOT } from '../../tape/path-trie.ts'
import { ESCAPED, STRING } from '../../tape/tape-types.ts'
import type { DecodeTarget } from '../decoder.ts'
import { blankLineFeeds } from '../part-lines.ts'
import { namesAtRoot } from './taken-names.ts'

const LINE_FEED = 0x0a
const COMMA = 0x2c
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
/** Braces, the longest key of ours, a line feed, and words that are read behind it. */
const EVENT_ROOM = 64 + TAPE_PADDING
/** An object is first taken for a little longer than others were. */
const OBJECT_ROOM = 256
/** The longest piece of a token but for numbers, which the end of a copy may break. */
const TOKEN_BYTES_MAX = 8

/** What an event may be wrong with. */
export const WRITTEN = 0
export const TOO_LARGE = 1
export const TOO_DEEP = 2

const GENERATED_LIMIT = `${HEC_GENERATED_BYTES_MAX} bytes (HEC_GENERATED_BYTES_MAX)`
export const GENERATED_TOO_LARGE = `a batch's events would be over ${GENERATED_LIMIT}`

/** A name of ours and what is before its value. */
export interface Name {
  readonly index: number
  readonly name: string
  readonly bytes: Uint8Array
  readonly key: Buffer
}

function nameOf(name: string, index: number): Name {
  return { index, name, bytes: Buffer.from(name), key: heldBytes(Buffer.from(`"${name}":`)) }
}

export const METADATA = HEC_METADATA.map(nameOf)
export const MESSAGE = nameOf('message', METADATA.length)
export const LOG = nameOf('log', METADATA.length + 1)
export const EVENT_NAME = nameOf('event', METADATA.length + 2)
export const KEPT = nameOf('hec', METADATA.length + 3)
const OWN_NAMES = [MESSAGE, LOG, EVENT_NAME, KEPT, ...METADATA]
const NAMES_BYTES = OWN_NAMES.reduce((sum, { key }) => sum + 2 * key.length, 0)

export class HecWriter {
  readonly #tape: JsonTape
  readonly #events: DecodedEvents
  readonly #into: EventBuffer
  #known: Buffer
  /** JSON of the part's defaults; by member of `HEC_METADATA` where it lies, -1 for none. */
  readonly #defaults = new EventBuffer()
  readonly defaultStart = new Int32Array(HEC_METADATA.length)
  readonly defaultEnd = new Int32Array(HEC_METADATA.length)
  /** Nodes of our names at the root, and under `hec`, in this batch. */
  readonly #nodes = new Int32Array(OWN_NAMES.length)
  readonly #keptNodes = new Int32Array(METADATA.length)
  #eventStart = 0
  #tapeStart = 0
  /** Of the newest object before the event. */
  #serial = 0
  #generatedLeft = 0
  /** About as much as objects were lately at most. */
  #usualBytes = 0
  /** Where a tail that may be repeated lies in the batch's buffer, and its entries; -1 for none. */
  #tailStart = 0
  #tailEnd = -1
  #tailTapeStart = 0
  #tailTapeEnd = 0
  /** Nodes of its members, once somebody asked. */
  #tailNodes: readonly number[] | undefined

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
    const { trie } = this.#tape
    for (const name of OWN_NAMES) {
      this.#nodes[name.index] = trie.child(ROOT, name.bytes, 0, name.bytes.length, false)
    }
    for (const name of METADATA) {
      const kept = this.nodeOf(KEPT)
      this.#keptNodes[name.index] = trie.child(kept, name.bytes, 0, name.bytes.length, false)
    }
    const defaults = this.#defaults
    defaults.reset()
    for (const [member, name] of HEC_METADATA.entries()) {
      const value = options[name]
      this.defaultStart[member] = value === undefined ? -1 : defaults.length
      if (value === undefined) continue
      const json = Buffer.from(JSON.stringify(value))
      defaults.reserve(json.length)
      defaults.bytes.set(json, defaults.length)
      defaults.length += json.length
      this.defaultEnd[member] = defaults.length
    }
  }

  /** What the ranges of defaults refer to. */
  get defaultBytes(): Buffer {
    return this.#defaults.bytes
  }

  nodeOf(name: Name): number {
    return this.#nodes[name.index]!
  }

  /** Whether fewer bytes than may be were made of the part so far, dropped events included. */
  get hasBudget(): boolean {
    return this.#generatedLeft >= 0
  }

  /** Where the current event's entries begin on the tape. */
  get tapeStart(): number {
    return this.#tapeStart
  }

  get bytes(): Buffer {
    return this.#into.bytes
  }

  /** Whether an object that is in the event has this name at the root. */
  hasName(node: number): boolean {
    return this.#tape.hasKeySince(node, this.#serial)
  }

  /** Begins an event. */
  open(): void {
    this.#tapeStart = this.#tape.length
    this.#eventStart = this.#into.length
    this.#serial = this.#tape.serial
  }

  /** Makes room for `bytes` more, and for all names and defaults. */
  reserve(bytes: number): void {
    this.#into.reserve(bytes + this.#defaults.length + NAMES_BYTES + EVENT_ROOM)
    this.#follow()
  }

  /**
   * Begins the event with an object that is somewhere between `start` and `end`, all but its brace
   * at the end; returns where that object ends. -1 where it is broken: the tape says why, and
   * `errorAt` where in the source.
   */
  takeObject(from: Uint8Array, start: number, end: number): number {
    this.drop()
    const tape = this.#tape
    const at = this.#eventStart
    for (let size = this.#usualBytes + OBJECT_ROOM; ; size *= 4) {
      const length = Math.min(size, end - start)
      this.reserve(length)
      const { bytes } = this.#into
      copyRange(bytes, at, from, start, start + length)
      bytes[at + length] = LINE_FEED
      for (let i = 1; i <= TAPE_PADDING; i++) bytes[at + length + i] = 0
      const objectEnd = tape.parse(at, ROOT, true)
      if (objectEnd >= 0) {
        this.#usualBytes = Math.max(objectEnd - at, this.#usualBytes - (this.#usualBytes >> 5))
        this.#into.length = objectEnd - 1
        return start + objectEnd - at
      }
      tape.length = this.#tapeStart
      const isCut = tape.errorAt >= at + length - TOKEN_BYTES_MAX
      const mayBeCut = tape.errorCode !== NESTED_TOO_DEEP && length < end - start
      if (mayBeCut && (isCut || tape.errorCode === SYNTAX_NUMBER)) continue
      tape.errorAt += start - at
      return -1
    }
  }

  /** There is no tail; one begins here, if `endTail` is called. */
  beginTail(): void {
    this.#tailStart = this.#into.length
    this.#tailTapeStart = this.#tape.length
    this.#tailEnd = -1
  }

  /** The event has no other member of their names: the same may come behind other events. */
  endTail(): void {
    this.#tailEnd = this.#into.length
    this.#tailTapeEnd = this.#tape.length
    this.#tailNodes = undefined
  }

  /**
   * Writes the last tail once more; false where there is none, or where the event has one of its
   * names. `own`: a node that the event has, where it was not parsed as an object.
   */
  tryRepeatTail(own: number): boolean {
    if (this.#tailEnd < 0) return false
    const tape = this.#tape
    const into = this.#into
    this.#tailNodes ??= namesAtRoot(tape, this.#tailTapeStart, this.#tailTapeEnd)
    for (const node of this.#tailNodes) if (node === own || this.hasName(node)) return false
    tape.copyEntries(this.#tailTapeStart, this.#tailTapeEnd, into.length - this.#tailStart)
    into.length = copyRange(into.bytes, into.length, into.bytes, this.#tailStart, this.#tailEnd)
    return true
  }

  /** Begins the event with a brace and no member. */
  openBrace(): void {
    this.#into.bytes[this.#into.length++] = OPEN_OBJECT
  }

  /** Writes a name of ours; a comma comes first unless it is the event's first. */
  key(name: Name, isFirst: boolean): void {
    const into = this.#into
    if (!isFirst) into.bytes[into.length++] = COMMA
    into.length = copyShort(into.bytes, into.length, name.key, 0, name.key.length)
  }

  /** Writes a scalar as it is spelled, with its entry. Its type is known. */
  scalar(node: number, type: number, from: Uint8Array, start: number, end: number): void {
    const into = this.#into
    const at = into.length
    into.length = copyShort(into.bytes, at, from, start, end)
    const inner = type === STRING || type === ESCAPED ? 1 : 0
    this.#tape.push(node, type, at + inner, into.length - inner)
  }

  /** Writes a value that was judged, and parses it. */
  value(node: number, from: Uint8Array, start: number, end: number, depth = 1): void {
    const into = this.#into
    const at = into.length
    into.length = copyRange(into.bytes, at, from, start, end)
    into.bytes[into.length] = LINE_FEED
    this.#tape.parse(at, node, true, depth)
  }

  /** Writes the members of an object that was judged, behind other members. */
  members(from: Uint8Array, start: number, end: number): void {
    const into = this.#into
    const at = into.length
    this.value(ROOT, from, start, end, 0)
    into.bytes[at] = COMMA
    into.length--
  }

  /** Writes `,"hec":{"host":…` or what follows it. */
  keptKey(name: Name, isFirst: boolean): number {
    const into = this.#into
    if (isFirst) {
      this.key(KEPT, false)
      into.bytes[into.length++] = OPEN_OBJECT
    }
    this.key(name, isFirst)
    return this.#keptNodes[name.index]!
  }

  brace(): void {
    this.#into.bytes[this.#into.length++] = CLOSE_OBJECT
  }

  /** Writes text as a JSON string, with its entry. */
  string(node: number, from: DataView, start: number, end: number): void {
    this.reserve((end - start) * ESCAPE_BYTES_MAX)
    const into = this.#into
    into.bytes[into.length++] = QUOTE
    const at = into.length
    into.length = writeEscaped(from, start, end, into.view, into.bytes, at)
    const type = into.length - at === end - start ? STRING : ESCAPED
    this.#tape.push(node, type, at, into.length)
    into.bytes[into.length++] = QUOTE
  }

  /** Writes bytes from anywhere; few, or rarely. */
  write(from: Uint8Array): void {
    this.#into.bytes.set(from, this.#into.length)
    this.#into.length += from.length
  }

  /** Ends the event with its brace. Unless it is WRITTEN, the caller drops it. */
  close(hasLineFeeds: boolean, bytesMax = EVENT_BYTES_MAX): number {
    this.brace()
    const into = this.#into
    const length = into.length - this.#eventStart
    this.#generatedLeft -= length
    if (hasLineFeeds) blankLineFeeds(into.bytes, this.#eventStart, into.length)
    into.bytes[into.length++] = LINE_FEED
    return length > bytesMax ? TOO_LARGE : WRITTEN
  }

  /** Makes the entries of an event that was written without them. */
  parse(): number {
    this.#tape.length = this.#tapeStart
    // What is put together of values that were judged can only be too deep.
    return this.#tape.parse(this.#eventStart, ROOT, false) < 0 ? TOO_DEEP : WRITTEN
  }

  /** Adds the event that was closed. */
  add(): void {
    this.#events.add(this.#eventStart, this.#into.length - 1, this.#tape.length)
  }

  /** Forgets what was written of the event, and opens it again. */
  drop(): void {
    this.#into.length = this.#eventStart
    this.#tape.length = this.#tapeStart
    this.#serial = this.#tape.serial
  }

  /** The buffer may have grown. */
  #follow(): void {
    if (this.#into.bytes === this.#known) return
    this.#known = this.#into.bytes
    this.#tape.extend(this.#known)
  }
}

const QUOTE = 0x22
/** From here on the kernel copies faster, whose call costs as much as some bytes. */
const SHORT_BYTES_MAX = 32

function copyShort(
  to: Uint8Array,
  at: number,
  from: Uint8Array,
  start: number,
  end: number,
): number {
  if (end - start > SHORT_BYTES_MAX) return copyRange(to, at, from, start, end)
  for (let i = start; i < end; i++) to[at++] = from[i]!
  return at
}
