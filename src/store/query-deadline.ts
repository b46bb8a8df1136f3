/** The time of a query as we see it, whatever its server does. */
import type { ClickHouseSettings } from '@clickhouse/client'
import { QUERY_GRACE_MS } from '../limits.ts'
import { TIMEOUT_EXCEEDED } from './clickhouse-codes.ts'
import { StoreError } from './store-error.ts'

/** Ends a query that is not answered; its server sees the connection close, and ends it, too. */
export class QueryDeadline {
  readonly signal: AbortSignal
  readonly #late = new AbortController()
  readonly #timer: NodeJS.Timeout | undefined

  /** Of a query without `max_execution_time` there is none. */
  constructor(
    { max_execution_time: seconds = 0 }: ClickHouseSettings,
    given: AbortSignal | undefined,
  ) {
    const { signal } = this.#late
    this.signal = given === undefined ? signal : AbortSignal.any([signal, given])
    if (seconds === 0) return
    this.#timer = setTimeout(() => this.#late.abort(), seconds * 1_000 + QUERY_GRACE_MS)
  }

  /** From its head on an answer is not ended by `signal` any more, but by being closed. */
  watch(answer: { close(): void }): void {
    const { signal } = this
    if (signal.aborted) answer.close()
    else signal.addEventListener('abort', () => answer.close(), { once: true })
  }

  /** If it, or the given signal, is what ended the query: what the client then throws varies. */
  get error(): StoreError | undefined {
    if (!this.signal.aborted) return undefined
    if (!this.#late.signal.aborted) return new StoreError('unavailable', 'clickhouse: aborted')
    const text = 'clickhouse: no answer, although the time of the query is over'
    return new StoreError('unavailable', text, { clickHouseCode: TIMEOUT_EXCEEDED })
  }

  end(): void {
    clearTimeout(this.#timer)
  }
}
