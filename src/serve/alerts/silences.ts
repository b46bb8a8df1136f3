/**
 * Silences, which hold back what is told of alerts with some labels, and acknowledging, which holds
 * back one group until it is resolved. States of rules go on all the same.
 */
import { labelsOf } from '../../alerts/messages/alert-labels.ts'
import { assertMatchers, SilenceMatching } from '../../alerts/messages/silence-match.ts'
import { type ObjectSchema, RFC3339 } from '../../api/schema.ts'
import { IngestError, malformed } from '../../errors.ts'
import type { Reply, Route } from '../../http/exchange.ts'
import { type Guard, guardRoute, type HttpRequest, jsonAnswer } from '../../http/guard.ts'
import { jsonReply } from '../../http/problem.ts'
import { ALERT_MATCHER_CHARS_MAX, ALERT_MATCHERS_MAX } from '../../limits.ts'
import { formatTimeMs } from '../../model/rfc3339.ts'
import { seenOwner, tryParseRowId } from '../../model/stream.ts'
import { readTime } from '../../read/body-fields.ts'
import type { StoredState } from '../../store/alerts/decision-store.ts'
import type { Rule } from '../../store/alerts/rule.ts'
import type { RuleStore } from '../../store/alerts/rule-store.ts'
import type {
  Silence,
  SilenceMatcher,
  SilenceState,
  SilenceStore,
} from '../../store/alerts/silence-store.ts'
import type { WindowStore } from '../../store/alerts/window-store.ts'
import { groupStateText } from '../alert-answers.ts'
import { ID_PAGE_QUERY, idPageSchema, replyIdPage } from '../id-page.ts'
import { findRule, RULE_QUERY } from './find-rule.ts'

export interface SilenceRoutesDeps extends Guard {
  readonly alerts: {
    readonly silences: SilenceStore
    readonly rules: RuleStore
    readonly windows: WindowStore
  }
  readonly nowMs: () => number
}

const COLLECTION = '/v1/alerts/silences'
const ONE = '/v1/alerts/silences/:silence'
const ACKNOWLEDGE = '/v1/alerts/rules/:rule/groups/:fingerprint/acknowledge'
const STATES = ['active', 'pending', 'expired'] as const
const NS_PER_MS = 1_000_000n
const COMMENT = {
  type: 'string',
  maxLength: 2_000,
  default: '',
  description: 'For people',
} as const

const MATCHERS = {
  type: 'array',
  minItems: 1,
  maxItems: ALERT_MATCHERS_MAX,
  items: {
    type: 'object',
    properties: {
      name: { type: 'string', minLength: 1, maxLength: 256, description: 'Of a label' },
      value: {
        type: 'string',
        maxLength: ALERT_MATCHER_CHARS_MAX,
        description: 'The whole value; a label that is missing is the empty text',
      },
      is_regex: { type: 'boolean', default: false, description: '`value` is one of RE2' },
      is_equal: { type: 'boolean', default: true, description: 'Whether it is to match, or not' },
    },
    required: ['name', 'value'],
  },
  description: 'An alert is silenced if all of them match',
} as const

const NEW_SILENCE: ObjectSchema = {
  type: 'object',
  properties: {
    matchers: MATCHERS,
    from: { ...RFC3339, description: 'When it begins; now when left out' },
    to: { ...RFC3339, description: 'When it ends' },
    comment: COMMENT,
  },
  required: ['matchers', 'to'],
}

const SILENCE: ObjectSchema = {
  type: 'object',
  properties: {
    id: { type: 'string' },
    state: { type: 'string', enum: STATES },
    author: { type: 'string', description: 'Whose alerts it silences' },
    matchers: MATCHERS,
    from: RFC3339,
    to: RFC3339,
    comment: COMMENT,
    created_at: RFC3339,
  },
}

/** They are about all rules of an owner. */
const SHARED = { tag: 'Alerts', needsAllStreams: true } as const

export function silenceRoutes(deps: SilenceRoutesDeps): Route[] {
  return [...collectionRoutes(deps), ...oneRoutes(deps), ...acknowledgeRoutes(deps)]
}

function collectionRoutes(deps: SilenceRoutesDeps): Route[] {
  return [
    guardRoute(deps, {
      ...SHARED,
      method: 'GET',
      pattern: COLLECTION,
      operationId: 'listAlertSilences',
      summary: 'List silences',
      scope: 'alerts:read',
      query: {
        properties: {
          state: { type: 'string', enum: STATES, description: 'Only those; all when left out' },
          ...ID_PAGE_QUERY.properties,
        },
      },
      answers: { 200: jsonAnswer('In the order of creation', idPageSchema('silences', SILENCE)) },
      run: async ({ principal, query: { state, ...query } }) => {
        return await replyIdPage('silences', query, {
          read: (page) =>
            deps.alerts.silences.list(seenOwner(principal), state as SilenceState, page),
          idOf: ({ silenceId }) => silenceId,
          write: (silence) => JSON.stringify(silenceJson(silence)),
        })
      },
    }),
    guardRoute(deps, {
      ...SHARED,
      method: 'POST',
      pattern: COLLECTION,
      operationId: 'createAlertSilence',
      summary: 'Silence alerts with some labels',
      scope: 'alerts:write',
      body: NEW_SILENCE,
      answers: { 201: jsonAnswer('The silence; `Location` has its path', SILENCE) },
      run: async (request) => await makeSilence(deps, request),
    }),
  ]
}

async function makeSilence(
  { alerts, nowMs }: SilenceRoutesDeps,
  { principal, body }: HttpRequest,
): Promise<Reply> {
  const members = body as {
    matchers: readonly (Partial<SilenceMatcher> & Pick<SilenceMatcher, 'name' | 'value'>)[]
    from?: string
    to: string
    comment?: string
  }
  const matchers = members.matchers.map(({ name, value, is_regex, is_equal }) => {
    return { name, value, is_regex: is_regex === true, is_equal: is_equal !== false }
  })
  assertMatchers(matchers)
  const msOf = (name: 'from' | 'to', text: string) => Number(readTime(name, text) / NS_PER_MS)
  const fromMs = members.from === undefined ? undefined : msOf('from', members.from)
  const untilMs = msOf('to', members.to)
  if (untilMs <= nowMs()) throw malformed('"to" is over already')
  if (fromMs !== undefined && untilMs <= fromMs) throw malformed('"from" must be before "to"')
  const { owner } = principal
  const { comment = '' } = members
  const silence = await alerts.silences.make({ owner, matchers, fromMs, untilMs, comment })
  const headers = [['Location', `${COLLECTION}/${silence.silenceId}`]] as const
  return { ...jsonReply(201, silenceJson(silence)), headers }
}

function oneRoutes(deps: SilenceRoutesDeps): Route[] {
  return [
    guardRoute(deps, {
      ...SHARED,
      method: 'GET',
      pattern: ONE,
      operationId: 'getAlertSilence',
      summary: 'Read a silence',
      scope: 'alerts:read',
      answers: { 200: jsonAnswer('The silence', SILENCE) },
      run: async ({ principal, params }) => {
        const { silences } = deps.alerts
        const id = tryParseRowId(params[0])
        const found = id === undefined ? undefined : await silences.find(seenOwner(principal), id)
        if (found === undefined) throw noSilence()
        return jsonReply(200, silenceJson(found))
      },
    }),
    guardRoute(deps, {
      ...SHARED,
      method: 'DELETE',
      pattern: ONE,
      operationId: 'endAlertSilence',
      summary: 'End a silence now',
      scope: 'alerts:write',
      answers: { 204: { description: 'It is over; it stays listed as expired for a while' } },
      run: async ({ principal, params }) => {
        const { silences } = deps.alerts
        const id = tryParseRowId(params[0])
        if (id !== undefined && (await silences.end(seenOwner(principal), id)))
          return { status: 204 }
        throw noSilence()
      },
    }),
  ]
}

function acknowledgeRoutes(deps: SilenceRoutesDeps): Route[] {
  return [
    guardRoute(deps, {
      method: 'POST',
      pattern: ACKNOWLEDGE,
      operationId: 'acknowledgeAlertGroup',
      summary: 'Tell that somebody knows: it is silent until it is resolved',
      tag: 'Alerts',
      scope: 'alerts:write',
      query: RULE_QUERY,
      body: { type: 'object', properties: { comment: COMMENT } },
      answers: { 204: { description: 'The list of groups tells who knows' } },
      run: async (request) => {
        const { silences, windows } = deps.alerts
        const { ruleId } = await findRule(deps.alerts, request)
        const fingerprint = request.params[1] ?? ''
        const { comment = '' } = request.body as { comment?: string }
        const by = { author: request.principal.owner, comment }
        if (await silences.acknowledge(ruleId, fingerprint, by)) return { status: 204 }
        const groups = await windows.readGroups(ruleId)
        if (groups.every((one) => one.fingerprint !== fingerprint)) throw noGroup()
        throw new IngestError('conflict', 'the group does not fire')
      },
    }),
    guardRoute(deps, {
      method: 'DELETE',
      pattern: ACKNOWLEDGE,
      operationId: 'forgetAlertAcknowledgement',
      summary: 'Tell that nobody knows of it after all',
      tag: 'Alerts',
      scope: 'alerts:write',
      query: RULE_QUERY,
      answers: { 204: { description: 'It is told again' } },
      run: async (request) => {
        const { ruleId } = await findRule(deps.alerts, request)
        const fingerprint = request.params[1] ?? ''
        const isGone = await deps.alerts.silences.forgetAcknowledged(ruleId, fingerprint)
        if (isGone) return { status: 204 }
        throw new IngestError('not_found', 'the group is not acknowledged')
      },
    }),
  ]
}

/** States of groups as JSON, with what holds them back now. */
export async function withSilences(
  silences: SilenceStore,
  { ruleId, owner, name, settings }: Rule,
  groups: readonly StoredState[],
): Promise<string[]> {
  const holding = await silences.readHolding(owner, ruleId)
  const matching = new SilenceMatching(holding.silences)
  const all: string[] = []
  for (const group of groups) {
    const found = await matching.of(labelsOf(settings, name, group.groupJson))
    const acknowledged = holding.acknowledged.get(group.fingerprint)
    all.push(groupStateText(group, { acknowledged, silences: found }))
  }
  return all
}

function silenceJson(silence: Silence): object {
  return {
    id: String(silence.silenceId),
    state: silence.state,
    author: silence.owner,
    matchers: silence.matchers,
    from: formatTimeMs(silence.fromMs),
    to: formatTimeMs(silence.untilMs),
    comment: silence.comment,
    created_at: formatTimeMs(silence.createdAtMs),
  }
}

function noSilence(): IngestError {
  return new IngestError('not_found', 'there is no silence with this id')
}

function noGroup(): IngestError {
  return new IngestError('not_found', 'the rule has no group with this fingerprint')
}
