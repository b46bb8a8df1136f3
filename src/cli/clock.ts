/**
 * Which time a command is about: when events happened, as they say themselves, or when they were
 * received. People look by the former, so it is the default here; the API's own is receipt.
 */
import { textOf, type Values } from './command.ts'
import type { TimeBasis } from './events/event-values.ts'
import { UsageError } from './usage-error.ts'

export interface Clock {
  /** The API's `time_basis`. */
  readonly basis: TimeBasis
  /** For people. */
  readonly name: string
}

const CLOCKS = {
  event: { basis: 'event_time', name: 'event time' },
  receipt: { basis: 'ingested_at', name: 'receipt time' },
} as const satisfies Record<string, Clock>

export const CLOCK_OPTIONS = {
  'time-basis': { type: 'string' },
  receipt: { type: 'boolean' },
} as const
export const CLOCK_HELP = {
  'time-basis': '`event`, when events happened, or `receipt`, when they came; event',
  receipt: 'Short for --time-basis receipt: ranges, buckets, order and shown times',
} as const
export const CLOCK_CHOICES = { 'time-basis': Object.keys(CLOCKS) } as const

export const RANGE_OPTIONS = {
  from: { type: 'string', short: 'f' },
  to: { type: 'string', short: 't' },
} as const
export const RANGE_HELP = {
  from: 'Since when: -15m, -7d, 2026-01-31T12:00:00Z; an hour ago',
  to: 'Until when; now',
} as const

/** Throws `UsageError`. */
export function readClock(values: Values): Clock {
  const given = textOf(values['time-basis'])
  const name = given ?? (values.receipt === true ? 'receipt' : 'event')
  if (name !== 'event' && name !== 'receipt') {
    throw new UsageError('--time-basis takes event or receipt')
  }
  if (values.receipt === true && name !== 'receipt') {
    throw new UsageError('--receipt says another clock than --time-basis: leave one of them away')
  }
  return CLOCKS[name]
}

/** The clock that the API calls so. */
export function clockOf(basis: TimeBasis): Clock {
  return basis === 'event_time' ? CLOCKS.event : CLOCKS.receipt
}

/** `-2d..-1d`; undefined when it is no such range. */
export function tryReadRange(text: string) {
  const [from, to, ...more] = text.split('..')
  return from && to && more.length === 0 ? { from, to } : undefined
}

/** The members of a request to read that say the range. */
export function rangeOf(values: Values): { readonly from?: string; readonly to?: string } {
  const [from, to] = [textOf(values.from), textOf(values.to)]
  return { ...(from !== undefined && { from }), ...(to !== undefined && { to }) }
}
