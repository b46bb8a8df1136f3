/**
 * OTLP logs in protobuf: an ExportLogsServiceRequest, or a part of one that accept cut between log
 * records. Each LogRecord becomes one event. A record that is too deep, too large or in pieces is
 * rejected alone; a malformed wire fails the part as a whole, as nobody can know what was meant.
 *
 * Messages that do not go into an event (the attributes of a record with a kvlist body) are skipped
 * unread.
 *
 * Subtle: where the request continues in another part, the messages around the part's last record
 * are longer than the part. Everywhere else that is malformed.
 */
import { OTLP_GENERATED_BYTES_MAX } from '../../../src/limits.ts'
import type { ByteRange } from '../../../src/model/batch/accepted-batch.ts'
import type { OtlpPartOptions, OtlpResume } from '../../../src/model/batch/otlp-part.ts'
import { EventBuilder } from '../../build/event-builder.ts'
import type { ByteSource } from '../../build/scalar-writer.ts'
import { kernels } from '../../kernel/kernels.ts'
import { nanosBeyondMs, nanosToMs } from '../../kernel/number-text.ts'
import type { DecodedEvents } from '../../tape/decoded-events.ts'
import { type EventBuffer, viewOf } from '../../tape/event-buffer.ts'
import type { JsonTape } from '../../tape/json-tape.ts'
import { TOO_DEEP_MESSAGE, TOO_LARGE_MESSAGE } from '../ndjson.ts'
import { PartOutcome } from '../part-outcome.ts'
import {
  AnyValueDecoder,
  EVENT_IN_PIECES,
  EVENT_TOO_DEEP,
  TAG_FIRST_MESSAGE,
} from './otlp-any-value.ts'
import { OtlpRecordWriter } from './otlp-record.ts'
import { RecordLabels } from './record-labels.ts'
import { FIELD_TOO_LONG, toWireError, WireError } from './wire-error.ts'

const TAG_RESOURCE_LOGS = TAG_FIRST_MESSAGE
const TAG_RESOURCE = TAG_FIRST_MESSAGE
const TAG_SCOPE = TAG_FIRST_MESSAGE
const TAG_SCOPE_LOGS = 0x12
const TAG_LOG_RECORD = 0x12
/** OTLP has no lines that a reject could name. */
const NO_LINE = 0
/** Later times do not fit the signed nanoseconds that event times are kept in. */
const TIME_HIGH_MAX = 0x7fffffff
const ID_MESSAGE =
  'a trace or span id is left out: it is not 16 or 8 bytes, nor their hexadecimal digits, base64 ' +
  'or UUID'
const IN_PIECES_MESSAGE = 'a message comes in several pieces, which are not merged'

/** The range of a part, and what is known about it. */
export interface OtlpPart extends ByteRange, OtlpPartOptions {}

export class OtlpDecoder {
  readonly #events: DecodedEvents
  readonly #values: AnyValueDecoder
  readonly #builder: EventBuilder
  readonly #records: OtlpRecordWriter
  readonly #labels: RecordLabels
  #outcome = new PartOutcome()
  #partEnd = 0
  /** Whether messages may be longer than the part. */
  #continues = false
  /** Bytes of JSON that may still be made of the part, dropped events included. */
  #generatedLeft = 0

  constructor(tape: JsonTape, events: DecodedEvents, into: EventBuffer) {
    this.#events = events
    this.#builder = new EventBuilder(tape, into)
    this.#values = new AnyValueDecoder(this.#builder)
    this.#records = new OtlpRecordWriter(this.#values)
    this.#labels = new RecordLabels(this.#values)
  }

  /** Whether structured bodies get members for what else their records say (`otlp_context`). */
  set keepsContext(keeps: boolean) {
    this.#records.keepsContext = keeps
  }

  /** Decodes a part of `bytes`, after which `TAPE_PADDING` bytes can be read. */
  decode(
    bytes: Uint8Array,
    part: OtlpPart,
    generatedBytesMax = OTLP_GENERATED_BYTES_MAX,
  ): PartOutcome {
    const source = { bytes, view: viewOf(bytes) }
    return (
      this.#tryDecode(source, part, generatedBytesMax, false) ??
      this.#tryDecode(source, part, generatedBytesMax, true)!
    )
  }

  /** Undefined when strings turn out to need repairs and `repairs` is not set. */
  #tryDecode(
    source: ByteSource,
    part: OtlpPart,
    generatedBytesMax: number,
    repairs: boolean,
  ): PartOutcome | undefined {
    const builder = this.#builder
    const events = this.#events
    const { tape } = builder
    const outcome = new PartOutcome()
    builder.begin()
    builder.repairs = repairs
    this.#outcome = outcome
    this.#generatedLeft = generatedBytesMax
    const before = { at: builder.at, events: events.count, tape: tape.length }
    try {
      this.#values.readFrom(source, part.end)
      this.#records.begin()
      this.#labels.begin()
      this.#request(part)
    } catch (cause) {
      const { code, message } = toWireError(cause)
      const isPlace = code === 'malformed'
      const at = this.#values.reader.pos - part.start
      const where = isPlace ? `invalid protobuf at byte ${at}: ` : ''
      outcome.fail(NO_LINE, code, `${where}${message}`)
    }
    const isClean = repairs || outcome.failed || builder.isCleanSince(before.at)
    if (outcome.failed || !isClean) {
      events.truncate(before.events)
      tape.length = before.tape
      builder.at = before.at
    }
    builder.end()
    return isClean ? outcome : undefined
  }

  #request(part: OtlpPart): void {
    const { start, end, resume } = part
    const values = this.#values
    this.#partEnd = end
    this.#continues = part.continues === true
    values.reader.pos = start
    if (resume !== undefined) {
      this.#resourceLogs(start, this.#checkedEnd(start + resume.resourceLogsBytes), resume)
    }
    const { reader } = values
    while (reader.pos < end) {
      const tag = reader.tag()
      if (tag !== TAG_RESOURCE_LOGS) {
        values.skip(tag)
        continue
      }
      const messageEnd = this.#checkedEnd(reader.size() + reader.pos)
      this.#resourceLogs(reader.pos, messageEnd)
    }
    values.assertEnd(end)
  }

  /** A message that ends at `end`, of the request itself. */
  #checkedEnd(end: number): number {
    if (end > this.#partEnd && !this.#continues) throw new WireError(FIELD_TOO_LONG)
    return end
  }

  /** Where the message ends whose length is next, inside one that ends at `outerEnd`. */
  #messageEnd(outerEnd: number): number {
    const { reader } = this.#values
    const length = reader.size()
    if (reader.pos + length > outerEnd) throw new WireError(FIELD_TOO_LONG)
    return reader.pos + length
  }

  /** Reads from the reader's position to `messageEnd`, or to the part's end if that is before. */
  #resourceLogs(start: number, messageEnd: number, resume?: OtlpResume): void {
    const values = this.#values
    const { reader } = values
    const end = Math.min(messageEnd, this.#partEnd)
    const resumedEnd = start + (resume?.scopeLogsBytes ?? 0)
    if (resumedEnd > messageEnd) throw new WireError(FIELD_TOO_LONG)
    const fieldsStart = Math.min(resumedEnd, end)
    this.#findResource(fieldsStart, messageEnd, resume)
    if (resumedEnd > start) this.#scopeLogs(start, resumedEnd, resume)
    reader.pos = fieldsStart
    while (reader.pos < end) {
      const tag = reader.tag()
      if (tag !== TAG_SCOPE_LOGS) {
        values.skip(tag)
        continue
      }
      const scopeLogsEnd = this.#messageEnd(messageEnd)
      this.#scopeLogs(reader.pos, scopeLogsEnd)
    }
    values.assertEnd(end)
  }

  #findResource(start: number, messageEnd: number, resume: OtlpResume | undefined): void {
    const values = this.#values
    const { reader } = values
    const { resource } = this.#records
    const end = Math.min(messageEnd, this.#partEnd)
    let isFound = resume !== undefined
    if (resume === undefined) resource.clear()
    else resource.set(resume.resource.start, resume.resource.end)
    reader.pos = start
    while (reader.pos < end) {
      const tag = reader.tag()
      if (tag === TAG_SCOPE_LOGS) reader.pos = Math.min(this.#messageEnd(messageEnd), end)
      else if (tag !== TAG_RESOURCE) values.skip(tag)
      else {
        if (isFound) throw new WireError('a resource comes twice')
        isFound = true
        const fieldEnd = values.fieldEnd(end)
        resource.set(reader.pos, fieldEnd)
        reader.pos = fieldEnd
      }
    }
    values.assertEnd(end)
  }

  #scopeLogs(start: number, messageEnd: number, resume?: OtlpResume): void {
    const values = this.#values
    const { reader } = values
    const end = Math.min(messageEnd, this.#partEnd)
    this.#findScope(start, end, resume)
    reader.pos = start
    while (reader.pos < end) {
      const tag = reader.tag()
      if (tag !== TAG_LOG_RECORD) {
        values.skip(tag)
        continue
      }
      const recordEnd = values.fieldEnd(end)
      this.#record(reader.pos, recordEnd)
      reader.pos = recordEnd
    }
    values.assertEnd(end)
  }

  #findScope(start: number, end: number, resume: OtlpResume | undefined): void {
    const values = this.#values
    const { reader } = values
    const { scope } = this.#records
    let isFound = resume?.scope !== undefined
    if (resume?.scope === undefined) scope.clear()
    else scope.set(resume.scope.start, resume.scope.end)
    reader.pos = start
    while (reader.pos < end) {
      if (values.isHeld) {
        reader.pos = kernels.skipFields(
          values.source.bytes.byteOffset,
          reader.pos,
          end,
          TAG_LOG_RECORD,
        )
        if (reader.pos === end) break
      }
      const tag = reader.tag()
      if (tag !== TAG_SCOPE) {
        values.skip(tag)
        continue
      }
      if (isFound) throw new WireError('a scope comes twice')
      isFound = true
      const fieldEnd = values.fieldEnd(end)
      scope.set(reader.pos, fieldEnd)
      reader.pos = fieldEnd
    }
    values.assertEnd(end)
  }

  #record(start: number, end: number): void {
    const builder = this.#builder
    builder.beginEvent()
    const eventAt = builder.at
    const eventStart = this.#records.write(start, end) ? builder.endEvent() : -1
    this.#generatedLeft -= builder.at - eventAt
    if (this.#generatedLeft < 0) {
      throw new WireError(
        `events are over ${OTLP_GENERATED_BYTES_MAX} bytes (OTLP_GENERATED_BYTES_MAX)`,
        'too_large',
      )
    }
    if (eventStart < 0) return this.#reject()
    const { fields } = this.#records
    const events = this.#events
    events.add(eventStart, builder.at - 1, builder.tape.length)
    this.#outcome.accept(end - start)
    if (builder.isRepaired) this.#outcome.repaired++
    this.#giveTime()
    if (this.#records.isStructured) this.#labels.give(events, fields, this.#records.resource)
    if (fields.hasUnreadableId) this.#outcome.warn(ID_MESSAGE)
  }

  /** The time that the record says; the one when it was observed counts where nothing else does. */
  #giveTime(): void {
    const { time, observed } = this.#records.fields
    const isKnown = time.high !== 0 || time.low !== 0
    const high = (isKnown ? time.high : observed.high) >>> 0
    const low = (isKnown ? time.low : observed.low) >>> 0
    if ((high === 0 && low === 0) || high > TIME_HIGH_MAX) return
    this.#events.setTime(nanosToMs(high, low), nanosBeyondMs(high, low), isKnown)
  }

  #reject(): void {
    const { error } = this.#builder
    this.#builder.dropEvent()
    const outcome = this.#outcome
    if (error === EVENT_TOO_DEEP) outcome.reject(NO_LINE, 'too_deep', TOO_DEEP_MESSAGE)
    else if (error === EVENT_IN_PIECES) outcome.reject(NO_LINE, 'malformed', IN_PIECES_MESSAGE)
    else outcome.reject(NO_LINE, 'too_large', TOO_LARGE_MESSAGE)
  }
}
