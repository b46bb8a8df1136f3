/** Rows of the control plane as SQL returns them, and the records made from them. */
import type { StoredSession, StoredToken } from '../../model/credential.ts'
import type { SchemaCaps } from '../../model/schema.ts'
import {
  type OtlpContextSetting,
  SCOPES,
  type Scope,
  type Stream,
  type StreamId,
} from '../../model/stream.ts'

export const CAP_COLUMNS = 'field_soft_cap, field_hard_cap, shape_soft_cap, shape_hard_cap'

export interface CapRow {
  readonly field_soft_cap: number
  readonly field_hard_cap: number
  readonly shape_soft_cap: number
  readonly shape_hard_cap: number
}

export function toCaps(row: CapRow): SchemaCaps {
  return {
    fieldsSoft: row.field_soft_cap,
    fieldsHard: row.field_hard_cap,
    shapesSoft: row.shape_soft_cap,
    shapesHard: row.shape_hard_cap,
  }
}

export interface KeyRecord {
  readonly keyId: number
  readonly prefix: string
  readonly name: string
  readonly createdAtMs: number
  readonly lastUsedAtMs: number | null
  readonly revokedAtMs: number | null
}

export interface TokenRecord extends Omit<KeyRecord, 'keyId'> {
  readonly tokenId: number
  readonly owner: string
  readonly scopes: readonly Scope[]
  /** Those it is limited to, by their ids; undefined: no limit. */
  readonly streamIds: readonly StreamId[] | undefined
  readonly expiresAtMs: number | null
}

/** A timestamp as milliseconds, so that the driver's own conversion does not matter. */
function msColumn(column: string): string {
  return `floor(extract(epoch FROM ${column}) * 1000)::float8 AS ${column}_ms`
}

/** `streams.` because keys joined with streams have a `name` and a `created_at` too. */
export const STREAM_COLUMNS = `streams.stream_id, streams.name, owner, retention_ms,
  max_stored_bytes, parse_user_agents, redact_sensitive, redact_fields, rate_budget, byte_budget,
  ${CAP_COLUMNS}, text_fields, otlp_context,
  floor(extract(epoch FROM streams.created_at) * 1000)::float8 AS created_at_ms,
  promoted_at IS NOT NULL AS is_promoted`

export interface StreamRow extends CapRow {
  readonly stream_id: number
  readonly name: string
  readonly owner: string
  readonly retention_ms: string
  readonly max_stored_bytes: string | null
  readonly parse_user_agents: boolean
  readonly redact_sensitive: boolean
  readonly redact_fields: readonly string[]
  readonly rate_budget: string | null
  readonly byte_budget: string | null
  readonly text_fields: readonly string[]
  readonly otlp_context: OtlpContextSetting
  readonly created_at_ms: number
  readonly is_promoted: boolean
}

const CREDENTIAL_COLUMNS = `prefix, name, ${msColumn('created_at')}, ${msColumn('last_used_at')},
  ${msColumn('revoked_at')}`

interface CredentialRow {
  readonly prefix: string
  readonly name: string
  readonly created_at_ms: number
  readonly last_used_at_ms: number | null
  readonly revoked_at_ms: number | null
}

export const KEY_COLUMNS = `key_id, ${CREDENTIAL_COLUMNS}`

export interface KeyRow extends CredentialRow {
  readonly key_id: number
}

export const TOKEN_COLUMNS = `token_id, owner, scopes, stream_ids, ${msColumn('expires_at')},
  ${CREDENTIAL_COLUMNS}`

export interface TokenRow extends CredentialRow {
  readonly token_id: number
  readonly owner: string
  readonly scopes: readonly string[]
  readonly stream_ids: readonly number[] | null
  readonly expires_at_ms: number | null
  /** Only where it was asked for. */
  readonly secret_sha256?: Uint8Array
}

export interface SessionRow {
  readonly session_id: number
  readonly prefix: string
  readonly secret_sha256: Uint8Array
  readonly origin: string
  readonly token_prefix: string
  readonly expires_at_ms: number
  readonly last_used_at_ms: number
}

export function toStream(row: StreamRow): Stream {
  return {
    streamId: row.stream_id as StreamId,
    name: row.name,
    owner: row.owner,
    retentionMs: Number(row.retention_ms),
    maxStoredBytes: toNumber(row.max_stored_bytes),
    parseUserAgents: row.parse_user_agents,
    redactSensitive: row.redact_sensitive,
    redactFields: row.redact_fields,
    rateBudget: toNumber(row.rate_budget),
    byteBudget: toNumber(row.byte_budget),
    schemaCaps: toCaps(row),
    textFields: row.text_fields,
    otlpContext: row.otlp_context,
    createdAtMs: row.created_at_ms,
    isPromoted: row.is_promoted,
  }
}

export function toKey(row: KeyRow): KeyRecord {
  return { keyId: row.key_id, ...toCredential(row) }
}

export function toToken(row: TokenRow): TokenRecord {
  return {
    tokenId: row.token_id,
    owner: row.owner,
    scopes: toScopes(row.scopes),
    streamIds: toStreamIds(row),
    expiresAtMs: row.expires_at_ms,
    ...toCredential(row),
  }
}

export function toStoredToken(row: TokenRow): StoredToken {
  const { token_id: tokenId, owner } = row
  const scopes: ReadonlySet<Scope> = new Set(toScopes(row.scopes))
  const streamIds = toStreamIds(row)
  const limit = streamIds && new Set(streamIds)
  return {
    kind: 'token',
    id: tokenId,
    secretSha256: row.secret_sha256 ?? new Uint8Array(32),
    principal: { tokenId, owner, scopes, streamIds: limit },
    expiresAtMs: row.expires_at_ms,
  }
}

export function toStoredSession(row: SessionRow): StoredSession {
  return {
    kind: 'session',
    id: row.session_id,
    secretSha256: row.secret_sha256,
    tokenPrefix: row.token_prefix,
    origin: row.origin,
    expiresAtMs: row.expires_at_ms,
    usedAtMs: row.last_used_at_ms,
  }
}

function toCredential(row: CredentialRow): Omit<KeyRecord, 'keyId'> {
  return {
    prefix: row.prefix,
    name: row.name,
    createdAtMs: row.created_at_ms,
    lastUsedAtMs: row.last_used_at_ms,
    revokedAtMs: row.revoked_at_ms,
  }
}

/** A scope that a newer version wrote and this one does not know grants nothing here. */
function toScopes(scopes: readonly string[]): Scope[] {
  return SCOPES.filter((scope) => scopes.includes(scope))
}

/** An empty list stays one: it is a token that sees nothing, not one that sees everything. */
function toStreamIds({ stream_ids: ids }: TokenRow): readonly StreamId[] | undefined {
  return ids === null ? undefined : ids.map((id) => id as StreamId)
}

/** Settings are safe integers when they are written, so the decimal text converts exactly. */
function toNumber(text: string | null): number | null {
  return text === null ? null : Number(text)
}
