/** The address that is given to others: with the times of now, or of when it is opened. */
import { href, type Route } from '../base/address.ts'
import { DEFAULT_FROM, momentMs } from '../base/moment.ts'
import { openedText, readOpened } from '../base/opened-events.ts'

export interface LinkWish {
  /** The range as it is at this moment, however it is written. */
  readonly isFixed: boolean
  readonly nowMs: number
  /** Of all events that are open, this one alone. */
  readonly eventId?: string | undefined
}

const RELATIVE = /^(?:now)?(?:-\d+[smhdw])?$/

/** Whether the range moves on with time. */
export function isMoving({ params }: Route): boolean {
  const ends = [params.get('from') ?? DEFAULT_FROM, params.get('to') ?? 'now']
  // Of a range that is none there is nothing to choose.
  if (ends.some((text) => momentMs(text) === undefined)) return false
  return RELATIVE.test(ends[0]!) || RELATIVE.test(params.get('to') ?? '')
}

export function linkOf(route: Route, { isFixed, nowMs, eventId }: LinkWish): string {
  const { screen, streamId, params } = route
  const all: Record<string, string | undefined> = { ...Object.fromEntries(params) }
  delete all.dialog
  if (eventId !== undefined) {
    const [own = { id: eventId, view: 'tree' as const }] = readOpened(params.get('event')).filter(
      ({ id }) => id === eventId,
    )
    all.event = openedText([own])
  }
  if (isFixed) {
    all.from = momentText(all.from ?? DEFAULT_FROM, nowMs)
    all.to = momentText(all.to ?? 'now', nowMs)
    // It would go on from then.
    delete all.live
  }
  return href(screen, streamId, all)
}

/** What cannot be read stays as it is, to be told where it is opened. */
function momentText(text: string, nowMs: number): string {
  const ms = momentMs(text, nowMs)
  return ms === undefined ? text : new Date(ms).toISOString()
}
