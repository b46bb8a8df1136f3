/** Where rows lie: lines of one height, and below an open one what it shows. */
import type { Row } from '../explore/event-list.ts'

export const ROW_PX = 26
/** The line of the columns' names, which stays above the rows. */
export const HEADER_PX = 26

export function keyOf(row: Row): string {
  if (row.kind === 'event') return row.event.id
  return row.kind === 'gap' ? `gap ${row.gap.id}` : `skip ${row.from}`
}

/** Where each row begins, in pixels, and where the last one ends. */
export function topsOf(rows: readonly Row[], open: ReadonlyMap<string, number>): Float64Array {
  const tops = new Float64Array(rows.length + 1)
  let top = 0
  for (let i = 0; i < rows.length; i++) {
    tops[i] = top
    top += ROW_PX + (open.size === 0 ? 0 : (open.get(keyOf(rows[i]!)) ?? 0))
  }
  tops[rows.length] = top
  return tops
}

/** The row that is at this height, by halving. */
export function indexAt(tops: Float64Array, y: number): number {
  let low = 0
  let high = tops.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (tops[middle]! <= y) low = middle
    else high = middle - 1
  }
  return low
}
