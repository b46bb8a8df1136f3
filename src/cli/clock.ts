/**
 * Which time a command is about: when events happened, as they say themselves, or when they were
 * received. People look by the former, so it is the default here; the API's own is receipt.
 */
import { textOf, type Values } from './command.ts'
import type { TimeBasis } from './terminal.ts'
import { UsageError } from './usage-error.ts'

export interface Clock {
  /** The API's `time_basis`. */
  readonly basis: TimeBasis
  /** For people. */
  readonly name: string
}

const CLOCKS: Readonly<Record<string, Clock>> = {
  event: { basis: 'event_time', name: 'event time' },
  receipt: { basis: 'ingested_at', name: 'receipt time' },
}

export const CLOCK_OPTIONS = { 'time-basis': { type: 'string' } } as const
export const CLOCK_HELP = {
  'time-basis': '`event`, when events happened, or `receipt`, when they came; event',
} as const

/** Throws `UsageError`. */
export function readClock(values: Values): Clock {
  const name = textOf(values['time-basis']) ?? 'event'
  const clock = Object.hasOwn(CLOCKS, name) ? CLOCKS[name] : undefined
  if (clock === undefined) throw new UsageError('--time-basis takes event or receipt')
  return clock
}
