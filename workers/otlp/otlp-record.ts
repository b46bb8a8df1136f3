/**
 * LogRecord to event. A kvlist body is the event; any other is wrapped (docs/api.md, OTLP logs):
 *
 *   {"body", "attributes", "resource", "severity", "time_unix_nano"
 *    and where set "severity_number", "trace_id", "span_id", "scope", "event_name",
 *    "observed_time_unix_nano"}
 *
 * The fields of a record may come in any order, those of an event come in this one: the record is
 * read once for where its fields are, then written.
 */

import { ROOT } from '../tape/path-trie.ts'
import { type AnyValueDecoder, EVENT_IN_PIECES, KIND_KVLIST } from './otlp-any-value.ts'
import { OtlpContext } from './otlp-context.ts'
import { paddedSource } from './scalar-writer.ts'

const TAG_TIME = 0x09
const TAG_SEVERITY_NUMBER = 0x10
const TAG_SEVERITY_TEXT = 0x1a
const TAG_BODY = 0x2a
const TAG_ATTRIBUTE = 0x32
const TAG_TRACE_ID = 0x4a
const TAG_SPAN_ID = 0x52
const TAG_OBSERVED_TIME = 0x59
const TAG_EVENT_NAME = 0x62
const TRACE_ID_BYTES = 16
const SPAN_ID_BYTES = 8

const TAG_RESOURCE_ATTRIBUTE = 0x0a
const TAG_SCOPE_NAME = 0x0a
const TAG_SCOPE_VERSION = 0x12
const TAG_SCOPE_ATTRIBUTE = 0x1a

const KEYS = [
  'body',
  'attributes',
  'resource',
  'severity',
  'time_unix_nano',
  'severity_number',
  'trace_id',
  'span_id',
  'scope',
  'event_name',
  'observed_time_unix_nano',
] as const
type KeyNodes = Readonly<Record<(typeof KEYS)[number], number>>
const KEY_BYTES = KEYS.map((key) => Buffer.from(key))
const SCOPE_KEY_BYTES = ['name', 'version', 'attributes'].map((key) => Buffer.from(key))

/** Names of severity numbers 1 to 24, four of each. */
const SEVERITIES = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL'].flatMap((name) =>
  [name, `${name}2`, `${name}3`, `${name}4`].map((text) => ({
    source: paddedSource(Buffer.from(text)),
    length: text.length,
  })),
)

/** A range of bytes of the record; empty is as good as missing. */
interface FieldRange {
  start: number
  end: number
}

export class OtlpRecordWriter {
  readonly #values: AnyValueDecoder
  readonly resource: OtlpContext
  readonly scope: OtlpContext
  /** Nodes of our own keys, in this batch. */
  #keys: KeyNodes = nodesByKey([])
  #scopeKeys: readonly number[] = []
  // The record's fields. 64-bit times are two halves, as int32.
  #timeLow = 0
  #timeHigh = 0
  #observedLow = 0
  #observedHigh = 0
  #severityNumber = 0
  #bodyStart = -1
  #bodyEnd = 0
  /** From the first attribute to the last one's end; other fields may be between. */
  #attributesStart = -1
  #attributesEnd = 0
  readonly #severityText: FieldRange = { start: 0, end: 0 }
  readonly #traceId: FieldRange = { start: 0, end: 0 }
  readonly #spanId: FieldRange = { start: 0, end: 0 }
  readonly #eventName: FieldRange = { start: 0, end: 0 }
  // What `#readScope` found.
  readonly #scopeName: FieldRange = { start: 0, end: 0 }
  readonly #scopeVersion: FieldRange = { start: 0, end: 0 }
  #hasScopeAttributes = false

  constructor(values: AnyValueDecoder) {
    this.#values = values
    this.resource = new OtlpContext((node, start, end) =>
      this.#writeAttributes(node, start, end, TAG_RESOURCE_ATTRIBUTE),
    )
    this.scope = new OtlpContext((node, start, end) => this.#writeScope(node, start, end))
  }

  /** Starts a part: nodes of another batch's trie mean nothing any more. */
  begin(): void {
    const { builder } = this.#values
    this.#keys = nodesByKey(builder.knownNodes(ROOT, KEY_BYTES))
    this.#scopeKeys = builder.knownNodes(this.#keys.scope, SCOPE_KEY_BYTES)
    this.resource.clear()
    this.scope.clear()
  }

  /** Halves of the last record's TimeUnixNano; both zero when it has none. */
  get timeHigh(): number {
    return this.#timeHigh >>> 0
  }

  get timeLow(): number {
    return this.#timeLow >>> 0
  }

  /** Writes the LogRecord `start`..`end` as the builder's current event; false to reject it. */
  write(start: number, end: number): boolean {
    const values = this.#values
    if (!this.#readFields(start, end)) {
      values.builder.error = EVENT_IN_PIECES
      return false
    }
    if (this.#bodyStart >= 0) {
      const kind = values.scan(this.#bodyStart, this.#bodyEnd)
      if (kind < 0) return false
      if (kind === KIND_KVLIST) return values.eventOfScan(ROOT)
    }
    return this.#writeWrapped()
  }

  /** Finds the fields; false when the body comes in pieces. */
  #readFields(start: number, end: number): boolean {
    const values = this.#values
    const { reader } = values
    this.#clearFields()
    reader.pos = start
    let isInPieces = false
    while (reader.pos < end) {
      const tagStart = reader.pos
      const tag = reader.tag()
      switch (tag) {
        case TAG_TIME:
          reader.skip(8)
          this.#timeLow = values.source.view.getInt32(reader.pos - 8, true)
          this.#timeHigh = values.source.view.getInt32(reader.pos - 4, true)
          break
        case TAG_OBSERVED_TIME:
          reader.skip(8)
          this.#observedLow = values.source.view.getInt32(reader.pos - 8, true)
          this.#observedHigh = values.source.view.getInt32(reader.pos - 4, true)
          break
        case TAG_SEVERITY_NUMBER:
          this.#severityNumber = reader.int32()
          break
        case TAG_BODY:
          isInPieces ||= this.#bodyStart >= 0
          this.#bodyEnd = values.fieldEnd(end)
          this.#bodyStart = reader.pos
          reader.pos = this.#bodyEnd
          break
        case TAG_ATTRIBUTE:
          if (this.#attributesStart < 0) this.#attributesStart = tagStart
          this.#attributesEnd = values.fieldEnd(end)
          reader.pos = this.#attributesEnd
          break
        default:
          this.#readBytesField(tag, end)
      }
    }
    values.assertEnd(end)
    return !isInPieces
  }

  #clearFields(): void {
    this.#timeLow = 0
    this.#timeHigh = 0
    this.#observedLow = 0
    this.#observedHigh = 0
    this.#severityNumber = 0
    this.#bodyStart = -1
    this.#attributesStart = -1
    this.#severityText.end = this.#severityText.start
    this.#traceId.end = this.#traceId.start
    this.#spanId.end = this.#spanId.start
    this.#eventName.end = this.#eventName.start
  }

  #readBytesField(tag: number, end: number): void {
    if (tag === TAG_SEVERITY_TEXT) this.#readRange(this.#severityText, end)
    else if (tag === TAG_TRACE_ID) this.#readRange(this.#traceId, end)
    else if (tag === TAG_SPAN_ID) this.#readRange(this.#spanId, end)
    else if (tag === TAG_EVENT_NAME) this.#readRange(this.#eventName, end)
    else this.#values.skip(tag)
  }

  #readRange(range: FieldRange, end: number): void {
    range.end = this.#values.fieldEnd(end)
    range.start = this.#values.reader.pos
    this.#values.reader.pos = range.end
  }

  #writeWrapped(): boolean {
    const values = this.#values
    const { builder } = values
    const keys = this.#keys
    builder.openObject()
    builder.knownKey(keys.body, true)
    if (this.#bodyStart < 0) builder.null(keys.body)
    else if (!values.value(keys.body, this.#bodyStart, this.#bodyEnd, 1, false)) return false
    builder.knownKey(keys.attributes, false)
    const hasAttributes = this.#attributesStart >= 0
    const start = hasAttributes ? this.#attributesStart : 0
    const end = hasAttributes ? this.#attributesEnd : 0
    if (!this.#writeAttributes(keys.attributes, start, end, TAG_ATTRIBUTE)) return false
    builder.knownKey(keys.resource, false)
    if (!this.resource.append(values, keys.resource)) return false
    if (!this.#writeSeverity()) return false
    builder.knownKey(keys.time_unix_nano, false)
    const { timeHigh, timeLow } = this
    const isWritten =
      timeHigh === 0 && timeLow === 0
        ? builder.null(keys.time_unix_nano)
        : builder.uint64String(keys.time_unix_nano, timeHigh, timeLow)
    if (!isWritten || !this.#writeOptional()) return false
    builder.closeRoot()
    return true
  }

  #writeSeverity(): boolean {
    const { builder, source } = this.#values
    const { severity } = this.#keys
    const text = this.#severityText
    builder.knownKey(severity, false)
    if (text.end > text.start) return builder.string(severity, source, text.start, text.end)
    const name = SEVERITIES[this.#severityNumber - 1]
    if (name === undefined) return builder.null(severity)
    return builder.string(severity, name.source, 0, name.length)
  }

  /** The keys that are there only where they say something. */
  #writeOptional(): boolean {
    const values = this.#values
    const { builder, source } = values
    const keys = this.#keys
    if (this.#severityNumber !== 0) {
      builder.knownKey(keys.severity_number, false)
      const number = this.#severityNumber
      if (!builder.int64(keys.severity_number, number < 0 ? 0xffffffff : 0, number >>> 0)) {
        return false
      }
    }
    if (!this.#writeId(keys.trace_id, this.#traceId, TRACE_ID_BYTES)) return false
    if (!this.#writeId(keys.span_id, this.#spanId, SPAN_ID_BYTES)) return false
    this.scope.isBlank ??= this.#isScopeBlank()
    if (!this.scope.isBlank) {
      builder.knownKey(keys.scope, false)
      if (!this.scope.append(values, keys.scope)) return false
    }
    const name = this.#eventName
    if (name.end > name.start) {
      builder.knownKey(keys.event_name, false)
      if (!builder.string(keys.event_name, source, name.start, name.end)) return false
    }
    if (this.#observedLow === 0 && this.#observedHigh === 0) return true
    builder.knownKey(keys.observed_time_unix_nano, false)
    const [high, low] = [this.#observedHigh >>> 0, this.#observedLow >>> 0]
    return builder.uint64String(keys.observed_time_unix_nano, high, low)
  }

  /** An id of another length, or of zeros only, counts as absent. */
  #writeId(node: number, id: FieldRange, length: number): boolean {
    if (id.end - id.start !== length) return true
    const { builder, source } = this.#values
    let bits = 0
    for (let i = id.start; i < id.end; i++) bits |= source.bytes[i]!
    if (bits === 0) return true
    builder.knownKey(node, false)
    return builder.hexString(node, source.bytes, id.start, id.end)
  }

  #writeAttributes(node: number, start: number, end: number, tag: number): boolean {
    const values = this.#values
    const { builder } = values
    const open = builder.at
    const tapeStart = builder.tape.length
    if (!values.outerMembers(node, start, end, 2, tag)) return false
    builder.closeObject(node, open, tapeStart)
    return true
  }

  #writeScope(node: number, start: number, end: number): boolean {
    const values = this.#values
    const { builder, source } = values
    const [nameKey, versionKey, attributesKey] = this.#scopeKeys as [number, number, number]
    const [name, version] = [this.#scopeName, this.#scopeVersion]
    const open = builder.at
    const tapeStart = builder.tape.length
    this.#readScope(start, end)
    builder.openObject()
    let isFirst = true
    if (name.end > name.start) {
      builder.knownKey(nameKey, isFirst)
      if (!builder.string(nameKey, source, name.start, name.end)) return false
      isFirst = false
    }
    if (version.end > version.start) {
      builder.knownKey(versionKey, isFirst)
      if (!builder.string(versionKey, source, version.start, version.end)) return false
      isFirst = false
    }
    if (this.#hasScopeAttributes) {
      builder.knownKey(attributesKey, isFirst)
      const attributesOpen = builder.at
      const attributesTape = builder.tape.length
      if (!values.repeatedMembers(attributesKey, start, end, 3, TAG_SCOPE_ATTRIBUTE)) return false
      builder.closeObject(attributesKey, attributesOpen, attributesTape)
    }
    builder.closeObject(node, open, tapeStart)
    return true
  }

  #isScopeBlank(): boolean {
    this.#readScope(this.scope.start, this.scope.end)
    const hasName = this.#scopeName.end > this.#scopeName.start
    const hasVersion = this.#scopeVersion.end > this.#scopeVersion.start
    return !hasName && !hasVersion && !this.#hasScopeAttributes
  }

  #readScope(start: number, end: number): void {
    const values = this.#values
    const { reader } = values
    this.#scopeName.end = this.#scopeName.start
    this.#scopeVersion.end = this.#scopeVersion.start
    this.#hasScopeAttributes = false
    reader.pos = start
    while (reader.pos < end) {
      const tag = reader.tag()
      if (tag === TAG_SCOPE_NAME) this.#readRange(this.#scopeName, end)
      else if (tag === TAG_SCOPE_VERSION) this.#readRange(this.#scopeVersion, end)
      else {
        this.#hasScopeAttributes ||= tag === TAG_SCOPE_ATTRIBUTE
        values.skip(tag)
      }
    }
    values.assertEnd(end)
  }
}

function nodesByKey(nodes: readonly number[]): KeyNodes {
  return Object.fromEntries(KEYS.map((key, i) => [key, nodes[i] ?? 0])) as unknown as KeyNodes
}
