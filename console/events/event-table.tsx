/**
 * The events, one line each, as a grid of which only the visible rows are in the document. A row
 * opens in place. The visible rows stay where they are while others arrive above them.
 */
import { useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import { visibleLine } from '../../src/language/visible-text.ts'
import { CLOCK_NAMES, type Clock } from '../base/clock.ts'
import { type EventField, fieldText } from '../base/field.ts'
import { opened, toggleOpened } from '../base/opened.ts'
import { arrivals } from '../base/route.ts'
import type { StreamInfo } from '../base/stream.ts'
import { zoneName } from '../base/time.ts'
import type { EventList, Gap } from '../explore/event-list.ts'
import { EventRow, GapRow } from './event-row.tsx'
import { useRowKeys } from './row-keys.ts'
import { indexAt, keyOf, ROW_PX, topsOf } from './row-places.ts'

const SPARE_ROWS = 12
const MORE_ROWS = 60

interface TableProps {
  readonly list: EventList
  readonly stream: StreamInfo | undefined
  /** Rows of several streams name theirs. */
  readonly hasStream: boolean
  readonly columns: readonly EventField[]
  /** Whose time stands in the first column. */
  readonly clock: Clock
  readonly onMore: () => void
  readonly onLoadGap: (gap: Gap) => void
}

export function EventTable(props: TableProps) {
  const { list, stream, hasStream, columns, clock, onMore, onLoadGap } = props
  const { rows } = list
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
  const focus = useFocus(scroll)
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
  const moveTo = (index: number) => {
    if (rows.length === 0) return
    const to = Math.max(0, Math.min(rows.length - 1, index))
    current.value = keyOf(rows[to]!)
    const element = scroll.current!
    if (tops[to]! < element.scrollTop) element.scrollTop = tops[to]!
    const bottom = tops[to]! + ROW_PX
    if (bottom > element.scrollTop + element.clientHeight) {
      element.scrollTop = bottom - element.clientHeight
    }
    focus(to)
  }
  useArrival(list, keys, (index) => {
    scroll.current!.scrollTop = tops[index]!
    moveTo(index)
  })
  const isOpen = (index: number) => rows[index] !== undefined && open.has(keyOf(rows[index]))
  const grid = useRef({ rows, current: currentIndex, isOpen, moveTo, toggle })
  grid.current = { rows, current: currentIndex, isOpen, moveTo, toggle }
  useRowKeys(() => grid.current)
  const shown = Array.from({ length: Math.max(0, last - first) }, (_, i) => first + i)
  const stop = Math.max(0, currentIndex)
  return (
    <div
      class={list.isStale ? 'events is-stale' : 'events'}
      // A grid whose rows open.
      role="treegrid"
      aria-label="Events"
      aria-busy={list.isLoading}
      aria-rowcount={rows.length + 1}
    >
      <HeaderRow columns={columns} hasStream={hasStream} clock={clock} />
      <div
        class="event-scroll"
        ref={scroll}
        // The current row is the stop for Tab, unless it was scrolled away.
        tabIndex={stop >= first && stop < last ? -1 : 0}
        role="rowgroup"
      >
        <div class="event-space" style={{ height: `${tops[rows.length] ?? 0}px` }}>
          {shown.map((index) => {
            const row = rows[index]!
            const key = keyOf(row)
            const place = { transform: `translateY(${tops[index]}px)` }
            return (
              <div key={key} class="event-place" style={place}>
                {row.kind === 'gap' ? (
                  <GapRow gap={row.gap} index={index} onLoad={() => onLoadGap(row.gap)} />
                ) : (
                  <EventRow
                    event={row.event}
                    index={index}
                    stream={stream}
                    hasStream={hasStream}
                    columns={columns}
                    clock={clock}
                    isCurrent={index === currentIndex}
                    isStop={index === stop}
                    isOpen={open.has(key)}
                    onToggle={() => toggle(index)}
                    onMeasured={(measured) => measure(key, measured)}
                  />
                )}
              </div>
            )
          })}
        </div>
      </div>
    </div>
  )
}

type HeaderProps = Pick<TableProps, 'columns' | 'hasStream' | 'clock'>

function HeaderRow({ columns, hasStream, clock }: HeaderProps) {
  const fields = columns.map((field) => visibleLine(fieldText(field)))
  const time = CLOCK_NAMES[clock]
  const names = ['Level', ...(hasStream ? ['Stream'] : []), ...(fields.length ? fields : ['Event'])]
  return (
    <div
      class={`event-row is-header ${columns.length ? 'has-columns' : ''}`}
      role="row"
      aria-rowindex={1}
    >
      <span role="columnheader" class="cell" title={`${time} (${zoneName()})`}>
        {time}
        <span class="zone"> ({zoneName()})</span>
      </span>
      {names.map((name) => (
        <span key={name} role="columnheader" class="cell" title={name}>
          <bdi>{name}</bdi>
        </span>
      ))}
    </div>
  )
}

type ScrollRef = { readonly current: HTMLDivElement | null }

/** Which part is seen, as it scrolls and changes its size. */
function useView(scroll: ScrollRef) {
  const view = useSignal({ top: 0, height: 800 })
  useLayoutEffect(() => {
    const element = scroll.current!
    const look = () => {
      view.value = { top: element.scrollTop, height: element.clientHeight }
    }
    const observer = new ResizeObserver(look)
    observer.observe(element)
    element.addEventListener('scroll', look, { passive: true })
    return () => {
      observer.disconnect()
      element.removeEventListener('scroll', look)
    }
  }, [])
  return view
}

/**
 * Rows that arrive above the visible ones do not move these. At the very top with nothing open,
 * though, new rows should be seen arriving.
 */
function useAnchor(
  scroll: ScrollRef,
  keys: readonly string[],
  tops: Float64Array,
  hasOpen: boolean,
): void {
  const before = useRef<{ keys: readonly string[]; tops: Float64Array }>({ keys, tops })
  useLayoutEffect(() => {
    const element = scroll.current!
    const { keys: oldKeys, tops: oldTops } = before.current
    before.current = { keys, tops }
    if (keys[0] === oldKeys[0] || (element.scrollTop === 0 && !hasOpen)) return
    const anchor = indexAt(oldTops, element.scrollTop)
    const now = keys.indexOf(oldKeys[anchor] ?? '')
    if (now >= 0) element.scrollTop += tops[now]! - oldTops[anchor]!
    else element.scrollTop = 0
  })
}

/** Goes once to the first event that the address opens, when somebody came by it. */
function useArrival(
  { state, isStale, isLoading }: EventList,
  keys: readonly string[],
  arriveAt: (index: number) => void,
): void {
  const turn = useRef<number | undefined>(undefined)
  useEffect(() => {
    const isSettled = state !== undefined && !isStale && !isLoading
    if (!isSettled || turn.current === arrivals.value) return
    turn.current = arrivals.value
    const index = keys.indexOf(opened.value[0]?.id ?? '')
    if (index >= 0) arriveAt(index)
  })
}

/** Gives the focus to a row as soon as it is in the document. */
function useFocus(scroll: ScrollRef): (index: number) => void {
  const wanted = useRef<number | undefined>(undefined)
  const turn = useSignal(0)
  void turn.value
  useLayoutEffect(() => {
    if (wanted.current === undefined) return
    const row = scroll.current!.querySelector<HTMLElement>(`[data-index="${wanted.current}"]`)
    if (row === null) return
    wanted.current = undefined
    row.focus({ preventScroll: true })
  })
  return (index) => {
    wanted.current = index
    turn.value++
  }
}
