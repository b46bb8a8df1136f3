/** What answers say of themselves: if they have all, how late they are, if part was counted. */

export interface AnswerState {
  readonly isComplete: boolean
  /** Why it is not complete. */
  readonly reason: string | undefined
  /** What it covers instead of all that was asked for. */
  readonly covered: { readonly from: string; readonly to: string } | undefined
  readonly lagMs: number
  readonly isSampled: boolean
}

/** Of the members of any answer to a read. */
export function readState(answer: Readonly<Record<string, unknown>>): AnswerState {
  const { covered } = answer
  return {
    isComplete: answer.complete !== false,
    reason: typeof answer.reason === 'string' ? answer.reason : undefined,
    covered:
      typeof covered === 'object' && covered !== null
        ? (covered as { readonly from: string; readonly to: string })
        : undefined,
    lagMs: typeof answer.lag_ms === 'number' ? answer.lag_ms : 0,
    isSampled: answer.sampled === true,
  }
}
