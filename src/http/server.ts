/**
 * The HTTP server: routes, listening, and the one coarse timer that all exchanges share.
 *
 * A path that some route knows answers 405 with `Allow` to other methods; GET routes answer HEAD.
 */
import { IngestError } from '../errors.ts'
import { BODY_IDLE_MS_MAX, LINGER_BYTES_MAX, LINGER_MS_MAX, REPLY_BYTES_MAX } from '../limits.ts'
import type {
  Engine,
  EngineApp,
  EngineHandler,
  EngineMethod,
  EngineRequest,
  EngineResponse,
  ListenToken,
  TlsFiles,
} from './engine.ts'
import type { Exchange, Handler, Reply, Route } from './exchange.ts'
import {
  type ExchangeHost,
  type HeldExchange,
  HttpExchange,
  type SweptExchange,
} from './http-exchange.ts'
import { InFlight } from './in-flight.ts'
import { loadEngine } from './load-engine.ts'
import { LoosePaths } from './loose-paths.ts'
import { rawMessage } from './message.ts'
import { cannotListen, findFreePort, whyNotBound } from './probe-port.ts'
import { problemReply } from './problem.ts'

export type Fallback = (exchange: Exchange, allow: string | undefined) => Reply | Promise<Reply>

export interface ServerOptions {
  readonly routes: readonly Route[]
  /**
   * The reply for a request no route takes. `allow` lists the methods the path knows (405), or is
   * undefined when it knows none (404). The server adds the `Allow` header. Default: a problem.
   */
  readonly fallback?: Fallback
  /** The reply to a request that the server itself refuses. Default: a problem. */
  readonly refusal?: (exchange: Exchange, error: IngestError) => Reply
  readonly tls?: TlsFiles | undefined
  /** Called with what a handler threw, unless it was an `IngestError` meant for the client. */
  readonly onError: (error: unknown, exchange: Exchange) => void
  readonly engine?: Engine
  /** Bounds, shorter in tests. */
  readonly bodyIdleMsMax?: number
  readonly lingerMsMax?: number
  readonly lingerBytesMax?: number
  readonly replyBytesMax?: number
}

export interface HttpServer {
  readonly engine: Engine
  /** Requests whose handler was called and whose reply was not sent yet. */
  readonly activeRequests: number
  /** Bytes of large answers that wait for their readers, but for those of ingest. */
  readonly replyBytes: number
  /** Open connections; undefined where the engine cannot tell. */
  readonly connections: number | undefined
  /** Resolves with the actual port (`port` 0 takes any free one). Rejects when it cannot bind. */
  listen(host: string, port: number): Promise<number>
  /** Takes no new connection for a while. Those that are open go on. */
  pauseListening(): void
  /** The inverse. Why the port could not be bound, if it could not: to be tried again. */
  resumeListening(): Promise<string | undefined>
  /** Takes no new connection; replies close theirs. Safe to call twice. */
  stopListening(): void
  /** Drops every connection at once. Safe to call twice. */
  close(): void
}

const ENGINE_METHODS: Readonly<Record<Route['method'], EngineMethod>> = {
  GET: 'get',
  POST: 'post',
  PUT: 'put',
  PATCH: 'patch',
  DELETE: 'del',
  HEAD: 'head',
  OPTIONS: 'options',
}
/** Without it two processes could share a port, and each would get some of the requests. */
const LISTEN_EXCLUSIVE_PORT = 1
const SWEEP_MS_MAX = 1_000
/** Somebody may take a port between its being found and bound. */
const FREE_PORT_TRIES_MAX = 5
const NO_PARAMS: readonly string[] = []

/** Throws when the TLS files cannot be used. */
export function createServer(options: ServerOptions): HttpServer {
  return new Server(options)
}

class Server implements HttpServer, ExchangeHost {
  readonly engine: Engine
  readonly reading = new Set<SweptExchange>()
  readonly bodyIdleTicksMax: number
  readonly lingerTicksMax: number
  readonly lingerBytesMax: number
  readonly onError: (error: unknown, exchange: Exchange) => void
  readonly replyBudget: InFlight
  activeRequests = 0
  connections: number | undefined
  tick = 0
  stopping = false
  #address: { readonly host: string; readonly port: number } | undefined
  readonly #app: EngineApp
  readonly #sweepMs: number
  readonly #fallback: Fallback
  readonly #refusal: (exchange: Exchange, error: IngestError) => Reply
  #listenToken: object | undefined
  #sweepTimer: NodeJS.Timeout | undefined
  #held: HeldExchange[] = []
  #closed = false

  constructor(options: ServerOptions) {
    this.engine = options.engine ?? loadEngine().engine
    this.onError = options.onError
    this.#fallback = options.fallback ?? defaultFallback
    this.#refusal = options.refusal ?? ((_exchange, error) => problemReply(error))
    const bodyIdleMsMax = options.bodyIdleMsMax ?? BODY_IDLE_MS_MAX
    const lingerMsMax = options.lingerMsMax ?? LINGER_MS_MAX
    this.#sweepMs = Math.min(SWEEP_MS_MAX, Math.ceil(Math.min(bodyIdleMsMax, lingerMsMax) / 5))
    this.bodyIdleTicksMax = Math.ceil(bodyIdleMsMax / this.#sweepMs)
    this.lingerTicksMax = Math.ceil(lingerMsMax / this.#sweepMs)
    this.lingerBytesMax = options.lingerBytesMax ?? LINGER_BYTES_MAX
    const replies = 'bytes of answers wait for their readers (REPLY_BYTES_MAX)'
    this.replyBudget = new InFlight(options.replyBytesMax ?? REPLY_BYTES_MAX, undefined, replies)
    this.#app = createApp(this.engine, options.tls)
    this.#addRoutes(options.routes)
    if (this.#app.filter !== undefined) {
      this.connections = 0
      const countConnection = (_response: unknown, change: number) => {
        this.connections = (this.connections ?? 0) + Math.sign(change)
      }
      this.#app.filter(countConnection)
    }
  }

  get replyBytes(): number {
    return this.replyBudget.bytes
  }

  async listen(host: string, port: number): Promise<number> {
    const token = await (port === 0 ? this.#bindAny(host) : this.#bind(host, port))
    if (token === false) {
      throw cannotListen(await whyNotBound(host, port))
    }
    this.#listenToken = token
    this.#sweepTimer = setInterval(() => this.#sweep(), this.#sweepMs)
    this.#sweepTimer.unref()
    this.#address = { host, port: this.engine.localPort(token) }
    return this.#address.port
  }

  #bind(host: string, port: number): Promise<ListenToken> {
    return new Promise((resolve) => {
      this.#app.listen(host, port, LISTEN_EXCLUSIVE_PORT, resolve)
    })
  }

  /**
   * Finds a free port first and listens on it by number: uWebSockets.js sets SO_REUSEADDR only for
   * ports given by number, and without it `resumeListening` fails while any connection is left.
   */
  async #bindAny(host: string): Promise<ListenToken> {
    for (let tries = 0; tries < FREE_PORT_TRIES_MAX; tries++) {
      const token = await this.#bind(host, await findFreePort(host))
      if (token !== false) return token
    }
    return false
  }

  pauseListening(): void {
    if (this.#listenToken !== undefined) this.engine.closeListenSocket(this.#listenToken)
    this.#listenToken = undefined
  }

  async resumeListening(): Promise<string | undefined> {
    if (this.stopping || this.#address === undefined) return undefined
    const { host, port } = this.#address
    const token = await this.#bind(host, port)
    if (token === false) return whyNotBound(host, port)
    if (this.stopping) this.engine.closeListenSocket(token)
    else this.#listenToken = token
    return undefined
  }

  stopListening(): void {
    if (this.stopping) return
    this.stopping = true
    this.pauseListening()
    for (const exchange of this.reading) exchange.tellStopping()
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.stopListening()
    clearInterval(this.#sweepTimer)
    this.#app.close()
  }

  sendHeldSoon(exchange: HeldExchange): void {
    if (this.#held.length === 0) setImmediate(() => this.#sendHeld())
    this.#held.push(exchange)
  }

  #sendHeld(): void {
    const held = this.#held
    this.#held = []
    for (const exchange of held) exchange.sendHeld()
  }

  #sweep(): void {
    this.tick++
    for (const exchange of this.reading) exchange.sweep()
  }

  #addRoutes(routes: readonly Route[]): void {
    const paths = new Map<string, { pattern: string; methods: Set<string> }>()
    for (const { method, pattern, handler } of routes) {
      this.#app[ENGINE_METHODS[method]](pattern, this.#engineHandler(pattern, method, handler))
      const shape = shapeOf(pattern)
      const path = paths.get(shape) ?? { pattern, methods: new Set<string>() }
      path.methods.add(method)
      paths.set(shape, path)
      const hasHead = routes.some((other) => other.method === 'HEAD' && other.pattern === pattern)
      if (method !== 'GET' || hasHead) continue
      path.methods.add('HEAD')
      this.#app.head(pattern, this.#engineHandler(pattern, 'HEAD', handler))
    }
    for (const { pattern } of paths.values()) this.#addFallback(pattern, allowOf(paths, pattern))
    if (!paths.has('/*')) this.#addLooseRoutes(routes, (pattern) => allowOf(paths, pattern))
  }

  #addFallback(pattern: string, allow: string | undefined): void {
    this.#app.any(pattern, this.#engineHandler(pattern, undefined, this.#fallbackHandler(allow)))
  }

  #fallbackHandler(allow: string | undefined): Handler {
    const fallback = this.#fallback
    return async (exchange) => {
      const reply = await fallback(exchange, allow)
      if (allow === undefined) return exchange.reply(reply)
      exchange.reply({ ...reply, headers: [...(reply.headers ?? []), ['Allow', allow]] })
    }
  }

  /** What no route takes as it was written: perhaps one takes it without slashes too many. */
  #addLooseRoutes(routes: readonly Route[], allowed: (pattern: string) => string): void {
    const loose = new LoosePaths(routes)
    const unknown = this.#engineHandler('/*', undefined, this.#fallbackHandler(undefined))
    this.#app.any('/*', (response, request) => {
      const method = request.getMethod().toUpperCase()
      const found = loose.find(method, request.getUrl())
      if (found === undefined) return unknown(response, request)
      const handler = found.route?.handler ?? this.#fallbackHandler(allowed(found.pattern))
      this.#run(response, request, { method, path: found.path, params: found.params }, handler)
    })
  }

  readonly #replyBadEncoding: Handler = (exchange) => {
    exchange.reply(this.#refusal(exchange, badEncoding()))
  }

  /**
   * Replies instead of running the route. The connection is not closed in this turn, or the reply
   * would be lost. No further request is accepted: to the engine this one has no answer yet, so
   * another request ends the connection.
   */
  #refuseAndClose(exchange: HttpExchange, response: EngineResponse): void {
    let isGone = false
    response.onAborted(() => {
      isGone = true
    })
    const reply = this.#refusal(exchange, twoLengths())
    this.engine.writeRaw(response, rawMessage(reply, exchange.method))
    setImmediate(() => {
      if (!isGone) response.close()
    })
  }

  /** `method` is undefined for any. One closure a route, so that a request needs none. */
  #engineHandler(pattern: string, method: string | undefined, handler: Handler): EngineHandler {
    const isLiteral = !/[:*]/.test(pattern)
    const paramCount = pattern.split('/:').length - 1
    return (response, request) => {
      const params = paramCount === 0 ? NO_PARAMS : readParams(request, paramCount)
      const path = isLiteral ? pattern : request.getUrl()
      const target = { method: method ?? request.getMethod().toUpperCase(), path, params }
      this.#run(response, request, target, handler)
    }
  }

  /** `target.params` are still percent-encoded. */
  #run(
    response: EngineResponse,
    request: EngineRequest,
    target: { readonly method: string; readonly path: string; readonly params: readonly string[] },
    handler: Handler,
  ): void {
    const { method, path, params: raw } = target
    const params = raw.length === 0 ? raw : tryDecodeParams(raw)
    const decoded = { method, path, params: params ?? raw }
    const exchange = new HttpExchange(this, response, request, decoded)
    if (exchange.isAmbiguous) this.#refuseAndClose(exchange, response)
    else exchange.run(params === undefined ? this.#replyBadEncoding : handler)
  }
}

type Paths = ReadonlyMap<string, { readonly methods: ReadonlySet<string> }>

/** Two routes may name one path's parameters differently. */
function shapeOf(pattern: string): string {
  return pattern.replace(/:[^/]+/g, ':')
}

function allowOf(paths: Paths, pattern: string): string {
  return [...(paths.get(shapeOf(pattern))?.methods ?? [])].sort().join(', ')
}

function createApp(engine: Engine, tls: TlsFiles | undefined): EngineApp {
  try {
    return engine.createApp(tls)
  } catch (cause) {
    if (tls === undefined) throw cause
    const files = `${tls.certFile} (--tls-cert) and ${tls.keyFile} (--tls-key)`
    throw new Error(`the TLS certificate and key cannot be used: ${files}`, { cause })
  }
}

function readParams(
  request: { getParameter(index: number): string | undefined },
  count: number,
): readonly string[] {
  const params: string[] = []
  for (let index = 0; index < count; index++) params.push(request.getParameter(index) ?? '')
  return params
}

/** Undefined when one is not valid percent-encoding of UTF-8. */
function tryDecodeParams(params: readonly string[]): readonly string[] | undefined {
  if (!params.some((param) => param.includes('%'))) return params
  try {
    return params.map(decodeURIComponent)
  } catch {
    return undefined
  }
}

function twoLengths(): IngestError {
  return new IngestError('malformed', 'the request has more than one length, or an empty one')
}

function badEncoding(): IngestError {
  return new IngestError('malformed', 'the path is not percent-encoded UTF-8')
}

function defaultFallback(_exchange: Exchange, allow: string | undefined): Reply {
  const code = allow === undefined ? 'not_found' : 'method_not_allowed'
  const detail = allow === undefined ? 'there is nothing at this path' : `this path takes ${allow}`
  return problemReply(new IngestError(code, detail))
}
