/** One keep-alive connection with at most one request in flight. It connects again when cut. */
import { connect, type Socket } from 'node:net'
import { type HttpResponse, ResponseParser } from './response-parser.ts'

export interface LoadRequest {
  /** Head and body in one piece, ready to be written, never changed; over gRPC the message. */
  readonly bytes: Buffer
  readonly events: number
  readonly key: string
}

/** One request at a time. It connects again when it is cut. */
export interface Connection {
  /** What is in flight, and since when; the runner's business. */
  readonly request: LoadRequest | undefined
  readonly sentAtMs: number
  /** How long to stay away after this response before being idle again. */
  pauseMs: number
  open(): void
  send(request: LoadRequest, atMs: number): void
  close(): void
}

export interface ConnectionEvents {
  /** The connection is open and has nothing in flight. */
  idle(connection: Connection): void
  response(connection: Connection, response: HttpResponse): void
  /** Cut. If a request was in flight, nobody knows what became of it. It connects again. */
  lost(connection: Connection, reason: string): void
}

const READ_BUFFER_BYTES = 16 * 1024
export const RECONNECT_MS = 100

export class LoadConnection implements Connection {
  readonly #address: { readonly host: string; readonly port: number }
  readonly #events: ConnectionEvents
  #socket: Socket | undefined
  #parser = new ResponseParser()
  #isClosed = false
  request: LoadRequest | undefined
  sentAtMs = 0
  pauseMs = 0

  constructor(address: { host: string; port: number }, events: ConnectionEvents) {
    this.#address = address
    this.#events = events
  }

  open(): void {
    this.#parser = new ResponseParser()
    let reason = 'closed by the server'
    const socket = connect({
      ...this.#address,
      noDelay: true,
      // One buffer a connection instead of one a read: a tenth of the client's cost.
      onread: {
        buffer: Buffer.allocUnsafe(READ_BUFFER_BYTES),
        callback: (bytes, buffer) =>
          this.#read(Buffer.from(buffer.buffer, buffer.byteOffset, bytes)),
      },
    })
    socket.once('connect', () => this.#events.idle(this))
    socket.on('error', (error) => {
      reason = error.message
    })
    socket.once('close', () => this.#closed(reason))
    this.#socket = socket
  }

  send(request: LoadRequest, atMs: number): void {
    this.request = request
    this.sentAtMs = atMs
    this.#socket!.write(request.bytes)
  }

  close(): void {
    this.#isClosed = true
    this.#socket?.destroy()
  }

  #read(chunk: Buffer): boolean {
    let response: HttpResponse | undefined
    try {
      response = this.#parser.push(chunk)
    } catch (error) {
      this.#socket!.destroy(error as Error)
      return true
    }
    if (response === undefined) return true
    if (this.request === undefined) {
      this.#socket!.destroy(new Error('response without a request'))
      return true
    }
    this.#events.response(this, response)
    this.request = undefined
    if (response.isLast) this.#socket!.destroy()
    else if (this.pauseMs === 0) this.#rest()
    else setTimeout(() => this.#rest(), this.pauseMs)
    this.pauseMs = 0
    return true
  }

  #rest(): void {
    if (!this.#isClosed && this.#socket?.destroyed === false) this.#events.idle(this)
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
