/**
 * Shares the main thread out among work that takes more than a moment of it: planning a query,
 * rendering a page. The thread also accepts events and acknowledges them, and whoever sends those
 * must not wait for all that readers ask for.
 *
 * One piece of such work a turn of the event loop; after it nothing of the kind for as long as it
 * took, so at least half of the thread's time is for events, however many readers there are.
 */
import { MAIN_REST_MS_MAX, MAIN_SLICE_CHARS } from '../limits.ts'

/** Pieces that took less are followed by the next one in the next turn. */
const REST_MS_MIN = 1

export class MainTurns {
  readonly #waiting: (() => void)[] = []
  #isScheduled = false

  /** Resolves when it is the caller's turn. What follows runs until its next wait. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      if (this.#isScheduled) return
      this.#isScheduled = true
      setImmediate(() => this.#give())
    })
  }

  #give(): void {
    const resolve = this.#waiting.shift()
    if (resolve === undefined) {
      this.#isScheduled = false
      return
    }
    const startedAt = performance.now()
    resolve() // What awaits it runs right after this function.
    setImmediate(() => {
      const tookMs = performance.now() - startedAt
      if (tookMs < REST_MS_MIN) this.#give()
      else setTimeout(() => this.#give(), Math.min(tookMs, MAIN_REST_MS_MAX))
    })
  }
}

/** Those of this thread. */
export const mainTurns = new MainTurns()

/**
 * The texts one after another as bytes, made in several turns. `texts` does the work as it is asked
 * for the next one. Ends early, with undefined, when there are more bytes than `bytesMax`.
 */
export async function renderInTurns(
  texts: Iterable<string>,
  bytesMax = Number.POSITIVE_INFINITY,
  turns: Pick<MainTurns, 'next'> = mainTurns,
): Promise<Uint8Array | undefined> {
  const pieces: Uint8Array[] = []
  let bytes = 0
  let text = ''
  const flush = () => {
    const piece = Buffer.from(text)
    pieces.push(piece)
    bytes += piece.length
    text = ''
  }
  for (const each of texts) {
    text += each
    if (text.length < MAIN_SLICE_CHARS) continue
    flush()
    if (bytes > bytesMax) return undefined
    await turns.next()
  }
  flush()
  return bytes > bytesMax ? undefined : Buffer.concat(pieces, bytes)
}
