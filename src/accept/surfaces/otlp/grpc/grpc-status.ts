/**
 * How a call ends, as gRPC over HTTP/2 has it (github.com/grpc/grpc, doc/PROTOCOL-HTTP2.md): a
 * status, a message, and details in the form of google.rpc.Status. Pure.
 *
 * Exporters of OTLP try again after UNAVAILABLE, and after RESOURCE_EXHAUSTED only where RetryInfo
 * says when (opentelemetry.io/docs/specs/otlp, "OTLP/gRPC Response").
 */
import type { OutgoingHttpHeaders } from 'node:http2'
import { type IngestError, senderStatus } from '../../../../errors.ts'
import { encodeField, encodeHead, otlpStatus, RPC_CODES, RPC_UNKNOWN } from '../otlp-reply.ts'

export const GRPC_OK = 0
const GRPC_UNIMPLEMENTED = 12
/** Of a message: whether it is compressed, and its length. */
export const GRPC_HEAD_BYTES = 5

export const GRPC_CONTENT_TYPE = 'application/grpc'
/** What messages may be compressed with. */
export const GRPC_ENCODINGS = ['identity', 'gzip', 'deflate']

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
  const httpStatus = senderStatus(error)
  const message = error.code === 'internal' ? 'the server failed' : error.message
  const head = refusalHead(RPC_CODES[httpStatus] ?? RPC_UNKNOWN, message)
  const { retrySeconds } = error
  if (retrySeconds === undefined) return head
  const details = Buffer.concat([
    otlpStatus('protobuf', httpStatus, message),
    encodeField(TAG_DETAILS, retryInfo(retrySeconds)),
  ])
  return { ...head, 'grpc-status-details-bin': details.toString('base64') }
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

/** A RetryInfo as google.protobuf.Any, one of the details of a google.rpc.Status. */
function retryInfo(seconds: number): Buffer {
  const delay = encodeField(TAG_RETRY_DELAY, encodeHead(TAG_SECONDS, seconds))
  const url = encodeField(TAG_TYPE_URL, Buffer.from(RETRY_INFO))
  return Buffer.concat([url, encodeField(TAG_VALUE, delay)])
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
