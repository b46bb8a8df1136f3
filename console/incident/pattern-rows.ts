/** What a request for patterns answers, as far as it is shown. */
import { callJson } from '../base/api.ts'
import { type Ask, readMembers, readPath } from '../explore/ask.ts'

export type PatternPart =
  | { readonly text: string }
  | { readonly slot: string; readonly examples: readonly string[] }

export interface PatternRow {
  readonly parts: readonly PatternPart[]
  readonly count: number
  readonly share: number
  /** Events by equal steps of the range. */
  readonly sparkline: readonly number[]
  readonly pattern_ids: readonly string[]
  /** Of just these events. */
  readonly query: string
  readonly baseline_count?: number
  readonly is_new?: boolean
  readonly factor?: number | null
}

export interface Patterns {
  readonly patterns: readonly PatternRow[]
  readonly events: number
  readonly without_pattern: number
  readonly others: { readonly patterns: number; readonly events: number }
}

const SORTS = ['count', 'new', 'growth'] as const
export type Sort = (typeof SORTS)[number]

export const SORT_NAMES: Readonly<Record<Sort, string>> = {
  count: 'most frequent first',
  new: 'new since the range before first',
  growth: 'grown most since the range before first',
}

export function readSort(text: string | null): Sort {
  return SORTS.find((known) => known === text) ?? 'count'
}

const ROWS = 50

/** Throws `ApiError`. */
export async function findPatterns(ask: Ask, sort: Sort, signal: AbortSignal): Promise<Patterns> {
  const body = { ...readMembers(ask), sort, limit: ROWS }
  return await callJson(readPath(ask, 'patterns'), { method: 'POST', body, signal })
}
