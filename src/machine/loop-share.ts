/** How busy this process's main thread was lately: the share of the time that its loop worked. */
import { performance } from 'node:perf_hooks'

const SPAN_MS = 250

export class LoopShare {
  readonly #readTimes: () => LoopTimes
  #last: LoopTimes
  #share = 0

  constructor(readTimes: () => LoopTimes = () => performance.eventLoopUtilization()) {
    this.#readTimes = readTimes
    this.#last = readTimes()
  }

  /** Of the time since it was asked for before, 250 ms or more. */
  get share(): number {
    const { active, idle } = this.#readTimes()
    const worked = active - this.#last.active
    const all = worked + idle - this.#last.idle
    if (all < SPAN_MS) return this.#share
    this.#share = worked / all
    this.#last = { active, idle }
    return this.#share
  }
}

/** Milliseconds since the start. */
export interface LoopTimes {
  readonly active: number
  readonly idle: number
}
