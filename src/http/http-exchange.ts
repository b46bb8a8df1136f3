/**
 * One request and its reply on an engine. The subtle part is a reply given before the request body
 * has been read: closing then would reset the connection and the client could lose the reply, so
 *
 *   open --reply--> held --sent--> lingering --body ended, or its bounds--> done
 *
 * A large reply is sent as its reader takes it (`large-reply.ts`):
 *
 *   open --reply--> sending --all taken--> done
 *
 * One of unknown length is streamed (`reply-stream.ts`), whether the body has ended or not:
 *
 *   open --stream--> streaming --ended and all taken--> done
 *
 * A held reply waits a moment for the rest of a small body, so that the connection can be kept.
 * Otherwise it is sent at once, marked `Connection: close`, and whatever still comes is discarded.
 */
import assert from 'node:assert/strict'
import { IngestError } from '../errors.ts'
import { REPLY_DIRECT_BYTES_MAX } from '../limits.ts'
import { readBodyHead } from './body-head.ts'
import type { Engine, EngineRequest, EngineResponse } from './engine.ts'
import type { BodyConsumer, Exchange, Handler, Reply, StreamHead } from './exchange.ts'
import type { InFlight, InFlightRequest } from './in-flight.ts'
import { LargeReply } from './large-reply.ts'
import { assertHeaders, byteLength, rawMessage, statusIsBodyless, writeHead } from './message.ts'
import { problemReply } from './problem.ts'
import { HeldStream, NO_STREAM, type ReplyStream } from './reply-stream.ts'

/** A body this close to its end is awaited before an early reply is sent. */
const HOLD_BYTES_MAX = 64 * 1024
/** Engines close a silent connection after some 10 s; from this age on the sweep prevents it. */
const KEEP_ALIVE_TICKS = 2

const EMPTY = new Uint8Array(0)

const OPEN = 0
const HELD = 1
const LINGERING = 2
const DONE = 3
const SENDING = 4
const STREAMING = 5

// The reply being written: cork() takes a function without arguments, and one closure a reply is
// what this saves. Corking is synchronous, so no two replies are ever written at once.
let corkedExchange: HttpExchange | undefined

/** What all exchanges of a server share. */
export interface ExchangeHost {
  readonly engine: Engine
  /** Counts sweeps: the clock of everything coarse, so that no chunk needs to ask for the time. */
  readonly tick: number
  readonly bodyIdleTicksMax: number
  readonly lingerTicksMax: number
  readonly lingerBytesMax: number
  /** True once the server stops: replies then close their connections. */
  readonly stopping: boolean
  activeRequests: number
  /** What counts large replies that bring no room of their own. */
  readonly replyBudget: InFlight
  /** Exchanges whose body, or large or streamed reply, has not ended; the sweep visits them. */
  readonly reading: Set<SweptExchange>
  /** Sends the held reply after the current turn, unless the body ends in it. */
  sendHeldSoon(exchange: HeldExchange): void
  onError(error: unknown, exchange: Exchange): void
}

/** One that waits for its client. */
export interface SweptExchange {
  sweep(): void
  tellStopping(): void
}

/** One whose reply is held. */
export interface HeldExchange {
  sendHeld(): void
}

export class HttpExchange implements Exchange {
  readonly method: string
  readonly path: string
  readonly queryString: string
  aborted = false
  readonly #host: ExchangeHost
  readonly #response: EngineResponse
  #request: EngineRequest | undefined
  readonly #params: readonly string[]
  /** -1 when unknown, that is chunked. */
  readonly #bodyBytes: number
  /** Where its body ends is not certain: what follows on the connection may be no request. */
  readonly isAmbiguous: boolean
  readonly #hasBlankHeader: boolean
  #consumer: BodyConsumer | undefined
  #abortListener: (() => void) | undefined
  #phase = OPEN
  #paused = false
  #bodyDone: boolean
  #receivedBytes = 0
  /** Bytes and tick at which a held or lingering exchange is given up. */
  #receivedBytesMax = Number.MAX_SAFE_INTEGER
  #deadlineTick = 0
  readonly #startTick: number
  #progressTick: number
  #reply: Reply | undefined
  /** What a large reply that is being sent holds. */
  #room: InFlightRequest | undefined
  #stream: HeldStream | undefined
  #onStopping: (() => void) | undefined

  constructor(
    host: ExchangeHost,
    response: EngineResponse,
    request: EngineRequest,
    target: { method: string; path: string; params: readonly string[] },
  ) {
    this.#host = host
    this.#request = request
    this.method = target.method
    this.path = target.path
    this.#params = target.params
    this.queryString = request.getQuery() ?? ''
    const { bodyBytes, isAmbiguous, hasBlank, awaitsContinue } = readBodyHead(request)
    const { sendContinue } = host.engine
    this.#response = (awaitsContinue && sendContinue?.(response)) || response
    this.#bodyBytes = bodyBytes
    this.#hasBlankHeader = hasBlank
    this.isAmbiguous = isAmbiguous
    this.#bodyDone = this.#bodyBytes === 0
    this.#startTick = this.#progressTick = host.tick
  }

  /** Calls `handler` and attaches to the engine whatever the exchange then still waits for. */
  run(handler: Handler): void {
    this.#host.activeRequests++
    try {
      const result = handler(this)
      if (result !== undefined) result.catch((error: unknown) => this.fail(error))
    } catch (error) {
      this.fail(error)
    }
    this.#request = undefined
    if (this.#phase === DONE) return

    this.#response.onAborted(() => this.#onAborted())
    if (this.#bodyDone) {
      // Some native builds never report the end of a body whose declared length is 0.
      if (this.#consumer !== undefined && this.#phase === OPEN) this.#consume(EMPTY, true)
      return
    }
    this.#host.reading.add(this)
    this.#response.onData((chunk, isLast) => this.#onData(chunk, isLast))
  }

  param(index: number): string {
    const value = this.#params[index]
    assert(value !== undefined, 'the route has no such parameter')
    return value
  }

  header(name: string): string {
    assert(this.#request !== undefined, 'headers are gone once the handler has returned')
    return this.#request.getHeader(name)
  }

  headerLines(name: string): number {
    assert(this.#request !== undefined, 'headers are gone once the handler has returned')
    if (!this.#hasBlankHeader && this.#request.getHeader(name) === '') return 0
    let lines = 0
    this.#request.forEach((other) => {
      if (other === name) lines++
    })
    return lines
  }

  readBody(consumer: BodyConsumer): void {
    assert(this.#request !== undefined, 'readBody comes too late')
    assert(this.#consumer === undefined, 'readBody is called twice')
    this.#consumer = consumer
  }

  onAborted(listener: () => void): void {
    this.#abortListener = listener
  }

  pause(): void {
    if (this.#phase !== OPEN || this.aborted || this.#bodyDone || this.#paused) return
    this.#paused = true
    this.#response.pause()
  }

  resume(): void {
    if (!this.#paused || this.#phase === DONE) return
    this.#paused = false
    this.#progressTick = this.#host.tick // The silence so far was ours.
    this.#response.resume()
    // That began the engine's time for the rest of a body. Where it has come already, nothing but
    // the sweep keeps the connection of an answer that takes longer.
    if (this.#bodyDone) this.#host.reading.add(this)
  }

  reply(reply: Reply): void {
    if (this.aborted) return
    assert(this.#phase === OPEN, 'a second reply')
    if (reply.headers !== undefined) assertHeaders(reply.headers)
    this.resume() // A connection left paused would never read its next request.
    if (this.#bodyDone) {
      this.#send(reply)
      return
    }

    this.#phase = HELD
    this.#reply = reply
    const restBytes = this.#bodyBytes - this.#receivedBytes
    this.#receivedBytesMax = this.#receivedBytes + this.#host.lingerBytesMax
    this.#deadlineTick = this.#host.tick + this.#host.lingerTicksMax
    const isNearlyRead = this.#bodyBytes >= 0 && restBytes <= HOLD_BYTES_MAX
    if (!isNearlyRead) this.#host.sendHeldSoon(this)
  }

  stream(head: StreamHead): ReplyStream {
    if (this.aborted) return NO_STREAM
    assert(this.#phase === OPEN, 'a second reply')
    if (head.headers !== undefined) assertHeaders(head.headers)
    if (!this.#mayHaveBody(head)) {
      this.reply(head)
      return NO_STREAM
    }
    const room = this.#host.replyBudget.enter(0, () => this.#stream?.drop())
    this.resume()
    this.#phase = STREAMING
    this.#room = room
    this.#receivedBytesMax = this.#receivedBytes + this.#host.lingerBytesMax
    this.#host.reading.add(this)
    this.#progressTick = this.#host.tick
    const stream = new HeldStream({
      response: this.#response,
      room,
      filler: this.#host.engine.endsChunks ? undefined : head.filler,
      writeHead: () => writeHead(this.#response, head, this.#host.stopping),
      onProgress: () => {
        this.#progressTick = this.#host.tick
      },
      onSent: () => this.#finish(),
      onDrop: () => this.drop(),
    })
    this.#stream = stream
    this.#response.onWritable(() => stream.onWritable())
    this.#onStopping = () => head.onStopping?.(stream)
    if (this.#host.stopping) this.tellStopping()
    return stream
  }

  /** The server is to stop: a streamed reply is told once. */
  tellStopping(): void {
    const tell = this.#onStopping
    this.#onStopping = undefined
    this.#progressTick = this.#host.tick
    tell?.()
  }

  drop(): void {
    if (this.#phase === DONE) return
    const isStreaming = this.#phase === STREAMING
    this.#finish()
    this.aborted = true
    this.#response.close()
    if (isStreaming) this.#tellAborted(false)
  }

  /** Answers an expected failure as what it is; anything else is `internal` and reported. */
  fail(error: unknown): void {
    const expected = error instanceof IngestError && error.code !== 'internal'
    if (!expected) this.#host.onError(error, this)
    if (this.#phase === STREAMING) this.drop()
    if (this.#phase !== OPEN || this.aborted) return
    this.reply(problemReply(expected ? error : IngestError.from(error, 'internal')))
  }

  /** Sends a held reply although the body has not ended, and lingers. */
  sendHeld(): void {
    const reply = this.#reply
    if (this.#phase !== HELD || reply === undefined) return
    this.#phase = LINGERING
    this.#reply = undefined
    this.#host.engine.writeRaw(this.#response, rawMessage(reply, this.method))
  }

  /** Called for an exchange in `reading`, once a tick. */
  sweep(): void {
    const tick = this.#host.tick
    if (this.#phase === STREAMING) {
      const { stopping, bodyIdleTicksMax, lingerTicksMax } = this.#host
      const ticksMax = stopping ? lingerTicksMax : bodyIdleTicksMax
      if (!this.#stream?.isWaiting) this.#progressTick = tick
      else if (tick - this.#progressTick > ticksMax) this.drop()
    } else if (this.#phase === SENDING) {
      if (tick - this.#progressTick > this.#host.bodyIdleTicksMax) this.drop()
    } else if (this.#phase === OPEN && this.#bodyDone) {
      this.#response.resume()
    } else if (this.#phase === HELD && tick >= this.#deadlineTick) {
      this.#deadlineTick = tick + 1 // One more tick for the client to take the reply.
      this.sendHeld()
    } else if (this.#phase === LINGERING && tick >= this.#deadlineTick) {
      this.#response.close()
    } else if (!this.#paused && tick - this.#progressTick > this.#host.bodyIdleTicksMax) {
      this.#response.close()
    } else if (!this.#paused && tick - this.#startTick >= KEEP_ALIVE_TICKS) {
      // uWebSockets.js demands 16 KiB/s of every body; resume() restarts its timer. Ours is the
      // judge: a slow fleet on a bad line is welcome, a silent one is not.
      this.#response.resume()
    }
  }

  #onData(chunk: ArrayBuffer | Uint8Array, isLast: boolean): void {
    if (this.#phase !== STREAMING) this.#progressTick = this.#host.tick
    this.#receivedBytes += chunk.byteLength
    if (isLast) {
      this.#bodyDone = true
      if (this.#phase !== STREAMING) this.#host.reading.delete(this)
    }
    if (this.#phase === OPEN) {
      this.#consume(chunk instanceof ArrayBuffer ? new Uint8Array(chunk) : chunk, isLast)
    } else if (this.#phase === HELD) {
      if (isLast && this.#reply !== undefined) this.#send(this.#reply)
    } else if (this.#phase === STREAMING) {
      if (this.#receivedBytes > this.#receivedBytesMax) this.drop()
    } else if (this.#phase === LINGERING) {
      if (isLast || this.#receivedBytes > this.#receivedBytesMax) this.#response.close()
    }
  }

  #consume(bytes: Uint8Array, isLast: boolean): void {
    try {
      this.#consumer?.chunk(bytes, isLast)
    } catch (error) {
      this.fail(error)
    }
  }

  #onAborted(): void {
    this.aborted = true
    if (this.#phase === DONE) return
    const phase = this.#phase
    this.#finish()
    if (phase === OPEN || phase === STREAMING) this.#tellAborted(phase === OPEN)
  }

  #tellAborted(isOpen: boolean): void {
    try {
      this.#abortListener?.()
      if (isOpen) this.#consumer?.aborted()
    } catch (error) {
      this.fail(error)
    }
  }

  #finish(): void {
    this.#phase = DONE
    this.#host.activeRequests--
    this.#host.reading.delete(this)
    this.#stream?.over()
    this.#room?.leave()
    this.#room = undefined
  }

  #send(reply: Reply): void {
    const { body } = reply
    if (body !== undefined && body.length > REPLY_DIRECT_BYTES_MAX && this.#mayHaveBody(reply)) {
      return this.#sendLarge(reply, typeof body === 'string' ? Buffer.from(body) : body)
    }
    this.#finish()
    this.#reply = reply
    corkedExchange = this
    this.#response.cork(writeCorked)
    if (this.#host.engine.copiesBodies) reply.sent?.()
  }

  #mayHaveBody({ status }: Pick<Reply, 'status'>): boolean {
    return !statusIsBodyless(status) && this.method !== 'HEAD'
  }

  /** Sends the head and as much of the body as the socket takes; the rest as it is read. */
  #sendLarge(reply: Reply, body: Uint8Array): void {
    try {
      const { replyBudget } = this.#host
      const enter = reply.room ?? ((bytes, cut) => replyBudget.enter(bytes, cut))
      this.#room = enter(body.length, () => this.drop())
    } catch (error) {
      return this.#send(problemReply(IngestError.from(error, 'internal')))
    }
    this.#phase = SENDING
    this.#progressTick = this.#host.tick
    this.#host.reading.add(this)
    const large = new LargeReply({
      response: this.#response,
      body,
      room: this.#room,
      onProgress: () => {
        this.#progressTick = this.#host.tick
      },
      onSent: () => {
        this.#finish()
        if (this.#host.engine.copiesBodies) reply.sent?.()
      },
    })
    this.#response.cork(() => {
      writeHead(this.#response, reply, this.#host.stopping)
      large.begin()
    })
  }

  /** Writes the reply to the corked response. Must not throw: the exchange is over by now. */
  write(): void {
    const reply = this.#reply
    assert(reply !== undefined)
    this.#reply = undefined
    const response = this.#response
    const close = this.#host.stopping
    writeHead(response, reply, false)
    const body = reply.body ?? ''
    if (this.#mayHaveBody(reply)) {
      response.end(body, close)
      return
    }
    if (close) response.writeHeader('Connection', 'close')
    if (!statusIsBodyless(reply.status))
      response.writeHeader('Content-Length', String(byteLength(body)))
    response.endWithoutBody()
  }
}

function writeCorked(): void {
  corkedExchange?.write()
  corkedExchange = undefined
}
