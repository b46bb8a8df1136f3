/** How much of the machine's processor time nobody used lately: 0 to 1. */
import { cpus } from 'node:os'

/** Times are told in steps of 10 ms, so shorter spans say little. */
const SPAN_MS = 250

export class IdleShare {
  readonly #readTimes: () => CpuTimes
  readonly #nowMs: () => number
  #last: CpuTimes
  #atMs: number
  #share = 1

  /** `nowMs`: monotonic. */
  constructor(readTimes = readCpuTimes, nowMs: () => number = () => performance.now()) {
    this.#readTimes = readTimes
    this.#nowMs = nowMs
    this.#last = readTimes()
    this.#atMs = nowMs()
  }

  /** Of the time since it was asked for before, 250 ms or more. */
  get share(): number {
    const nowMs = this.#nowMs()
    if (nowMs - this.#atMs < SPAN_MS) return this.#share
    const times = this.#readTimes()
    const all = times.all - this.#last.all
    if (all > 0) this.#share = Math.max(0, (times.idle - this.#last.idle) / all)
    this.#last = times
    this.#atMs = nowMs
    return this.#share
  }
}

export interface CpuTimes {
  readonly idle: number
  readonly all: number
}

function readCpuTimes(): CpuTimes {
  let idle = 0
  let all = 0
  for (const { times } of cpus()) {
    idle += times.idle
    all += times.user + times.nice + times.sys + times.irq + times.idle
  }
  return { idle, all }
}
