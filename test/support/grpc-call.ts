/** Calls of OTLP over gRPC by hand, over node's HTTP/2. */
import type { ClientHttp2Session, OutgoingHttpHeaders } from 'node:http2'

export interface GrpcAnswer {
  readonly http: number | undefined
  /** Undefined where the call broke. */
  readonly status: string | undefined
  readonly message: string
  readonly details: Buffer
  readonly body: Buffer
  readonly code: number
}

export const GRPC_HEADERS = {
  ':method': 'POST',
  ':path': '/opentelemetry.proto.collector.logs.v1.LogsService/Export',
  'content-type': 'application/grpc',
  te: 'trailers',
}

/** Sends the pieces; a pause between them lets each arrive by itself. */
export async function callGrpc(
  session: ClientHttp2Session,
  pieces: readonly Uint8Array[],
  more: OutgoingHttpHeaders,
): Promise<GrpcAnswer> {
  const stream = session.request({ ...GRPC_HEADERS, ...more })
  const heads: Record<string, unknown> = {}
  stream.on('response', (head) => Object.assign(heads, head))
  stream.on('trailers', (head) => Object.assign(heads, head))
  stream.on('error', () => undefined) // Its close says the rest.
  const chunks: Buffer[] = []
  stream.on('data', (bytes: Buffer) => chunks.push(bytes))
  const closed = new Promise((resolve) => stream.once('close', resolve))
  for (const piece of pieces) {
    if (stream.destroyed || stream.closed) break
    stream.write(piece)
    await new Promise((resolve) => setImmediate(resolve))
  }
  stream.end()
  await closed
  return {
    http: heads[':status'] as number | undefined,
    status: heads['grpc-status'] as string | undefined,
    message: decodeURIComponent(String(heads['grpc-message'] ?? '')),
    details: Buffer.from(String(heads['grpc-status-details-bin'] ?? ''), 'base64'),
    body: Buffer.concat(chunks),
    code: stream.rstCode,
  }
}

/** A message behind its head. */
export function framed(message: Uint8Array, isCompressed = false): Buffer {
  const head = Buffer.alloc(5)
  head[0] = isCompressed ? 1 : 0
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}
