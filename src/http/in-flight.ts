/**
 * Bytes and requests between accept and acknowledge. Past the bound a whole request is refused
 * before anything of it is committed, because forwarders lose data on mixed replies.
 *
 * When the byte budget is exhausted, bodies that come more slowly than SLOW_BODY_BYTES_PER_SECOND
 * are aborted, the slowest first, if that frees enough. Nobody is aborted before that.
 *
 * A request's bytes in the pool count until the pool is done with them, even when the request is
 * over: otherwise clients that begin and go away would fill memory that nobody counts.
 */
import { IngestError } from '../errors.ts'
import { IN_FLIGHT_REQUESTS_MAX, SLOW_BODY_MS } from '../limits.ts'

/** When others find no room, a body is cut that brought fewer bytes a second than this… */
export const SLOW_BODY_BYTES_PER_SECOND = 64 * 1024

/** After a look found too few slow bodies, the next one is not sooner: it visits all of them. */
const LOOK_AGAIN_MS = 100
const BYTES_PER_MS = SLOW_BODY_BYTES_PER_SECOND / 1_000

export class InFlight {
  readonly bytesMax: number
  readonly #nowMs: () => number
  readonly #what: string
  bytes = 0
  requests = 0
  /** Those whose bodies have not ended, or not their replies. */
  readonly #receiving = new Set<InFlightRequest>()
  #nextLookMs = Number.NEGATIVE_INFINITY

  /** `nowMs`: monotonic. `what` is counted, for who is refused. */
  constructor(
    bytesMax: number,
    nowMs: () => number = () => performance.now(),
    what = 'bytes in flight (--in-flight-bytes-max)',
  ) {
    this.bytesMax = bytesMax
    this.#nowMs = nowMs
    this.#what = what
  }

  /**
   * Counts a new request, and `bytes` of it to begin with. Throws `overloaded`. `cut` ends it when
   * its body is too slow, and must make it leave; without one it is never cut.
   */
  enter(bytes: number, cut?: (error: IngestError) => void): InFlightRequest {
    if (this.requests >= IN_FLIGHT_REQUESTS_MAX && !this.#cutSlow(bytes, 1, undefined)) {
      throw new IngestError('overloaded', `over ${IN_FLIGHT_REQUESTS_MAX} requests in flight`)
    }
    const request = new InFlightRequest(this, cut, this.#nowMs)
    request.hold(bytes)
    this.requests++
    if (cut !== undefined) this.#receiving.add(request)
    return request
  }

  /**
   * Counts a reply that exists already and is being sent: it is never refused; new requests are.
   * `cut` as in `enter`, for a reader that takes it too slowly.
   */
  enterReply(bytes: number, cut: () => void): InFlightRequest {
    const request = new InFlightRequest(this, cut, this.#nowMs)
    request.bytes = bytes
    this.bytes += bytes
    this.requests++
    this.#receiving.add(request)
    return request
  }

  /** Counts `bytes` more, or fewer, for `request`. Throws `overloaded`, counting nothing. */
  grow(bytes: number, request: InFlightRequest): void {
    const isOver = bytes > 0 && this.bytes + bytes > this.bytesMax
    if (isOver && !this.#cutSlow(bytes, 0, request)) {
      throw new IngestError('overloaded', `over ${this.bytesMax} ${this.#what}`)
    }
    this.bytes += bytes
  }

  /** The body of `request` has ended: what it waits for now is us. */
  bodyEnded(request: InFlightRequest): void {
    this.#receiving.delete(request)
  }

  leave(request: InFlightRequest): void {
    this.#receiving.delete(request)
    this.requests--
  }

  /** Cuts slow bodies until there is room; none at all when there would still be too little. */
  #cutSlow(bytes: number, requests: number, except: InFlightRequest | undefined): boolean {
    const nowMs = this.#nowMs()
    if (nowMs < this.#nextLookMs) return false
    const slow: InFlightRequest[] = []
    for (const one of this.#receiving) {
      if (one !== except && one.dueAtMs < nowMs && one.cutBytes + requests > 0) slow.push(one)
    }
    slow.sort((a, b) => a.dueAtMs - b.dueAtMs)
    let bytesMissing = this.bytes + bytes - this.bytesMax
    let requestsMissing = this.requests + requests - IN_FLIGHT_REQUESTS_MAX
    let count = 0
    while (count < slow.length && (bytesMissing > 0 || requestsMissing > 0)) {
      bytesMissing -= slow[count++]!.cutBytes
      requestsMissing--
    }
    if (bytesMissing > 0 || requestsMissing > 0) {
      this.#nextLookMs = nowMs + LOOK_AGAIN_MS
      return false
    }
    for (const one of slow.slice(0, count)) one.cut()
    return true
  }
}

/** What one request has in flight. */
export class InFlightRequest {
  readonly #inFlight: InFlight
  readonly #cut: ((error: IngestError) => void) | undefined
  readonly #nowMs: () => number
  bytes = 0
  #queuedBytes = 0
  #isOver = false
  /**
   * Until when its body is not slow: each byte extends this by the time that it may take, but to at
   * most SLOW_BODY_MS from now, so that no client can be fast first and then hold its bytes.
   */
  dueAtMs: number

  /** Made by `InFlight.enter`. */
  constructor(
    inFlight: InFlight,
    cut: ((error: IngestError) => void) | undefined,
    nowMs: () => number,
  ) {
    this.#inFlight = inFlight
    this.#cut = cut
    this.#nowMs = nowMs
    this.dueAtMs = nowMs() + SLOW_BODY_MS
  }

  /** It needs `bytes` in all from now on. Throws `overloaded`, and then holds what it held. */
  hold(bytes: number): void {
    if (bytes === this.bytes) return
    this.#inFlight.grow(bytes - this.bytes, this)
    this.bytes = bytes
  }

  /** So many bytes of its body came from the network. */
  received(bytes: number, isLast: boolean): void {
    if (isLast) return this.#inFlight.bodyEnded(this)
    const latest = this.#nowMs() + SLOW_BODY_MS
    this.dueAtMs = Math.min(latest, this.dueAtMs + bytes / BYTES_PER_MS)
  }

  /** We read no further: it is not slow. */
  paused(): void {
    this.dueAtMs = Number.POSITIVE_INFINITY
  }

  resumed(): void {
    this.dueAtMs = this.#nowMs() + SLOW_BODY_MS
  }

  cut(): void {
    const rate = `${SLOW_BODY_BYTES_PER_SECOND} bytes a second (SLOW_BODY_BYTES_PER_SECOND)`
    const text = `the body came at less than ${rate} while others waited for room`
    this.#cut?.(new IngestError('too_slow', text))
  }

  /** What there would be room for if it were cut. */
  get cutBytes(): number {
    return Math.max(0, this.bytes - this.#queuedBytes)
  }

  /** So many bytes of it go to the pool: they stay in memory until it is done with them. */
  queued(bytes: number): void {
    this.#queuedBytes += bytes
  }

  unqueued(bytes: number): void {
    this.#queuedBytes -= bytes
    if (this.#isOver) this.#leaveWhenDone()
  }

  /** The request ended. What the pool still has of it counts until that is done or dropped. */
  leave(): void {
    this.#isOver = true
    this.#leaveWhenDone()
  }

  #leaveWhenDone(): void {
    this.hold(Math.min(this.bytes, this.#queuedBytes))
    if (this.#queuedBytes === 0) this.#inFlight.leave(this)
    else this.#inFlight.bodyEnded(this)
  }
}
