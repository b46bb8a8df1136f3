/** A client that shows what really goes over the wire, and a server to point it at. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { Exchange } from '../../src/http/exchange.ts'
import { loadEngines } from '../../src/http/load-engine.ts'
import { createServer, type HttpServer, type ServerOptions } from '../../src/http/server.ts'

/** Every engine that works here: each must behave the same. */
export const ENGINES = loadEngines()

export interface RunningServer {
  readonly server: HttpServer
  readonly port: number
  readonly errors: unknown[]
}

/** Starts a server on a free loopback port; the test closes it. */
export async function startServer(
  options: Omit<ServerOptions, 'onError'> & Partial<ServerOptions>,
): Promise<RunningServer> {
  const errors: unknown[] = []
  const server = createServer({ onError: (error) => errors.push(error), ...options })
  return { server, port: await server.listen('127.0.0.1', 0), errors }
}

export class RawClient {
  readonly socket: Socket
  received = ''
  closed = false

  private constructor(socket: Socket) {
    this.socket = socket
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => {
      this.received += text
    })
    // A reset shows as `closed` and in `received`; the tests judge those.
    socket.on('error', (error) => {
      this.received += `<${error.message}>`
    })
    socket.on('close', () => {
      this.closed = true
    })
  }

  static async connect(port: number): Promise<RawClient> {
    const socket = connect(port, '127.0.0.1')
    await once(socket, 'connect')
    socket.setNoDelay(true)
    return new RawClient(socket)
  }

  write(bytes: string | Uint8Array): void {
    this.socket.write(bytes)
  }

  /** Resolves when `received` matches; rejects after `ms`. */
  async until(pattern: RegExp, ms = 5_000): Promise<string> {
    await waitFor(() => pattern.test(this.received), `${pattern} in the reply`, ms)
    return this.received
  }

  async untilClosed(ms = 5_000): Promise<string> {
    await waitFor(() => this.closed, 'the connection to close', ms)
    return this.received
  }

  destroy(): void {
    this.socket.destroy()
  }
}

export async function waitFor(condition: () => boolean, what: string, ms = 5_000): Promise<void> {
  const deadline = Date.now() + ms
  while (!condition()) {
    if (Date.now() > deadline) throw new Error(`waited ${ms} ms for ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** The body so far as a reader has it that takes a chunk only when its line end is there. */
export function wholeChunks(message: string): string {
  let at = message.indexOf('\r\n\r\n') + 4
  let body = ''
  for (;;) {
    const [line, size] = /^([0-9a-f]+)\r\n/i.exec(message.slice(at)) ?? []
    if (line === undefined || size === undefined) return body
    const start = at + line.length
    const end = start + Number.parseInt(size, 16)
    if (message.slice(end, end + 2) !== '\r\n') return body
    body += message.slice(start, end)
    at = end + 2
  }
}

/** Collects the body and replies with it. */
export function echo(exchange: Exchange): void {
  const chunks: Buffer[] = []
  exchange.readBody({
    chunk: (bytes, isLast) => {
      chunks.push(Buffer.from(bytes)) // Copies: the bytes are only lent.
      if (isLast) exchange.reply({ status: 200, body: Buffer.concat(chunks) })
    },
    aborted: () => undefined,
  })
}

/** The head of a request, complete with its empty line. */
export function head(method: string, path: string, ...headers: string[]): string {
  return `${[`${method} ${path} HTTP/1.1`, 'Host: test', ...headers].join('\r\n')}\r\n\r\n`
}
