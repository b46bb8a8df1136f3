/** The load client's calls of OTLP over gRPC: HTTP/2 with at most one call in flight. */
import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2'
import {
  type Connection,
  type ConnectionEvents,
  type LoadRequest,
  RECONNECT_MS,
} from '../load-connection.ts'
import type { HttpResponse } from '../response-parser.ts'

const EXPORT = '/opentelemetry.proto.collector.logs.v1.LogsService/Export'
/** Of a message: whether it is compressed, and its length. */
const HEAD_BYTES = 5
const OK = 0
/** What HTTP says where gRPC says these, RESOURCE_EXHAUSTED and UNAVAILABLE. */
const HTTP_STATUSES = new Map([
  [OK, 200],
  [8, 429],
  [14, 503],
])
const STATUS_UNKNOWN = 2

/** The message behind its head. */
export function grpcMessage(body: Buffer, isGzip: boolean): Buffer {
  const head = Buffer.alloc(HEAD_BYTES)
  head[0] = isGzip ? 1 : 0
  head.writeUInt32BE(body.length, 1)
  return Buffer.concat([head, body])
}

export class GrpcConnection implements Connection {
  readonly #authority: string
  readonly #events: ConnectionEvents
  #session: ClientHttp2Session | undefined
  #isClosed = false
  request: LoadRequest | undefined
  sentAtMs = 0
  pauseMs = 0

  constructor({ host, port }: { host: string; port: number }, events: ConnectionEvents) {
    this.#authority = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
    this.#events = events
  }

  open(): void {
    let reason = 'closed by the server'
    const session = connect(this.#authority)
    session.once('connect', () => this.#events.idle(this))
    session.on('error', (error) => {
      reason = error.message
    })
    session.once('close', () => this.#closed(reason))
    this.#session = session
  }

  send(request: LoadRequest, atMs: number): void {
    this.request = request
    this.sentAtMs = atMs
    const call = this.#session!.request({
      ':method': 'POST',
      ':path': EXPORT,
      'content-type': 'application/grpc',
      // Each message says for itself whether it is compressed.
      'grpc-encoding': 'gzip',
      te: 'trailers',
      'x-api-key': request.key,
    })
    let ended: IncomingHttpHeaders = {}
    const message: Buffer[] = []
    call.on('response', (headers) => {
      ended = headers
    })
    call.on('trailers', (headers) => {
      ended = headers
    })
    call.on('data', (bytes: Buffer) => message.push(bytes))
    call.on('error', () => undefined) // Its close says the rest.
    call.once('close', () => this.#answered(responseOf(ended, Buffer.concat(message))))
    call.end(request.bytes)
  }

  close(): void {
    this.#isClosed = true
    this.#session?.destroy()
  }

  #answered(response: HttpResponse): void {
    if (this.request === undefined || this.#session!.destroyed) return
    this.#events.response(this, response)
    this.request = undefined
    setTimeout(() => this.#rest(), this.pauseMs)
    this.pauseMs = 0
  }

  #rest(): void {
    if (!this.#isClosed && this.#session?.destroyed === false) this.#events.idle(this)
  }

  #closed(reason: string): void {
    if (this.#isClosed) return
    this.#events.lost(this, reason)
    this.request = undefined
    setTimeout(() => {
      if (!this.#isClosed) this.open()
    }, RECONNECT_MS)
  }
}

/** As the runner reads answers; other statuses of gRPC stay themselves. */
function responseOf(ended: IncomingHttpHeaders, message: Buffer): HttpResponse {
  const code = Number(ended['grpc-status'] ?? STATUS_UNKNOWN)
  const details = Buffer.from(String(ended['grpc-status-details-bin'] ?? ''), 'base64')
  return {
    status: HTTP_STATUSES.get(code) ?? code,
    body: code === OK ? message.toString('latin1', HEAD_BYTES) : String(ended['grpc-message']),
    // RetryInfo comes last in them, and its seconds, below 128, are its last byte.
    retryAfterSeconds: details.at(-1),
    isLast: false,
  }
}
