import type { Span } from './query-tree.ts'

/**
 * What is wrong with a query's text: only the first fault, its position and its repair. The only
 * error that `parse` throws.
 */
export class QueryError extends Error {
  override readonly name = 'QueryError'
  /** UTF-16 code units from 0, half-open. */
  readonly start: number
  readonly end: number
  /** UTF-16 code units from 1, as editors count. */
  readonly column: number
  /** What to write instead, if known. */
  readonly repair: string | undefined
  /** The member of a request whose text it is about, where it is not the request's `query`. */
  readonly member: string | undefined
  readonly #problem: string

  /** `problem` says what is wrong or expected, `repair` what to write instead. */
  constructor(at: Span, problem: string, repair?: string, member?: string) {
    super(`column ${at.start + 1}: ${problem}${repair === undefined ? '' : `; ${repair}`}`)
    this.start = at.start
    this.end = at.end
    this.column = at.start + 1
    this.repair = repair
    this.member = member
    this.#problem = problem
  }

  /** The same of the query in another member. */
  in(member: string): QueryError {
    return new QueryError(this, this.#problem, this.repair, member)
  }
}
