/**
 * How long a read may take, whatever the stores do: from its arrival on, with the wait for a
 * credential and for its turn. Then it is answered, although what it waits for goes on for as long
 * as the bounds of the stores let it, and keeps its place in the lane meanwhile: so what hangs does
 * not pile up.
 */
import { IngestError } from '../errors.ts'
import { QUERY_MS_MAX, READ_GRACE_MS } from '../limits.ts'

/** Not after a backslash: in a text of the body, such as a query, it would have one. */
const TIMEOUT_MEMBER = /(?<!\\)"timeout_ms"\s*:\s*(\d{1,9})/

export class ReadDeadline {
  /** Aborted when it is over. */
  readonly signal: AbortSignal
  readonly #over = new AbortController()
  readonly #startedAt = performance.now()
  #timeoutMs = QUERY_MS_MAX
  #timer: NodeJS.Timeout | undefined

  constructor() {
    this.signal = this.#over.signal
    this.set(QUERY_MS_MAX)
  }

  /** `ms` from the arrival on; what its own bounds allow comes later by READ_GRACE_MS at most. */
  set(ms: number): void {
    if (!(ms > 0 && ms <= QUERY_MS_MAX)) return // It is refused for that.
    this.#timeoutMs = ms
    clearTimeout(this.#timer)
    const leftMs = this.#startedAt + ms + READ_GRACE_MS - performance.now()
    this.#timer = setTimeout(() => this.#over.abort(), Math.max(0, leftMs))
  }

  /** Looks for `timeout_ms` in a body that is not parsed before its turn has come. */
  setByBody(bytes: Uint8Array): void {
    const [, digits] = TIMEOUT_MEMBER.exec(Buffer.from(bytes).toString('latin1')) ?? []
    if (digits !== undefined) this.set(Number(digits))
  }

  /** What is left of the time that was asked for. */
  get leftMs(): number {
    return Math.max(1, Math.round(this.#startedAt + this.#timeoutMs - performance.now()))
  }

  get waitedMs(): number {
    return performance.now() - this.#startedAt
  }

  /** `work`, or `unavailable` when the time is over before. */
  async race<T>(work: Promise<T>): Promise<T> {
    const { signal } = this
    let onOver: (() => void) | undefined
    const late = new Promise<never>((_, reject) => {
      onOver = () => reject(this.#error())
      if (signal.aborted) onOver()
      else signal.addEventListener('abort', onOver, { once: true })
    })
    try {
      return await Promise.race([work, late])
    } finally {
      if (onOver !== undefined) signal.removeEventListener('abort', onOver)
    }
  }

  /** Nothing is waited for any more. */
  end(): void {
    clearTimeout(this.#timer)
  }

  #error(): IngestError {
    const why = 'it waited for its turn, or for a store that does not answer'
    const text = `no answer within ${this.#timeoutMs} ms (timeout_ms): ${why}`
    return new IngestError('unavailable', text, { members: { reason: 'timeout' } })
  }
}
