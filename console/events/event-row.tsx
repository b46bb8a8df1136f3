/** A line of the grid: an event, which opens in place. */
import { useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import type { StreamInfo } from '../base/stream.ts'
import { findStream } from '../base/stream.ts'
import { formatTime } from '../base/time.ts'
import type { Ask } from '../explore/ask.ts'
import { hasColors } from '../text/colors.ts'
import { ShownText } from '../text/shown-text.tsx'
import { type Cells, cellsFor } from './cells.ts'
import { type Column, columnName } from './columns.ts'
import { type EventRecord, timeOf } from './event.ts'
import { EventDetails } from './event-details.tsx'
import { LevelSign } from './level-sign.tsx'

interface RowProps {
  readonly event: EventRecord
  readonly index: number
  readonly stream: StreamInfo | undefined
  readonly ask: Ask
  readonly columns: readonly Column[]
  readonly isCurrent: boolean
  /** The one row that Tab goes to. */
  readonly isStop: boolean
  readonly isOpen: boolean
  readonly onToggle: () => void
  readonly onMeasured: (height: number) => void
}

export function EventRow(props: RowProps) {
  const { event, index, stream, ask, columns, isCurrent, isOpen, onToggle, onMeasured } = props
  const own = stream ?? findStream(event.streamId)
  const cells = cellsFor(ask.query, own?.text_fields, hasColors.value)
  const time = formatTime(timeOf(event, ask.clock))
  const shown = useMemo(
    () => <FieldCells {...{ event, columns, cells }} />,
    [event, columns, cells],
  )
  const onClick = () => {
    // Who selects text of the line does not open it.
    if (getSelection()?.isCollapsed !== false) onToggle()
  }
  return (
    <>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: Enter is one of the grid's keys. */}
      <div
        class={isCurrent ? 'event-row is-current' : 'event-row'}
        role="row"
        data-index={index}
        aria-rowindex={index + 2}
        aria-expanded={isOpen}
        tabIndex={props.isStop ? 0 : -1}
        onClick={onClick}
      >
        <span class="cell mono time" role="gridcell">
          <span class="date">{time.slice(0, 11)}</span>
          {time.slice(11)}
        </span>
        <span class="cell level-cell" role="gridcell">
          <LevelSign event={event} />
        </span>
        {ask.streamId === undefined && (
          <span class="cell is-stream" role="gridcell">
            <bdi>{own?.name ?? event.streamId}</bdi>
          </span>
        )}
        {shown}
      </div>
      {isOpen && (
        <Opened event={event} index={index} stream={own} cells={cells} onMeasured={onMeasured} />
      )}
    </>
  )
}

interface CellsProps {
  readonly event: EventRecord
  readonly columns: readonly Column[]
  readonly cells: Cells
}

function FieldCells({ event, columns, cells }: CellsProps) {
  return (
    <>
      {columns.map((column, index) => (
        <span
          key={columnName(column)}
          class={`cell mono ${cellClass(column, index, columns)}`}
          style={{ width: `var(--w${index}, var(--w))` }}
          role="gridcell"
        >
          <ShownText
            pieces={
              column.kind === 'line' ? cells.lineOf(event) : cells.cellOf(event, column.field)
            }
          />
        </span>
      ))}
    </>
  )
}

/** The line takes what room is left; without it the last column does. */
export function cellClass(column: Column, index: number, all: readonly Column[]): string {
  const growing = all.findIndex(({ kind }) => kind === 'line')
  const kind = column.kind === 'line' ? 'line' : 'col'
  return index === (growing < 0 ? all.length - 1 : growing) ? `${kind} is-growing` : kind
}

interface OpenedProps {
  readonly event: EventRecord
  readonly index: number
  readonly stream: StreamInfo | undefined
  readonly cells: Cells
  readonly onMeasured: (height: number) => void
}

function Opened({ event, index, stream, cells, onMeasured }: OpenedProps) {
  const ref = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    const element = ref.current!
    onMeasured(element.offsetHeight)
    const observer = new ResizeObserver(() => onMeasured(element.offsetHeight))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])
  return (
    <div class="event-open" ref={ref} role="row" aria-rowindex={index + 2}>
      <div role="gridcell">
        <EventDetails event={event} stream={stream} cells={cells} />
      </div>
    </div>
  )
}
