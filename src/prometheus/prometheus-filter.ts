/** What a request of Prometheus' API asks for. Parameters that nobody knows are passed over. */
import { malformed } from '../errors.ts'
import type { AlertState } from './rule-json.ts'

export interface PrometheusFilter {
  readonly names: ReadonlySet<string>
  readonly groups: ReadonlySet<string>
  readonly files: ReadonlySet<string>
  /** Empty: all. */
  readonly states: ReadonlySet<AlertState>
  readonly showsAlerts: boolean
  /** Recording rules: there are none. */
  readonly isOfRecords: boolean
}

const STATES = new Map<string, AlertState>([
  ['firing', 'firing'],
  ['pending', 'pending'],
  ['inactive', 'inactive'],
])

/** Throws `malformed`. */
export function readPrometheusFilter(queryString: string): PrometheusFilter {
  const query = new URLSearchParams(queryString)
  const type = (query.get('type') ?? '').toLowerCase()
  if (!['', 'alert', 'record'].includes(type)) throw malformed('"type" must be alert or record')
  // To pass it over would show what was not asked for.
  if (query.has('match[]')) throw malformed('"match[]" is not supported')
  const states = query.getAll('state').map((text) => {
    const state = STATES.get(text.toLowerCase())
    if (state === undefined) throw malformed('"state" must be firing, pending or inactive')
    return state
  })
  return {
    names: new Set(query.getAll('rule_name[]')),
    groups: new Set(query.getAll('rule_group[]')),
    files: new Set(query.getAll('file[]')),
    states: new Set(states),
    showsAlerts: query.get('exclude_alerts')?.toLowerCase() !== 'true',
    isOfRecords: type === 'record',
  }
}

export function isWanted<T>(wanted: ReadonlySet<T>, one: T): boolean {
  return wanted.size === 0 || wanted.has(one)
}
