/**
 * What authentication reads from the control plane (the functions of `CredentialSource`), and the
 * record of changes that tells nodes which cached entries to drop.
 */
import { CONTROL_CHANGES_MAX } from '../../limits.ts'
import type { KeyOwner } from '../../model/batch/usage-counts.ts'
import {
  type ControlChange,
  CREDENTIAL_KINDS,
  type CredentialKind,
  type CredentialUse,
  type StoredCredential,
} from '../../model/credential.ts'
import type { StreamId } from '../../model/stream.ts'
import type { Postgres, Queryable } from '../postgres.ts'
import {
  type SessionRow,
  STREAM_COLUMNS,
  type StreamRow,
  TOKEN_COLUMNS,
  type TokenRow,
  toStoredSession,
  toStoredToken,
  toStream,
} from './control-rows.ts'

export class CredentialStore {
  readonly #postgres: Postgres
  readonly #onLookUp: (credentials: number) => void

  /** `onLookUp` hears of each query, and how many credentials it asks for. */
  constructor(postgres: Postgres, onLookUp: (credentials: number) => void = () => undefined) {
    this.#postgres = postgres
    this.#onLookUp = onLookUp
  }

  /** Revoked credentials, keys of deleted streams and sessions of revoked tokens are absent. */
  readonly findCredentials = async (
    kind: CredentialKind,
    prefixes: readonly string[],
  ): Promise<ReadonlyMap<string, StoredCredential>> => {
    this.#onLookUp(prefixes.length)
    if (kind === 'token') {
      const { rows } = await this.#postgres.query<TokenRow>(
        `SELECT ${TOKEN_COLUMNS}, secret_sha256 FROM access_tokens
         WHERE prefix = ANY ($1) AND revoked_at IS NULL`,
        [prefixes],
      )
      return new Map(rows.map((row) => [row.prefix, toStoredToken(row)]))
    }
    if (kind === 'session') {
      const { rows } = await this.#postgres.query<SessionRow>(
        `SELECT session_id, s.prefix, s.secret_sha256, origin, t.prefix AS token_prefix,
           floor(extract(epoch FROM s.expires_at) * 1000)::float8 AS expires_at_ms,
           floor(extract(epoch FROM s.last_used_at) * 1000)::float8 AS last_used_at_ms
         FROM sessions AS s JOIN access_tokens AS t USING (token_id)
         WHERE s.prefix = ANY ($1) AND revoked_at IS NULL`,
        [prefixes],
      )
      return new Map(rows.map((row) => [row.prefix, toStoredSession(row)]))
    }
    const { rows } = await this.#postgres.query<StreamRow & KeyHash>(
      `SELECT prefix, key_id, secret_sha256, ${STREAM_COLUMNS}
       FROM api_keys JOIN streams USING (stream_id)
       WHERE prefix = ANY ($1) AND revoked_at IS NULL AND deleted_at IS NULL`,
      [prefixes],
    )
    return new Map(
      rows.map((row) => {
        const { prefix, key_id: id, secret_sha256: secretSha256 } = row
        return [prefix, { kind, id, secretSha256, stream: toStream(row) }]
      }),
    )
  }

  /** Whose keys have these prefixes, with those that were revoked; not of deleted streams. */
  readonly findKeyOwners = async (
    prefixes: readonly string[],
  ): Promise<ReadonlyMap<string, KeyOwner>> => {
    const { rows } = await this.#postgres.query<KeyOwner & { readonly prefix: string }>(
      `SELECT prefix, stream_id AS "streamId", key_id AS "keyId",
         revoked_at IS NOT NULL AS "isRevoked"
       FROM api_keys JOIN streams USING (stream_id)
       WHERE prefix = ANY ($1) AND deleted_at IS NULL`,
      [prefixes],
    )
    return new Map(rows.map(({ prefix, ...owner }) => [prefix, owner]))
  }

  readonly readVersion = async (): Promise<string> => {
    const { rows } = await this.#postgres.query<{ readonly version: string }>(
      'SELECT version FROM control_version',
    )
    const [row] = rows
    if (row === undefined) throw new Error('control_version has lost its row')
    return row.version
  }

  /**
   * What the versions after `after` up to `upTo` were about, in their order. A version without a
   * record is missing: an older node wrote it, it was changed by hand, or its record has expired.
   */
  readonly readChanges = async (after: string, upTo: string): Promise<ControlChange[]> => {
    const { rows } = await this.#postgres.query<ChangeRow>(
      `SELECT changed_stream, prefix FROM control_changes WHERE version > $1 AND version <= $2
       ORDER BY version LIMIT $3`,
      [after, upTo, CONTROL_CHANGES_MAX],
    )
    return rows.map(toChange)
  }

  /** Not a change of the control plane: caches stay. Rows that somebody else holds are skipped. */
  readonly recordUses = async (uses: readonly CredentialUse[]): Promise<void> => {
    for (const kind of CREDENTIAL_KINDS) {
      const own = uses.filter((use) => use.kind === kind)
      if (own.length === 0) continue
      const [table, id] = TABLES[kind]
      await this.#postgres.query(
        `WITH used AS (
           SELECT * FROM unnest($1::integer[], $2::float8[]) AS u (id, at_ms)
         ), free AS (
           SELECT ${id} FROM ${table} WHERE ${id} = ANY ($1) FOR UPDATE SKIP LOCKED
         )
         UPDATE ${table} AS t
         SET last_used_at = GREATEST(t.last_used_at, to_timestamp(used.at_ms / 1000))
         FROM used JOIN free ON free.${id} = used.id WHERE t.${id} = used.id`,
        [own.map((use) => use.id), own.map((use) => use.atMs)],
      )
    }
  }
}

const TABLES = {
  key: ['api_keys', 'key_id'],
  token: ['access_tokens', 'token_id'],
  session: ['sessions', 'session_id'],
} as const

interface KeyHash {
  readonly prefix: string
  readonly key_id: number
  readonly secret_sha256: Uint8Array
}

interface ChangeRow {
  readonly changed_stream: number | null
  readonly prefix: string | null
}

/** Raises the version: from here on other changes wait until this transaction has ended. */
export async function recordChange(sql: Queryable, change: ControlChange): Promise<void> {
  const { rows } = await sql.query<{ readonly version: string }>(
    'UPDATE control_version SET version = version + 1 RETURNING version',
  )
  await sql.query(
    `WITH forgotten AS (DELETE FROM control_changes WHERE version <= $1::bigint - $4::bigint)
     INSERT INTO control_changes (version, changed_stream, prefix) VALUES ($1, $2, $3)`,
    [
      rows[0]?.version,
      change.kind === 'stream' ? change.streamId : null,
      change.kind === 'credential' ? change.prefix : null,
      CONTROL_CHANGES_MAX,
    ],
  )
}

function toChange({ changed_stream: streamId, prefix }: ChangeRow): ControlChange {
  if (streamId !== null) return { kind: 'stream', streamId: streamId as StreamId }
  return prefix === null ? { kind: 'none' } : { kind: 'credential', prefix }
}
