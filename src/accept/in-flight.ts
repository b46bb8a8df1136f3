/**
 * Bytes and requests between accept and acknowledge. Past the bound a whole request is refused
 * before anything of it is accepted, because forwarders lose data on mixed replies.
 */
import { IngestError } from '../errors.ts'
import { IN_FLIGHT_REQUESTS_MAX } from '../limits.ts'

export class InFlight {
  readonly #bytesMax: number
  bytes = 0
  requests = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Counts a new request that declared `bytes` (0 when unknown). Throws `overloaded`. */
  enter(bytes: number): void {
    if (this.requests >= IN_FLIGHT_REQUESTS_MAX) {
      throw new IngestError('overloaded', `over ${IN_FLIGHT_REQUESTS_MAX} requests in flight`)
    }
    this.grow(bytes)
    this.requests++
  }

  /** Counts more bytes of a request. Throws `overloaded`, counting nothing. */
  grow(bytes: number): void {
    if (this.bytes + bytes > this.#bytesMax) {
      const text = `over ${this.#bytesMax} bytes in flight (--in-flight-bytes-max)`
      throw new IngestError('overloaded', text)
    }
    this.bytes += bytes
  }

  /** The request ended, `bytes` of it were counted. */
  leave(bytes: number): void {
    this.bytes -= bytes
    this.requests--
  }
}
