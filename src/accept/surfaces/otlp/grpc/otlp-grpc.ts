/**
 * OTLP logs over gRPC (opentelemetry.io/docs/specs/otlp, "OTLP/gRPC"): the service
 * `opentelemetry.proto.collector.logs.v1.LogsService`, on a port of its own where an option gives
 * one. A call is a request of ingest like any other; its message is cut and decoded as over HTTP.
 *
 * On node's HTTP/2 instead of a gRPC library: those hand over whole messages, so a client without a
 * key could fill the memory before anybody looks at it (docs/decisions/0076-otlp-over-grpc.md).
 */
import { readFileSync } from 'node:fs'
import {
  constants,
  createSecureServer,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { AddressInfo } from 'node:net'
import type { Config } from '../../../../config.ts'
import { type IngestError, senderStatus } from '../../../../errors.ts'
import {
  GRPC_CALLS_MAX,
  GRPC_CONNECTION_WINDOW_BYTES,
  GRPC_CONNECTIONS_MAX,
  GRPC_IDLE_MS_MAX,
  GRPC_WINDOW_BYTES,
} from '../../../../limits.ts'
import { keyOf } from '../../../admission/presented-key.ts'
import type { Answer, Dialect, Responder } from '../../../dialect.ts'
import { type IngestDeps, ingest } from '../../../request/ingest.ts'
import type { Surface } from '../../surface.ts'
import { OTLP_PROTOBUF_BODY } from '../otlp-formats.ts'
import { answerOtlp, encodeOtlpAnswer, judgeOtlp } from '../otlp-terms.ts'
import { GrpcMessage } from './grpc-message.ts'
import {
  GRPC_CONTENT_TYPE,
  GRPC_ENCODINGS,
  GRPC_OK,
  grpcFrame,
  grpcRefusal,
  grpcUnimplemented,
} from './grpc-status.ts'

const EXPORT = '/opentelemetry.proto.collector.logs.v1.LogsService/Export'
const HEADERS_BYTES_MAX = 16 * 1024

export const otlpGrpcSurface: Surface = async ({ deps, config, log }) => {
  const { otlpGrpcPort, host } = config
  if (otlpGrpcPort === undefined) return { routes: [] }
  const listener = new GrpcListener(deps, config)
  const port = await listener.listen(host, otlpGrpcPort)
  log.info({ host, port }, 'OTLP over gRPC is listened for')
  return { routes: [], stop: () => listener.stop() }
}

class GrpcListener {
  readonly #deps: IngestDeps
  readonly #server: Http2Server
  readonly #sessions = new Set<ServerHttp2Session>()
  readonly #drainMs: number

  constructor(deps: IngestDeps, { tls, drainTimeoutMs }: Config) {
    this.#deps = deps
    this.#drainMs = drainTimeoutMs
    const options = {
      settings: {
        maxConcurrentStreams: GRPC_CALLS_MAX,
        maxHeaderListSize: HEADERS_BYTES_MAX,
        initialWindowSize: GRPC_WINDOW_BYTES,
      },
    }
    this.#server =
      tls === undefined
        ? createServer(options)
        : createSecureServer({
            ...options,
            cert: readFileSync(tls.certFile),
            key: readFileSync(tls.keyFile),
          })
    this.#server.maxConnections = GRPC_CONNECTIONS_MAX
    this.#server.on('session', (session) => this.#open(session))
    this.#server.on('stream', (stream, headers) => this.#answer(stream, headers))
    // Of a connection that is no HTTP/2: node has closed it.
    this.#server.on('sessionError', () => undefined)
  }

  /** Resolves with the port. Rejects when it cannot be listened on. */
  async listen(host: string, port: number): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject)
      this.#server.listen({ host, port }, resolve)
    })
    this.#server.on('error', () => undefined)
    return (this.#server.address() as AddressInfo).port
  }

  /** Takes no new calls, and waits for those under way. */
  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve))
    for (const session of this.#sessions) session.close()
    const late = setTimeout(() => {
      for (const session of this.#sessions) session.destroy()
    }, this.#drainMs)
    await closed
    clearTimeout(late)
  }

  #open(session: ServerHttp2Session): void {
    this.#sessions.add(session)
    session.once('close', () => this.#sessions.delete(session))
    session.on('error', () => undefined)
    session.setLocalWindowSize(GRPC_CONNECTION_WINDOW_BYTES)
    session.setTimeout(GRPC_IDLE_MS_MAX, () => session.close())
  }

  #answer(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    stream.on('error', () => undefined) // Its close says the rest.
    const type = headers['content-type'] ?? ''
    if (headers[':method'] !== 'POST' || !type.startsWith(GRPC_CONTENT_TYPE)) {
      return end(stream, { ':status': 415 })
    }
    if (headers[':path'] !== EXPORT) {
      return end(stream, grpcUnimplemented(`only logs are accepted: ${EXPORT}`))
    }
    const message = new GrpcMessage(stream, {
      onFault: (error) => end(stream, grpcRefusal(error)),
      onHead: ({ isCompressed, bytes }) => {
        const encoding = isCompressed ? single(headers, 'grpc-encoding') : ''
        if (isCompressed && !GRPC_ENCODINGS.slice(1).includes(encoding)) {
          message.close()
          return end(stream, grpcUnimplemented('messages are compressed with gzip, or not at all'))
        }
        const key = single(headers, 'idempotency-key')
        ingest(this.#deps, {
          dialect: DIALECT,
          responder: responderOf(stream, message),
          sender: keyOf(single(headers, 'x-api-key'), headers.authorization ?? ''),
          body: message,
          contentLength: bytes,
          contentEncoding: encoding,
          idempotencyKey: key === '' ? undefined : { lines: 1, value: key },
        })
      },
    })
  }
}

const DIALECT: Dialect = {
  surface: 'otlp_grpc',
  replyFormat: 'otlp',
  plan: () => ({ format: OTLP_PROTOBUF_BODY }),
  judge: judgeOtlp,
  answer: answerOtlp,
}

function responderOf(stream: ServerHttp2Stream, message: GrpcMessage): Responder {
  return {
    accept: (answer: Answer) => {
      message.close()
      if (stream.destroyed) return 200
      stream.respond(
        { ':status': 200, 'content-type': GRPC_CONTENT_TYPE },
        { waitForTrailers: true },
      )
      stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': String(GRPC_OK) }))
      stream.end(grpcFrame(encodeOtlpAnswer('protobuf', answer)))
      return 200
    },
    refuse: (error: IngestError) => {
      message.close()
      end(stream, grpcRefusal(error))
      return senderStatus(error)
    },
    drop: () => {
      message.close()
      stream.close(constants.NGHTTP2_CANCEL)
    },
  }
}

/** Answers by a head alone. What still comes of the call is not read. */
function end(stream: ServerHttp2Stream, headers: Parameters<ServerHttp2Stream['respond']>[0]) {
  if (stream.destroyed || stream.headersSent) return
  stream.respond(headers, { endStream: true })
  stream.close(constants.NGHTTP2_NO_ERROR)
}

function single(headers: IncomingHttpHeaders, name: string): string {
  const value = headers[name]
  return typeof value === 'string' ? value : ''
}
