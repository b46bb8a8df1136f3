/**
 * Replies of OTLP/HTTP in the encoding of the request, byte for byte what exporters read. Pure.
 *
 * The content type is exactly the request's, without a charset: collectors compare it with `==`.
 * Exporters retry only after 429, 502, 503 and 504, and never after 200. So a request that is worth
 * a retry must be refused as a whole.
 */
import { type IngestError, senderStatus } from '../../../errors.ts'
import { pushVaruint } from '../../../model/varuint.ts'

export type OtlpEncoding = 'protobuf' | 'json'

export const OTLP_CONTENT_TYPES = {
  protobuf: 'application/x-protobuf',
  json: 'application/json',
} as const satisfies Record<OtlpEncoding, string>

/** ExportLogsServiceResponse.partial_success, ExportLogsPartialSuccess and Status, as tags. */
const TAG_PARTIAL_SUCCESS = 0x0a
const TAG_REJECTED = 0x08
const TAG_ERROR_MESSAGE = 0x12
const TAG_CODE = 0x08
const TAG_MESSAGE = 0x12

/** google.rpc.Code by HTTP status. Over HTTP exporters decide by the status, over gRPC by this. */
export const RPC_CODES: Readonly<Record<number, number>> = {
  400: 3, // INVALID_ARGUMENT
  401: 16, // UNAUTHENTICATED
  403: 7, // PERMISSION_DENIED
  404: 5, // NOT_FOUND
  405: 12, // UNIMPLEMENTED
  408: 8,
  409: 10, // ABORTED
  412: 9, // FAILED_PRECONDITION
  413: 3,
  415: 3,
  429: 8, // RESOURCE_EXHAUSTED
  500: 13, // INTERNAL
  501: 12,
  503: 14, // UNAVAILABLE
}
export const RPC_UNKNOWN = 2

/** All records were accepted: `partial_success` is not set. */
export function otlpSuccess(encoding: OtlpEncoding): Uint8Array {
  return encoding === 'json' ? Buffer.from('{}') : new Uint8Array(0)
}

/** Records are rejected for good, or stored in part; the others are stored. */
export function otlpPartialSuccess(
  encoding: OtlpEncoding,
  rejected: number,
  errorMessage: string,
): Uint8Array {
  if (encoding === 'json') {
    // Protobuf's JSON writes 64-bit integers as strings.
    const partialSuccess = { rejectedLogRecords: String(rejected), errorMessage }
    return Buffer.from(JSON.stringify({ partialSuccess }))
  }
  const message = encodeNumberAndText(TAG_REJECTED, rejected, TAG_ERROR_MESSAGE, errorMessage)
  return encodeField(TAG_PARTIAL_SUCCESS, message)
}

/** The body of an error: google.rpc.Status. */
export function otlpStatus(
  encoding: OtlpEncoding,
  httpStatus: number,
  message: string,
): Uint8Array {
  const code = RPC_CODES[httpStatus] ?? RPC_UNKNOWN
  if (encoding === 'json') return Buffer.from(JSON.stringify({ code, message }))
  return encodeNumberAndText(TAG_CODE, code, TAG_MESSAGE, message)
}

/** The body of the reply to a request that failed. */
export function otlpError(encoding: OtlpEncoding, error: IngestError): Uint8Array {
  return otlpStatus(encoding, senderStatus(error), error.message)
}

/** A message of a number and a text; zero and an empty text are left out. */
function encodeNumberAndText(
  numberTag: number,
  number: number,
  textTag: number,
  text: string,
): Uint8Array {
  const bytes = Buffer.from(text)
  const head = number === 0 ? new Uint8Array(0) : encodeHead(numberTag, number)
  if (bytes.length === 0) return head
  return Buffer.concat([head, encodeField(textTag, bytes)])
}

/** A tag, and what has a length: a text or a message. */
export function encodeField(tag: number, bytes: Uint8Array): Buffer {
  return Buffer.concat([encodeHead(tag, bytes.length), bytes])
}

/** A tag and a varint: a number, or the length of what follows. */
export function encodeHead(tag: number, value: number): Uint8Array {
  const bytes = [tag]
  pushVaruint(bytes, value)
  return Uint8Array.from(bytes)
}
