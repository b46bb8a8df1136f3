/**
 * The engine interface on node:http, for platforms where no native build loads. Routes match as in
 * uWebSockets.js: a method's own routes before `any`, a literal segment before a parameter before
 * the final wildcard.
 */
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { Server as NetServer, type Socket } from 'node:net'
import { HEAD_BYTES_MAX } from '../limits.ts'
import type {
  EngineApp,
  EngineHandler,
  EngineRequest,
  EngineResponse,
  ListenToken,
  TlsFiles,
} from './engine.ts'
import { bestMatch, paramsOf } from './match-path.ts'

interface NodeRoute {
  readonly method: string
  readonly segments: readonly string[]
  readonly handler: EngineHandler
}

/** Throws when the certificate or key cannot be read or used. */
export function createNodeApp(tls: TlsFiles | undefined): EngineApp {
  const routes: NodeRoute[] = []
  const sockets = new Set<Socket>()
  const options = { maxHeaderSize: HEAD_BYTES_MAX }
  const server: Server =
    tls === undefined
      ? createServer(options)
      : createTlsServer({
          ...options,
          cert: readFileSync(tls.certFile),
          key: readFileSync(tls.keyFile),
        })
  server.requestTimeout = 0 // The sweep of server.ts judges slow bodies, by progress.
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  server.on('request', (request, response) => dispatch(routes, request, response))
  // Node answers "100 Continue" in any case of letters; what else is expected is ignored.
  server.on('checkExpectation', (request, response) => dispatch(routes, request, response))
  const add = (method: string) => (pattern: string, handler: EngineHandler) =>
    routes.push({ method, segments: pattern.split('/'), handler })
  return {
    get: add('GET'),
    post: add('POST'),
    put: add('PUT'),
    patch: add('PATCH'),
    del: add('DELETE'),
    head: add('HEAD'),
    options: add('OPTIONS'),
    any: add(''),
    filter: (handler) => {
      server.on('connection', (socket) => {
        handler(undefined, 1)
        socket.on('close', () => handler(undefined, -1))
      })
    },
    listen: (host, port, _options, callback) => listen(server, host, port, callback),
    close: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

function listen(
  server: Server,
  host: string,
  port: number,
  callback: (token: ListenToken) => void,
): void {
  const fail = () => callback(false)
  server.once('error', fail)
  server.listen({ host, port, exclusive: true }, () => {
    server.removeListener('error', fail)
    const address = server.address()
    callback({
      port: typeof address === 'object' && address !== null ? address.port : -1,
      // The HTTP server's own close would also cut connections that are between two requests.
      closeListenSocket: () => NetServer.prototype.close.call(server),
    })
  })
}

function dispatch(
  routes: readonly NodeRoute[],
  request: IncomingMessage,
  response: ServerResponse,
): void {
  const url = request.url ?? '/'
  const question = url.indexOf('?')
  const path = question < 0 ? url : url.slice(0, question)
  const query = question < 0 ? '' : url.slice(question + 1)
  const segments = path.split('/')
  const route =
    bestMatch(routesOf(routes, request.method ?? ''), segments) ??
    bestMatch(routesOf(routes, ''), segments)
  if (route === undefined) {
    response.socket?.destroy()
    return
  }
  const params = paramsOf(route.segments, segments)
  const engineResponse = new NodeResponse(request, response)
  route.handler(engineResponse, new NodeRequest(request, path, query, params))
  engineResponse.start()
}

function routesOf(routes: readonly NodeRoute[], method: string): readonly NodeRoute[] {
  return routes.filter((route) => route.method === method)
}

class NodeRequest implements EngineRequest {
  readonly #request: IncomingMessage
  readonly #path: string
  readonly #query: string
  readonly #params: readonly string[]

  constructor(request: IncomingMessage, path: string, query: string, params: readonly string[]) {
    this.#request = request
    this.#path = path
    this.#query = query
    this.#params = params
  }

  getHeader(lowerCaseName: string): string {
    const value = this.#request.headers[lowerCaseName]
    return typeof value === 'string' ? value : (value?.join(', ') ?? '')
  }

  forEach(visit: (lowerCaseName: string, value: string) => void): void {
    const { rawHeaders } = this.#request
    for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
      visit(rawHeaders[i]!.toLowerCase(), rawHeaders[i + 1]!)
    }
  }

  getParameter(index: number): string | undefined {
    return this.#params[index]
  }

  getUrl(): string {
    return this.#path
  }

  getMethod(): string {
    return (this.#request.method ?? '').toLowerCase()
  }

  getQuery(): string {
    return this.#query
  }
}

class NodeResponse implements EngineResponse {
  readonly #request: IncomingMessage
  readonly #response: ServerResponse
  #abort: (() => void) | undefined
  #data: ((chunk: Uint8Array, isLast: boolean) => void) | undefined
  #ended = false
  /** Of a body that is sent in pieces. */
  #bodyBytes = 0

  constructor(request: IncomingMessage, response: ServerResponse) {
    this.#request = request
    this.#response = response
  }

  /** Called once the handler has returned, as uWebSockets.js only then begins with the body. */
  start(): void {
    // A request error is the client going away; `close` follows and says so.
    this.#request.on('error', () => this.#response.destroy())
    this.#response.on('close', () => {
      if (!this.#ended) this.#abort?.()
    })
    this.#request.on('data', (chunk: Uint8Array) => this.#data?.(chunk, false))
    this.#request.on('end', () => this.#data?.(EMPTY, true))
  }

  writeStatus(status: string | Uint8Array): this {
    const text = String(status)
    this.#response.statusCode = Number(text.slice(0, 3))
    this.#response.statusMessage = text.slice(4)
    return this
  }

  writeHeader(name: string | Uint8Array, value: string): this {
    this.#response.setHeader(String(name), value)
    return this
  }

  end(body: string | Uint8Array, closeConnection: boolean): this {
    if (this.#response.headersSent) return this.#finish(undefined, false)
    this.#response.setHeader('Content-Length', Buffer.byteLength(body))
    return this.#finish(body, closeConnection)
  }

  write(bytes: Uint8Array): boolean {
    return this.#response.write(bytes)
  }

  tryEnd(rest: Uint8Array, totalBytes: number): readonly [boolean, boolean] {
    if (!this.#response.headersSent) this.#response.setHeader('Content-Length', totalBytes)
    let at = 0
    let isTaken = true
    while (isTaken && at < rest.length) {
      const piece = rest.subarray(at, at + PIECE_BYTES)
      at += piece.length
      isTaken = this.#response.write(piece)
    }
    this.#bodyBytes += at
    const isDone = this.#bodyBytes === totalBytes
    if (isDone) this.#finish(undefined, false)
    return [isTaken, isDone]
  }

  onWritable(handler: (offset: number) => boolean): this {
    this.#response.on('drain', () => {
      if (!this.#ended) handler(this.#bodyBytes)
    })
    return this
  }

  endWithoutBody(): this {
    return this.#finish(undefined, false)
  }

  close(): this {
    this.#request.socket.destroy()
    return this
  }

  cork(write: () => void): this {
    write() // A ServerResponse sends its head with the first byte of the body anyway.
    return this
  }

  onAborted(handler: () => void): this {
    this.#abort = handler
    return this
  }

  onData(handler: (chunk: Uint8Array, isLast: boolean) => void): this {
    this.#data = handler
    return this
  }

  pause(): this {
    this.#request.pause()
    return this
  }

  resume(): this {
    this.#request.resume()
    return this
  }

  /** See `Engine.writeRaw`. */
  writeRaw(message: Uint8Array): void {
    this.#request.socket.write('HTTP/1.1 ')
    this.#request.socket.write(message)
  }

  #finish(body: string | Uint8Array | undefined, closeConnection: boolean): this {
    this.#ended = true
    this.#data = undefined
    if (closeConnection) this.#response.setHeader('Connection', 'close')
    this.#response.end(body)
    return this
  }
}

const EMPTY = new Uint8Array(0)
/** What may lie in a response beside what its socket has taken. */
const PIECE_BYTES = 64 * 1024
