/**
 * Failures in a row, and whether they are such that the projection stands still until somebody
 * mends what they say.
 */
import { segmentFault } from './faults.ts'

/** So many failures in a row, of a store that may be back soon, are more than a hiccup. */
const STALL_FAILURES = 10

export interface FailureObserver {
  /** Each failure in a row, with how often it has failed since the last success. */
  readonly onError: (cause: unknown, failures: number) => void
  /**
   * Nothing of what waits gets in, and time alone does not help, by this reason; undefined when
   * something has got in since.
   */
  readonly onStall?: (reason: string | undefined) => void
}

export class Failures {
  readonly #observer: FailureObserver
  #count = 0
  #isStalled = false

  constructor(observer: FailureObserver) {
    this.#observer = observer
  }

  /** In a row. */
  get count(): number {
    return this.#count
  }

  fail(cause: unknown): void {
    this.#count++
    this.#observer.onError(cause, this.#count)
    const { kind, reason } = segmentFault(cause)
    if (kind === 'data' || (kind === 'away' && this.#count < STALL_FAILURES)) return
    this.#isStalled = true
    this.#observer.onStall?.(reason)
  }

  succeed(): void {
    this.#count = 0
    if (this.#isStalled) this.#observer.onStall?.(undefined)
    this.#isStalled = false
  }
}
