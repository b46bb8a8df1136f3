/**
 * How many granules are read where there are many events: one in so many. What is found by them is
 * only a candidate; it is counted exactly then.
 */

import type { BothCounts } from '../../store/projection/reads/compare-task.ts'
import type { CompareRequest } from './compare-request.ts'

/** Past so many events of both sides some granules stand for all, to find candidates. */
export const COMPARED_EVENTS_MAX = 800_000
/**
 * Where events are few among many others, granules are read for the sake of some events each: then
 * of so many rows some are left out, too, as long as there are so many events.
 */
const READ_ROWS_MAX = 4 * COMPARED_EVENTS_MAX
const FEW_EVENTS = 20_000
/** The same of a finding: which value its events have in common shows by some. */
const LOOKED_INTO_ROWS = 400_000
const FEW_OF_FINDING = 200

/** How many events a side has, and how many rows were read to count them. */
export interface Total {
  readonly events: number
  readonly rows: number
}

export interface Totals {
  readonly now: Total
  readonly then: Total
}

/** One granule in so many, of a side. */
export function oneInOf({ events, rows }: Total): number {
  const few = Math.min((2 * rows) / READ_ROWS_MAX, events / FEW_EVENTS)
  return Math.max(1, Math.round(Math.max((2 * events) / COMPARED_EVENTS_MAX, few)))
}

/** Whether both ranges have no event in common. */
export function areApart({ fromNs, toNs, baseline }: CompareRequest): boolean {
  return toNs <= baseline.fromNs || baseline.toNs <= fromNs
}

/** Of both sides of a finding that is among so many rows. */
export function oneInOfFinding({ window, baseline }: BothCounts, rows: number): number {
  const few = Math.max(window, baseline) / FEW_OF_FINDING
  return Math.max(1, Math.floor(Math.min(rows / LOOKED_INTO_ROWS, few)))
}
