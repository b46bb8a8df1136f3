/**
 * Whether this process should live (`/healthz`) and whether it should get traffic (`/readyz`).
 *
 * A node stays ready while ClickHouse is away: it takes and keeps events, and only queries are
 * late. Without PostgreSQL it can acknowledge nothing, so it is not ready.
 */

/** `degraded` failing is shown but leaves the node ready. */
export type Importance = 'required' | 'degraded'

export interface CheckState {
  readonly ok: boolean
  readonly importance: Importance
  /** Why it is not ok; never holds secrets, as these paths need no credential. */
  readonly reason?: string
}

export interface Readiness {
  readonly ready: boolean
  readonly stopping: boolean
  readonly checks: Readonly<Record<string, CheckState>>
}

const CHECK_MS = 2_000

export class Health {
  readonly #checks = new Map<string, CheckState>()
  #stopping = false
  #fatal: string | undefined

  /** Declares a check; it fails until told otherwise. */
  declare(name: string, importance: Importance): void {
    this.#checks.set(name, { ok: false, importance, reason: 'starting' })
  }

  /** Reports a declared check; `reason` is needed when it fails. Cheap, may be called often. */
  report(name: string, failure?: string): void {
    const check = this.#checks.get(name)
    if (check === undefined) throw new Error(`health check ${name} was never declared`)
    const { importance } = check
    this.#checks.set(
      name,
      failure === undefined ? { ok: true, importance } : { ok: false, importance, reason: failure },
    )
  }

  /**
   * Reports a declared check well, and asks now and then whether it still is: an external store
   * tells nobody that it went away. `ping` rejects when it does not answer; a text that it
   * resolves with says what else is wrong. Returns what ends that.
   */
  watch(name: string, ping: () => Promise<unknown>): () => void {
    this.report(name)
    let isAsking = false
    const timer = setInterval(() => {
      if (isAsking) return
      isAsking = true
      ping()
        .then(
          (failure) => this.report(name, typeof failure === 'string' ? failure : undefined),
          () => this.report(name, 'it does not answer'),
        )
        .finally(() => {
          isAsking = false
        })
    }, CHECK_MS)
    timer.unref()
    return () => clearInterval(timer)
  }

  /** Whether a check is well; one that was never declared is not. */
  isOk(name: string): boolean {
    return this.#checks.get(name)?.ok ?? false
  }

  /** From now on this node wants no more traffic. */
  stop(): void {
    this.#stopping = true
  }

  /** The process is about to die of `reason` and should be restarted. */
  fail(reason: string): void {
    this.#stopping = true
    this.#fatal ??= reason
  }

  /** Undefined while the process is healthy. */
  get fatal(): string | undefined {
    return this.#fatal
  }

  readiness(): Readiness {
    const checks = Object.fromEntries(this.#checks)
    const required = Object.values(checks).filter((check) => check.importance === 'required')
    return {
      ready: !this.#stopping && required.every((check) => check.ok),
      stopping: this.#stopping,
      checks,
    }
  }
}
