/**
 * ExportLogsServiceRequest in protobuf, written by hand from the public field numbers: a second
 * opinion on what the service reads, without the package that it reads with.
 */

/** One log record; what is absent is left out of the message. */
export interface LogRecord {
  readonly body?: unknown
  readonly timeUnixNano?: bigint
  readonly severityNumber?: number
  readonly severityText?: string
  readonly attributes?: Readonly<Record<string, unknown>>
}

export interface LogsRequestOptions {
  readonly resource?: Readonly<Record<string, unknown>>
  readonly scope?: { readonly name: string; readonly version: string }
}

const DEFAULT_OPTIONS: Required<LogsRequestOptions> = {
  resource: { 'service.name': 'shop', 'host.name': 'web-1', 'deployment.environment': 'test' },
  scope: { name: 'shop', version: '1.0.0' },
}

const VARINT = 0
const FIXED64 = 1
const BYTES = 2
const INT64_MAX = 2 ** 63

/** One resource and one scope with these records, as an exporter sends what it batched. */
export function encodeLogsRequest(
  records: readonly LogRecord[],
  { resource, scope }: LogsRequestOptions = DEFAULT_OPTIONS,
): Buffer {
  const scopeFields =
    scope === undefined ? [] : [message(1, [text(1, scope.name), text(2, scope.version)])]
  const scopeLogs = [...scopeFields, ...records.map(encodeRecord)]
  const resourceFields = resource === undefined ? [] : [message(1, keyValues(1, resource))]
  return message(1, [...resourceFields, message(2, scopeLogs)])
}

function encodeRecord(record: LogRecord): Buffer {
  const { body, timeUnixNano, severityNumber, severityText, attributes } = record
  const fields: Buffer[] = []
  if (timeUnixNano !== undefined) fields.push(fixed64(1, timeUnixNano))
  if (severityNumber !== undefined) fields.push(varintField(2, BigInt(severityNumber)))
  if (severityText !== undefined) fields.push(text(3, severityText))
  if (body !== undefined) fields.push(message(5, anyValue(body)))
  if (attributes !== undefined) fields.push(...keyValues(6, attributes))
  return message(2, fields)
}

/** The fields of an AnyValue; none for null. */
export function anyValue(value: unknown): Buffer[] {
  if (value === null || value === undefined) return []
  if (typeof value === 'string') return [text(1, value)]
  if (typeof value === 'boolean') return [varintField(2, value ? 1n : 0n)]
  if (typeof value === 'bigint') return [varintField(3, value)]
  if (typeof value === 'number') {
    const isInt64 = Number.isInteger(value) && Math.abs(value) < INT64_MAX
    return [isInt64 ? varintField(3, BigInt(value)) : double(4, value)]
  }
  if (value instanceof Uint8Array) return [field(7, value)]
  if (Array.isArray(value))
    return [
      message(
        5,
        value.map((one) => message(1, anyValue(one))),
      ),
    ]
  return [message(6, keyValues(1, value as Record<string, unknown>))]
}

function keyValues(number: number, object: Readonly<Record<string, unknown>>): Buffer[] {
  return Object.entries(object).map(([key, value]) => {
    return message(number, [text(1, key), message(2, anyValue(value))])
  })
}

function message(number: number, fields: readonly Buffer[]): Buffer {
  return field(number, Buffer.concat(fields))
}

function text(number: number, value: string): Buffer {
  return field(number, Buffer.from(value))
}

/** A field with its length in front. */
export function field(number: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([tag(number, BYTES), varint(BigInt(bytes.length)), bytes])
}

function varintField(number: number, value: bigint): Buffer {
  return Buffer.concat([tag(number, VARINT), varint(BigInt.asUintN(64, value))])
}

function fixed64(number: number, value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(value)
  return Buffer.concat([tag(number, FIXED64), bytes])
}

function double(number: number, value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeDoubleLE(value)
  return Buffer.concat([tag(number, FIXED64), bytes])
}

function tag(number: number, wireType: number): Buffer {
  return varint(BigInt(number * 8 + wireType))
}

function varint(value: bigint): Buffer {
  const bytes: number[] = []
  let rest = value
  for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80)
  bytes.push(Number(rest))
  return Buffer.from(bytes)
}
