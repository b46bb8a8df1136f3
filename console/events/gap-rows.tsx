/** Lines of the grid that stand for events which are not shown. */
import type { ComponentChildren } from 'preact'
import { formatCount } from '../base/format.ts'
import type { Gap } from '../explore/event-list.ts'

interface PlaceProps {
  readonly index: number
  readonly onLoad: () => void
}

/** Of the live tail. */
export function GapRow({ gap, ...place }: PlaceProps & { gap: Gap }) {
  return (
    <MissingRow {...place}>
      ▲ {gap.isExact ? '' : 'up to '}
      {formatCount(gap.dropped)} events not shown
    </MissingRow>
  )
}

/** What was jumped over. */
export function SkipRow(place: PlaceProps) {
  return <MissingRow {...place}>▲ the events in between are not loaded</MissingRow>
}

function MissingRow({ index, onLoad, children }: PlaceProps & { children: ComponentChildren }) {
  return (
    <div
      class="event-row is-gap"
      role="row"
      data-index={index}
      aria-rowindex={index + 2}
      tabIndex={-1}
    >
      <span class="in-sight" role="gridcell">
        {children}{' '}
        <button type="button" class="small" onClick={onLoad}>
          Load them
        </button>
      </span>
    </div>
  )
}
