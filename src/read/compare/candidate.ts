/** What may become a finding: a condition, and how its events changed. */

import { format } from '../../language/format.ts'
import type { Query } from '../../language/query-tree.ts'
import type { FieldRef } from '../../model/aggregates.ts'
import type { BothCounts, CompareCondition } from '../../store/projection/reads/compare-task.ts'
import type { Change } from './judge-change.ts'
import type { NumberShift } from './number-shift.ts'

export type CandidateKind = 'value' | 'exists' | 'numbers' | 'pair'

export interface Candidate {
  readonly kind: CandidateKind
  readonly field: FieldRef
  readonly condition: CompareCondition
  /** Of `numbers`. */
  readonly shift?: NumberShift
  /** The factor of what it is compared to; undefined: of all other events. */
  readonly others: number | undefined
  /** Of the events that were looked at. */
  readonly counts: BothCounts
  readonly change: Change
}

/** The condition as a query; undefined for a stream, which queries do not know. */
export function queryOf(condition: CompareCondition): Query | undefined {
  return condition.kind === 'query' ? condition.query : undefined
}

export function conditionText(condition: CompareCondition): string {
  return condition.kind === 'query' ? format(condition.query) : `_stream:${condition.streamId}`
}
