/**
 * A reply that is written in pieces, of a length that is not known in advance. Bytes that its
 * socket does not take stay here, once, and count in `room` until taken; the writer is told to
 * wait.
 *
 *   write ─▶ pieces ─▶ engine ─▶ socket
 *              ▲ one at a time, and the next when the engine holds nothing
 *
 * An engine copies the bytes that its socket does not take, so it must not be given more while it
 * holds some. Native engines report that only in the result of a write. Hence a few bytes are
 * withheld here: when the engine can continue, they are written first, and the result says whether
 * everything before them was taken.
 *
 * They also write the line end of a chunk only before the next chunk. Where a reader waits for each
 * piece, a filler that means nothing goes behind the last one, so that this one is whole.
 */
import type { EngineResponse } from './engine.ts'
import type { InFlightRequest } from './in-flight.ts'

/** What the writer of a streamed reply has in hand. */
export interface ReplyStream {
  /** It was ended, dropped, or its reader went away: what is written now is ignored. */
  readonly isOver: boolean
  /** Bytes that were written and that the engine has not taken yet. */
  readonly heldBytes: number
  /**
   * Sends `bytes`, which must not change any more. False when the socket takes no more for now: the
   * writer should then wait for `whenTaken`, or its bytes pile up here. Past the bound on all large
   * replies together, the connection is dropped.
   */
  write(bytes: string | Uint8Array): boolean
  /** Resolves when all that was written was taken, or the stream is over. Never rejects. */
  whenTaken(): Promise<void>
  /** The reply is complete; what is held is still sent. Safe to call twice. */
  end(): void
  /** Breaks the connection off, so that the reader sees that something is missing. */
  drop(): void
}

export interface HeldStreamOptions {
  readonly response: EngineResponse
  readonly room: InFlightRequest
  /** Completes the chunk before it; undefined where that is not wanted. */
  readonly filler: Uint8Array | undefined
  /** Writes status and headers; called in the cork of the first bytes. */
  readonly writeHead: () => void
  readonly onProgress: () => void
  /** The engine has all of it, its end included. */
  readonly onSent: () => void
  /** Its connection is to be closed. */
  readonly onDrop: () => void
}

/** What is given to the engine at once, so that it holds little more than that. */
const PIECE_BYTES = 64 * 1024
/** What is kept back to ask with. */
const PROBE_BYTES = 512

export class HeldStream implements ReplyStream {
  readonly #options: HeldStreamOptions
  #pieces: Uint8Array[] = []
  #isHeadWritten = false
  /** The engine holds some of what it was given. */
  #isFull = false
  #isEnding = false
  /** The last chunk that was written has no line end yet. */
  #isChunkOpen = false
  #waiting: (() => void)[] = []
  isOver = false
  heldBytes = 0

  constructor(options: HeldStreamOptions) {
    this.#options = options
    options.room.paused() // Without anything held it is us who are slow.
  }

  /** Bytes wait for the reader, here or in the engine. */
  get isWaiting(): boolean {
    return this.#isFull || this.heldBytes > 0
  }

  write(bytes: string | Uint8Array): boolean {
    const piece = typeof bytes === 'string' ? Buffer.from(bytes) : bytes
    if (this.isOver || this.#isEnding) return true
    if (piece.length === 0) return !this.isWaiting
    this.#pieces.push(piece)
    this.heldBytes += piece.length
    if (!this.#isFull) this.#give()
    this.#count()
    return !this.isWaiting
  }

  whenTaken(): Promise<void> {
    if (this.isOver || !this.isWaiting) return Promise.resolve()
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  end(): void {
    if (this.isOver || this.#isEnding) return
    this.#isEnding = true
    if (!this.#isFull) this.#give()
  }

  drop(): void {
    if (this.isOver) return
    this.over()
    this.#options.onDrop()
  }

  /** The exchange is over, for whatever reason. */
  over(): void {
    this.isOver = true
    this.#pieces = []
    this.heldBytes = 0
    this.#isFull = false
    this.#wake()
  }

  /** The engine can send again: also what it held, but native ones must be made to. */
  onWritable(): boolean {
    if (this.isOver) return true
    this.#options.onProgress()
    this.#isFull = false
    this.#give(PROBE_BYTES)
    this.#count()
    if (!this.isWaiting) this.#wake()
    return true
  }

  /** Gives what is held to the engine until it is full, `firstBytes` of it to begin with. */
  #give(firstBytes = PIECE_BYTES): void {
    const { response, writeHead, filler } = this.#options
    // Leaving a cork makes the engine send what it holds, also when nothing was written in it.
    response.cork(() => {
      if (!this.#isHeadWritten) writeHead()
      this.#isHeadWritten = true
      let bytes = firstBytes
      while (this.heldBytes > 0 && !this.#isFull) {
        this.#isFull = !response.write(this.#take(bytes))
        this.#isChunkOpen = true
        bytes = PIECE_BYTES
      }
      if (this.heldBytes > 0) return
      if (!this.#isEnding) return this.#fill(filler)
      // From here on the engine sends what it holds by itself, and this object is done.
      response.end('', false)
      this.over()
      this.#options.onSent()
    })
  }

  #fill(filler: Uint8Array | undefined): void {
    if (filler === undefined || !this.#isChunkOpen || this.#isFull) return
    this.#isFull = !this.#options.response.write(filler)
    this.#isChunkOpen = false
  }

  /** The next piece: `bytes` at most, and not the last ones unless they are all there is. */
  #take(bytes: number): Uint8Array {
    const first = this.#pieces[0]!
    const kept = this.heldBytes > PROBE_BYTES ? PROBE_BYTES : 0
    const length = Math.min(first.length, bytes, this.heldBytes - kept)
    if (length === first.length) this.#pieces.shift()
    else this.#pieces[0] = first.subarray(length)
    this.heldBytes -= length
    return first.subarray(0, length)
  }

  /** Counts what is held. Past the budget the connection is dropped: it is too late to refuse. */
  #count(): void {
    const { room } = this.#options
    if (this.isOver || room.bytes === this.heldBytes) return
    const before = room.bytes
    try {
      room.hold(this.heldBytes)
    } catch {
      return this.drop()
    }
    if (this.heldBytes === 0) room.paused()
    else if (before === 0) room.resumed()
    else if (this.heldBytes < before) room.received(before - this.heldBytes, false)
  }

  #wake(): void {
    const waiting = this.#waiting
    this.#waiting = []
    for (const resolve of waiting) resolve()
  }
}

/** The stream of a reply that has no body, as one to HEAD: nothing of it is sent. */
export const NO_STREAM: ReplyStream = {
  isOver: true,
  heldBytes: 0,
  write: () => true,
  whenTaken: () => Promise.resolve(),
  end: () => undefined,
  drop: () => undefined,
}
