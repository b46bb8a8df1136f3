/** A rule and its alerts, as Prometheus shows them. */
import { labelsOf } from '../alerts/messages/alert-labels.ts'
import { problemOf } from '../alerts/rule-settings.ts'
import type { ObjectSchema, Schema } from '../api/schema.ts'
import { divisorWords } from '../model/alerts/rule-words.ts'
import { tryParseDuration } from '../model/duration.ts'
import { formatTimeMs, NO_TIME } from '../model/rfc3339.ts'
import type { ActiveAlert } from '../store/alerts/active-store.ts'
import type { Rule, RuleSettings } from '../store/alerts/rule.ts'

export type AlertState = 'firing' | 'pending' | 'inactive'

const TEXTS: ObjectSchema = {
  type: 'object',
  properties: {},
  additionalProperties: { type: 'string' },
}
const TIME: Schema = { type: 'string', format: 'date-time' }

export const PROMETHEUS_ALERT: ObjectSchema = {
  type: 'object',
  properties: {
    labels: TEXTS,
    annotations: TEXTS,
    state: { type: 'string', enum: ['firing', 'pending'] },
    activeAt: TIME,
    value: { type: 'string', description: 'A number, such as `5.3e+01`; `NaN`: there is none' },
  },
}

export const PROMETHEUS_RULE: ObjectSchema = {
  type: 'object',
  properties: {
    state: { type: 'string', enum: ['firing', 'pending', 'inactive'] },
    name: { type: 'string' },
    query: { type: 'string', description: 'In words: it is no PromQL' },
    duration: { type: 'number', description: 'Seconds for which it is pending at least' },
    keepFiringFor: { type: 'number', description: 'In seconds' },
    labels: TEXTS,
    annotations: TEXTS,
    alerts: { type: 'array', items: PROMETHEUS_ALERT },
    health: { type: 'string', enum: ['ok', 'err', 'unknown'] },
    lastError: { type: 'string' },
    evaluationTime: { type: 'number', description: 'Always 0: it is not measured by rule' },
    lastEvaluation: TIME,
    type: { type: 'string', enum: ['alerting'] },
  },
}

export function everySecondsOf({ every, window }: RuleSettings): number {
  return (tryParseDuration(every) ?? tryParseDuration(window) ?? 0) / 1_000
}

export function stateOf(active: readonly ActiveAlert[]): AlertState {
  if (active.some(({ state }) => state === 'firing')) return 'firing'
  return active.length > 0 ? 'pending' : 'inactive'
}

export function prometheusRule(
  rule: Rule,
  active: readonly ActiveAlert[],
  { decidedMs, showsAlerts }: { readonly decidedMs?: number | undefined; showsAlerts: boolean },
): object {
  const { name, settings, failures } = rule
  const everyS = everySecondsOf(settings)
  const problem = problemOf(settings) ?? rule.problem
  const isFailing = problem !== undefined || failures > 0
  const isKnown = decidedMs !== undefined && !settings.paused
  return {
    state: stateOf(active),
    name,
    query: queryText(settings),
    duration: (settings.for.of - 1) * everyS,
    keepFiringFor: settings.keep_firing * everyS,
    labels: { ...settings.labels, severity: settings.severity },
    annotations: settings.annotations,
    alerts: showsAlerts ? active.map((one) => prometheusAlert(rule, one)) : [],
    health: isFailing ? 'err' : isKnown ? 'ok' : 'unknown',
    ...(isFailing && { lastError: problem ?? 'it could not be evaluated' }),
    evaluationTime: 0,
    lastEvaluation: decidedMs === undefined ? NO_TIME : formatTimeMs(decidedMs),
    type: 'alerting',
  }
}

export function prometheusAlert({ name, settings }: Rule, alert: ActiveAlert): object {
  return {
    labels: labelsOf(settings, name, alert.groupJson),
    annotations: settings.annotations,
    state: alert.state,
    activeAt: formatTimeMs(alert.activeMs),
    value: numberText(alert.value),
  }
}

/** With two digits of the exponent, as Go writes it. */
function numberText(value: number | undefined): string {
  if (value === undefined) return 'NaN'
  return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2')
}

/** `count(level:error) by (service) [5m] > 20`. */
function queryText(settings: RuleSettings): string {
  const { query, aggregate, relative_to: relative, group_by, condition, window } = settings
  const { fn, field } = aggregate
  const of = aggregate.query === undefined ? '' : ` where ${aggregate.query}`
  const events = `${query.trim() === '' ? '*' : query}${of}`
  const parts = [field, events].filter((part) => part !== undefined)
  const by = group_by.length > 0 ? ` by (${group_by.join(', ')})` : ''
  const per = relative === undefined ? '' : ` / ${divisorWords(relative)}`
  return `${fn}(${parts.join(', ')})${by} [${window}]${per} ${condition.op} ${condition.value}`
}
