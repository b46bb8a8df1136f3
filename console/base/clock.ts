/**
 * Which time is looked at: when events happened, as they say themselves, or when they were
 * received. What is listed, counted and shown is by the same one. In the address as `basis`, by the
 * API's names; left out it is the time when they happened. An event that has no time of its own
 * happened when it was received.
 */
export const CLOCKS = ['event_time', 'ingested_at'] as const
export type Clock = (typeof CLOCKS)[number]

const DEFAULT: Clock = 'event_time'
export const CLOCK_NAMES: Readonly<Record<Clock, string>> = {
  event_time: 'Event time',
  ingested_at: 'Receipt',
}

export function readClock(params: URLSearchParams): Clock {
  return CLOCKS.find((known) => known === params.get('basis')) ?? DEFAULT
}

export function otherClock(clock: Clock): Clock {
  return clock === 'event_time' ? 'ingested_at' : 'event_time'
}

/** For the address: undefined for what an address means without it. */
export function clockParam(clock: Clock): Clock | undefined {
  return clock === DEFAULT ? undefined : clock
}
