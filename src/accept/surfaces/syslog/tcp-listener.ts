/**
 * Syslog over TCP (RFC 6587) and TLS (RFC 5425).
 *
 * Guarantee: what was read is committed, also when the connection ends or the service stops. Syslog
 * has no answers, so a sender learns that it is too fast only by not getting rid of its bytes: a
 * connection is not read while too much of it, or of its listener, is not committed.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { SYSLOG_CONNECTION_BYTES_MAX, SYSLOG_HANDSHAKE_MS_MAX } from '../../../limits.ts'
import type { ConnectionPlaces, Place } from './connection-places.ts'
import { createQueue, type Listener, type ListenerParts } from './listener-parts.ts'
import type { MessageCounts } from './syslog-counts.ts'
import { SyslogFramer } from './syslog-framer.ts'
import type { Contributor, SyslogQueue } from './syslog-queue.ts'
import { peerOf } from './syslog-record.ts'

/** How long a stop reads on, for what is on its way: senders learn that we end. */
export const LINGER_MS = 300
/** A peer that is gone without a word is found after some times this. */
const KEEP_ALIVE_MS = 60_000
const ROOM_SHARE = 0.5

export interface ServiceTls {
  readonly certFile: string
  readonly keyFile: string
}

export class TcpListener implements Listener {
  readonly receiveBufferBytes = undefined
  readonly #parts: ListenerParts
  readonly #places: ConnectionPlaces
  readonly #server: Server
  readonly #queue: SyslogQueue
  readonly #connections = new Set<Connection>()

  /** Throws when the certificates cannot be used. */
  constructor(parts: ListenerParts, places: ConnectionPlaces, tls: ServiceTls | undefined) {
    this.#parts = parts
    this.#places = places
    this.#queue = createQueue(parts, {
      onRoom: () => {
        for (const connection of this.#connections) connection.mayRead()
      },
      onGone: () => {
        this.#server.close()
        for (const connection of this.#connections) connection.close()
        parts.onGone()
      },
    })
    this.#server = this.#createServer(tls)
  }

  get waitingBytes(): number {
    return this.#queue.bytes
  }

  async listen(): Promise<number> {
    const { host, port } = this.#parts.address
    this.#server.listen({ host, port })
    await once(this.#server, 'listening') // Rejects with its error.
    this.#server.on('error', () => undefined)
    return (this.#server.address() as AddressInfo).port
  }

  async stop(): Promise<void> {
    this.#server.close()
    const closed = [...this.#connections].map((connection) => connection.finish(LINGER_MS))
    await Promise.all(closed)
    await this.#queue.stop(this.#parts.drainMs)
    this.#parts.teller.tell()
  }

  #createServer(service: ServiceTls | undefined): Server {
    const { transport, tls = service, caFile } = this.#parts.address
    if (transport !== 'tls' || tls === undefined) {
      return createServer((socket) => this.#open(socket, this.#enter(socket)))
    }
    const ca = caFile === undefined ? undefined : readFileSync(caFile)
    const server = createTlsServer({
      cert: readFileSync(tls.certFile),
      key: readFileSync(tls.keyFile),
      ...(ca !== undefined && { ca, requestCert: true, rejectUnauthorized: true }),
      handshakeTimeout: SYSLOG_HANDSHAKE_MS_MAX,
    })
    // Its place is taken before the handshake, which costs the most.
    const entered = new Map<string, Connection>()
    let fault = new Error('the client went away')
    server.on('connection', (socket: Socket) => {
      const connection = this.#enter(socket)
      if (connection === undefined) return
      const key = keyOf(socket)
      entered.set(key, connection)
      socket.once('close', () => {
        entered.delete(key)
        if (!connection.tryCloseUnopened()) return
        this.#parts.counts.refused.add('handshake')
        this.#parts.onHandshakeFailed(fault)
      })
    })
    server.on('secureConnection', (socket) => this.#open(socket, entered.get(keyOf(socket))))
    server.on('tlsClientError', (cause, socket) => {
      fault = cause
      socket.destroy()
    })
    return server
  }

  /** Undefined, with the socket destroyed, when there is no place for it. */
  #enter(socket: Socket): Connection | undefined {
    const connection = new Connection(socket, {
      queue: this.#queue,
      places: this.#places,
      counts: this.#parts.counts,
      messages: this.#parts.counts.of[this.#parts.address.transport],
      onClosed: () => this.#connections.delete(connection),
    })
    const noPlace = this.#places.tryTake(connection)
    if (noPlace !== undefined) {
      this.#parts.counts.refused.add(noPlace)
      socket.destroy()
      return undefined
    }
    this.#connections.add(connection)
    return connection
  }

  #open(socket: Socket, connection: Connection | undefined): void {
    if (connection === undefined) socket.destroy()
    else connection.open(socket)
  }
}

function keyOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`
}

interface ConnectionParts {
  readonly queue: SyslogQueue
  readonly places: ConnectionPlaces
  readonly counts: ListenerParts['counts']
  readonly messages: MessageCounts
  readonly onClosed: () => void
}

class Connection implements Place, Contributor {
  readonly address: string
  heardAtMs = performance.now()
  readonly #parts: ConnectionParts
  readonly #peer: Uint8Array
  readonly #framer: SyslogFramer
  #socket: Socket
  #queuedBytes = 0
  #isOpen = false
  #isPaused = false
  /** Paused for its own bound, until half of that is committed. */
  #isTooMuch = false
  #isBroken = false
  #isEnding = false
  #isOver = false
  #whenClosed: (() => void) | undefined

  constructor(socket: Socket, parts: ConnectionParts) {
    this.#socket = socket
    this.#parts = parts
    this.#peer = peerOf(socket.remoteAddress)
    this.address = Buffer.from(this.#peer).toString('latin1')
    this.#framer = new SyslogFramer({
      message: (bytes, start, end, isCut) => {
        parts.messages.messages++
        if (isCut) parts.messages.cut++
        parts.queue.add(this.#peer, bytes.subarray(start, end), isCut, this)
      },
      halfGrew: (bytes) => {
        if (!parts.places.tryGrowHalves(bytes)) throw new NoRoomForHalf()
      },
    })
    socket.on('error', () => undefined) // Its close says the rest.
  }

  /** `socket`: what its bytes come from, which over TLS is not the one that took the place. */
  open(socket: Socket): void {
    this.#socket = socket
    this.#isOpen = true
    socket.on('error', () => undefined)
    socket.setKeepAlive(true, KEEP_ALIVE_MS)
    socket.on('data', (chunk) => this.#take(chunk))
    socket.once('close', () => this.closed())
    if (this.#parts.queue.isFull) this.#pause()
  }

  queued(bytes: number): void {
    this.#queuedBytes += bytes
    if (bytes < 0) this.mayRead()
  }

  /** Reads on if nothing speaks against it. */
  mayRead(): void {
    if (!this.#isPaused || this.#parts.queue.mustWait) return
    const isHigh = this.#queuedBytes > SYSLOG_CONNECTION_BYTES_MAX * ROOM_SHARE
    if (this.#isTooMuch && isHigh) return
    this.#isTooMuch = false
    this.#isPaused = false
    this.#socket.resume()
  }

  /** Takes what was read, and closes it. */
  close(): void {
    this.closed(true)
    this.#socket.destroy()
  }

  /** Says that we end, and reads what is on its way. Resolves when it is closed. */
  async finish(lingerMs: number): Promise<void> {
    if (this.#isOver) return
    this.#isEnding = true // Whether its last line is whole, nobody knows.
    const closed = new Promise<void>((resolve) => {
      this.#whenClosed = resolve
    })
    this.#socket.end()
    const late = setTimeout(() => this.close(), lingerMs)
    await closed
    clearTimeout(late)
  }

  /**
   * The socket that took the place is closed. False when it was opened: what stands on it may have
   * more to read, and closes by itself.
   */
  tryCloseUnopened(): boolean {
    if (this.#isOpen || this.#isOver) return false
    this.closed()
    return true
  }

  closed(isEarly = false): void {
    if (this.#isOver) return
    this.#takeRest()
    this.#isOver = true
    this.#framer.end(isEarly || this.#isEnding)
    this.#parts.places.leave(this)
    this.#parts.onClosed()
    this.#whenClosed?.()
  }

  #take(chunk: Uint8Array): void {
    if (this.#isOver || this.#isBroken) return
    this.heardAtMs = performance.now()
    try {
      this.#framer.push(chunk)
    } catch (cause) {
      if (!(cause instanceof NoRoomForHalf)) throw cause
      this.#parts.counts.refused.add('halves')
      this.#parts.counts.dropped.add('connection')
      this.#framer.discard()
      this.#isBroken = true
      return this.close()
    }
    if (this.#queuedBytes >= SYSLOG_CONNECTION_BYTES_MAX) this.#isTooMuch = true
    if (this.#isTooMuch || this.#parts.queue.mustWait) this.#pause()
  }

  /** What came while it was not read. */
  #takeRest(): void {
    if (!this.#isPaused) return
    this.#socket.removeAllListeners('data')
    for (let chunk = this.#socket.read(); chunk !== null; chunk = this.#socket.read()) {
      this.#take(chunk)
    }
  }

  #pause(): void {
    this.#isPaused = true
    this.#socket.pause()
  }
}

/** Too many connections have half a message. */
class NoRoomForHalf extends Error {}
