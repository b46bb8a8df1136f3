/**
 * The grid's keys. `j` and `k` go from event to event from anywhere, as the arrows do within the
 * grid; Enter opens and closes; right goes into the fields, left and Escape come back out. `n` and
 * `p` go to the next error and the one before; `a` looks for the trace of an event everywhere.
 */
import { useEffect } from 'preact/hooks'
import { isTyping } from '../base/keys.ts'
import { go } from '../base/route.ts'
import type { Row } from '../explore/event-list.ts'
import { filterBy } from '../explore/filter-by.ts'
import { systemClause } from '../explore/filters.ts'
import { tell } from '../parts/notices.tsx'
import { type EventRecord, traceOf } from './event.ts'
import { levelOf } from './level.ts'
import { everywhere } from './opened-event.ts'

const PAGE_ROWS = 20

export interface Grid {
  readonly rows: readonly Row[]
  /** The row that the keys are about; -1 before the first one. */
  readonly current: number
  readonly isOpen: (index: number) => boolean
  /** Makes it the current one, and gives it the focus. */
  readonly moveTo: (index: number) => void
  readonly toggle: (index: number) => void
  /** To the next error behind the current row (1), or before it (-1). */
  readonly jump: (step: 1 | -1) => unknown
}

/** `grid` is asked anew with each key. */
export function useRowKeys(grid: () => Grid): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || isTyping(event)) return
      if (event.ctrlKey || event.metaKey || event.altKey) return
      if (act(event, grid())) event.preventDefault()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
}

/** Whether the key was one of ours. */
function act({ key, target }: KeyboardEvent, grid: Grid): boolean {
  const { current, rows } = grid
  const element = target instanceof Element ? target : document.body
  const isInDetails = element.closest('.event-open') !== null
  const isOnRow = element.matches('.event-row')
  const isFree = isOnRow || element === document.body || element.matches('main, .event-scroll')
  if (key === 'j' || (key === 'ArrowDown' && isOnRow)) grid.moveTo(current + 1)
  else if (key === 'k' || (key === 'ArrowUp' && isOnRow)) grid.moveTo(current - 1)
  else if (key === 'n' || key === 'p') grid.jump(key === 'n' ? 1 : -1)
  else if (isOnRow && key in JUMPS) grid.moveTo(JUMPS[key]!(current, rows.length))
  else if (key === 'Enter' && isFree) grid.toggle(Math.max(0, current))
  else if (key === 'ArrowRight' && isOnRow) goIn(grid, element)
  else if ((key === 'ArrowLeft' || key === 'Escape') && isInDetails) grid.moveTo(current)
  else if ((key === 'ArrowLeft' || key === 'Escape') && isOnRow && grid.isOpen(current)) {
    grid.toggle(current)
  } else if ((key === 'f' || key === 'x') && rows[current]?.kind === 'event') {
    filterByLevel(rows[current].event, key === 'x')
  } else if (key === 'a') goToTrace(grid)
  else return false
  return true
}

const JUMPS: Readonly<Record<string, (current: number, count: number) => number>> = {
  PageDown: (current) => current + PAGE_ROWS,
  PageUp: (current) => current - PAGE_ROWS,
  Home: () => 0,
  End: (_, count) => count - 1,
}

/** Opens what is closed; of what is open it goes to the first field. */
function goIn(grid: Grid, row: Element): void {
  if (!grid.isOpen(grid.current)) return grid.toggle(grid.current)
  row.parentElement?.querySelector<HTMLElement>('.leaf, .twist')?.focus()
}

function filterByLevel(event: EventRecord, isExcluded: boolean): void {
  const level = levelOf(event)
  if (level === undefined) return
  filterBy(systemClause('_level', level), isExcluded)
}

/** Of the current event, in all streams. */
export function goToTrace({ rows, current }: Grid): void {
  const row = rows[current]
  const event = row?.kind === 'event' ? row.event : undefined
  const trace = event && traceOf(event, '_trace_id')
  if (event === undefined) tell('Go to an event first: j, ↓ error or a click', true)
  else if (trace === undefined) tell('The event has no trace', true)
  else go(everywhere(systemClause('_trace_id', trace), event))
}
