/** API keys of a stream: list, create (the secret is shown once), revoke. */

import { nullable, type ObjectSchema, RFC3339 } from '../api/schema.ts'
import { IngestError } from '../errors.ts'
import type { Route } from '../http/exchange.ts'
import { answerJson, type Guard, guardRoute, jsonAnswer } from '../http/guard.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import { tryParseRowId } from '../model/stream.ts'
import { readOptionalName } from '../read/body-fields.ts'
import { findVisibleStream } from '../read/find-streams.ts'
import type { KeyRecord } from '../store/control/control-rows.ts'
import type { ControlStore } from '../store/control/control-store.ts'

export interface KeyRoutesDeps extends Guard {
  readonly control: ControlStore
}

const KEY: ObjectSchema = {
  type: 'object',
  properties: {
    id: { type: 'string' },
    name: { type: 'string' },
    prefix: { type: 'string', description: 'Public: the eight characters behind `lax_`' },
    created_at: RFC3339,
    last_used_at: nullable(RFC3339, { description: 'Up to a minute late' }),
    revoked_at: nullable(RFC3339),
  },
  required: ['id', 'name', 'prefix', 'created_at', 'last_used_at', 'revoked_at'],
}
const NEW_KEY: ObjectSchema = {
  type: 'object',
  properties: { ...KEY.properties, key: { type: 'string', description: 'Shown only here' } },
  required: [...(KEY.required ?? []), 'key'],
}
const KEYS: ObjectSchema = {
  type: 'object',
  properties: { keys: { type: 'array', items: KEY } },
  required: ['keys'],
}
const KEY_NAME: ObjectSchema = {
  type: 'object',
  properties: { name: { type: 'string', description: 'For people; may be left out' } },
}

/** Keys are for the owner and for admins, who are just those who can see the stream at all. */
export function keyRoutes({ control, ...guard }: KeyRoutesDeps): Route[] {
  const pattern = '/v1/streams/:id/keys'
  return [
    guardRoute(guard, {
      method: 'GET',
      pattern,
      operationId: 'listKeys',
      summary: 'List the API keys of a stream',
      tag: 'API keys',
      scope: 'streams:read',
      answers: { 200: jsonAnswer('Live keys first, at most 1,000', KEYS) },
      run: async ({ principal, params }) => {
        const { streamId } = await findVisibleStream(control, principal, params[0])
        const keys = await control.listKeys(streamId)
        return answerJson(200, KEYS, { keys: keys.map(keyJson) })
      },
    }),
    guardRoute(guard, {
      method: 'POST',
      pattern,
      operationId: 'createKey',
      summary: 'Create an API key',
      tag: 'API keys',
      scope: 'streams:write',
      body: KEY_NAME,
      answers: { 201: jsonAnswer('The key with its secret', NEW_KEY) },
      run: async ({ principal, params, body }) => {
        const { streamId } = await findVisibleStream(control, principal, params[0])
        const name = readOptionalName('name', (body as { name?: string }).name)
        const { record, text } = await control.createKey(streamId, name)
        const headers = [['Location', `/v1/streams/${streamId}/keys/${record.keyId}`]] as const
        return { ...answerJson(201, NEW_KEY, { ...keyJson(record), key: text }), headers }
      },
    }),
    guardRoute(guard, {
      method: 'DELETE',
      pattern: `${pattern}/:key`,
      operationId: 'revokeKey',
      summary: 'Revoke an API key',
      tag: 'API keys',
      scope: 'streams:write',
      answers: { 204: { description: 'Revoked, now or before' } },
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
