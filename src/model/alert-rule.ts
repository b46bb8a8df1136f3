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

/** What follows from other members where it is left out. */
export function ruleTimes(window: string, timeBasis: unknown) {
  return { every: window, delay: timeBasis === 'event_time' ? '1m' : '0s' }
}
