/**
 * How a call ends, as gRPC over HTTP/2 has it (github.com/grpc/grpc, doc/PROTOCOL-HTTP2.md): a
 * status, a message, and details in the form of google.rpc.Status. Pure.
 *
 * Exporters of OTLP try again after UNAVAILABLE, and after RESOURCE_EXHAUSTED only where RetryInfo
 * says when (opentelemetry.io/docs/specs/otlp, "OTLP/gRPC Response").
 */
import type { OutgoingHttpHeaders } from 'node:http2'
import type { IngestError } from '../../../../errors.ts'
import {
  encodeHead,
  encodeNumberAndText,
  otlpHttpStatus,
  RPC_CODES,
  RPC_UNKNOWN,
} from '../otlp-reply.ts'

export const GRPC_OK = 0
const GRPC_UNIMPLEMENTED = 12
/** Of a message: whether it is compressed, and its length. */
export const GRPC_HEAD_BYTES = 5

export const GRPC_CONTENT_TYPE = 'application/grpc'
/** What messages may be compressed with. */
export const GRPC_ENCODINGS = ['identity', 'gzip', 'deflate']

const TAG_CODE = 0x08
const TAG_MESSAGE = 0x12
const TAG_DETAILS = 0x1a
const TAG_TYPE_URL = 0x0a
const TAG_VALUE = 0x12
const TAG_RETRY_DELAY = 0x0a
const TAG_SECONDS = 0x08
const RETRY_INFO = 'type.googleapis.com/google.rpc.RetryInfo'

/** The message behind its head, as a response has it. */
export function grpcFrame(message: Uint8Array): Buffer {
  const head = Buffer.alloc(GRPC_HEAD_BYTES)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

/** A response without a message: everything is in its head. */
export function grpcRefusal(error: IngestError): OutgoingHttpHeaders {
  const code = RPC_CODES[otlpHttpStatus(error)] ?? RPC_UNKNOWN
  const message = error.code === 'internal' ? 'the server failed' : error.message
  const { retryAfterSeconds } = error
  if (retryAfterSeconds === undefined) return refusalHead(code, message)
  const details = retryDetails(code, message, Math.max(1, Math.ceil(retryAfterSeconds)))
  return { ...refusalHead(code, message), 'grpc-status-details-bin': details.toString('base64') }
}

/** Of what no service here does, and of encodings that none here reads. */
export function grpcUnimplemented(message: string): OutgoingHttpHeaders {
  return refusalHead(GRPC_UNIMPLEMENTED, message)
}

function refusalHead(code: number, message: string): OutgoingHttpHeaders {
  return {
    ':status': 200,
    'content-type': GRPC_CONTENT_TYPE,
    'grpc-accept-encoding': GRPC_ENCODINGS.join(','),
    'grpc-status': String(code),
    'grpc-message': percentEncoded(message),
  }
}

/** google.rpc.Status with a RetryInfo. */
function retryDetails(code: number, message: string, seconds: number): Buffer {
  const delay = encodeHead(TAG_SECONDS, seconds)
  const info = Buffer.concat([encodeHead(TAG_RETRY_DELAY, delay.length), delay])
  const url = Buffer.from(RETRY_INFO)
  const any = Buffer.concat([
    ...[encodeHead(TAG_TYPE_URL, url.length), url],
    ...[encodeHead(TAG_VALUE, info.length), info],
  ])
  return Buffer.concat([
    ...[encodeNumberAndText(TAG_CODE, code, TAG_MESSAGE, message)],
    ...[encodeHead(TAG_DETAILS, any.length), any],
  ])
}

/** Bytes that are not printable ASCII, and `%`, as `%XX`. */
function percentEncoded(text: string): string {
  return [...Buffer.from(text)]
    .map((byte) => {
      const isPlain = byte >= 0x20 && byte <= 0x7e && byte !== 0x25
      return isPlain
        ? String.fromCharCode(byte)
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
    })
    .join('')
}
