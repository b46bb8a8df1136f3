/**
 * Syslog over UDP (RFC 5426): a datagram is a message.
 *
 * Guarantee: what was received and could not be kept is counted and told, and so is what the kernel
 * dropped before we came to read it, where it says so. Nobody can be asked to wait: the kernel's
 * receive buffer and the queue are what bridges a moment without commits.
 */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { debuglog } from 'node:util'
import { IngestError } from '../../../errors.ts'
import { SYSLOG_QUEUE_BYTES_MAX } from '../../../limits.ts'
import { readKernelDrops } from './kernel-drops.ts'
import { createQueue, type Listener, type ListenerParts } from './listener-parts.ts'
import type { MessageCounts } from './syslog-counts.ts'
import type { SyslogQueue } from './syslog-queue.ts'
import { peerOf } from './syslog-record.ts'

/** Asked of the kernel, which gives no more than `net.core.rmem_max`. */
export const RECEIVE_BUFFER_BYTES = 16 * 1024 * 1024
const debug = debuglog('ingest:syslog')
const KERNEL_DROPS_MS = 1_000
/** Addresses whose text is kept; made anew when there are more. */
const PEERS_MAX = 4_096
const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d

const QUEUE_FULL = new IngestError(
  'overloaded',
  `over ${SYSLOG_QUEUE_BYTES_MAX} bytes wait to be committed (SYSLOG_QUEUE_BYTES_MAX)`,
)
const KERNEL_FULL = new IngestError(
  'overloaded',
  "the kernel's receive buffer was full (net.core.rmem_max)",
)

export class UdpListener implements Listener {
  readonly #parts: ListenerParts
  readonly #counts: MessageCounts
  readonly #queue: SyslogQueue
  readonly #peers = new Map<string, Uint8Array>()
  #socket: Socket | undefined
  #port = 0
  #kernelDrops = 0
  #isLooking = false
  #timer: NodeJS.Timeout | undefined
  receiveBufferBytes: number | undefined

  constructor(parts: ListenerParts) {
    this.#parts = parts
    this.#counts = parts.counts.of.udp
    this.#queue = createQueue(parts, {
      onRoom: () => undefined,
      onGone: () => {
        this.#close()
        parts.onGone()
      },
    })
  }

  get waitingBytes(): number {
    return this.#queue.bytes
  }

  async listen(): Promise<number> {
    const { host, port } = this.#parts.address
    const socket = createSocket({ type: host.includes(':') ? 'udp6' : 'udp4' })
    socket.bind({ address: host, port })
    await once(socket, 'listening') // Rejects with its error.
    this.#socket = socket
    socket.on('error', () => undefined) // Of one datagram: those behind it come all the same.
    this.#port = socket.address().port
    try {
      socket.setRecvBufferSize(RECEIVE_BUFFER_BYTES)
    } catch (cause) {
      debug('no larger receive buffer: %s', cause) // Linux gives what it may instead.
    }
    this.receiveBufferBytes = socket.getRecvBufferSize()
    socket.on('message', (bytes, from) => this.#take(bytes, from))
    this.#timer = setInterval(() => void this.#lookForDrops(), KERNEL_DROPS_MS)
    return this.#port
  }

  async stop(): Promise<void> {
    await this.#lookForDrops()
    this.#close()
    await this.#queue.stop(this.#parts.drainMs)
    this.#parts.teller.tell()
  }

  #close(): void {
    clearInterval(this.#timer)
    this.#socket?.close()
    this.#socket = undefined
  }

  #take(bytes: Uint8Array, { address }: RemoteInfo): void {
    let end = bytes.length
    while (end > 0 && isTrailer(bytes[end - 1]!)) end--
    if (end === 0) return
    this.#counts.messages++
    if (this.#queue.isFull) {
      this.#parts.counts.dropped.add('queue_full')
      this.#parts.teller.add(QUEUE_FULL, 1, end)
      return
    }
    this.#queue.add(this.#peerOf(address), bytes.subarray(0, end), false)
  }

  #peerOf(address: string): Uint8Array {
    const known = this.#peers.get(address)
    if (known !== undefined) return known
    if (this.#peers.size >= PEERS_MAX) this.#peers.clear()
    const peer = peerOf(address)
    this.#peers.set(address, peer)
    return peer
  }

  async #lookForDrops(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    const drops = await readKernelDrops(this.#port)
    this.#isLooking = false
    const more = (drops ?? 0) - this.#kernelDrops
    if (more <= 0) return
    this.#kernelDrops += more
    this.#parts.counts.dropped.add('kernel', more)
    this.#parts.teller.add(KERNEL_FULL, more)
  }
}

function isTrailer(byte: number): boolean {
  return byte === LINE_FEED || byte === CARRIAGE_RETURN || byte === 0
}
