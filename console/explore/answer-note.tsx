import { formatCount, formatSeconds } from '../base/format.ts'
import type { EventList } from './event-list.ts'

/** Always in sight: how much was found, and whether that is all. */
export function AnswerNote({ list, matched }: { list: EventList; matched: number | undefined }) {
  const { state, rows, isLoading } = list
  return (
    <p class="answer-note" role="status">
      {matched !== undefined && <strong>{formatCount(matched)} events</strong>}
      {rows.length > 0 && <span class="quiet"> · {formatCount(rows.length)} loaded</span>}
      {isLoading && <span class="quiet"> · searching…</span>}
      {state !== undefined && !state.isComplete && (
        <span class="warn"> · ▲ partial: {state.reason ?? 'not all could be searched'}</span>
      )}
      {state?.isSampled && <span class="warn"> · ▲ sampled</span>}
      {state?.isComplete && !isLoading && <span class="quiet"> · complete{late(state.lagMs)}</span>}
    </p>
  )
}

function late(lagMs: number): string {
  return lagMs < 1_000 ? '' : `, counts are ${formatSeconds(lagMs / 1_000)} behind`
}
