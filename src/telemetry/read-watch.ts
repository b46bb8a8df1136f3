/**
 * Notices reads that fail: counts them, and reports the check `reads` when one kind of read fails
 * again and again. A store may answer pings and still fail each search, for one damaged part or one
 * statement that it does not take; only the reads themselves show that.
 *
 * Errors of a read may be those of one query among many, so successes of others do not end the
 * report, but time without errors does. That a store is away is told by its own check; here it
 * counts only while that check is well, until a read succeeds.
 */
import { IngestError } from '../errors.ts'
import { QueryError } from '../language/query-error.ts'
import { MEMORY_LIMIT_EXCEEDED, TIMEOUT_EXCEEDED } from '../store/clickhouse-codes.ts'
import { StoreError } from '../store/store-error.ts'
import type { Health } from './health.ts'
import type { Log } from './log.ts'
import type { Metrics, PairTally } from './metrics.ts'

/** A read that failed so often within so long fails again and again: `/readyz` tells. */
export const READS_FAILED_MIN = 3
export const READS_FAILED_MS = 300_000

/**
 * What is read. `search` to `sizes` are reads of the projection: the events of a search or an
 * export; counts and figures (queries, histograms, statistics of a field); facets; comparisons;
 * values that are proposed; explanations; the size of a stream. The others are of PostgreSQL:
 * events and where they are; fields, shapes and marks; usage; live tails; views.
 */
export const READS = [
  'search',
  'aggregate',
  'facets',
  'compare',
  'values',
  'explain',
  'sizes',
  'events',
  'catalog',
  'usage',
  'tail',
  'views',
] as const
export type Read = (typeof READS)[number]

/**
 * `error`: the store answered with one, and would do so again. `away`: it did not answer, or not
 * now. `timeout`, `memory`: the read took more than it may, by `timeout_ms` or our bounds.
 */
export const READ_FAILURES = ['error', 'away', 'timeout', 'memory'] as const
export type ReadFailure = (typeof READ_FAILURES)[number]

export interface ReadWatchParts {
  readonly metrics: Pick<Metrics, 'pairTally'>
  readonly health: Pick<Health, 'declare' | 'report' | 'isOk'>
  readonly log: Pick<Log, 'error' | 'info'>
  /** Monotonic. */
  readonly nowMs: () => number
}

interface Failures {
  /** When it failed last, READS_FAILED_MIN times at most, by how. */
  readonly errors: number[]
  readonly away: number[]
  name: string
}

const CHECK = 'reads'
const CHECK_MS = 1_000
const STORES = ['postgres', 'clickhouse']
const NAME_CHARS_MAX = 64

export class ReadWatch {
  readonly #parts: ReadWatchParts
  readonly #failures = new Map<Read, Failures>()
  readonly #counted: PairTally<Read, ReadFailure>
  #reported: string | undefined

  /** The checks of the stores must have been declared. */
  constructor(parts: ReadWatchParts) {
    this.#parts = parts
    this.#counted = parts.metrics.pairTally(
      'ingest_read_failures_total',
      'Reads that a store failed, by what was read and why',
      ['read', 'reason'],
      READS.flatMap((read) => READ_FAILURES.map((reason) => [read, reason] as const)),
    )
    parts.health.declare(CHECK, 'degraded')
    parts.health.report(CHECK)
  }

  /** Looks now and then whether reads are well again. Returns what ends that. */
  start(): () => void {
    const timer = setInterval(() => this.check(), CHECK_MS).unref()
    return () => clearInterval(timer)
  }

  /**
   * `fn`, whose failures are noticed. What fails because its caller gave up (a signal among the
   * arguments is aborted), or because of what was asked, is no failure.
   */
  watch<Args extends readonly unknown[], T>(
    read: Read,
    fn: (...args: Args) => Promise<T>,
  ): (...args: Args) => Promise<T> {
    return async (...args) => {
      try {
        const result = await fn(...args)
        this.#failures.get(read)?.away.splice(0)
        return result
      } catch (cause) {
        if (!args.some(isGivenUp)) this.#failed(read, cause)
        throw cause
      }
    }
  }

  /** `store`, of which each method that returns a promise is watched. */
  watchAll<Store extends object>(read: Read, store: Store): Store {
    return new Proxy(store, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target)
        if (typeof member !== 'function') return member
        return (...args: unknown[]) => {
          const result: unknown = member.apply(target, args)
          if (!(result instanceof Promise)) return result
          return this.watch(read, (..._: unknown[]) => result)(...args)
        }
      },
    })
  }

  /** Reports the check anew. */
  check(): void {
    const { health, log, nowMs } = this.#parts
    const areStoresUp = STORES.every((name) => health.isOk(name))
    const since = nowMs() - READS_FAILED_MS
    const failing: string[] = []
    for (const [read, { errors, away, name }] of this.#failures) {
      if (!areStoresUp) away.splice(0)
      if (isRepeated(errors, since) || isRepeated(away, since)) failing.push(`${read} (${name})`)
    }
    const reason =
      failing.length === 0 ? undefined : `these fail again and again: ${failing.join()}`
    health.report(CHECK, reason)
    if ((reason === undefined) === (this.#reported === undefined)) return
    this.#reported = reason
    if (reason === undefined) log.info({}, 'reads do not fail any more')
    else log.error({ reason }, 'reads fail again and again')
  }

  #failed(read: Read, cause: unknown): void {
    const failure = failureOf(cause)
    if (failure === undefined) return
    const { reason, name } = failure
    this.#counted.add(read, reason)
    if (reason !== 'error' && reason !== 'away') return
    const known = this.#failures.get(read) ?? { errors: [], away: [], name }
    this.#failures.set(read, known)
    known.name = name
    const times = reason === 'error' ? known.errors : known.away
    times.push(this.#parts.nowMs())
    if (times.length > READS_FAILED_MIN) times.shift()
    this.check()
  }
}

function isRepeated(times: readonly number[], since: number): boolean {
  return times.length >= READS_FAILED_MIN && times[0]! > since
}

function isGivenUp(arg: unknown): boolean {
  return arg instanceof AbortSignal && arg.aborted
}

/** Undefined when it was not the store that failed. The name is a code, never a text. */
function failureOf(
  cause: unknown,
): { readonly reason: ReadFailure; readonly name: string } | undefined {
  if (cause instanceof QueryError) return undefined
  if (cause instanceof IngestError) {
    const reason = cause.members?.reason
    if (reason === 'timeout' || reason === 'memory') return { reason, name: '' }
    return cause.cause instanceof StoreError ? failureOf(cause.cause) : undefined
  }
  if (!(cause instanceof StoreError)) return { reason: 'error', name: 'internal' }
  const { clickHouseCode, clickHouseName, code, kind, retryable } = cause
  if (kind === 'conflict') return undefined
  if (clickHouseCode === TIMEOUT_EXCEEDED) return { reason: 'timeout', name: '' }
  if (clickHouseCode === MEMORY_LIMIT_EXCEEDED) return { reason: 'memory', name: '' }
  const name = (clickHouseName ?? code ?? kind).slice(0, NAME_CHARS_MAX)
  return { reason: retryable ? 'away' : 'error', name }
}
