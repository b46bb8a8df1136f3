/**
 * Access tokens: list, create (the secret is shown once) and revoke, for admins only; and, for all,
 * what their own may do.
 */

import { nullable, type ObjectSchema, RFC3339 } from '../api/schema.ts'
import { writeJson } from '../api/write-answer.ts'
import { IngestError, malformed } from '../errors.ts'
import type { Route } from '../http/exchange.ts'
import { answerJson, type Guard, guardRoute, jsonAnswer } from '../http/guard.ts'
import { TOKEN_STREAMS_MAX } from '../limits.ts'
import { formatTimeMs, RFC3339_MS_MAX } from '../model/rfc3339.ts'
import { SCOPES, type Scope, type StreamId, tryParseRowId } from '../model/stream.ts'
import { type BodyFields, readName, readOptionalName, readTime } from '../read/body-fields.ts'
import type { TokenRecord } from '../store/control/control-rows.ts'
import type { ControlStore, NewToken } from '../store/control/control-store.ts'
import { ID_PAGE_QUERY, idPageSchema, replyIdPage } from './id-page.ts'
import { formatTimeOrNull } from './keys.ts'

export interface TokenRoutesDeps extends Guard {
  readonly control: ControlStore
  readonly nowMs?: () => number
}

const SCOPE_LIST = {
  type: 'array',
  items: { type: 'string', enum: SCOPES, must: `one of: ${SCOPES.join(', ')}` },
} as const
const TOKEN: ObjectSchema = {
  type: 'object',
  properties: {
    id: { type: 'string' },
    name: { type: 'string' },
    owner: { type: 'string' },
    scopes: SCOPE_LIST,
    streams: {
      anyOf: [
        { type: 'string', enum: ['*'] },
        { type: 'array', items: { type: 'string' } },
      ],
      description: 'Ids of the streams that it is limited to; `*`: no limit',
    },
    prefix: { type: 'string', description: 'Public: the eight characters behind `lap_`' },
    created_at: RFC3339,
    expires_at: nullable(RFC3339),
    last_used_at: nullable(RFC3339, { description: 'Up to a minute late' }),
    revoked_at: nullable(RFC3339),
  },
}
const TOKENS = idPageSchema('tokens', TOKEN)
const CREATED_TOKEN: ObjectSchema = {
  type: 'object',
  properties: { ...TOKEN.properties, token: { type: 'string', description: 'Shown only here' } },
}
const NEW_TOKEN: ObjectSchema = {
  type: 'object',
  properties: {
    name: { type: 'string', description: 'For people; may be left out' },
    owner: { type: 'string', description: "Whose streams it sees; the caller's when left out" },
    scopes: {
      ...SCOPE_LIST,
      minItems: 1,
      description: 'What it may do',
      must: `a list of one or more of: ${SCOPES.join(', ')}`,
    },
    streams: {
      anyOf: [
        { type: 'string', enum: ['*'] },
        {
          type: 'array',
          items: { type: 'string' },
          minItems: 1,
          maxItems: TOKEN_STREAMS_MAX,
          must: `1 to TOKEN_STREAMS_MAX (${TOKEN_STREAMS_MAX}) ids of streams`,
        },
      ],
      must: 'a list of ids of streams such as ["1", "7"], or "*" for no limit',
      default: '*',
      description: 'Ids of the streams of `owner` that it is limited to; `*`: no limit',
    },
    expires_at: nullable(
      { type: 'string', format: 'date-time' },
      {
        must: 'an RFC 3339 time such as "2026-01-31T12:00:00Z"',
        description: 'RFC 3339; null or left out: never',
      },
    ),
  },
  required: ['scopes'],
}

export function tokenRoutes(deps: TokenRoutesDeps): Route[] {
  return [ownTokenRoute(deps), ...allTokensRoutes(deps)]
}

/** Any token may call it: a client knows by it what to offer. */
function ownTokenRoute({ control, ...guard }: TokenRoutesDeps): Route {
  return guardRoute(guard, {
    method: 'GET',
    pattern: '/v1/me',
    operationId: 'getOwnToken',
    summary: 'Read what the token of the request may do',
    tag: 'Access tokens',
    answers: { 200: jsonAnswer('The token, without its secret', TOKEN) },
    run: async ({ principal }) => {
      const token = await control.findToken(principal.tokenId)
      // It was there a moment ago: somebody removed its row by hand.
      if (token === undefined) throw unknownToken()
      return answerJson(200, TOKEN, tokenJson(token))
    },
  })
}

function allTokensRoutes({ control, nowMs, ...guard }: TokenRoutesDeps): Route[] {
  const pattern = '/v1/tokens'
  return [
    guardRoute(guard, {
      method: 'GET',
      pattern,
      operationId: 'listTokens',
      summary: 'List access tokens',
      tag: 'Access tokens',
      scope: 'admin',
      query: ID_PAGE_QUERY,
      answers: { 200: jsonAnswer('In the order of creation', TOKENS) },
      run: async ({ query }) => {
        return await replyIdPage('tokens', query, {
          read: (page) => control.listTokens(page),
          idOf: ({ tokenId }) => tokenId,
          write: (token) => writeJson(TOKEN, tokenJson(token)),
        })
      },
    }),
    guardRoute(guard, {
      method: 'POST',
      pattern,
      operationId: 'createToken',
      summary: 'Create an access token',
      tag: 'Access tokens',
      scope: 'admin',
      body: NEW_TOKEN,
      answers: { 201: jsonAnswer('The token with its secret', CREATED_TOKEN) },
      run: async ({ principal, body }) => {
        const token = readNewToken(body, principal.owner, (nowMs ?? Date.now)())
        await assertOwned(control, token)
        const { record, text } = await control.createToken(token)
        const headers = [['Location', `/v1/tokens/${record.tokenId}`]] as const
        return { ...answerJson(201, CREATED_TOKEN, { ...tokenJson(record), token: text }), headers }
      },
    }),
    guardRoute(guard, {
      method: 'DELETE',
      pattern: `${pattern}/:id`,
      operationId: 'revokeToken',
      summary: 'Revoke an access token',
      tag: 'Access tokens',
      scope: 'admin',
      answers: { 204: { description: 'Revoked, now or before' } },
      run: async ({ params }) => {
        const tokenId = tryParseRowId(params[0])
        if (tokenId === undefined) throw unknownToken()
        await control.revokeToken(tokenId)
        return { status: 204 }
      },
    }),
  ]
}

function unknownToken(): IngestError {
  return new IngestError('not_found', 'there is no token with this id')
}

/** `owner` when the body names none. Throws `malformed`. */
function readNewToken(body: unknown, owner: string, nowMs: number): NewToken {
  const fields = body as BodyFields
  const scopes = SCOPES.filter((scope) => (fields.scopes as readonly Scope[]).includes(scope))
  const streamIds = readLimit(fields.streams)
  if (streamIds !== undefined && scopes.includes('admin')) {
    throw malformed('"streams" must be left out with the scope admin, which sees every stream')
  }
  return {
    name: readOptionalName('name', fields.name),
    owner: fields.owner === undefined ? owner : readName('owner', fields.owner),
    scopes,
    streamIds,
    expiresAtMs: readExpiry(fields.expires_at, nowMs),
  }
}

/** Each once, in their order. */
function readLimit(value: unknown): readonly StreamId[] | undefined {
  if (value === undefined || value === '*') return undefined
  const ids = (value as readonly string[]).map((text, index) => {
    const id = tryParseRowId(text)
    if (id === undefined) throw malformed(`"streams"[${index}] must be an id such as "17"`)
    return id as StreamId
  })
  return [...new Set(ids)].sort((a, b) => a - b)
}

/** A stream that the token could not see anyway is a mistake. Throws `not_found`. */
async function assertOwned(
  control: ControlStore,
  { owner, streamIds = [] }: NewToken,
): Promise<void> {
  const found = streamIds.length === 0 ? [] : await control.findStreams(streamIds)
  const owned = new Set(found.filter((one) => one.owner === owner).map((one) => one.streamId))
  const missing = streamIds.find((id) => !owned.has(id))
  if (missing === undefined) return
  throw new IngestError('not_found', `the owner of the token has no stream with the id ${missing}`)
}

function readExpiry(value: unknown, nowMs: number): number | null {
  if (value === undefined || value === null) return null
  // Rounded down to the stored millisecond, and never into a year that RFC 3339 cannot write.
  const ms = Number(readTime('expires_at', value) / 1_000_000n)
  const expiresAtMs = Math.min(ms, RFC3339_MS_MAX)
  if (expiresAtMs <= nowMs) throw malformed('"expires_at" must be in the future')
  return expiresAtMs
}

function tokenJson(token: TokenRecord) {
  return {
    id: String(token.tokenId),
    name: token.name,
    owner: token.owner,
    scopes: token.scopes,
    streams: token.streamIds?.map(String) ?? '*',
    prefix: token.prefix,
    created_at: formatTimeMs(token.createdAtMs),
    expires_at: formatTimeOrNull(token.expiresAtMs),
    last_used_at: formatTimeOrNull(token.lastUsedAtMs),
    revoked_at: formatTimeOrNull(token.revokedAtMs),
  }
}
