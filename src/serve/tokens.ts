/** Access tokens: list, create (the secret is shown once), revoke. For admins only. */
import { IngestError } from '../errors.ts'
import type { Route } from '../http/exchange.ts'
import { jsonReply } from '../http/problem.ts'
import { formatTimeMs, RFC3339_MS_MAX } from '../model/rfc3339.ts'
import { SCOPES, type Scope } from '../model/stream.ts'
import type { TokenRecord } from '../store/control/control-rows.ts'
import type { ControlStore, NewToken } from '../store/control/control-store.ts'
import { malformed, readFields, readName, readOptionalName, readTime } from './body-fields.ts'
import { type Guard, guardRoute, tryParseRowId } from './guard.ts'
import { readIdPage, replyIdPage } from './id-page.ts'
import { formatTimeOrNull } from './keys.ts'

export interface TokenRoutesDeps extends Guard {
  readonly control: ControlStore
  readonly nowMs?: () => number
}

export function tokenRoutes({ control, nowMs, ...guard }: TokenRoutesDeps): Route[] {
  const pattern = '/v1/tokens'
  return [
    guardRoute(guard, {
      method: 'GET',
      pattern,
      scope: 'admin',
      run: async ({ query }) => {
        const page = readIdPage(query)
        const tokens = await control.listTokens({ ...page, limit: page.limit + 1 })
        return replyIdPage('tokens', tokens.map(tokenJson), page.limit)
      },
    }),
    guardRoute(guard, {
      method: 'POST',
      pattern,
      scope: 'admin',
      body: 'json',
      run: async ({ principal, body }) => {
        const token = readNewToken(body, principal.owner, (nowMs ?? Date.now)())
        const { record, text } = await control.createToken(token)
        const headers = [['Location', `/v1/tokens/${record.tokenId}`]] as const
        return { ...jsonReply(201, { ...tokenJson(record), token: text }), headers }
      },
    }),
    guardRoute(guard, {
      method: 'DELETE',
      pattern: `${pattern}/:id`,
      scope: 'admin',
      run: async ({ params }) => {
        const tokenId = tryParseRowId(params[0])
        if (tokenId === undefined) {
          throw new IngestError('not_found', 'there is no token with this id')
        }
        await control.revokeToken(tokenId)
        return { status: 204 }
      },
    }),
  ]
}

/** `owner` when the body names none. Throws `malformed`. */
function readNewToken(body: unknown, owner: string, nowMs: number): NewToken {
  const fields = readFields(body, ['name', 'owner', 'scopes', 'expires_at'])
  return {
    name: readOptionalName('name', fields.name),
    owner: fields.owner === undefined ? owner : readName('owner', fields.owner),
    scopes: readScopes(fields.scopes),
    expiresAtMs: readExpiry(fields.expires_at, nowMs),
  }
}

function readScopes(value: unknown): readonly Scope[] {
  const known = SCOPES.join(', ')
  if (!Array.isArray(value) || value.length === 0) {
    throw malformed(`"scopes" must be a list of one or more of: ${known}`)
  }
  const unknown = value.findIndex((scope) => !SCOPES.includes(scope))
  if (unknown >= 0) throw malformed(`"scopes"[${unknown}] must be one of: ${known}`)
  return SCOPES.filter((scope) => value.includes(scope))
}

function readExpiry(value: unknown, nowMs: number): number | null {
  if (value === undefined || value === null) return null
  // Down to the millisecond that is kept, and never into a year that RFC 3339 cannot write.
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
    prefix: token.prefix,
    created_at: formatTimeMs(token.createdAtMs),
    expires_at: formatTimeOrNull(token.expiresAtMs),
    last_used_at: formatTimeOrNull(token.lastUsedAtMs),
    revoked_at: formatTimeOrNull(token.revokedAtMs),
  }
}
