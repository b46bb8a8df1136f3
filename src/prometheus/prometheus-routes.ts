/**
 * `/api/v1/rules` and `/api/v1/alerts` as Prometheus answers them. A group is the rules of an owner
 * that are evaluated equally often; its file is the owner.
 */
import { listVisibleRules } from '../alerts/visible-rules.ts'
import { mainTurns } from '../api/main-turns.ts'
import type { ObjectSchema, Schema } from '../api/schema.ts'
import { ERRORS, type IngestError } from '../errors.ts'
import type { Exchange, Reply, Route } from '../http/exchange.ts'
import {
  type Guard,
  guardRoute,
  type HttpRequest,
  jsonAnswer,
  jsonText,
  type Manner,
} from '../http/guard.ts'
import { internalDetail, problemReply } from '../http/problem.ts'
import { MAIN_SLICE_CHARS, PROMETHEUS_ALERTS_MAX, PROMETHEUS_ANSWER_CHARS_MAX } from '../limits.ts'
import { formatTimeMs, NO_TIME } from '../model/rfc3339.ts'
import type { ActiveAlert, ActiveStore } from '../store/alerts/active-store.ts'
import type { Rule } from '../store/alerts/rule.ts'
import type { RuleStore } from '../store/alerts/rule-store.ts'
import { isWanted, type PrometheusFilter, readPrometheusFilter } from './prometheus-filter.ts'
import {
  everySecondsOf,
  PROMETHEUS_ALERT,
  PROMETHEUS_RULE,
  prometheusAlert,
  prometheusRule,
  stateOf,
} from './rule-json.ts'

export interface PrometheusDeps extends Guard {
  readonly rules: Pick<RuleStore, 'list'>
  readonly active: Pick<ActiveStore, 'readActive' | 'readDecided'>
}

/** Rules that are read and rendered at a time. */
const PAGE_RULES = 100

const GROUP: ObjectSchema = {
  type: 'object',
  properties: {
    name: { type: 'string', description: 'How often its rules are evaluated' },
    file: { type: 'string', description: 'Whose rules they are' },
    interval: { type: 'number', description: 'In seconds' },
    limit: { type: 'integer' },
    evaluationTime: { type: 'number' },
    lastEvaluation: { type: 'string', format: 'date-time' },
    rules: { type: 'array', items: PROMETHEUS_RULE },
  },
}

const text = (description: string): Schema => ({ type: 'string', description })
const STATE = text('`firing`, `pending` or `inactive`; may be repeated')

export function prometheusRoutes(deps: PrometheusDeps): Route[] {
  const guard = { ...deps, manner: MANNER }
  const shared = {
    ...({ method: 'GET', tag: 'Prometheus', scope: 'alerts:read' } as const),
    takesAnyQuery: true,
  }
  return [
    guardRoute(guard, {
      ...shared,
      pattern: '/api/v1/rules',
      operationId: 'listPrometheusRules',
      summary: "Rules in Prometheus' form",
      query: {
        properties: {
          type: text('`alert`, or `record`, of which there are none'),
          'rule_name[]': text('A name; may be repeated, as the next two'),
          'rule_group[]': text('A group'),
          'file[]': text('An owner'),
          state: STATE,
          exclude_alerts: text('`true`: rules without their alerts'),
        },
      },
      answers: { 200: jsonAnswer('By owner and interval', answerOf({ groups: listOf(GROUP) })) },
      run: async (request) => await listRules(deps, request),
    }),
    guardRoute(guard, {
      ...shared,
      pattern: '/api/v1/alerts',
      operationId: 'listPrometheusAlerts',
      summary: "What is pending or fires, in Prometheus' form",
      query: { properties: { state: STATE } },
      answers: { 200: jsonAnswer('By rule', answerOf({ alerts: listOf(PROMETHEUS_ALERT) })) },
      run: async (request) => await listAlerts(deps, request),
    }),
  ]
}

const listOf = (items: Schema): Schema => ({ type: 'array', items })

function answerOf(properties: Readonly<Record<string, Schema>>): ObjectSchema {
  return {
    type: 'object',
    properties: {
      status: { type: 'string', enum: ['success'] },
      data: { type: 'object', properties },
      warnings: { type: 'array', items: { type: 'string' } },
    },
  }
}

interface Group {
  readonly name: string
  readonly file: string
  readonly interval: number
  readonly rules: string[]
  lastMs: number | undefined
}

async function listRules(deps: PrometheusDeps, request: HttpRequest): Promise<Reply> {
  const filter = readPrometheusFilter(request.queryString)
  const groups = new Map<string, Group>()
  const warnings = await readRules(deps, request, filter, ({ rule, active, decidedMs }) => {
    const { owner, settings } = rule
    const name = `every ${settings.every}`
    if (!isWanted(filter.groups, name) || !isWanted(filter.files, owner)) return 0
    if (!isWanted(filter.states, stateOf(active))) return 0
    const key = JSON.stringify([owner, name])
    const rules: string[] = []
    const interval = everySecondsOf(settings)
    const group = groups.get(key) ?? { name, file: owner, interval, rules, lastMs: undefined }
    groups.set(key, group)
    const { showsAlerts } = filter
    const json = JSON.stringify(prometheusRule(rule, active, { decidedMs, showsAlerts }))
    group.rules.push(json)
    group.lastMs = Math.max(group.lastMs ?? 0, decidedMs ?? 0) || undefined
    return json.length
  })
  const texts = [...groups.values()].map(groupText)
  return reply(`{"groups":[${texts.join(',')}]}`, warnings)
}

function groupText({ rules, lastMs, ...group }: Group): string {
  const lastEvaluation = lastMs === undefined ? NO_TIME : formatTimeMs(lastMs)
  const head = JSON.stringify({ ...group, limit: 0, evaluationTime: 0, lastEvaluation })
  return `${head.slice(0, -1)},"rules":[${rules.join(',')}]}`
}

async function listAlerts(deps: PrometheusDeps, request: HttpRequest): Promise<Reply> {
  const filter = readPrometheusFilter(request.queryString)
  const texts: string[] = []
  const warnings = await readRules(deps, request, filter, ({ rule, active }) => {
    const wanted = active.filter(({ state }) => isWanted(filter.states, state))
    const own = wanted.map((one) => JSON.stringify(prometheusAlert(rule, one)))
    texts.push(...own)
    return own.reduce((sum, { length }) => sum + length, 0)
  })
  return reply(`{"alerts":[${texts.join(',')}]}`, warnings)
}

interface RuleNow {
  readonly rule: Rule
  readonly active: readonly ActiveAlert[]
  readonly decidedMs: number | undefined
}

/** Hands out rules one by one, until the answer is full; what is then to be told. */
async function readRules(
  { rules, active }: PrometheusDeps,
  { principal }: HttpRequest,
  { names, isOfRecords }: PrometheusFilter,
  /** Returns how long it is in the answer. */
  take: (now: RuleNow) => number,
): Promise<string[]> {
  if (isOfRecords) return []
  let [after, chars, room, sliceEnd] = [0, 0, PROMETHEUS_ALERTS_MAX, MAIN_SLICE_CHARS]
  for (;;) {
    const page = await listVisibleRules(rules, principal, { after, limit: PAGE_RULES })
    const wanted = page.filter(({ name }) => isWanted(names, name))
    const ids = wanted.map(({ ruleId }) => ruleId)
    const found = ids.length === 0 ? [] : await active.readActive(ids, room + 1)
    const decided = await active.readDecided(ids)
    await mainTurns.next()
    const byRule = alertsByRule(found.slice(0, room))
    // Of rules behind this one nobody knows what fires.
    const lastId = found[room]?.ruleId ?? Number.POSITIVE_INFINITY
    for (const rule of wanted.filter(({ ruleId }) => ruleId <= lastId)) {
      const { ruleId } = rule
      const own = byRule.get(ruleId) ?? []
      if (ruleId === lastId && own.length === 0) break
      chars += take({ rule, active: own, decidedMs: decided.get(ruleId) })
      if (chars > sliceEnd) {
        await mainTurns.next()
        sliceEnd = chars + MAIN_SLICE_CHARS
      }
      if (chars > PROMETHEUS_ANSWER_CHARS_MAX) {
        const limit = `PROMETHEUS_ANSWER_CHARS_MAX (${PROMETHEUS_ANSWER_CHARS_MAX})`
        return [`rules behind ${rule.name} are left out: the answer is over ${limit}`]
      }
    }
    if (found.length > room) {
      const limit = `PROMETHEUS_ALERTS_MAX (${PROMETHEUS_ALERTS_MAX})`
      return [`there are more alerts than ${limit}: others, and rules behind, are left out`]
    }
    room -= found.length
    if (page.length < PAGE_RULES) return []
    after = page.at(-1)!.ruleId
  }
}

function alertsByRule(alerts: readonly ActiveAlert[]): ReadonlyMap<number, ActiveAlert[]> {
  const byRule = new Map<number, ActiveAlert[]>()
  for (const alert of alerts) {
    const own = byRule.get(alert.ruleId)
    if (own === undefined) byRule.set(alert.ruleId, [alert])
    else own.push(alert)
  }
  return byRule
}

function reply(data: string, warnings: readonly string[]): Reply {
  const told = warnings.length > 0 ? `,"warnings":${JSON.stringify(warnings)}` : ''
  return jsonText(`{"status":"success","data":${data}${told}}`)
}

const MANNER: Manner = {
  credential: (exchange) => credentialOf(exchange),
  refusals: () => (error) => ({
    ...problemReply(error),
    contentType: 'application/json',
    body: JSON.stringify({ status: 'error', errorType: errorTypeOf(error), error: told(error) }),
  }),
}

/** Also as the password of Basic, which every data source of Grafana has. */
function credentialOf(exchange: Exchange): string {
  const [, scheme = '', text = ''] =
    /^(bearer|basic) +(\S+) *$/i.exec(exchange.header('authorization')) ?? []
  if (scheme.toLowerCase() === 'bearer') return text
  const pair = Buffer.from(text, 'base64').toString('utf8')
  return pair.slice(pair.indexOf(':') + 1) || exchange.header('x-api-key')
}

function told(error: IngestError): string {
  return error.code === 'internal' ? internalDetail(error) : error.message
}

/** By Prometheus' own words, as far as it has one. */
function errorTypeOf({ code }: IngestError): string {
  const { httpStatus } = ERRORS[code]
  if (httpStatus === 401 || httpStatus === 403) return 'forbidden'
  if (httpStatus === 404) return 'not_found'
  if (httpStatus === 408) return 'timeout'
  if (httpStatus === 429 || httpStatus === 503) return 'unavailable'
  return httpStatus >= 500 ? 'internal' : 'bad_data'
}
