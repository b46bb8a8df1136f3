/** What a comparison answers, as far as it is shown. */
import { callJson } from '../base/api.ts'
import { type Ask, readMembers, readPath } from '../explore/ask.ts'

export interface Finding {
  /** In plain words. */
  readonly text: string
  readonly direction: 'more' | 'fewer'
  /** Of just these events. */
  readonly query: string
  readonly window: { readonly count: number }
  /** Where the finding is of one stream of several. */
  readonly stream: string | null
  /** Other conditions that are true for nearly the same events. */
  readonly same: readonly string[]
  readonly also: readonly string[]
}

export interface Comparison {
  /** What it was compared with. */
  readonly baseline: { readonly from: string; readonly to: string }
  readonly findings: readonly Finding[]
  readonly whole: { readonly text: string }
  readonly looked_at: { readonly events: number; readonly fields: readonly string[] }
  readonly left_out: { readonly fields: number; readonly names: readonly string[] }
  readonly estimated: boolean
}

/** Against what a range is explained: the one before it is what nobody has to choose. */
const BASELINES = ['before', 'yesterday'] as const
type Baseline = (typeof BASELINES)[number]

export const BASELINE_NAMES: Readonly<Record<Baseline, string>> = {
  before: 'the range before it',
  yesterday: 'the same range a day earlier',
}

export function readBaseline(text: string | null): Baseline {
  return BASELINES.find((known) => known === text) ?? 'before'
}

/** Throws `ApiError`. */
export async function compare(
  ask: Ask,
  baseline: Baseline,
  signal: AbortSignal,
): Promise<Comparison> {
  const { query, from, to, time_basis } = readMembers(ask)
  const body = { query, window: { from, to }, baseline, time_basis }
  return await callJson(readPath(ask, 'compare'), { method: 'POST', body, signal })
}
