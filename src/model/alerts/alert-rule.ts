/** What a rule of alerts is where nothing is said: for whoever reads, files or draws one. */

export const RULE_DEFAULTS = {
  description: '',
  streams: '*',
  query: '',
  aggregate: { fn: 'count' },
  group_by: [],
  for: { of: 1, in: 1 },
  keep_firing: 0,
  no_data: 'ok',
  time_basis: 'ingested_at',
  severity: 'warning',
  repeat: '4h',
  send_resolved: true,
  labels: {},
  annotations: {},
  channels: [],
  paused: false,
} as const

/** From how many characters on a group's value may be cut: then it is told by its beginning. */
export const GROUP_VALUE_CHARS_MAX = 1_024

/** What follows from other members where it is left out. */
export function ruleTimes(window: string, timeBasis: unknown) {
  return { every: window, delay: timeBasis === 'event_time' ? '1m' : '0s' }
}

/** A rule as a person wrote it, with all that was left out. */
export function wholeRule(members: Readonly<Record<string, unknown>>) {
  const { for: patience, delay, every, ...rest } = members
  const times = ruleTimes(String(members.window), members.time_basis)
  return {
    ...RULE_DEFAULTS,
    ...rest,
    every: every ?? times.every,
    delay: delay ?? times.delay,
    for: { ...RULE_DEFAULTS.for, ...(patience as object | undefined) },
  }
}
