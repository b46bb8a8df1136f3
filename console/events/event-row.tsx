/** A line of the grid: an event, which opens in place, or a gap of the live tail. */
import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Clock } from '../base/clock.ts'
import { type EventField, fieldText } from '../base/field.ts'
import { formatCount } from '../base/format.ts'
import type { StreamInfo } from '../base/stream.ts'
import { findStream } from '../base/stream.ts'
import { formatTime } from '../base/time.ts'
import type { Gap } from '../explore/event-list.ts'
import { cellText, type EventRecord, lineOf, timeOf } from './event.ts'
import { EventDetails } from './event-details.tsx'
import { LevelSign } from './level-sign.tsx'

interface RowProps {
  readonly event: EventRecord
  readonly index: number
  readonly stream: StreamInfo | undefined
  /** Of several streams: each row names its own. */
  readonly hasStream: boolean
  readonly columns: readonly EventField[]
  readonly clock: Clock
  readonly isCurrent: boolean
  /** The one row that Tab goes to. */
  readonly isStop: boolean
  readonly isOpen: boolean
  readonly onToggle: () => void
  readonly onMeasured: (height: number) => void
}

export function EventRow(props: RowProps) {
  const { event, index, stream, columns, isCurrent, isOpen, onToggle, onMeasured } = props
  const own = stream ?? findStream(event.streamId)
  const time = formatTime(timeOf(event, props.clock))
  const onClick = () => {
    // Who selects text of the line does not open it.
    if (getSelection()?.isCollapsed !== false) onToggle()
  }
  return (
    <>
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: Enter is one of the grid's keys. */}
      <div
        class={`event-row ${isCurrent ? 'is-current' : ''} ${columns.length ? 'has-columns' : ''}`}
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
        <span class="cell" role="gridcell">
          <LevelSign event={event} />
        </span>
        {props.hasStream && (
          <span class="cell" role="gridcell">
            <bdi>{own?.name ?? event.streamId}</bdi>
          </span>
        )}
        {columns.length === 0 ? (
          <Cell text={lineOf(event, own?.text_fields)} />
        ) : (
          columns.map((field) => <Cell key={fieldText(field)} text={cellText(event, field)} />)
        )}
      </div>
      {isOpen && <Opened event={event} index={index} stream={own} onMeasured={onMeasured} />}
    </>
  )
}

/** Of visible text, isolated: writing from right to left in it changes nothing beside it. */
function Cell({ text }: { text: string }) {
  return (
    <span class="cell mono line" role="gridcell">
      <bdi>{text}</bdi>
    </span>
  )
}

interface OpenedProps {
  readonly event: EventRecord
  readonly index: number
  readonly stream: StreamInfo | undefined
  readonly onMeasured: (height: number) => void
}

function Opened({ event, index, stream, onMeasured }: OpenedProps) {
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
        <EventDetails event={event} stream={stream} />
      </div>
    </div>
  )
}

export function GapRow({ gap, index, onLoad }: { gap: Gap; index: number; onLoad: () => void }) {
  return (
    <div class="event-row is-gap" role="row" aria-rowindex={index + 2}>
      <span class="cell" role="gridcell">
        ▲ {gap.isExact ? '' : 'up to '}
        {formatCount(gap.dropped)} events not shown{' '}
        <button type="button" class="small" onClick={onLoad}>
          Load them
        </button>
      </span>
    </div>
  )
}
