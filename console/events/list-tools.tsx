/** Beside the number of events: to the errors among them, their order, and colours. */
import { parse } from '../../src/language/parse.ts'
import { setParams } from '../base/route.ts'
import type { Ask } from '../explore/ask.ts'
import type { EventList, EventLoader } from '../explore/event-list.ts'
import { withClause } from '../explore/filters.ts'
import { tell } from '../parts/notices.tsx'
import { hasColors } from '../text/colors.ts'
import { isError } from './level.ts'

/** What is done with the list from outside. */
export interface ListActs {
  /** To the next error (1), or the one before (-1). */
  readonly jump: (step: 1 | -1) => void
  /** To the trace of the current event. */
  readonly trace: () => void
}

interface ToolsProps {
  readonly ask: Ask
  readonly acts: { readonly current: ListActs }
}

export function ListTools({ ask, acts }: ToolsProps) {
  const isOldest = ask.order === 'oldest'
  return (
    <span class="list-tools" role="group" aria-label="List">
      <button
        type="button"
        class="small"
        title="To the error before, of the query's events (p)"
        onClick={() => acts.current.jump(-1)}
      >
        ↑ error
      </button>
      <button
        type="button"
        class="small"
        title="To the next error, of the query's events (n)"
        onClick={() => acts.current.jump(1)}
      >
        ↓ error
      </button>
      <button
        type="button"
        class="small"
        title="The trace of the event with the focus, in all streams (a)"
        onClick={() => acts.current.trace()}
      >
        trace
      </button>
      <button
        type="button"
        class="small"
        id="order"
        aria-pressed={isOldest}
        disabled={ask.isLive}
        title={ask.isLive ? 'While live the newest are on top' : 'The oldest events first (o)'}
        onClick={() => setParams({ order: isOldest ? undefined : 'oldest' })}
      >
        oldest first
      </button>
      <button
        type="button"
        class="small"
        aria-pressed={hasColors.value}
        title="Colours of terminals that events have"
        onClick={() => {
          hasColors.value = !hasColors.value
        }}
      >
        colours
      </button>
    </span>
  )
}

const ERRORS = parse('_level:>=error')

/** The list up to the next error behind its last row; undefined where there is none. */
export async function moreErrors(
  loader: EventLoader,
  { query }: Ask,
): Promise<EventList | undefined> {
  const errors = withClause(query, ERRORS, false)
  if (errors === undefined) {
    tell('The query is too long to look for errors with it', true)
    return undefined
  }
  if (await loader.loadUntil(isError, errors)) return loader.list.value
  const { failure, state } = loader.list.value
  if (failure === undefined) {
    tell(state?.isComplete === false ? 'No more errors in what was searched' : 'No more errors')
  }
  return undefined
}
