/** Channels of alerts, and the messages to them. */
import { randomUUID } from 'node:crypto'
import { AddressRefusedError } from '../alerts/allowed-address.ts'
import {
  CHANNEL_BODY,
  KIND_NAMES,
  readChannelSettings,
} from '../alerts/channels/channel-settings.ts'
import { exampleMessage, pastMessage, testMessage } from '../alerts/channels/example-message.ts'
import { previewOf } from '../alerts/channels/preview.ts'
import type { SendAnswer, SendMessage } from '../alerts/channels/send-answer.ts'
import type { AlertMessage } from '../alerts/webhook-body.ts'
import { withMemberTexts } from '../api/json-text.ts'
import { nullable, type ObjectSchema, RFC3339 } from '../api/schema.ts'
import { IngestError, malformed } from '../errors.ts'
import type { Reply, Route } from '../http/exchange.ts'
import { type Guard, guardRoute, type HttpRequest, jsonAnswer } from '../http/guard.ts'
import { jsonReply } from '../http/problem.ts'
import { ALERT_CHANNEL_TESTS_MAX } from '../limits.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import { hasScope, seenOwner, tryParseRowId } from '../model/stream.ts'
import type { Channel, ChannelKind, ChannelStore } from '../store/alerts/channel-store.ts'
import type { ListedMessage, OutboxMessage, OutboxStore } from '../store/alerts/outbox-store.ts'
import type { RuleStore } from '../store/alerts/rule-store.ts'
import type { TransitionStore } from '../store/alerts/transition-store.ts'
import { TRANSITION, transitionText } from './alert-answers.ts'
import { HISTORY_QUERY, historyPage, historySchema, replyHistory } from './alert-pages.ts'
import { findRule, ownerListed, RULE_QUERY } from './alerts/find-rule.ts'

export interface ChannelRoutesDeps extends Guard {
  readonly alerts: {
    readonly channels: ChannelStore
    readonly outbox: OutboxStore
    readonly rules: RuleStore
    readonly transitions: Pick<TransitionStore, 'findLastTold'>
    readonly send: SendMessage
  }
  readonly nowMs: () => number
}

const NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/
const ONE = '/v1/alerts/channels/:channel'
const STATES = ['waiting', 'delivered', 'dead'] as const

const CHANNEL: ObjectSchema = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    kind: { type: 'string', enum: KIND_NAMES },
    host: { type: 'string', description: 'Of the URL, or the mail server' },
    is_signed: { type: 'boolean' },
    has_credential: { type: 'boolean', description: 'A password, token or key' },
    username: nullable({ type: 'string' }),
    tls: nullable({ type: 'string' }),
    from: nullable({ type: 'string' }),
    to: nullable({ type: 'array', items: { type: 'string' } }),
    template: nullable({ type: 'object', properties: {}, additionalProperties: {} }),
    allow_private: { type: 'boolean' },
    version: { type: 'integer', description: 'Rises with each change' },
    updated_at: RFC3339,
  },
}

const CHANNELS_QUERY = {
  type: 'object',
  properties: {
    owner: {
      ...RULE_QUERY.properties.owner,
      description: "Whose; the caller's when left out. Others' are for admins",
    },
  },
} as const satisfies ObjectSchema

const TESTED: ObjectSchema = {
  type: 'object',
  properties: {
    outcome: {
      type: 'string',
      enum: ['delivered', 'later', 'refused'],
      description: 'Of a message: tried again after `later`, dead after `refused`',
    },
    status: nullable({ type: 'integer' }, { description: 'Of HTTP or SMTP; null: no answer' }),
    answer: { type: 'string', description: 'How it began, without secrets' },
    error: nullable({ type: 'string' }),
    duration_ms: { type: 'integer' },
  },
}

const PREVIEW_BODY: ObjectSchema = {
  type: 'object',
  properties: {
    kind: { type: 'string', enum: KIND_NAMES, description: 'As of a channel' },
    template: CHANNEL_BODY.properties.template!,
    rule: {
      type: 'string',
      maxLength: 128,
      description: 'What it told last is rendered; else an example. Its name or id',
    },
  },
  required: ['kind'],
}

const PREVIEW: ObjectSchema = {
  type: 'object',
  properties: {
    body: { description: 'What would be sent' },
    template: { description: 'From which; null where the kind has none' },
    is_example: { type: 'boolean', description: 'It is about no rule' },
  },
}

const MESSAGE: ObjectSchema = {
  type: 'object',
  properties: {
    id: { type: 'string' },
    channel: { type: 'string' },
    state: { type: 'string', enum: STATES },
    attempts: { type: 'integer' },
    last_error: nullable({ type: 'string' }),
    idempotency_key: { type: 'string' },
    rule: { type: 'string', description: 'Its name' },
    reason: { type: 'string', description: 'Of its alerts the one that matters most' },
    alert_count: { type: 'integer', description: 'Alerts that it is about' },
    transition: nullable(TRANSITION, { description: 'Of its first alert; null: forgotten' }),
  },
}

export function channelRoutes(deps: ChannelRoutesDeps): Route[] {
  return [...ownChannelRoutes(deps), ...tryRoutes(deps), ...messageRoutes(deps)]
}

function ownChannelRoutes(deps: ChannelRoutesDeps): Route[] {
  return [
    guardRoute(deps, {
      method: 'GET',
      pattern: '/v1/alerts/channels',
      operationId: 'listAlertChannels',
      summary: "List the owner's channels",
      tag: 'Alerts',
      scope: 'alerts:read',
      query: CHANNELS_QUERY,
      answers: {
        200: jsonAnswer('By their names', {
          type: 'object',
          properties: { channels: { type: 'array', items: CHANNEL } },
        }),
      },
      run: async (request) => {
        const owner = ownerListed(request) ?? request.principal.owner
        const channels = await deps.alerts.channels.list(owner)
        return jsonReply(200, { channels: channels.map(channelJson) })
      },
    }),
    guardRoute(deps, {
      method: 'PUT',
      pattern: ONE,
      operationId: 'putAlertChannel',
      summary: 'Make a channel, or replace it',
      tag: 'Alerts',
      scope: 'alerts:write',
      body: CHANNEL_BODY,
      answers: {
        200: jsonAnswer('The channel as it is now', CHANNEL),
        201: jsonAnswer('A new channel', CHANNEL),
      },
      run: async (request) => await putChannel(deps, request),
    }),
    guardRoute(deps, {
      method: 'DELETE',
      pattern: ONE,
      operationId: 'deleteAlertChannel',
      summary: 'Delete a channel',
      tag: 'Alerts',
      scope: 'alerts:write',
      answers: { 204: { description: 'Deleted; what waits for it is dead' } },
      run: async ({ principal, params }) => {
        const isGone = await deps.alerts.channels.delete(principal.owner, params[0] ?? '')
        if (isGone) return { status: 204 }
        throw noChannel()
      },
    }),
  ]
}

async function putChannel(
  { alerts }: ChannelRoutesDeps,
  { principal, params, body }: HttpRequest,
): Promise<Reply> {
  const name = params[0] ?? ''
  if (!NAME.test(name)) throw malformed(`the name of a channel must match ${NAME.source}`)
  const settings = readChannelSettings(body)
  if (settings.allowsPrivate && !hasScope(principal, 'admin')) {
    throw new IngestError('forbidden', '"allow_private" is for admins')
  }
  const { channel, isNew } = await alerts.channels.put(principal.owner, name, settings)
  return jsonReply(isNew ? 201 : 200, channelJson(channel))
}

/** Sends a test, and shows what would be sent. */
function tryRoutes(deps: ChannelRoutesDeps): Route[] {
  const testing = new Set<string>()
  return [
    // It has no lane: it waits for others, and would keep a place.
    guardRoute(
      { ...deps, lane: undefined },
      {
        method: 'POST',
        pattern: `${ONE}/test`,
        operationId: 'testAlertChannel',
        summary: 'Send a test to a channel, now',
        tag: 'Alerts',
        scope: 'alerts:write',
        answers: { 200: jsonAnswer('What became of it', TESTED) },
        run: async ({ principal: { owner }, params, signal }) => {
          const channel = await deps.alerts.channels.find(owner, params[0] ?? '')
          if (channel === undefined) throw noChannel()
          if (testing.has(owner) || testing.size >= ALERT_CHANNEL_TESTS_MAX) {
            const limit = `ALERT_CHANNEL_TESTS_MAX (${ALERT_CHANNEL_TESTS_MAX})`
            const text = `another test of the owner is under way, or ${limit} of all`
            throw new IngestError('overloaded', text)
          }
          testing.add(owner)
          try {
            return jsonReply(200, await testChannel(deps, channel, signal))
          } finally {
            testing.delete(owner)
          }
        },
      },
    ),
    guardRoute(deps, {
      method: 'POST',
      pattern: '/v1/alerts/channels/preview',
      operationId: 'previewAlertChannel',
      summary: 'What a channel would send',
      tag: 'Alerts',
      scope: 'alerts:read',
      body: PREVIEW_BODY,
      answers: { 200: jsonAnswer('Nothing is sent', PREVIEW) },
      run: async (request) => jsonReply(200, await preview(deps, request)),
    }),
  ]
}

async function testChannel(
  { alerts: { send }, nowMs }: ChannelRoutesDeps,
  channel: Channel,
  signal: AbortSignal,
): Promise<object> {
  const key = `sluice-test-${randomUUID()}`
  const message = testMessage({ receiver: channel.name, key, nowMs: nowMs() })
  const begunMs = performance.now()
  const noAnswer = (cause: unknown): SendAnswer => {
    const error = cause instanceof Error ? cause.message : 'no answer'
    return { outcome: cause instanceof AddressRefusedError ? 'refused' : 'later', error }
  }
  const { outcome, status, said, error } = await send(channel, message, signal).catch(noAnswer)
  return {
    ...{ outcome, status: status ?? null, answer: said ?? '', error: error ?? null },
    duration_ms: Math.round(performance.now() - begunMs),
  }
}

async function preview(deps: ChannelRoutesDeps, request: HttpRequest): Promise<object> {
  const { kind, template, rule } = request.body as {
    readonly kind: ChannelKind
    readonly template?: unknown
    readonly rule?: string
  }
  const nowMs = deps.nowMs()
  const of = { receiver: 'preview', key: 'sluice-preview', nowMs }
  const told = rule === undefined ? undefined : await lastTold(deps, request, of, rule)
  const shown = previewOf(kind, told ?? exampleMessage(of), template, nowMs)
  return { ...shown, template: shown.template ?? null, is_example: told === undefined }
}

/** Undefined: the rule has told nothing yet. */
async function lastTold(
  deps: ChannelRoutesDeps,
  request: HttpRequest,
  of: Parameters<typeof pastMessage>[0],
  rule: string,
): Promise<AlertMessage | undefined> {
  const found = await findRule(deps.alerts, { ...request, params: [rule] })
  const transition = await deps.alerts.transitions.findLastTold(found)
  return transition && pastMessage(of, transition, found.settings)
}

function noChannel(): IngestError {
  return new IngestError('not_found', 'there is no channel of this name')
}

function messageRoutes(deps: ChannelRoutesDeps): Route[] {
  return [
    guardRoute(deps, {
      method: 'GET',
      pattern: '/v1/alerts/messages',
      operationId: 'listAlertMessages',
      summary: 'Messages to channels',
      tag: 'Alerts',
      scope: 'alerts:read',
      needsAllStreams: true,
      query: {
        properties: {
          state: {
            type: 'string',
            enum: STATES,
            default: 'dead',
            description: 'Those that wait, that arrived, or that were given up',
          },
          rule: {
            type: 'string',
            maxLength: 128,
            description: 'Only those of the rule with this name or id',
          },
          owner: {
            ...RULE_QUERY.properties.owner,
            description: "Only those of this owner's rules; others' are for admins",
          },
          ...HISTORY_QUERY.properties,
        },
      },
      answers: { 200: jsonAnswer('The newest first', historySchema('messages', MESSAGE)) },
      run: async (request) => {
        const page = historyPage(request)
        const { state = 'dead', rule } = request.query
        const named =
          rule === undefined
            ? undefined
            : await findRule(deps.alerts, { ...request, params: [String(rule)] })
        const of = { owner: ownerListed(request), ruleId: named?.ruleId }
        const found = await deps.alerts.outbox.list(of, state as OutboxMessage['state'], page)
        return replyHistory('messages', page, found, {
          idOf: ({ messageId }) => messageId,
          write: messageText,
        })
      },
    }),
    guardRoute(deps, {
      method: 'POST',
      pattern: '/v1/alerts/messages/:message/send',
      operationId: 'sendAlertMessage',
      summary: 'Send a dead message again',
      tag: 'Alerts',
      scope: 'alerts:write',
      needsAllStreams: true,
      answers: { 204: { description: 'It waits, under the same Idempotency-Key' } },
      run: async ({ principal, params }) => {
        const id = tryParseRowId(params[0])
        const { outbox } = deps.alerts
        if (id !== undefined && (await outbox.sendAgain(seenOwner(principal), id))) {
          return { status: 204 }
        }
        throw new IngestError('not_found', 'there is no dead message with this id')
      },
    }),
  ]
}

function channelJson(channel: Channel): object {
  const { name, kind, url, secret, options, allowsPrivate, version, updatedAtMs } = channel
  const { username, tls, from, to, template } = options
  const isSigned = kind === 'webhook' && secret !== undefined
  return {
    ...{ name, kind, host: new URL(url).host, is_signed: isSigned },
    has_credential: secret !== undefined && !isSigned,
    ...{ username: username ?? null, tls: tls ?? null, from: from ?? null, to: to ?? null },
    template: template ?? null,
    ...{ allow_private: allowsPrivate, version, updated_at: formatTimeMs(updatedAtMs) },
  }
}

function messageText(message: ListedMessage): string {
  const { transition } = message
  const members = {
    id: String(message.messageId),
    channel: message.channel,
    state: message.state,
    attempts: message.attempts,
    last_error: message.lastError ?? null,
    idempotency_key: message.key,
    rule: message.ruleName,
    reason: message.reason,
    alert_count: message.alertCount,
  }
  const text = transition === undefined ? 'null' : transitionText(transition)
  return withMemberTexts(members, { transition: text })
}
