/**
 * Bulk: an action's line, then its document's line, as Elasticsearch takes them. Every action gives
 * one item of the reply, in order, and at most one event; whatever is wrong with an action or a
 * document concerns its item alone. Blank lines do not count, `\r\n` ends a line like `\n`.
 *
 * Documents are judged as NDJSON judges them. `update` stores its `doc` or `upsert`; `delete` and
 * updates by script alone are rejected, since events are never changed.
 *
 * Subtle: a line that should be an action and does not look like one is rejected, and the next line
 * is taken for its document and skipped, unless that looks like an action. `bulkActionAt` decides
 * what looks like one, here and where the body was cut (`framing/bulk-framing.ts` relies on it).
 */

import { EVENT_BYTES_MAX } from '../../src/limits.ts'
import type { ByteRange } from '../../src/model/batch/accepted-batch.ts'
import type { BulkPartOptions } from '../../src/model/batch/bulk-items.ts'
import {
  BULK_DELETE,
  BULK_INDEX,
  BULK_UPDATE,
  bulkActionAt,
  bulkOperation,
  bulkValueStart,
} from '../../src/model/bulk-action.ts'
import type { DecodedEvents } from '../tape/decoded-events.ts'
import { TAPE_ERRORS } from '../tape/json-syntax.ts'
import type { JsonTape } from '../tape/json-tape.ts'
import { ROOT } from '../tape/path-trie.ts'
import { BulkAction } from './bulk-action-line.ts'
import type { BulkErrorType, BulkItemWriter } from './bulk-items.ts'
import { JsonMembers } from './json-members.ts'
import { faultOfLine, NOT_AN_OBJECT_MESSAGE, TOO_LARGE_MESSAGE } from './ndjson.ts'
import type { PartOutcome } from './part-outcome.ts'

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const OPEN_OBJECT = 0x7b
const LETTER_N = 0x6e
const DOC = Buffer.from('doc')
const UPSERT = Buffer.from('upsert')

const NOT_AN_ACTION =
  'expected an action: an object with the key index, create, update or delete and its object'
const NO_DOCUMENT = 'the body ends where the document of the action should be'
const NO_DELETE = 'delete is not supported: events are never changed'
const NO_SCRIPT = 'update needs doc or upsert: scripts are not supported, events are never changed'
const LONG_ACTION = `action is over ${EVENT_BYTES_MAX} bytes (EVENT_BYTES_MAX)`

/**
 * Decodes `part` of `bytes`, which the tape was begun with. `items` is filled with its items, which
 * go to `into` if they fit.
 */
export function decodeBulk(
  tape: JsonTape,
  events: DecodedEvents,
  bytes: Uint8Array,
  part: ByteRange & BulkPartOptions,
  outcome: PartOutcome,
  items: BulkItemWriter,
  into?: Uint8Array,
): void {
  tape.allowLineFeeds(false) // A document before it in the batch may have left them allowed.
  items.begin(bytes, part.itemFields, part.defaultIndex)
  new BulkDecoder(tape, events, bytes, part, outcome, items).run()
  outcome.bulkItems = items.take(into)
}

class BulkDecoder {
  readonly #tape: JsonTape
  readonly #events: DecodedEvents
  readonly #bytes: Uint8Array
  readonly #end: number
  readonly #outcome: PartOutcome
  readonly #items: BulkItemWriter
  readonly #action: BulkAction
  readonly #members: JsonMembers
  /** Where the next line begins. */
  #next: number

  constructor(
    tape: JsonTape,
    events: DecodedEvents,
    bytes: Uint8Array,
    part: ByteRange & BulkPartOptions,
    outcome: PartOutcome,
    items: BulkItemWriter,
  ) {
    this.#tape = tape
    this.#events = events
    this.#bytes = bytes
    this.#end = part.end
    this.#outcome = outcome
    this.#items = items
    this.#action = new BulkAction(tape, bytes)
    this.#members = new JsonMembers(tape)
    this.#next = part.start
  }

  /** Hot: one round an action. */
  run(): void {
    const action = this.#action
    for (;;) {
      const start = this.#nextLine()
      if (start < 0) return
      if (action.isAgainAt(start)) {
        this.#next = start + action.lineBytes
        this.#document()
      } else {
        this.#newAction(start)
      }
    }
  }

  /** An action whose line differs from the one before. */
  #newAction(start: number): void {
    const action = this.#action
    const found = bulkActionAt(this.#bytes, start)
    const isAction = found >= 0
    action.begin(isAction ? bulkOperation(found) : BULK_INDEX)
    const isDelete = action.operation === BULK_DELETE
    if (!isAction) action.fault = NOT_AN_ACTION
    else if (this.#isTooLong()) action.fault = LONG_ACTION
    else this.#readAction(start, found)
    if (action.lineBytes > 0) this.#next = start + action.lineBytes
    else this.#next = this.#lineEnd(start) + 1
    if (isDelete) return this.#rejectAction(action.fault || NO_DELETE)
    if (action.fault === '') return this.#document()
    this.#rejectAction(action.fault)
    this.#skipDocument(isAction)
  }

  #readAction(start: number, found: number): void {
    if (this.#action.parse(start, bulkValueStart(found))) return
    const { errorCode, errorAt } = this.#tape
    const byte = errorAt - this.#next + 1
    this.#action.begin(bulkOperation(found)) // What was read of a broken line is not answered.
    this.#action.fault = `invalid JSON at byte ${byte} of the line: ${TAPE_ERRORS[errorCode]}`
  }

  /**
   * Moves to the next line that is not blank; returns its first byte that is not white space, or -1
   * at the part's end.
   */
  #nextLine(): number {
    const tape = this.#tape
    while (this.#next < this.#end) {
      this.#outcome.lines++
      const pos = tape.space(this.#next)
      if (this.#bytes[pos] !== LINE_FEED) return pos
      this.#next = pos + 1
    }
    return -1
  }

  /** Position of the line feed at the end of the line that `pos` is in. */
  #lineEnd(pos: number): number {
    return this.#bytes.indexOf(LINE_FEED, pos)
  }

  /** Whether the line that `#nextLine` found is longer than an event may be. */
  #isTooLong(): boolean {
    const lineStart = this.#next
    if (this.#end - lineStart <= EVENT_BYTES_MAX) return false
    const next = this.#lineEnd(lineStart)
    const lineEnd = this.#bytes[next - 1] === CARRIAGE_RETURN ? next - 1 : next
    return lineEnd - lineStart > EVENT_BYTES_MAX
  }

  #rejectAction(reason: string): void {
    this.#items.failed(this.#action, 'illegal_argument_exception', reason)
    this.#outcome.reject(this.#outcome.lines, 'malformed', reason)
  }

  /** The line after an action that was rejected. */
  #skipDocument(isSure: boolean): void {
    const start = this.#nextLine()
    if (start < 0) return
    if (isSure || bulkActionAt(this.#bytes, start) < 0) this.#next = this.#lineEnd(start) + 1
    else this.#outcome.lines-- // It comes next, as what it is, and is counted then.
  }

  /** The document of the current action, on the next line. Hot. */
  #document(): void {
    const bytes = this.#bytes
    const tape = this.#tape
    const pos = this.#nextLine()
    if (pos < 0) return this.#rejectAction(NO_DOCUMENT)
    if (this.#isTooLong()) {
      this.#next = this.#lineEnd(pos) + 1
      return this.#reject('too_large', TOO_LARGE_MESSAGE)
    }
    if (this.#action.operation === BULK_UPDATE) return this.#update(pos)
    const lineStart = this.#next
    const mark = tape.length
    const valueEnd = tape.parse(pos, ROOT, false)
    const lineEnd = valueEnd < 0 ? -1 : tape.space(valueEnd)
    if (lineEnd >= 0 && bytes[lineEnd] === LINE_FEED && bytes[pos] === OPEN_OBJECT) {
      this.#next = lineEnd + 1
      this.#accept(pos, valueEnd, lineStart)
      return
    }
    tape.length = mark
    this.#next = this.#lineEnd(lineStart) + 1
    this.#rejectLine(lineStart, valueEnd, lineEnd)
  }

  /** The line began at `lineStart`; after its line feed, if it has one, is `#next`. */
  #accept(start: number, end: number, lineStart: number): void {
    const events = this.#events
    const streamEvent = events.count - events.streamStart
    this.#items.stored(this.#action, streamEvent, this.#outcome.accepted)
    events.add(start, end, this.#tape.length)
    this.#outcome.accept(Math.min(this.#next, this.#end) - lineStart)
  }

  #rejectLine(lineStart: number, valueEnd: number, lineEnd: number): void {
    const { code, message } = faultOfLine(this.#tape, this.#bytes, { lineStart, valueEnd, lineEnd })
    this.#reject(code, message)
  }

  #reject(code: Parameters<PartOutcome['reject']>[1], reason: string): void {
    const type: BulkErrorType = 'document_parsing_exception'
    this.#items.failed(this.#action, type, reason)
    this.#outcome.reject(this.#outcome.lines, code, reason)
  }

  /**
   * An update's line, at `pos`. The event is an object inside it; it is parsed a second time once
   * the whole line is known to be valid and which object is the event.
   */
  #update(pos: number): void {
    const bytes = this.#bytes
    const tape = this.#tape
    const members = this.#members
    const lineStart = this.#next
    this.#next = this.#lineEnd(pos) + 1
    if (bytes[pos] !== OPEN_OBJECT) {
      const valueEnd = members.skip(pos)
      return this.#rejectLine(lineStart, valueEnd, valueEnd < 0 ? -1 : tape.space(valueEnd))
    }
    let doc = -1
    let upsert = -1
    members.enter(bytes, pos)
    while (members.next()) {
      const { valueStart } = members
      if (members.isKey(DOC)) doc = valueStart
      else if (members.isKey(UPSERT)) upsert = valueStart
      if (members.skip(valueStart) < 0) break
    }
    const valueEnd = members.end
    const lineEnd = valueEnd < 0 ? -1 : tape.space(valueEnd)
    if (lineEnd < 0 || bytes[lineEnd] !== LINE_FEED) {
      return this.#rejectLine(lineStart, valueEnd, lineEnd)
    }
    const chosen = doc < 0 || bytes[doc] === LETTER_N ? upsert : doc // `null` is as good as none.
    if (chosen < 0 || bytes[chosen] === LETTER_N) return this.#rejectAction(NO_SCRIPT)
    if (bytes[chosen] !== OPEN_OBJECT) return this.#reject('not_an_object', NOT_AN_OBJECT_MESSAGE)
    const end = tape.parse(chosen, ROOT, false)
    this.#accept(chosen, end, lineStart)
  }
}
