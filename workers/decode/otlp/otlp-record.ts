/**
 * LogRecord to event. A kvlist body is the event, or with `keepsContext` the event's beginning; any
 * other is wrapped (docs/otlp.md):
 *
 *   {"body", "attributes", "resource", "severity", "time_unix_nano"
 *    and where set "severity_number", "trace_id", "span_id", "flags", "scope", "event_name",
 *    "observed_time_unix_nano", "dropped_attributes_count"}
 *
 * The fields of a record may come in any order, those of an event come in this one: the record is
 * read once for where its fields are, then written.
 */

import { paddedSource } from '../../build/scalar-writer.ts'
import { ROOT } from '../../tape/path-trie.ts'
import { findKeys } from './find-members.ts'
import { type AnyValueDecoder, EVENT_IN_PIECES, KIND_KVLIST } from './otlp-any-value.ts'
import { OtlpContext } from './otlp-context.ts'
import { type FieldRange, RecordFields, readRange, TAG_ATTRIBUTE } from './record-fields.ts'

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
  'flags',
  'scope',
  'event_name',
  'observed_time_unix_nano',
  'dropped_attributes_count',
] as const
/** Members that a structured body may get. */
const CONTEXT_KEYS = ['attributes', 'resource', 'severity', 'trace_id', 'span_id'] as const
const CONTEXT_KEY_BYTES = CONTEXT_KEYS.map((key) => Buffer.from(key))
const [KNOWS_ATTRIBUTES, KNOWS_RESOURCE, KNOWS_SEVERITY, KNOWS_TRACE_ID, KNOWS_SPAN_ID] = [
  1, 2, 4, 8, 16,
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

export class OtlpRecordWriter {
  readonly #values: AnyValueDecoder
  readonly resource: OtlpContext
  readonly scope: OtlpContext
  /** Nodes of our own keys, in this batch. */
  #keys: KeyNodes = nodesByKey([])
  #scopeKeys: readonly number[] = []
  readonly fields = new RecordFields()
  /** Whether structured bodies get members for what else their records say. */
  keepsContext = false
  /** Whether the last record's body is the event. */
  isStructured = false
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

  /** Writes the LogRecord `start`..`end` as the builder's current event; false to reject it. */
  write(start: number, end: number): boolean {
    const values = this.#values
    const { fields } = this
    this.isStructured = false
    if (!fields.read(values, start, end)) {
      values.builder.error = EVENT_IN_PIECES
      return false
    }
    if (fields.bodyStart >= 0) {
      const kind = values.scan(fields.bodyStart, fields.bodyEnd)
      if (kind < 0) return false
      if (kind === KIND_KVLIST) return this.#writeStructured()
    }
    return this.#writeWrapped()
  }

  /** The body as it is, with `keepsContext` and what it does not say of itself. */
  #writeStructured(): boolean {
    const values = this.#values
    this.isStructured = true
    if (!this.keepsContext) return values.eventOfScan(ROOT)
    const { builder, foundStart, foundEnd } = values
    const known = findKeys(values, foundStart, foundEnd, CONTEXT_KEY_BYTES)
    const open = builder.at + 1
    if (!values.openEvent(ROOT, foundStart, foundEnd) || !this.#writeContext(known, open)) {
      return false
    }
    builder.closeRoot()
    return true
  }

  /** `known`: the bits of `CONTEXT_KEYS` that the body has; `open`: where its members began. */
  #writeContext(known: number, open: number): boolean {
    const values = this.#values
    const { builder } = values
    const { attributesStart, attributesEnd, hasTraceId, hasSpanId } = this.fields
    const keys = this.#keys
    if (attributesEnd > 0 && (known & KNOWS_ATTRIBUTES) === 0) {
      builder.knownKey(keys.attributes, builder.at === open)
      if (!this.#writeAttributes(keys.attributes, attributesStart, attributesEnd, TAG_ATTRIBUTE)) {
        return false
      }
    }
    if (this.resource.end > this.resource.start && (known & KNOWS_RESOURCE) === 0) {
      builder.knownKey(keys.resource, builder.at === open)
      if (!this.resource.append(values, keys.resource)) return false
    }
    if (
      this.#hasSeverity &&
      (known & KNOWS_SEVERITY) === 0 &&
      !this.#writeSeverity(builder.at === open)
    ) {
      return false
    }
    if (hasTraceId && (known & KNOWS_TRACE_ID) === 0 && !this.#writeTraceId(builder.at === open)) {
      return false
    }
    return !hasSpanId || (known & KNOWS_SPAN_ID) !== 0 || this.#writeSpanId(builder.at === open)
  }

  get #hasSeverity(): boolean {
    const { severityText: text, severityNumber } = this.fields
    return text.end > text.start || SEVERITIES[severityNumber - 1] !== undefined
  }

  #writeWrapped(): boolean {
    const values = this.#values
    const { builder } = values
    const keys = this.#keys
    const { bodyStart, bodyEnd, attributesStart, attributesEnd, time } = this.fields
    builder.openObject()
    builder.knownKey(keys.body, true)
    if (bodyStart < 0) builder.null(keys.body)
    else if (!values.value(keys.body, bodyStart, bodyEnd, 1, false)) return false
    builder.knownKey(keys.attributes, false)
    if (!this.#writeAttributes(keys.attributes, attributesStart, attributesEnd, TAG_ATTRIBUTE)) {
      return false
    }
    builder.knownKey(keys.resource, false)
    if (!this.resource.append(values, keys.resource)) return false
    if (!this.#writeSeverity(false)) return false
    builder.knownKey(keys.time_unix_nano, false)
    const isWritten =
      time.high === 0 && time.low === 0
        ? builder.null(keys.time_unix_nano)
        : builder.uint64String(keys.time_unix_nano, time.high >>> 0, time.low >>> 0)
    if (!isWritten || !this.#writeOptional()) return false
    builder.closeRoot()
    return true
  }

  #writeSeverity(isFirst: boolean): boolean {
    const { builder, source } = this.#values
    const { severity } = this.#keys
    const { severityText: text, severityNumber } = this.fields
    builder.knownKey(severity, isFirst)
    if (text.end > text.start) return builder.string(severity, source, text.start, text.end)
    const name = SEVERITIES[severityNumber - 1]
    if (name === undefined) return builder.null(severity)
    return builder.string(severity, name.source, 0, name.length)
  }

  /** The keys that are there only where they say something. */
  #writeOptional(): boolean {
    const values = this.#values
    const { builder, source } = values
    const { fields } = this
    const keys = this.#keys
    if (!this.#writeNumber(keys.severity_number, fields.severityNumber)) return false
    if (fields.hasTraceId && !this.#writeTraceId(false)) return false
    if (fields.hasSpanId && !this.#writeSpanId(false)) return false
    if (!this.#writeNumber(keys.flags, fields.flags)) return false
    this.scope.isBlank ??= this.#isScopeBlank()
    if (!this.scope.isBlank) {
      builder.knownKey(keys.scope, false)
      if (!this.scope.append(values, keys.scope)) return false
    }
    const { eventName: name, observed } = fields
    if (name.end > name.start) {
      builder.knownKey(keys.event_name, false)
      if (!builder.string(keys.event_name, source, name.start, name.end)) return false
    }
    if (observed.low !== 0 || observed.high !== 0) {
      const key = keys.observed_time_unix_nano
      builder.knownKey(key, false)
      if (!builder.uint64String(key, observed.high >>> 0, observed.low >>> 0)) return false
    }
    return this.#writeNumber(keys.dropped_attributes_count, fields.droppedAttributes)
  }

  /** Not where it is zero. */
  #writeNumber(key: number, number: number): boolean {
    if (number === 0) return true
    const { builder } = this.#values
    builder.knownKey(key, false)
    return builder.int64(key, number < 0 ? 0xffffffff : 0, number >>> 0)
  }

  #writeTraceId(isFirst: boolean): boolean {
    const { traceId } = this.fields
    const { builder } = this.#values
    builder.knownKey(this.#keys.trace_id, isFirst)
    return builder.hexString(this.#keys.trace_id, traceId, 0, traceId.length)
  }

  #writeSpanId(isFirst: boolean): boolean {
    const { spanId } = this.fields
    const { builder } = this.#values
    builder.knownKey(this.#keys.span_id, isFirst)
    return builder.hexString(this.#keys.span_id, spanId, 0, spanId.length)
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
      if (tag === TAG_SCOPE_NAME) readRange(this.#scopeName, values, end)
      else if (tag === TAG_SCOPE_VERSION) readRange(this.#scopeVersion, values, end)
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
