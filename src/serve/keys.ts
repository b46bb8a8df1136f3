/** API keys of a stream: list, create (the secret is shown once), revoke. */
import { IngestError } from '../errors.ts'
import type { Route } from '../http/exchange.ts'
import { jsonReply } from '../http/problem.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import type { KeyRecord } from '../store/control/control-rows.ts'
import type { ControlStore } from '../store/control/control-store.ts'
import { readFields, readOptionalName } from './body-fields.ts'
import { findVisibleStream, type Guard, guardRoute, tryParseRowId } from './guard.ts'

export interface KeyRoutesDeps extends Guard {
  readonly control: ControlStore
}

/** Keys are for the owner and for admins: just those who can see the stream at all. */
export function keyRoutes({ control, ...guard }: KeyRoutesDeps): Route[] {
  const pattern = '/v1/streams/:id/keys'
  return [
    guardRoute(guard, {
      method: 'GET',
      pattern,
      scope: 'streams:read',
      run: async ({ principal, params }) => {
        const { streamId } = await findVisibleStream(control, principal, params[0])
        const keys = await control.listKeys(streamId)
        return jsonReply(200, { keys: keys.map(keyJson) })
      },
    }),
    guardRoute(guard, {
      method: 'POST',
      pattern,
      scope: 'streams:write',
      body: 'json',
      run: async ({ principal, params, body }) => {
        const { streamId } = await findVisibleStream(control, principal, params[0])
        const name = readOptionalName('name', readFields(body, ['name']).name)
        const { record, text } = await control.createKey(streamId, name)
        const headers = [['Location', `/v1/streams/${streamId}/keys/${record.keyId}`]] as const
        return { ...jsonReply(201, { ...keyJson(record), key: text }), headers }
      },
    }),
    guardRoute(guard, {
      method: 'DELETE',
      pattern: `${pattern}/:key`,
      scope: 'streams:write',
      run: async ({ principal, params }) => {
        const { streamId } = await findVisibleStream(control, principal, params[0])
        const keyId = tryParseRowId(params[1])
        if (keyId === undefined) {
          throw new IngestError('not_found', 'the stream has no key with this id')
        }
        await control.revokeKey(streamId, keyId)
        return { status: 204 }
      },
    }),
  ]
}

function keyJson(key: KeyRecord) {
  return {
    id: String(key.keyId),
    name: key.name,
    prefix: key.prefix,
    created_at: formatTimeMs(key.createdAtMs),
    last_used_at: formatTimeOrNull(key.lastUsedAtMs),
    revoked_at: formatTimeOrNull(key.revokedAtMs),
  }
}

export function formatTimeOrNull(ms: number | null): string | null {
  return ms === null ? null : formatTimeMs(ms)
}
