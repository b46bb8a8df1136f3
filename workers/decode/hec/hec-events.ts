/**
 * HEC envelopes to events. An object in `event` is the event; a string is its `message`, or its
 * `log` where it looks like an object, which transforms then extract; anything else stays `event`.
 * Beside that are `host`, `source`, `sourcetype` and `index`, and the members of `fields`.
 *
 *   {"time":1.5,"host":"a","event":{"n":1},"fields":{"x":2}}  →  {"n":1,"host":"a","x":2}
 *
 * Subtle: the envelope is judged by a tape of its own, in the batch as it came, but for an object
 * in `event`: that is parsed where the event will stay, and is then judged as well.
 */
import { EVENT_BYTES_MAX, REPLY_ERRORS_MAX } from '../../../src/limits.ts'
import type { ByteRange } from '../../../src/model/batch/accepted-batch.ts'
import { HEC_FAULTS, type HecPartOptions } from '../../../src/model/batch/hec-part.ts'
import { HecTime } from '../../../src/model/hec-time.ts'
import type { DecodedEvents } from '../../tape/decoded-events.ts'
import type { EventBuffer } from '../../tape/event-buffer.ts'
import { JsonSkipper } from '../../tape/json-skip.ts'
import {
  TOO_DEEP as NESTED_TOO_DEEP,
  SYNTAX_COMMA,
  SYNTAX_VALUE,
  TAPE_ERRORS,
} from '../../tape/json-syntax.ts'
import { JsonTape } from '../../tape/json-tape.ts'
import { PathTrie } from '../../tape/path-trie.ts'
import type { DecodeTarget } from '../decoder.ts'
import { TOO_DEEP_MESSAGE, TOO_LARGE_MESSAGE } from '../ndjson.ts'
import { countLines, lineOf } from '../part-lines.ts'
import { PartOutcome } from '../part-outcome.ts'
import {
  BAD_FIELDS,
  BAD_METADATA,
  BAD_SYNTAX,
  BAD_TIME,
  BLANK_EVENT,
  EVENT,
  FIELDS,
  GOOD,
  HecEnvelope,
  HOST,
  INDEX,
  NO_EVENT,
  OPEN_OBJECT,
  QUOTE,
} from './hec-envelope.ts'
import {
  EVENT_NAME,
  GENERATED_TOO_LARGE,
  HecWriter,
  KEPT,
  LOG,
  MESSAGE,
  METADATA,
  type Name,
  TOO_DEEP,
  TOO_LARGE,
  WRITTEN,
} from './hec-writer.ts'
import { looksLikeObject } from './looks-like-object.ts'
import { metadataText } from './recurring-names.ts'
import { TakenNames } from './taken-names.ts'

const LINE_FEED = 0x0a
const COMMA = 0x2c
const NO_NODE = -1

const MESSAGES: Readonly<Record<number, string>> = {
  [NO_EVENT]: HEC_FAULTS.required.text,
  [BLANK_EVENT]: HEC_FAULTS.blank.text,
  [BAD_FIELDS]: HEC_FAULTS.fields.text,
  [BAD_TIME]: 'time must be seconds since 1970, at most 2262, as a number or a string of one',
  [BAD_METADATA]: 'host, source, sourcetype and index must be strings',
}

export class HecEventsDecoder {
  readonly #tape: JsonTape
  readonly #events: DecodedEvents
  readonly #into: EventBuffer
  readonly #writer: HecWriter
  /** What judges envelopes. */
  readonly #judge = new JsonTape(new PathTrie())
  readonly #envelope = new HecEnvelope(this.#judge, (start) => this.#takeObject(start))
  readonly #taken: TakenNames
  readonly #skipper = new JsonSkipper()
  readonly #defaultTime = new HecTime()
  #bytes: Uint8Array = new Uint8Array(0)
  #range: ByteRange = { start: 0, end: 0 }
  #outcome = new PartOutcome()
  /** Where the current envelope begins. */
  #open = 0
  /** The first line feed that is not before the current envelope. */
  #lineFeed = -1
  /** Whether the current envelope is on several lines. */
  #hasLineFeeds = false
  /** The member of the metadata that `#find` found: of the envelope, or of the URL. */
  #isDefault = false
  #from: Uint8Array = this.#bytes
  #start = 0
  #end = 0

  constructor(target: DecodeTarget) {
    this.#tape = target.tape
    this.#events = target.events
    this.#into = target.generated
    this.#taken = new TakenNames(target.tape)
    this.#writer = new HecWriter(target)
  }

  /** Decodes envelopes that stand one after another or, in an array, behind commas. */
  decode(
    bytes: Uint8Array,
    range: ByteRange,
    options: HecPartOptions,
    isArray: boolean,
  ): PartOutcome {
    const outcome = new PartOutcome()
    this.#outcome = outcome
    this.#range = range
    this.#bytes = this.#judge.begin(bytes)
    this.#envelope.begin(this.#bytes)
    this.#lineFeed = -1
    this.#writer.begin(options)
    this.#defaultTime.ms = this.#defaultTime.nanos = 0
    if (options.time !== undefined) {
      const text = Buffer.from(options.time)
      this.#defaultTime.tryRead(text, 0, text.length)
    }
    const before = { events: this.#events.count, tape: this.#tape.length, at: this.#into.length }
    this.#run(isArray)
    outcome.lines = countLines(bytes, range.start, range.end)
    if (outcome.failed) {
      this.#events.truncate(before.events)
      this.#tape.length = before.tape
      this.#into.length = before.at
    }
    return outcome
  }

  #run(isArray: boolean): void {
    const { start, end } = this.#range
    let pos = this.#space(start)
    if (pos === end && !isArray) return
    for (;;) {
      if (this.#bytes[pos] !== OPEN_OBJECT || pos >= end) return this.#failNoObject(pos)
      pos = this.#decodeEnvelope(pos)
      if (pos < 0) return
      if (!this.#writer.hasBudget) return this.#fail(pos, GENERATED_TOO_LARGE, 'too_large')
      pos = this.#space(pos)
      if (pos === end) return
      if (!isArray) continue
      if (this.#bytes[pos] !== COMMA) {
        this.#failSyntax(pos, SYNTAX_COMMA)
        return
      }
      pos = this.#space(pos + 1)
    }
  }

  /** Decodes the envelope at `open`; returns where it ended, or -1 after `fail`. Hot. */
  #decodeEnvelope(open: number): number {
    const envelope = this.#envelope
    const { end } = this.#range
    if (end - open > EVENT_BYTES_MAX) {
      // Too large ones are not put on a tape, which would be as large as they are.
      const skipped = this.#skipper.skip(this.#bytes, open, end)
      if (skipped < 0) return this.#failSkipped()
      if (skipped - open > EVENT_BYTES_MAX) return this.#reject(open, skipped, TOO_LARGE)
    }
    this.#open = open
    this.#writer.open()
    const found = envelope.read(open)
    if (found === BAD_SYNTAX) return this.#rejectSyntax(open)
    const { envelopeEnd } = envelope
    if (envelopeEnd > end) return this.#failSyntax(end, 0)
    if (found !== GOOD) {
      this.#fail(open, MESSAGES[found]!)
      return -1
    }
    this.#hasLineFeeds = this.#hasLineFeedBefore(open, envelopeEnd)
    const written = this.#write()
    if (written !== WRITTEN) {
      this.#writer.drop()
      this.#writer.beginTail()
      return this.#reject(open, envelopeEnd, written)
    }
    this.#writer.add()
    const { ms, nanos } = envelope.time
    const time = ms === 0 && nanos === 0 ? this.#defaultTime : envelope.time
    if (time.ms !== 0 || time.nanos !== 0) this.#events.setTime(time.ms, time.nanos, true)
    this.#outcome.accept(envelopeEnd - open)
    return envelopeEnd
  }

  /** An object in `event` is parsed where it will stay. */
  #takeObject(start: number): number {
    // White space at the part's end leads into what follows it in the batch.
    if (start >= this.#range.end) return this.#judgeSays(SYNTAX_VALUE, this.#range.end)
    const end = this.#writer.takeObject(this.#bytes, start, this.#range.end)
    if (end >= 0) return end
    return this.#judgeSays(this.#tape.errorCode, this.#tape.errorAt)
  }

  #judgeSays(errorCode: number, errorAt: number): number {
    this.#judge.errorCode = errorCode
    this.#judge.errorAt = errorAt
    return -1
  }

  /** Completes the event with what the envelope has beside it. Hot. */
  #write(): number {
    const envelope = this.#envelope
    const writer = this.#writer
    const bytes = this.#bytes
    const { start, end } = envelope
    writer.reserve(envelope.envelopeEnd - this.#open)
    const own = bytes[start[EVENT]!] === OPEN_OBJECT ? NO_NODE : this.#writeValue()
    if (envelope.isRepeated && writer.tryRepeatTail(own)) return writer.close(this.#hasLineFeeds)
    writer.beginTail()
    let hasTaken = false
    let lost = 0
    for (let member = HOST; member <= INDEX; member++) {
      if (!this.#find(member)) continue
      const node = writer.nodeOf(METADATA[member]!)
      if (!writer.hasName(node)) this.#writeMetadata(member, node)
      else {
        hasTaken = true
        if (!this.#isSame(node)) lost |= 1 << member
      }
    }
    const fields = start[FIELDS]!
    if (fields >= 0 && this.#judge.space(fields + 1) < end[FIELDS]! - 1) {
      this.#taken.begin()
      this.#taken.take(writer.tapeStart)
      const mark = this.#tape.length
      writer.members(bytes, fields, end[FIELDS]!)
      if (!this.#taken.take(mark)) return this.#writeRecurring()
    }
    if (envelope.others.length > 0) return this.#writeRecurring()
    if (!hasTaken) writer.endTail()
    if (lost !== 0) {
      if (writer.hasName(writer.nodeOf(KEPT))) return this.#writeRecurring()
      this.#writeLost(lost)
    }
    return writer.close(this.#hasLineFeeds)
  }

  /** Writes an event that is no object; returns the node of its name. */
  #writeValue(): number {
    const { start, end, type } = this.#envelope
    const writer = this.#writer
    const name = this.#valueName()
    const node = writer.nodeOf(name)
    writer.drop() // An object, where `event` comes twice.
    writer.reserve(this.#envelope.envelopeEnd - this.#open)
    writer.openBrace()
    writer.key(name, true)
    if (name === EVENT_NAME) writer.value(node, this.#bytes, start[EVENT]!, end[EVENT]!)
    else writer.scalar(node, type[EVENT]!, this.#bytes, start[EVENT]!, end[EVENT]!)
    return node
  }

  #valueName(): Name {
    const start = this.#envelope.start[EVENT]!
    if (this.#bytes[start] !== QUOTE) return EVENT_NAME
    const end = this.#envelope.end[EVENT]!
    return looksLikeObject(this.#bytes, start + 1, end - 1) ? LOG : MESSAGE
  }

  /** Finds where a member of the metadata is; false where there is none. */
  #find(member: number): boolean {
    const { start, end } = this.#envelope
    const writer = this.#writer
    const isDefault = start[member]! < 0
    this.#isDefault = isDefault
    this.#from = isDefault ? writer.defaultBytes : this.#bytes
    this.#start = isDefault ? writer.defaultStart[member]! : start[member]!
    this.#end = isDefault ? writer.defaultEnd[member]! : end[member]!
    return this.#start >= 0
  }

  /** Writes the member that was found. */
  #writeMetadata(member: number, node: number): void {
    const writer = this.#writer
    writer.key(METADATA[member]!, false)
    if (this.#isDefault) writer.value(node, this.#from, this.#start, this.#end)
    else {
      const type = this.#envelope.type[member]!
      writer.scalar(node, type, this.#from, this.#start, this.#end)
    }
  }

  /** Whether the event has the member that was found, with its name. */
  #isSame(node: number): boolean {
    const { tapeStart, bytes } = this.#writer
    return this.#taken.isSame(node, tapeStart, bytes, this.#from, this.#start, this.#end)
  }

  /** Keeps metadata whose name is taken under `hec`: a bit for each member. */
  #writeLost(lost: number): void {
    const writer = this.#writer
    let isFirst = true
    for (let member = HOST; member <= INDEX; member++) {
      if ((lost & (1 << member)) === 0) continue
      this.#find(member)
      const node = writer.keptKey(METADATA[member]!, isFirst)
      writer.value(node, this.#from, this.#start, this.#end)
      isFirst = false
    }
    writer.brace()
  }

  /** The same where other names recur, or have no place of their own. Cold. */
  #writeRecurring(): number {
    const writer = this.#writer
    const { start, end } = this.#envelope
    const isObject = this.#bytes[start[EVENT]!] === OPEN_OBJECT
    const name = isObject ? undefined : this.#valueName()
    const metadataOf = (member: number) => {
      return this.#find(member) ? this.#from.subarray(this.#start, this.#end) : undefined
    }
    const text = metadataText(this.#judge, this.#bytes, this.#envelope, name?.name, metadataOf)
    const event = this.#bytes.subarray(start[EVENT]!, end[EVENT]!)
    writer.drop()
    writer.reserve(event.length + text.length)
    if (name === undefined) writer.write(event.subarray(0, -1))
    else {
      writer.openBrace()
      writer.key(name, true)
      writer.write(event)
    }
    writer.write(text)
    const written = writer.close(this.#hasLineFeeds)
    return written === WRITTEN ? writer.parse() : written
  }

  /** Asked in the order of the envelopes: each line feed is searched once. */
  #hasLineFeedBefore(start: number, end: number): boolean {
    if (this.#lineFeed < start) {
      this.#lineFeed = this.#bytes.indexOf(LINE_FEED, start)
      if (this.#lineFeed < 0) this.#lineFeed = this.#bytes.length
    }
    return this.#lineFeed < end
  }

  /** Past white space, at most to the part's end. */
  #space(pos: number): number {
    this.#judge.allowLineFeeds(true)
    return Math.min(this.#judge.space(pos), this.#range.end)
  }

  /** What is not JSON fails the part; what only nests too deep is rejected alone. */
  #rejectSyntax(open: number): number {
    const { errorCode, errorAt } = this.#judge
    if (errorCode !== NESTED_TOO_DEEP) return this.#failSyntax(errorAt, errorCode)
    this.#writer.drop()
    const end = this.#skipper.skip(this.#bytes, open, this.#range.end)
    return end < 0 ? this.#failSkipped() : this.#reject(open, end, TOO_DEEP)
  }

  #reject(open: number, end: number, why: number): number {
    const line = this.#outcome.rejected < REPLY_ERRORS_MAX ? this.#lineOf(open) : 0
    if (why === TOO_LARGE) this.#outcome.reject(line, 'too_large', TOO_LARGE_MESSAGE)
    else this.#outcome.reject(line, 'too_deep', TOO_DEEP_MESSAGE)
    return end
  }

  #failSkipped(): number {
    return this.#failSyntax(this.#skipper.errorAt, this.#skipper.errorCode)
  }

  #failNoObject(at: number): void {
    const isOver = at >= this.#range.end
    this.#fail(at, isOver ? 'the body ends where an event should be' : 'an event is an object')
  }

  #failSyntax(at: number, code: number): number {
    const isOver = at >= this.#range.end
    const what = isOver ? 'the body ends inside a value' : TAPE_ERRORS[code]
    this.#fail(at, `invalid JSON: ${what}`)
    return -1
  }

  #fail(at: number, message: string, code: 'malformed' | 'too_large' = 'malformed'): void {
    this.#outcome.fail(this.#lineOf(Math.min(at, this.#range.end)), code, message)
  }

  #lineOf(at: number): number {
    return lineOf(this.#bytes, this.#range.start, at)
  }
}
