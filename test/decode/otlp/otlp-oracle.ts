/**
 * What an OTLP request means, by protobufjs' decoder and a plain mapping written from docs/api.md:
 * slow, with message objects, and with none of the code under test.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import protobuf from 'protobufjs'

const PROTO = readFileSync(new URL('../../../../proto/otlp-logs.proto', import.meta.url), 'utf8')

/** The messages as `proto/` has them, to encode requests and to decode replies. */
export const otlpMessages = protobuf.parse(PROTO).root

/** Strings as bytes: protobufjs refuses invalid UTF-8, which is to be repaired. */
const lenientRequest = protobuf
  .parse(PROTO.replaceAll(/\bstring (?=\w+ = )/g, 'bytes '))
  .root.lookupType('sluice.otlp.ExportLogsServiceRequest')

interface LongLike {
  toString(): string
}

export interface AnyValue {
  /** The name of the oneof's field that is set. */
  readonly value?: string
  readonly stringValue: Uint8Array
  readonly boolValue: boolean
  readonly intValue: LongLike
  readonly doubleValue: number
  readonly arrayValue: { readonly values: readonly AnyValue[] }
  readonly kvlistValue: { readonly values: readonly KeyValue[] }
  readonly bytesValue: Uint8Array
}

export interface KeyValue {
  readonly key: Uint8Array
  readonly value: AnyValue | null
}

export interface LogRecord {
  readonly timeUnixNano: LongLike
  readonly observedTimeUnixNano: LongLike
  readonly severityNumber: number
  readonly severityText: Uint8Array
  readonly body: AnyValue | null
  readonly attributes: readonly KeyValue[]
  readonly traceId: Uint8Array
  readonly spanId: Uint8Array
  readonly eventName: Uint8Array
  readonly flags: number
  readonly droppedAttributesCount: number
}

export interface Scope {
  readonly name: Uint8Array
  readonly version: Uint8Array
  readonly attributes: readonly KeyValue[]
}

export interface Request {
  readonly resourceLogs: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] } | null
    readonly scopeLogs: readonly {
      readonly scope: Scope | null
      readonly logRecords: readonly LogRecord[]
    }[]
  }[]
}

export interface ExpectedEvent {
  readonly json: string
  /** TimeUnixNano, else ObservedTimeUnixNano, in decimal digits, or undefined. */
  readonly time: string | undefined
}

export function decodeRequest(bytes: Uint8Array): Request {
  return lenientRequest.decode(Buffer.from(bytes)) as unknown as Request
}

/** The events of a request; throws where protobufjs does. */
export function expectedEvents(bytes: Uint8Array): ExpectedEvent[] {
  return decodeRequest(bytes).resourceLogs.flatMap(({ resource, scopeLogs }) =>
    scopeLogs.flatMap(({ scope, logRecords }) =>
      logRecords.map((record) => ({
        json: eventJson(record, resource?.attributes ?? [], scope),
        time: nonZero(record.timeUnixNano) ?? nonZero(record.observedTimeUnixNano),
      })),
    ),
  )
}

function eventJson(record: LogRecord, resource: readonly KeyValue[], scope: Scope | null): string {
  const { body } = record
  if (body?.value === 'kvlistValue') return objectJson(body.kvlistValue.values)
  const time = nonZero(record.timeUnixNano)
  const severity = text(record.severityText) || severityName(record.severityNumber)
  const members = [
    `"body":${anyJson(body)}`,
    `"attributes":${objectJson(record.attributes)}`,
    `"resource":${objectJson(resource)}`,
    `"severity":${severity === undefined ? 'null' : JSON.stringify(severity)}`,
    `"time_unix_nano":${time === undefined ? 'null' : `"${time}"`}`,
  ]
  if (record.severityNumber !== 0) members.push(`"severity_number":${record.severityNumber}`)
  const traceId = id(record.traceId, 16)
  if (traceId !== undefined) members.push(`"trace_id":"${traceId}"`)
  const spanId = id(record.spanId, 8)
  if (spanId !== undefined) members.push(`"span_id":"${spanId}"`)
  if (record.flags !== 0) members.push(`"flags":${record.flags}`)
  const scopeText = scope === null ? '{}' : scopeJson(scope)
  if (scopeText !== '{}') members.push(`"scope":${scopeText}`)
  const name = text(record.eventName)
  if (name !== '') members.push(`"event_name":${JSON.stringify(name)}`)
  const observed = nonZero(record.observedTimeUnixNano)
  if (observed !== undefined) members.push(`"observed_time_unix_nano":"${observed}"`)
  const dropped = record.droppedAttributesCount
  if (dropped !== 0) members.push(`"dropped_attributes_count":${dropped}`)
  return `{${members.join(',')}}`
}

function scopeJson(scope: Scope): string {
  const members: string[] = []
  if (text(scope.name) !== '') members.push(`"name":${JSON.stringify(text(scope.name))}`)
  if (text(scope.version) !== '') members.push(`"version":${JSON.stringify(text(scope.version))}`)
  if (scope.attributes.length > 0) members.push(`"attributes":${objectJson(scope.attributes)}`)
  return `{${members.join(',')}}`
}

function objectJson(members: readonly KeyValue[]): string {
  return `{${members.map(({ key, value }) => `${JSON.stringify(text(key))}:${anyJson(value)}`)}}`
}

function anyJson(any: AnyValue | null): string {
  switch (any?.value) {
    case undefined:
      return 'null'
    case 'stringValue':
      return JSON.stringify(text(any.stringValue))
    case 'boolValue':
      return String(any.boolValue)
    case 'intValue':
      return any.intValue.toString()
    case 'doubleValue': {
      const { doubleValue } = any
      return Number.isFinite(doubleValue) ? JSON.stringify(doubleValue) : `"${doubleValue}"`
    }
    case 'arrayValue':
      return `[${any.arrayValue.values.map(anyJson)}]`
    case 'kvlistValue':
      return objectJson(any.kvlistValue.values)
    case 'bytesValue':
      return `"${Buffer.from(any.bytesValue).toString('base64')}"`
    default:
      return assert.fail(`oneof ${any?.value}`)
  }
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('utf8')
}

function nonZero(value: LongLike): string | undefined {
  const digits = value.toString()
  return digits === '0' ? undefined : digits
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** An id as its digits, whether it comes as bytes or as one of the texts that stand for them. */
function id(bytes: Uint8Array, length: number): string | undefined {
  const given = Buffer.from(bytes)
  const decoded = Buffer.from(given.toString('latin1'), 'base64')
  const isBase64 = /^[A-Za-z0-9+/_-]+={0,2}$/.test(given.toString('latin1'))
  const digits = plainId(given, length) ?? (isBase64 ? plainId(decoded, length) : undefined)
  return digits === undefined || /^0+$/.test(digits) ? undefined : digits
}

function plainId(bytes: Buffer, length: number): string | undefined {
  if (bytes.length === length) return bytes.toString('hex')
  const text = bytes.toString('latin1').toLowerCase()
  if (text.length === 2 * length && /^[0-9a-f]+$/.test(text)) return text
  return length === 16 && UUID.test(text) ? text.replaceAll('-', '') : undefined
}

function severityName(number: number): string | undefined {
  if (number < 1 || number > 24) return undefined
  const names = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL']
  const rest = (number - 1) % 4
  return `${names[Math.floor((number - 1) / 4)]}${rest === 0 ? '' : rest + 1}`
}
