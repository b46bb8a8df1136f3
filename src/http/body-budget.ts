/**
 * The memory for bodies that are read whole, of all requests together: from their first byte until
 * they are answered. Requests whose token is not known to be valid yet have a small budget of their
 * own, so that strangers take nothing from clients that are known.
 */
import { IngestError } from '../errors.ts'
import { REST_BODIES_BYTES_MAX, REST_STRANGERS_BYTES_MAX } from '../limits.ts'

export class BodyBudget {
  readonly #bytesMax: number
  readonly #strangersBytesMax: number
  #bytes = 0
  #strangersBytes = 0

  constructor(bytesMax = REST_BODIES_BYTES_MAX, strangersBytesMax = REST_STRANGERS_BYTES_MAX) {
    this.#bytesMax = bytesMax
    this.#strangersBytesMax = strangersBytesMax
  }

  get bytes(): number {
    return this.#bytes + this.#strangersBytes
  }

  /** For a request whose sender is not known yet. */
  enter(): BodyReservation {
    return new BodyReservation(this)
  }

  /** Counts `bytes` more, or fewer. Throws `overloaded`, counting nothing. */
  grow(bytes: number, isKnown: boolean): void {
    if (isKnown) {
      if (bytes > 0 && this.#bytes + bytes > this.#bytesMax) {
        throw noRoom(`${this.#bytesMax} bytes (REST_BODIES_BYTES_MAX)`)
      }
      this.#bytes += bytes
      return
    }
    if (bytes > 0 && this.#strangersBytes + bytes > this.#strangersBytesMax) {
      throw noRoom(`${this.#strangersBytesMax} bytes (REST_STRANGERS_BYTES_MAX)`)
    }
    this.#strangersBytes += bytes
  }
}

/** What one request's body takes. */
export class BodyReservation {
  readonly #budget: BodyBudget
  #bytes = 0
  #isKnown = false
  #isOver = false
  #discard: () => void = () => undefined

  /** Made by `BodyBudget.enter`. */
  constructor(budget: BodyBudget) {
    this.#budget = budget
  }

  /** It needs `bytes` in all from now on. Throws `overloaded`, and then holds what it held. */
  hold(bytes: number): void {
    if (this.#isOver) return
    this.#budget.grow(bytes - this.#bytes, this.#isKnown)
    this.#bytes = bytes
  }

  /** Its sender has a valid token. Throws `overloaded`. */
  becomeKnown(): void {
    if (this.#isKnown || this.#isOver) return
    this.#budget.grow(this.#bytes, true)
    this.#budget.grow(-this.#bytes, false)
    this.#isKnown = true
  }

  /** Called when the request is over while its body is still coming. */
  onDiscard(discard: () => void): void {
    this.#discard = discard
  }

  /** The request was answered. Safe to call twice. */
  leave(): void {
    this.hold(0)
    this.#isOver = true
    this.#discard()
  }
}

function noRoom(limit: string): IngestError {
  return new IngestError('overloaded', `bodies of other requests take over ${limit}; try again`)
}
