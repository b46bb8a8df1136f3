/**
 * Keeps one child process running. When the child dies, it is started again after a pause, which
 * grows with each failure in a row and varies a little, so that a broken store does not spin.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { StoreLog } from '../store/store-log.ts'

/** `running` again after `restarting` means: clients may reconnect, at the same address. */
export type StoreState = 'starting' | 'running' | 'restarting' | 'stopped'
export type OnStateChange = (state: StoreState) => void

/** A started child that answers. */
export interface Running {
  readonly pid: number
  /** Resolves with how it ended, when it has ended. */
  readonly exited: Promise<string>
  /** Asks it to end, makes it end, and resolves when it has ended. */
  stop(): Promise<void>
}

/** What the embedded stores offer. */
export interface EmbeddedStore {
  /** Where clients connect, with the password. The same after every restart. */
  readonly url: string
  /** The process id, undefined while it is down. */
  pid(): number | undefined
  /** How often it was started again after it died. */
  restartCount(): number
  stop(): Promise<void>
}

export interface SupervisorOptions {
  /** For the log: `embedded PostgreSQL`. */
  readonly name: string
  /** Starts the child; rejects when it does not come up, or when `signal` says to give up. */
  readonly start: (signal: AbortSignal) => Promise<Running>
  readonly log: StoreLog
  readonly onStateChange: OnStateChange | undefined
}

const PAUSE_MS_MIN = 100
const PAUSE_MS_MAX = 10_000
/** A child that ran this long resets the count of failures when it dies. */
const SETTLED_MS = 30_000

export class Supervisor {
  readonly #options: SupervisorOptions
  readonly #stopping = new AbortController()
  #running: Running | undefined
  #restartCount = 0
  #loop: Promise<void> | undefined

  constructor(options: SupervisorOptions) {
    this.#options = options
  }

  get pid(): number | undefined {
    return this.#running?.pid
  }

  get restartCount(): number {
    return this.#restartCount
  }

  /** Starts the child. Rejects when even the first start fails: then nothing is supervised. */
  async start(): Promise<void> {
    this.#say('starting')
    this.#running = await this.#options.start(this.#stopping.signal)
    this.#say('running')
    this.#loop = this.#keep(this.#running)
  }

  /** Ends the child and the supervision. Safe to call twice. */
  async stop(): Promise<void> {
    if (this.#stopping.signal.aborted) return await this.#loop
    this.#stopping.abort()
    await this.#running?.stop()
    await this.#loop
    this.#say('stopped')
  }

  async #keep(first: Running): Promise<void> {
    const { signal } = this.#stopping
    let running: Running | undefined = first
    let failures = 0
    let startedAtMs = performance.now()
    while (running !== undefined) {
      const reason = await running.exited
      this.#running = undefined
      if (signal.aborted) return
      failures = performance.now() - startedAtMs > SETTLED_MS ? 0 : failures + 1
      const { name, log } = this.#options
      log.error({ reason, restartCount: this.#restartCount }, `${name} died; starting it again`)
      this.#say('restarting')
      running = await this.#startAgain(failures)
      startedAtMs = performance.now()
    }
  }

  /** Tries until it works or `stop` is called. */
  async #startAgain(failuresBefore: number): Promise<Running | undefined> {
    const { signal } = this.#stopping
    const { name, log, start } = this.#options
    for (let failures = failuresBefore; ; failures++) {
      await sleep(pauseMs(failures), undefined, { signal }).catch(() => undefined)
      if (signal.aborted) return undefined
      this.#restartCount++
      try {
        const running = await start(signal)
        this.#running = running
        if (signal.aborted) {
          await running.stop() // `stop` was called meanwhile and could not see this one.
          return undefined
        }
        log.info({ storePid: running.pid, restartCount: this.#restartCount }, `${name} is back`)
        this.#say('running')
        return running
      } catch (cause) {
        const reason = cause instanceof Error ? cause.message : String(cause)
        log.error({ reason, failures: failures + 1 }, `${name} did not start`)
      }
    }
  }

  #say(state: StoreState): void {
    this.#options.onStateChange?.(state)
  }
}

/** Doubles from 100 ms to 10 s, plus or minus a quarter; the first restart is at once. */
function pauseMs(failures: number): number {
  if (failures <= 1) return PAUSE_MS_MIN
  const pause = Math.min(PAUSE_MS_MAX, PAUSE_MS_MIN * 2 ** Math.min(failures, 16))
  return pause * (0.75 + Math.random() / 2)
}
