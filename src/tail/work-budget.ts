/** How much may be saved up, in ms of work: bursts are worked off at once. */
const SAVED_MS_MAX = 250

/** Holds work to a share of time: after it has used what was saved up, it rests. */
export class WorkBudget {
  readonly #share: number
  #savedMs = SAVED_MS_MAX
  #atMs: number

  /** `share`: milliseconds of work in a millisecond. `nowMs`: monotonic. */
  constructor(share: number, nowMs: number) {
    this.#share = share
    this.#atMs = nowMs
  }

  /** Work of `workedMs` has ended now. */
  spend(workedMs: number, nowMs: number): void {
    this.#earn(nowMs)
    this.#savedMs -= workedMs
  }

  /** How long to rest now, in ms. */
  cooldownMs(nowMs: number): number {
    this.#earn(nowMs)
    return Math.max(0, -this.#savedMs / this.#share)
  }

  #earn(nowMs: number): void {
    const earnedMs = (nowMs - this.#atMs) * this.#share
    this.#savedMs = Math.min(SAVED_MS_MAX, this.#savedMs + earnedMs)
    this.#atMs = nowMs
  }
}
