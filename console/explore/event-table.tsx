/**
 * The events, one line each, as a grid of which only what is seen is in the document. A row opens
 * in place. Lines are of one height; what an open row shows is measured.
 */
import { useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { isTyping } from '../base/keys.ts'
import { setParams } from '../base/route.ts'
import type { StreamInfo } from '../base/stream.ts'
import { findStream } from '../base/stream.ts'
import { formatTime } from '../base/time.ts'
import { ask } from './ask.ts'
import { cellText, type EventRecord, lineOf } from './event.ts'
import { EventDetails } from './event-details.tsx'
import type { EventList, Gap, Row } from './event-list.ts'
import { systemClause, withClause } from './filters.ts'
import { LEVEL_SIGNS, levelOf } from './level.ts'

const ROW_PX = 26
const SPARE_ROWS = 12
const MORE_ROWS = 60

interface TableProps {
  readonly list: EventList
  readonly stream: StreamInfo | undefined
  readonly columns: readonly string[]
  readonly onMore: () => void
  readonly onLoadGap: (gap: Gap) => void
}

export function EventTable({ list, stream, columns, onMore, onLoadGap }: TableProps) {
  const { rows } = list
  const scroll = useRef<HTMLDivElement>(null)
  const view = useSignal({ top: 0, height: 800 })
  const current = useSignal(0)
  /** What open rows take beside their line, by key. */
  const open = useSignal<ReadonlyMap<string, number>>(new Map())
  const tops = topsOf(rows, open.value)
  const total = tops[rows.length] ?? 0
  const first = Math.max(0, indexAt(tops, view.value.top) - SPARE_ROWS)
  const last = Math.min(rows.length, indexAt(tops, view.value.top + view.value.height) + SPARE_ROWS)
  useEffect(() => {
    if (list.hasMore && last > rows.length - MORE_ROWS) onMore()
  }, [last, rows.length, list.hasMore, list.isLoading])
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
  const toggle = (key: string) => {
    const next = new Map(open.value)
    if (!next.delete(key)) next.set(key, 0)
    open.value = next
  }
  const measure = (key: string, height: number) => {
    if (!open.value.has(key) || open.value.get(key) === height) return
    open.value = new Map(open.value).set(key, height)
  }
  const moveTo = (index: number) => {
    const to = Math.max(0, Math.min(rows.length - 1, index))
    current.value = to
    const element = scroll.current!
    const top = tops[to] ?? 0
    if (top < element.scrollTop) element.scrollTop = top
    const bottom = top + ROW_PX
    if (bottom > element.scrollTop + element.clientHeight) {
      element.scrollTop = bottom - element.clientHeight
    }
  }
  useRowKeys(rows, () => current.value, moveTo, toggle)
  const shown = Array.from({ length: Math.max(0, last - first) }, (_, i) => first + i)
  const header = [
    'Time',
    'Level',
    ...(stream ? [] : ['Stream']),
    ...(columns.length ? columns : ['Event']),
  ]
  return (
    <div
      class="events"
      role="grid"
      aria-label="Events"
      aria-busy={list.isLoading}
      aria-rowcount={rows.length + 1}
      aria-colcount={header.length}
    >
      <div
        class={`event-row is-header ${columns.length ? 'has-columns' : ''}`}
        role="row"
        aria-rowindex={1}
      >
        {header.map((name) => (
          <span key={name} role="columnheader" class="cell">
            {name}
          </span>
        ))}
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keys. */}
      <div class="event-scroll" ref={scroll} tabIndex={0} role="rowgroup">
        <div class="event-space" style={{ height: `${total}px` }}>
          {shown.map((index) => {
            const row = rows[index]!
            const key = keyOf(row)
            return (
              <div
                key={key}
                class="event-place"
                style={{ transform: `translateY(${tops[index]}px)` }}
              >
                {row.kind === 'gap' ? (
                  <GapRow gap={row.gap} index={index} onLoad={() => onLoadGap(row.gap)} />
                ) : (
                  <EventRow
                    event={row.event}
                    index={index}
                    stream={stream}
                    columns={columns}
                    isCurrent={index === current.value}
                    isOpen={open.value.has(key)}
                    onToggle={() => {
                      current.value = index
                      toggle(key)
                    }}
                    onMeasured={(height) => measure(key, height)}
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

interface RowProps {
  readonly event: EventRecord
  readonly index: number
  readonly stream: StreamInfo | undefined
  readonly columns: readonly string[]
  readonly isCurrent: boolean
  readonly isOpen: boolean
  readonly onToggle: () => void
  readonly onMeasured: (height: number) => void
}

function EventRow(props: RowProps) {
  const { event, index, stream, columns, isCurrent, isOpen, onToggle, onMeasured } = props
  const level = levelOf(event)
  const own = stream ?? findStream(event.streamId)
  const time = formatTime(event.eventMs)
  return (
    <>
      <div
        class={`event-row ${isCurrent ? 'is-current' : ''} ${columns.length ? 'has-columns' : ''}`}
        role="row"
        aria-rowindex={index + 2}
        aria-expanded={isOpen}
        tabIndex={-1}
        onClick={onToggle}
        onKeyDown={(key) => {
          if (key.key === 'Enter') onToggle()
        }}
      >
        <span class="cell mono time" role="gridcell">
          <span class="date">{time.slice(0, 11)}</span>
          {time.slice(11)}
        </span>
        <span class={`cell level is-${level ?? 'none'}`} role="gridcell">
          {level !== undefined && (
            <>
              <span aria-hidden="true">{LEVEL_SIGNS[level]}</span> <span class="word">{level}</span>
            </>
          )}
        </span>
        {stream === undefined && (
          <span class="cell" role="gridcell">
            {own?.name ?? event.streamId}
          </span>
        )}
        {columns.length === 0 ? (
          <span class="cell mono line" role="gridcell">
            {lineOf(event, own?.text_fields)}
          </span>
        ) : (
          columns.map((path) => (
            <span key={path} class="cell mono line" role="gridcell">
              {cellText(event, path)}
            </span>
          ))
        )}
      </div>
      {isOpen && <Measured event={event} stream={own} onMeasured={onMeasured} />}
    </>
  )
}

function Measured({
  event,
  stream,
  onMeasured,
}: {
  event: EventRecord
  stream: StreamInfo | undefined
  onMeasured: (height: number) => void
}) {
  const ref = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const element = ref.current!
    const observer = new ResizeObserver(() => onMeasured(element.offsetHeight))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return (
    <div class="event-open" ref={ref}>
      <EventDetails event={event} stream={stream} />
    </div>
  )
}

function GapRow({ gap, index, onLoad }: { gap: Gap; index: number; onLoad: () => void }) {
  return (
    <div class="event-row is-gap" role="row" aria-rowindex={index + 2}>
      <span class="cell" role="gridcell">
        {gap.dropped.toLocaleString('en-US')} events not shown
        <button type="button" class="small" onClick={onLoad}>
          Load them
        </button>
      </span>
    </div>
  )
}

/** j and k go down and up, Enter opens; not while something is typed. */
function useRowKeys(
  rows: readonly Row[],
  current: () => number,
  moveTo: (index: number) => void,
  toggle: (key: string) => void,
): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey) return
      const isOnControl =
        event.target instanceof Element && event.target.matches('button, a, summary')
      const row = rows[current()]
      if (event.key === 'j') moveTo(current() + 1)
      else if (event.key === 'k') moveTo(current() - 1)
      else if (event.key === 'Enter' && !isOnControl && row?.kind === 'event') toggle(keyOf(row))
      else if ((event.key === 'f' || event.key === 'x') && row?.kind === 'event') {
        filterByLevel(row.event, event.key === 'x')
      } else return
      event.preventDefault()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [rows])
}

function filterByLevel(event: EventRecord, isExcluded: boolean): void {
  const level = levelOf(event)
  if (level === undefined) return
  setParams({ q: withClause(ask.value.query, systemClause('_level', level), isExcluded) })
}

function keyOf(row: Row): string {
  return row.kind === 'event' ? row.event.id : `gap ${row.gap.id}`
}

/** Where each row begins, in pixels, and where the last one ends. */
function topsOf(rows: readonly Row[], open: ReadonlyMap<string, number>): Float64Array {
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
function indexAt(tops: Float64Array, y: number): number {
  let low = 0
  let high = tops.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (tops[middle]! <= y) low = middle
    else high = middle - 1
  }
  return low
}
