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

  /** `problem` says what is wrong or expected, `repair` what to write instead. */
  constructor(at: Span, problem: string, repair?: string) {
    super(`column ${at.start + 1}: ${problem}${repair === undefined ? '' : `; ${repair}`}`)
    this.start = at.start
    this.end = at.end
    this.column = at.start + 1
    this.repair = repair
  }
}
