/**
 * Counts failures in a row of each stream that is behind, and says whether it is stalled: whether
 * time alone will not help, and an operator has to repair something.
 */
import { StoreError } from '../store/store-error.ts'
import { segmentFault } from './faults.ts'

/** So many failures in a row, of a store that may be back soon, are more than a hiccup. */
const STALL_FAILURES = 10

export interface FailureObserver {
  /** Each failure in a row, with how often it has failed since the last success. */
  readonly onError: (cause: unknown, failures: number) => void
  /**
   * The reason why something that waits cannot be inserted and time alone will not help; undefined
   * when there is no such obstacle.
   */
  readonly onStall?: (reason: string | undefined) => void
}

export class Failures<Key> {
  readonly #observer: FailureObserver
  readonly #counts = new Map<Key, number>()
  readonly #stalls = new Map<Key, string>()

  constructor(observer: FailureObserver) {
    this.#observer = observer
  }

  /** In a row. */
  count(key: Key): number {
    return this.#counts.get(key) ?? 0
  }

  fail(key: Key, cause: unknown): void {
    const count = this.count(key) + 1
    this.#counts.set(key, count)
    // Its lease tells of that, and ends whoever works for the number.
    if (cause instanceof StoreError && cause.kind === 'lease_lost') return
    this.#observer.onError(cause, count)
    const { kind, reason } = segmentFault(cause)
    if (kind === 'data' || (kind === 'away' && count < STALL_FAILURES)) return
    this.#stalls.set(key, reason)
    this.#tell()
  }

  succeed(key: Key): void {
    this.#counts.delete(key)
    if (this.#stalls.delete(key)) this.#tell()
  }

  #tell(): void {
    const [reason] = this.#stalls.values()
    this.#observer.onStall?.(reason)
  }
}
