/**
 * A lane: one kind of work on the stores, such as queries, with slots of its own. Work that finds
 * no free slot waits for a short while, and is refused (`overloaded`) when the queue is full or the
 * wait is over. So reads never use more of the stores than their lane, however many are sent.
 *
 * Tokens take turns, and in a full queue the token with the most requests loses one to a token with
 * fewer: a client that sends hundreds of slow queries delays others by a turn, not by all of them.
 */
import { IngestError } from '../errors.ts'

export interface LaneBounds {
  /** What messages call the work: `queries`. */
  readonly name: string
  /** How many may run at a time now; asked each time, as it may depend on other work. */
  readonly places: () => number
  /** How many more may wait, and for how long. */
  readonly waitingMax: number
  readonly waitMsMax: number
}

/** Who asks: the number of an access token. */
export type Asker = number

/** Refused work is worth another try after about as long as a slow query takes. */
const RETRY_AFTER_SECONDS = 2

/** How often a lane with waiting work checks whether there are more slots now. */
const LOOK_MS = 100

/** Why work is refused: the queue is full, or the work has waited for too long. */
export type LaneRefusal = 'full' | 'late'

interface Waiter {
  readonly enter: () => void
  readonly refuse: (error: IngestError) => void
}

export class Lane {
  readonly #bounds: LaneBounds
  /** In the order of their turns, each asker's oldest work first. No list is ever empty. */
  readonly #lines = new Map<Asker, Waiter[]>()
  #running = 0
  #waiting = 0
  readonly #refused: Record<LaneRefusal, number> = { full: 0, late: 0 }
  #looking: NodeJS.Timeout | undefined

  constructor(bounds: LaneBounds) {
    this.#bounds = bounds
  }

  get running(): number {
    return this.#running
  }

  get waiting(): number {
    return this.#waiting
  }

  /** Since the start. */
  get refused(): Readonly<Record<LaneRefusal, number>> {
    return this.#refused
  }

  /** Runs `work` once it has a slot. Throws `overloaded`, and whatever `work` throws. */
  async run<T>(asker: Asker, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (this.#waiting === 0 && this.#hasPlace()) this.#running++
    else await this.#wait(asker, signal)
    try {
      return await work()
    } finally {
      this.#running--
      this.#fill()
    }
  }

  async #wait(asker: Asker, signal: AbortSignal): Promise<void> {
    const { waitingMax, waitMsMax } = this.#bounds
    if (signal.aborted) throw this.#error('the client went away')
    if (this.#waiting >= waitingMax) this.#evict(asker)
    await new Promise<void>((resolve, reject) => {
      const settle = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', onAbort)
      }
      const waiter: Waiter = {
        enter: () => {
          settle()
          resolve()
        },
        refuse: (error) => {
          settle()
          this.#remove(asker, waiter)
          reject(error)
        },
      }
      const onAbort = () => waiter.refuse(this.#error('the client went away'))
      const late = () => waiter.refuse(this.#refusal('late', `none ended within ${waitMsMax} ms`))
      const timer = setTimeout(late, waitMsMax)
      signal.addEventListener('abort', onAbort)
      const line = this.#lines.get(asker)
      if (line === undefined) this.#lines.set(asker, [waiter])
      else line.push(waiter)
      this.#waiting++
      this.#looking ??= setInterval(() => this.#fill(), LOOK_MS)
    })
  }

  /** Refuses the newest work of the asker with the most in the queue; throws if that is `asker`. */
  #evict(asker: Asker): void {
    const full = () => this.#refusal('full', `${this.#bounds.waitingMax} more wait`)
    let longest: Waiter[] = []
    for (const line of this.#lines.values()) if (line.length > longest.length) longest = line
    const own = this.#lines.get(asker)?.length ?? 0
    if (longest.length <= own + 1) throw full()
    longest.at(-1)?.refuse(full())
  }

  #remove(asker: Asker, waiter: Waiter): void {
    const line = this.#lines.get(asker)
    const at = line?.indexOf(waiter) ?? -1
    if (line === undefined || at < 0) return
    line.splice(at, 1)
    if (line.length === 0) this.#lines.delete(asker)
    this.#leaveLine()
  }

  #hasPlace(): boolean {
    return this.#running < this.#bounds.places()
  }

  /** Hands free places to those whose turn it is. */
  #fill(): void {
    for (const [asker, line] of this.#lines) {
      if (!this.#hasPlace()) return
      const waiter = line.shift()
      this.#lines.delete(asker)
      if (line.length > 0) this.#lines.set(asker, line) // Behind the others.
      this.#running++
      this.#leaveLine()
      waiter?.enter()
    }
  }

  #leaveLine(): void {
    this.#waiting--
    if (this.#waiting > 0) return
    clearInterval(this.#looking)
    this.#looking = undefined
  }

  #refusal(reason: LaneRefusal, why: string): IngestError {
    this.#refused[reason]++
    return this.#error(`${this.#running} ${this.#bounds.name} are running and ${why}`)
  }

  #error(text: string): IngestError {
    return new IngestError('overloaded', text, { retryAfterSeconds: RETRY_AFTER_SECONDS })
  }
}
