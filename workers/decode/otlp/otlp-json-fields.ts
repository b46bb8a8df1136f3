/** The fields of OTLP logs in JSON: names, protobuf numbers, and how a value is spelled. */

export const FIELD_STRING = 0
export const FIELD_BOOL = 1
/** 64 bits, signed, as digits or as a string of them. */
export const FIELD_INT64 = 2
/** 64 bits, unsigned, in eight bytes. */
export const FIELD_FIXED64 = 3
export const FIELD_DOUBLE = 4
export const FIELD_SEVERITY = 5
/** Bytes in base64. */
export const FIELD_BYTES = 6
/** Bytes in hexadecimal digits, or another text that `otlp-ids.ts` reads. */
export const FIELD_ID = 7
export const FIELD_MESSAGE = 8
/** An array of messages. */
export const FIELD_MESSAGES = 9
/** 32 bits, unsigned, in four bytes. */
export const FIELD_FIXED32 = 10
export const FIELD_UINT32 = 11

export interface JsonField {
  readonly number: number
  readonly kind: number
  readonly message?: JsonMessage
  /** lowerCamelCase and snake_case. */
  readonly names: readonly Uint8Array[]
  /** Index among the message's fields. */
  readonly index: number
}

export interface JsonMessage {
  readonly fields: JsonField[]
  /** Index of the field that was found last: mostly, the next one follows it. */
  last: number
}

/** Fields that a message has at most. */
export const MESSAGE_FIELDS_MAX = 16

function field(to: JsonMessage, number: number, name: string, kind: number, message?: JsonMessage) {
  const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  const names = [...new Set([name, snake])].map((text) => Buffer.from(text))
  to.fields.push({ number, kind, names, index: to.fields.length, ...(message && { message }) })
}

const message = (): JsonMessage => ({ fields: [], last: -1 })

export const REQUEST = message()
const resourceLogs = message()
const scopeLogs = message()
const resource = message()
const scope = message()
const logRecord = message()
export const ANY_VALUE = message()
const arrayValue = message()
const keyValueList = message()
const keyValue = message()

field(REQUEST, 1, 'resourceLogs', FIELD_MESSAGES, resourceLogs)

field(resourceLogs, 1, 'resource', FIELD_MESSAGE, resource)
field(resourceLogs, 2, 'scopeLogs', FIELD_MESSAGES, scopeLogs)

field(scopeLogs, 1, 'scope', FIELD_MESSAGE, scope)
field(scopeLogs, 2, 'logRecords', FIELD_MESSAGES, logRecord)

field(resource, 1, 'attributes', FIELD_MESSAGES, keyValue)

field(scope, 1, 'name', FIELD_STRING)
field(scope, 2, 'version', FIELD_STRING)
field(scope, 3, 'attributes', FIELD_MESSAGES, keyValue)

field(logRecord, 1, 'timeUnixNano', FIELD_FIXED64)
field(logRecord, 2, 'severityNumber', FIELD_SEVERITY)
field(logRecord, 3, 'severityText', FIELD_STRING)
field(logRecord, 5, 'body', FIELD_MESSAGE, ANY_VALUE)
field(logRecord, 6, 'attributes', FIELD_MESSAGES, keyValue)
field(logRecord, 7, 'droppedAttributesCount', FIELD_UINT32)
field(logRecord, 8, 'flags', FIELD_FIXED32)
field(logRecord, 9, 'traceId', FIELD_ID)
field(logRecord, 10, 'spanId', FIELD_ID)
field(logRecord, 11, 'observedTimeUnixNano', FIELD_FIXED64)
field(logRecord, 12, 'eventName', FIELD_STRING)

field(ANY_VALUE, 1, 'stringValue', FIELD_STRING)
field(ANY_VALUE, 2, 'boolValue', FIELD_BOOL)
field(ANY_VALUE, 3, 'intValue', FIELD_INT64)
field(ANY_VALUE, 4, 'doubleValue', FIELD_DOUBLE)
field(ANY_VALUE, 5, 'arrayValue', FIELD_MESSAGE, arrayValue)
field(ANY_VALUE, 6, 'kvlistValue', FIELD_MESSAGE, keyValueList)
field(ANY_VALUE, 7, 'bytesValue', FIELD_BYTES)

field(arrayValue, 1, 'values', FIELD_MESSAGES, ANY_VALUE)

field(keyValueList, 1, 'values', FIELD_MESSAGES, keyValue)

field(keyValue, 1, 'key', FIELD_STRING)
field(keyValue, 2, 'value', FIELD_MESSAGE, ANY_VALUE)

/** The field of that name, if any. */
export function findField(
  to: JsonMessage,
  bytes: Uint8Array,
  start: number,
  end: number,
): JsonField | undefined {
  const { fields } = to
  let at = to.last
  for (let tries = 0; tries < fields.length; tries++) {
    at = at + 1 < fields.length ? at + 1 : 0
    const one = fields[at]!
    const { names } = one
    for (let i = 0; i < names.length; i++) {
      if (!isName(names[i]!, bytes, start, end)) continue
      to.last = at
      return one
    }
  }
  return undefined
}

function isName(name: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (name.length !== end - start) return false
  for (let i = 0; i < name.length; i++) if (name[i] !== bytes[start + i]) return false
  return true
}
