/**
 * The body of a reply that is too large for a socket to take at once. It is given to the engine as
 * its reader takes it, so that the rest stays here, once, and counts in `room`; the engine would
 * copy all of it into memory that nobody counts. A reader that takes too little while others need
 * the budget is cut off, like a body that comes too slowly.
 */
import type { EngineResponse } from './engine.ts'
import type { InFlightRequest } from './in-flight.ts'

export interface LargeReplyOptions {
  readonly response: EngineResponse
  readonly body: Uint8Array
  readonly room: InFlightRequest
  readonly onProgress: () => void
  /** The engine has all of it. */
  readonly onSent: () => void
}

export class LargeReply {
  readonly #options: LargeReplyOptions
  #taken = 0

  constructor(options: LargeReplyOptions) {
    this.#options = options
  }

  /** The head was written, in this same cork. */
  begin(): void {
    const { response, body } = this.#options
    const [, isDone] = response.tryEnd(body, body.length)
    if (isDone) this.#options.onSent()
    else response.onWritable((offset) => this.#goOn(offset))
  }

  /** From `offset` on nothing was taken yet. True when the engine has taken all it was given. */
  #goOn(offset: number): boolean {
    const { response, body, room } = this.#options
    if (offset > this.#taken) {
      room.received(offset - this.#taken, false)
      room.hold(body.length - offset)
      this.#taken = offset
      this.#options.onProgress()
    }
    const [isTaken, isDone] = response.tryEnd(body.subarray(offset), body.length)
    if (isDone) this.#options.onSent()
    return isTaken
  }
}
