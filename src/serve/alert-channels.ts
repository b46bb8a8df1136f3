/** Channels of alerts, which are webhooks, and the messages to them. */
import { nullable, type ObjectSchema, RFC3339 } from '../api/schema.ts'
import { IngestError, malformed } from '../errors.ts'
import type { Reply, Route } from '../http/exchange.ts'
import { type Guard, guardRoute, type HttpRequest, jsonAnswer } from '../http/guard.ts'
import { jsonReply } from '../http/problem.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import { hasScope, type Principal, tryParseRowId } from '../model/stream.ts'
import type { Channel, ChannelStore } from '../store/alerts/channel-store.ts'
import type { ListedMessage, OutboxMessage, OutboxStore } from '../store/alerts/outbox-store.ts'
import { TRANSITION, transitionJson } from './alert-answers.ts'
import { HISTORY_QUERY, historyPage, nextOf } from './alert-pages.ts'
import { idPageSchema } from './id-page.ts'

export interface ChannelRoutesDeps extends Guard {
  readonly alerts: { readonly channels: ChannelStore; readonly outbox: OutboxStore }
}

const NAME = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$/
const URL_CHARS_MAX = 2_048
const ONE = '/v1/alerts/channels/:channel'
const STATES = ['waiting', 'delivered', 'dead'] as const

const CHANNEL_BODY: ObjectSchema = {
  type: 'object',
  properties: {
    url: {
      type: 'string',
      maxLength: URL_CHARS_MAX,
      description: 'Where messages are posted, `http` or `https`. Never shown again',
    },
    secret: {
      type: 'string',
      minLength: 16,
      maxLength: 256,
      description: 'Signs messages. Left out: they are not signed. Never shown again',
    },
    allow_private: {
      type: 'boolean',
      default: false,
      description: 'Also addresses that are not of the internet; for admins',
    },
  },
  required: ['url'],
}

const CHANNEL: ObjectSchema = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    host: { type: 'string', description: 'Of the URL' },
    is_signed: { type: 'boolean' },
    allow_private: { type: 'boolean' },
    version: { type: 'integer', description: 'Rises with each change' },
    updated_at: RFC3339,
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
  return [...ownChannelRoutes(deps), ...messageRoutes(deps)]
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
      answers: {
        200: jsonAnswer('By their names', {
          type: 'object',
          properties: { channels: { type: 'array', items: CHANNEL } },
        }),
      },
      run: async ({ principal }) => {
        const channels = await deps.alerts.channels.list(principal.owner)
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
        throw new IngestError('not_found', 'there is no channel of this name')
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
  const members = body as { url: string; secret?: string; allow_private?: boolean }
  const { url, secret, allow_private: allowsPrivate = false } = members
  const isHttp = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
  if (!isHttp) throw malformed('"url" must be a URL of http or https')
  if (new URL(url).username !== '') throw malformed('"url" must not hold a user or a password')
  if (allowsPrivate && !hasScope(principal, 'admin')) {
    throw new IngestError('forbidden', '"allow_private" is for admins')
  }
  const settings = { url, allowsPrivate, ...(secret !== undefined && { secret }) }
  const { channel, isNew } = await alerts.channels.put(principal.owner, name, settings)
  return jsonReply(isNew ? 201 : 200, channelJson(channel))
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
          ...HISTORY_QUERY.properties,
        },
      },
      answers: { 200: jsonAnswer('The newest first', idPageSchema('messages', MESSAGE)) },
      run: async (request) => {
        const page = historyPage(request)
        const state = (request.query.state ?? 'dead') as OutboxMessage['state']
        const found = await deps.alerts.outbox.list(ownerOf(request.principal), state, page)
        const next = nextOf(page, found, ({ messageId }) => messageId)
        return jsonReply(200, { messages: found.map(messageJson), next })
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
        if (id !== undefined && (await outbox.sendAgain(ownerOf(principal), id))) {
          return { status: 204 }
        }
        throw new IngestError('not_found', 'there is no dead message with this id')
      },
    }),
  ]
}

/** An admin's are all. */
function ownerOf(principal: Principal): string | undefined {
  return hasScope(principal, 'admin') ? undefined : principal.owner
}

function channelJson({ name, url, secret, allowsPrivate, version, updatedAtMs }: Channel): object {
  return {
    name,
    host: new URL(url).host,
    is_signed: secret !== undefined,
    allow_private: allowsPrivate,
    version,
    updated_at: formatTimeMs(updatedAtMs),
  }
}

function messageJson(message: ListedMessage): object {
  return {
    id: String(message.messageId),
    channel: message.channel,
    state: message.state,
    attempts: message.attempts,
    last_error: message.lastError ?? null,
    idempotency_key: message.key,
    rule: message.ruleName,
    reason: message.reason,
    alert_count: message.alertCount,
    transition: message.transition === undefined ? null : transitionJson(message.transition),
  }
}
