/**
 * The cost of evaluating a query, in steps of about a nanosecond, counted in the loops over bytes.
 * It is counted rather than timed, so that the same task always ends at the same event.
 */

/** Thrown when more is spent than there is. */
export class WorkSpentError extends Error {
  override readonly name = 'WorkSpentError'

  constructor() {
    super('the query costs too much here')
  }
}

const SPENT = new WorkSpentError()

export class Work {
  left = Number.POSITIVE_INFINITY

  spend(steps: number): void {
    this.left -= steps
    if (this.left < 0) throw SPENT
  }
}
