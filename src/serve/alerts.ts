/**
 * Rules of alerts: list, put, read, delete; what was decided, and what a rule would have decided.
 * A rule belongs to the owner of the token that made it, and has a name among his.
 */

import type { AskDeps } from '../alerts/asking/ask-windows.ts'
import { backtest } from '../alerts/backtest.ts'
import { isOtherQuestion, RULE_BODY, readRuleSettings, taskOf } from '../alerts/rule-settings.ts'
import { readerOf } from '../alerts/rule-streams.ts'
import { isVisibleRule, listVisibleRules } from '../alerts/visible-rules.ts'
import {
  assertMatch,
  changedMeanwhile,
  etagOf,
  IF_MATCH,
  IF_NONE_MATCH,
} from '../api/entity-tag.ts'
import type { ObjectSchema } from '../api/schema.ts'
import { IngestError, malformed } from '../errors.ts'
import type { Reply, Route } from '../http/exchange.ts'
import {
  type Guard,
  guardRoute,
  type HttpRequest,
  jsonAnswer,
  jsonText,
  requireScope,
} from '../http/guard.ts'
import { jsonReply } from '../http/problem.ts'
import { hasScope } from '../model/stream.ts'
import { findStreams } from '../read/find-streams.ts'
import { type ReadMembers, readTimeRange } from '../read/read-request.ts'
import { READ_PROPERTIES } from '../read/schemas.ts'
import type { ClosingStore } from '../store/alerts/closing-store.ts'
import type { Rule, ToldRule } from '../store/alerts/rule.ts'
import type { RuleStore } from '../store/alerts/rule-store.ts'
import type { SilenceStore } from '../store/alerts/silence-store.ts'
import type { TransitionStore } from '../store/alerts/transition-store.ts'
import type { WindowStore } from '../store/alerts/window-store.ts'
import {
  BACKTEST,
  backtestText,
  DECIDED_WINDOW,
  decidedWindowJson,
  GROUP_STATE,
  RULE,
  ruleJson,
  TRANSITION,
  transitionText,
} from './alert-answers.ts'
import { HISTORY_QUERY, historyPage, historySchema, replyHistory } from './alert-pages.ts'
import { findRule, ownerAsked, RULE_QUERY } from './alerts/find-rule.ts'
import { withSilences } from './alerts/silences.ts'
import { type ViewSource, withViewSearch } from './alerts/view-search.ts'
import { ID_PAGE_QUERY, idPageSchema, replyIdPage } from './id-page.ts'

/** Where rules are, and what they are asked with. */
export interface AlertParts {
  readonly rules: RuleStore
  readonly transitions: TransitionStore
  readonly windows: WindowStore
  readonly silences: SilenceStore
  readonly closing: Pick<ClosingStore, 'read'>
  readonly ask: AskDeps
}

export interface AlertRoutesDeps extends Guard, ViewSource {
  readonly alerts: AlertParts
  readonly nowMs: () => number
}

const COLLECTION = '/v1/alerts/rules'
const ONE = '/v1/alerts/rules/:rule'
/** Not all digits: those are ids. */
const NAME = /^[A-Za-z_][A-Za-z0-9_.-]{0,127}$/
const NS_PER_MS = 1_000_000n

export function alertRoutes(deps: AlertRoutesDeps): Route[] {
  return [...ruleRoutes(deps), ...historyRoutes(deps), backtestRoute(deps)]
}

function ruleRoutes(deps: AlertRoutesDeps): Route[] {
  return [
    guardRoute(deps, {
      method: 'GET',
      pattern: COLLECTION,
      operationId: 'listAlertRules',
      summary: 'List rules of alerts',
      tag: 'Alerts',
      scope: 'alerts:read',
      query: ID_PAGE_QUERY,
      answers: { 200: jsonAnswer('In the order of creation', idPageSchema('rules', RULE)) },
      run: async ({ principal, query }) => {
        return await replyIdPage('rules', query, {
          read: (page) => listVisibleRules(deps.alerts.rules, principal, page),
          idOf: ({ ruleId }) => ruleId,
          write: (rule) => JSON.stringify(ruleJson(rule)),
        })
      },
    }),
    guardRoute(deps, {
      method: 'PUT',
      pattern: ONE,
      operationId: 'putAlertRule',
      summary: 'Make a rule, or replace it',
      tag: 'Alerts',
      scope: 'alerts:write',
      query: RULE_QUERY,
      headers: { ...IF_MATCH, ...IF_NONE_MATCH },
      body: RULE_BODY,
      answers: {
        200: jsonAnswer('The rule as it is now', RULE),
        201: jsonAnswer('A new rule', RULE),
      },
      run: async (request) => await putRule(deps, request),
    }),
    guardRoute(deps, {
      method: 'GET',
      pattern: ONE,
      operationId: 'getAlertRule',
      summary: 'Read a rule',
      tag: 'Alerts',
      scope: 'alerts:read',
      query: RULE_QUERY,
      answers: { 200: jsonAnswer('The rule; `ETag` has its version', RULE) },
      run: async (request) => ruleReply(200, await findRule(deps.alerts, request)),
    }),
    guardRoute(deps, {
      method: 'DELETE',
      pattern: ONE,
      operationId: 'deleteAlertRule',
      summary: 'Delete a rule',
      tag: 'Alerts',
      scope: 'alerts:write',
      query: RULE_QUERY,
      headers: IF_MATCH,
      answers: { 204: { description: 'Deleted; what fired is resolved' } },
      run: async (request) => {
        const { ruleId } = await findRule(deps.alerts, request)
        await deps.alerts.rules.delete(ruleId, (rule) => {
          assertMatch(request.headers, rule, 'rule')
        })
        return { status: 204 }
      },
    }),
  ]
}

async function putRule(deps: AlertRoutesDeps, request: HttpRequest): Promise<Reply> {
  const { principal, params, body } = request
  const name = params[0] ?? ''
  if (!NAME.test(name)) throw malformed(`the name of a rule must match ${NAME.source}`)
  // It reads with the rights of who makes it.
  requireScope(principal, 'events:read')
  const known = await findOther(deps, request)
  const reader = known === undefined ? principal : readerOf(known)
  const settings = readRuleSettings(await withViewSearch(deps, reader, body as ReadMembers))
  await findStreams(deps.streams, reader, settings.streams)
  const { everyMs, delayMs } = taskOf(settings)
  const { owner, streamIds } = reader
  const { rule, isNew } = await deps.alerts.rules.put({
    rights: {
      owner,
      asAdmin: hasScope(reader, 'admin'),
      streamIds: streamIds && [...streamIds].sort((a, b) => a - b),
    },
    ...{ name, settings, everyMs, delayMs },
    isOther: (before) => isOtherQuestion(before, settings),
    assertMatch: (before) => {
      if (before !== undefined && !isVisibleRule(principal, before)) throw nameTaken()
      if (known !== undefined && before?.version !== known.version) throw changedMeanwhile('rule')
      assertMatch(request.headers, before, 'rule')
    },
  })
  return ruleReply(isNew ? 201 : 200, rule)
}

/**
 * Somebody else's rule, which an admin changes: it goes on to read with the rights that it has. So
 * it has to be there: throws `not_found`. Undefined: the rule is the principal's own.
 */
async function findOther(
  { alerts }: AlertRoutesDeps,
  request: HttpRequest,
): Promise<Rule | undefined> {
  if (ownerAsked(request) === request.principal.owner) return undefined
  return await findRule(alerts, request)
}

const HISTORY_OF_RULE = { ...RULE_QUERY.properties, ...HISTORY_QUERY.properties }

function historyRoutes(deps: AlertRoutesDeps): Route[] {
  const shared = { method: 'GET', tag: 'Alerts', scope: 'alerts:read' } as const
  return [
    guardRoute(deps, {
      ...shared,
      pattern: `${ONE}/groups`,
      operationId: 'listAlertGroups',
      summary: 'The states of the groups of a rule',
      query: RULE_QUERY,
      answers: {
        200: jsonAnswer('The last that changed first', {
          type: 'object',
          properties: { groups: { type: 'array', items: GROUP_STATE } },
        }),
      },
      run: async (request) => {
        const rule = await findRule(deps.alerts, request)
        const groups = await deps.alerts.windows.readGroups(rule.ruleId)
        const texts = await withSilences(deps.alerts.silences, rule, groups)
        return jsonText(`{"groups":[${texts.join(',')}]}`)
      },
    }),
    guardRoute(deps, {
      ...shared,
      pattern: `${ONE}/transitions`,
      operationId: 'listAlertTransitions',
      summary: 'What became of the groups of a rule, and of itself',
      query: { ...HISTORY_QUERY, properties: HISTORY_OF_RULE },
      answers: { 200: jsonAnswer('The newest first', historySchema('transitions', TRANSITION)) },
      run: async (request) => {
        const { ruleId } = await findRule(deps.alerts, request)
        const page = historyPage(request)
        const found = await deps.alerts.transitions.list(ruleId, page)
        return replyHistory('transitions', page, found, {
          idOf: ({ transitionId }) => transitionId,
          write: transitionText,
        })
      },
    }),
    guardRoute(deps, {
      ...shared,
      pattern: `${ONE}/windows`,
      operationId: 'listAlertWindows',
      summary: 'What was decided of the windows of a rule',
      query: { ...HISTORY_QUERY, properties: HISTORY_OF_RULE },
      answers: { 200: jsonAnswer('The newest first', historySchema('windows', DECIDED_WINDOW)) },
      run: async (request) => {
        const { ruleId } = await findRule(deps.alerts, request)
        const page = historyPage(request)
        const found = await deps.alerts.windows.list(ruleId, page)
        return replyHistory('windows', page, found, {
          idOf: ({ untilMs }) => untilMs,
          write: (window) => JSON.stringify(decidedWindowJson(window)),
        })
      },
    }),
  ]
}

const BACKTEST_BODY: ObjectSchema = {
  type: 'object',
  properties: {
    rule: { ...RULE_BODY, description: 'As it would be put' },
    from: { ...READ_PROPERTIES.from, description: 'When the rule would have been made' },
    to: READ_PROPERTIES.to,
  },
  required: ['rule', 'from'],
}

function backtestRoute(deps: AlertRoutesDeps): Route {
  return guardRoute(deps, {
    method: 'POST',
    pattern: '/v1/alerts/backtest',
    operationId: 'backtestAlertRule',
    summary: 'What a rule would have decided over a past range',
    tag: 'Alerts',
    scope: 'events:read',
    body: BACKTEST_BODY,
    answers: { 200: jsonAnswer('As if it had been made at `from`', BACKTEST) },
    run: async ({ principal, body, signal }) => {
      const members = body as ReadMembers
      const rule = await withViewSearch(deps, principal, members.rule as ReadMembers)
      const settings = readRuleSettings(rule)
      const { fromNs, toNs } = readTimeRange(members, deps.nowMs())
      const { alerts } = deps
      const streams = await findStreams(deps.streams, principal, settings.streams)
      const closed = await alerts.closing.read()
      if (closed === undefined) throw new IngestError('unavailable', 'this node has no lease now')
      const range = {
        fromMs: Number(fromNs / NS_PER_MS),
        toMs: Number(toNs / NS_PER_MS),
        closedMs: closed.closedMs,
      }
      const tested = await backtest(alerts.ask, { settings, streams, range }, signal)
      return jsonText(backtestText(tested))
    },
  })
}

function nameTaken(): IngestError {
  return new IngestError('conflict', 'the owner has a rule of this name that this token cannot see')
}

function ruleReply(status: number, rule: ToldRule): Reply {
  return { ...jsonReply(status, ruleJson(rule)), headers: [['ETag', etagOf(rule)]] }
}
