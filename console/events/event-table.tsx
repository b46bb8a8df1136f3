/**
 * The events, one line each, as a grid of which only the visible rows are in the document. A row
 * opens in place. The visible rows stay where they are while others arrive above them. Sideways
 * the columns scroll; time, level and the names of the columns stay in sight.
 */
import { useSignal } from '@preact/signals'
import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { opened, toggleOpened } from '../base/opened.ts'
import { route } from '../base/route.ts'
import type { StreamInfo } from '../base/stream.ts'
import type { Ask } from '../explore/ask.ts'
import type { EventList, Gap } from '../explore/event-list.ts'
import { tell } from '../parts/notices.tsx'
import { HeaderMenu, HeaderRow, useHeader } from './column-header.tsx'
import { type Column, columnsOf, widthOf } from './columns.ts'
import { serviceOf } from './event.ts'
import { EventRow } from './event-row.tsx'
import { GapRow, SkipRow } from './gap-rows.tsx'
import { errorAt } from './level.ts'
import type { ListActs } from './list-tools.tsx'
import { goToTrace, useRowKeys } from './row-keys.ts'
import { indexAt, keyOf, topsOf } from './row-places.ts'
import { useAnchor, useArrival, useFocus, useView } from './table-view.ts'

const SPARE_ROWS = 12
const MORE_ROWS = 60

export interface TableProps {
  readonly list: EventList
  readonly ask: Ask
  readonly stream: StreamInfo | undefined
  readonly onMore: () => void
  readonly onLoadGap: (gap: Gap) => void
  /** Loads what was jumped over. */
  readonly onFill: (from: string | undefined) => void
  /** Loads up to the next error behind the last row, if there is one: then it is the answer. */
  readonly onMoreErrors: () => Promise<EventList | undefined>
  /** Gets what the buttons above the list do with it. */
  readonly acts: { current: ListActs }
}

export function EventTable(props: TableProps) {
  const { list, ask, stream, onMore } = props
  const { rows } = list
  const columns = useColumns(ask, list)
  const scroll = useRef<HTMLDivElement>(null)
  const view = useView(scroll)
  const current = useSignal<string | undefined>(undefined)
  /** What open rows take beside their line, by key. */
  const heights = useSignal<ReadonlyMap<string, number>>(new Map())
  const open = useMemo(
    () => new Map(opened.value.map(({ id }) => [id, heights.value.get(id) ?? 0])),
    [opened.value, heights.value],
  )
  const keys = useMemo(() => rows.map(keyOf), [rows])
  const tops = useMemo(() => topsOf(rows, open), [rows, open])
  const { top, height } = view.value
  const first = Math.max(0, indexAt(tops, top) - SPARE_ROWS)
  const last = Math.min(rows.length, indexAt(tops, top + height) + SPARE_ROWS)
  const currentIndex = useMemo(() => keys.indexOf(current.value ?? ''), [keys, current.value])
  useEffect(() => {
    if (list.hasMore && last > rows.length - MORE_ROWS) onMore()
  }, [last, rows.length, list.hasMore, list.isLoading])
  useAnchor(scroll, keys, tops, open.size > 0)
  const focus = useFocus(scroll, keys, tops)
  const toggle = (index: number) => {
    const row = rows[index]
    if (row?.kind !== 'event') return
    current.value = keyOf(row)
    toggleOpened(keyOf(row))
  }
  const measure = (key: string, measured: number) => {
    if (!open.has(key) || open.get(key) === measured) return
    heights.value = new Map(heights.value).set(key, measured)
  }
  const moveTo = (index: number, among = rows) => {
    if (among.length === 0) return
    current.value = keyOf(among[Math.max(0, Math.min(among.length - 1, index))]!)
    focus(current.value)
  }
  useArrival(list, keys, moveTo)
  // In another order it begins anew: the next error is the first then.
  useLayoutEffect(() => {
    current.value = undefined
  }, [ask.order])
  const isOpen = (index: number) => rows[index] !== undefined && open.has(keyOf(rows[index]))
  const jump = async (step: 1 | -1) => {
    const to = errorAt(rows, currentIndex, step)
    if (to !== undefined) return moveTo(to)
    if (step === -1) return tell('No error before this one')
    const more = await props.onMoreErrors()
    const found = more && errorAt(more.rows, more.rows.map(keyOf).indexOf(current.value ?? ''), 1)
    if (found !== undefined) moveTo(found, more!.rows)
  }
  const grid = useRef({ rows, current: currentIndex, isOpen, moveTo, toggle, jump })
  grid.current = { rows, current: currentIndex, isOpen, moveTo, toggle, jump }
  useRowKeys(() => grid.current)
  props.acts.current = {
    jump: (step) => void grid.current.jump(step),
    trace: () => goToTrace(grid.current),
  }
  const drawn = useDrawn()
  const shown = Array.from({ length: Math.max(0, last - first) }, (_, i) => first + i)
  const stop = Math.max(0, currentIndex)
  return (
    <Frame {...props} columns={columns} scroll={scroll} isStopShown={stop >= first && stop < last}>
      <div class="event-space" role="rowgroup" style={{ height: `${tops[rows.length] ?? 0}px` }}>
        {shown.map((index) => {
          const row = rows[index]!
          const key = keyOf(row)
          const state = { isCurrent: index === currentIndex, isStop: index === stop }
          const isOpen = open.has(key)
          const top = tops[index]!
          const shows = [row, index, top, ...Object.values(state), isOpen, ask, columns, stream]
          return drawn(key, shows, () => (
            <div key={key} class="event-place" style={{ transform: `translateY(${top}px)` }}>
              {row.kind === 'gap' && (
                <GapRow gap={row.gap} index={index} onLoad={() => props.onLoadGap(row.gap)} />
              )}
              {row.kind === 'skip' && (
                <SkipRow index={index} onLoad={() => props.onFill(row.from)} />
              )}
              {row.kind === 'event' && (
                <EventRow
                  {...{ event: row.event, index, stream, ask, columns, isOpen }}
                  {...state}
                  onToggle={() => grid.current.toggle(index)}
                  onMeasured={(measured) => measure(key, measured)}
                />
              )}
            </div>
          ))
        })}
      </div>
    </Frame>
  )
}

/**
 * What was drawn of a row is kept while all that it shows is the same: scrolling draws only the
 * rows that come into sight.
 */
function useDrawn() {
  const before = useRef(new Map<string, Drawn>())
  const now = new Map<string, Drawn>()
  useLayoutEffect(() => {
    before.current = now
  })
  return (key: string, shows: readonly unknown[], draw: () => VNode): VNode => {
    const known = before.current.get(key)
    const isSame = known?.shows.every((one, at) => one === shows[at])
    const drawn = isSame === true ? known! : { shows, node: draw() }
    now.set(key, drawn)
    return drawn.node
  }
}

interface Drawn {
  readonly shows: readonly unknown[]
  readonly node: VNode
}

/** The same array as long as it is about the same columns. */
function useColumns({ columns }: Ask, { rows }: EventList): readonly Column[] {
  const hasService = useMemo(
    () => rows.some((row) => row.kind === 'event' && serviceOf(row.event) !== undefined),
    [rows],
  )
  const { params } = route.value
  const [line, service] = [params.get('line'), params.get('service')]
  return useMemo(() => columnsOf(columns, params, hasService), [columns, line, service, hasService])
}

interface FrameProps extends TableProps {
  readonly columns: readonly Column[]
  readonly scroll: { current: HTMLDivElement | null }
  /** The row that Tab goes to is in the document. */
  readonly isStopShown: boolean
  readonly children: ComponentChildren
}

/** What scrolls, with the names of the columns above it and their widths. */
function Frame({ list, ask, columns, scroll, isStopShown, children }: FrameProps) {
  const { params } = route.value
  const widths = columns.flatMap((column, index) => {
    const width = widthOf(column, params)
    return width === undefined ? [] : [[`--w${index}`, `${width}px`]]
  })
  const header = useHeader()
  return (
    <div class="event-frame">
      <div
        class={list.isStale ? 'events event-scroll is-stale' : 'events event-scroll'}
        ref={scroll}
        // A grid whose rows open.
        role="treegrid"
        aria-label="Events"
        aria-busy={list.isLoading}
        aria-rowcount={list.rows.length + 1}
        // The current row is the stop for Tab, unless it was scrolled away.
        tabIndex={isStopShown ? -1 : 0}
      >
        <div class="event-grid" style={Object.fromEntries(widths)}>
          <HeaderRow state={header} columns={columns} ask={ask} />
          {children}
        </div>
      </div>
      <HeaderMenu state={header} columns={columns} ask={ask} />
    </div>
  )
}
