import { visibleLine } from '../../src/language/visible-text.ts'
import { formatCount, formatEvents, formatSeconds } from '../base/format.ts'
import { ownToken } from '../base/rights.ts'
import { formatTime } from '../base/time.ts'
import type { AnswerState } from './answer-state.ts'
import type { Ask } from './ask.ts'
import type { Histogram } from './counted.ts'
import type { EventList } from './event-list.ts'
import { LATE_MINUTES, type Lateness, SHARE_TOLD } from './lateness.ts'

interface NoteProps {
  readonly ask: Ask
  readonly list: EventList
  readonly counts: Histogram | undefined
  /** The counts are of what was asked before. */
  readonly isStale: boolean
  readonly lateness: Lateness | undefined
}

/** Always in sight: how much was found, whether that is all, and how late counts are. */
export function AnswerNote({ ask, list, counts, isStale, lateness }: NoteProps) {
  const { state, rows, isLoading } = list
  return (
    <p class="answer-note" role="status">
      {counts !== undefined && !isStale && <strong>{formatEvents(counts.total)}</strong>}
      {counts === undefined && <strong>Events</strong>}
      {counts !== undefined && isStale && <strong>Counting…</strong>}
      {rows.length > 0 && <span class="quiet"> · {formatCount(rows.length)} loaded</span>}
      {isLoading && <span class="quiet"> · searching…</span>}
      {state !== undefined && !isLoading && <Covers of="" state={state} />}
      {ask.streamId === undefined && isLimited() && (
        <span class="quiet"> · of those streams that this token sees</span>
      )}
      {counts !== undefined && !isStale && <Covers of="counts " state={counts.state} />}
      {counts !== undefined && !isStale && (
        <span class={counts.state.lagMs >= 10_000 ? 'warn' : 'quiet'}>
          {' '}
          · counts are {formatSeconds(counts.state.lagMs / 1_000)} behind
        </span>
      )}
      {ask.clock === 'event_time' && ask.isLive && rows.length > 0 && (
        <span class="quiet"> · new ones are listed as they come</span>
      )}
      {lateness !== undefined && !isStale && <Late lateness={lateness} />}
    </p>
  )
}

/** Whoever gave the link may see more. */
function isLimited(): boolean {
  return ownToken.value !== undefined && ownToken.value.streams !== '*'
}

/** Whether the two clocks tell different stories of the range. */
function Late({ lateness: { late, early, total } }: { lateness: Lateness }) {
  const told: readonly (readonly [count: number, what: string])[] = [
    [late, `came more than ${LATE_MINUTES} minutes after they happened`],
    [early, `bear a time more than ${LATE_MINUTES} minutes after they came`],
  ]
  return (
    <>
      {told
        .filter(([count]) => count > 0 && count >= SHARE_TOLD * total)
        .map(([count, what]) => (
          <span key={what} class="warn">
            {' '}
            · ▲ at least {formatCount(count)} of {formatCount(total)} {what}
          </span>
        ))}
    </>
  )
}

/** Whether an answer has all that it was asked for. */
function Covers({ of, state }: { of: string; state: AnswerState }) {
  if (!state.isComplete) {
    return (
      <span class="warn">
        {' '}
        · ▲ {of}partial: {reasonText(state.reason)}
        {state.covered !== undefined && `, ${coveredText(state.covered)}`}
      </span>
    )
  }
  if (state.isSampled) return <span class="warn"> · ▲ {of}sampled</span>
  return of === '' ? <span class="quiet"> · complete</span> : null
}

const REASONS: Readonly<Record<string, string>> = {
  timeout: 'the time was over',
  memory: 'it took too much memory',
}

export function reasonText(reason: string | undefined): string {
  if (reason === undefined) return 'not all could be searched'
  return REASONS[reason] ?? visibleLine(reason.replaceAll('_', ' '))
}

export function coveredText({ from, to }: { readonly from: string; readonly to: string }): string {
  return `only ${formatTime(Date.parse(from), 0)} to ${formatTime(Date.parse(to), 0)}`
}
