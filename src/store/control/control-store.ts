/**
 * The control plane's SQL: streams, API keys and access tokens. What authentication reads is in
 * `credential-store.ts`.
 *
 * Every change first raises `control_version` in its own transaction, and adds a row that says what
 * it was about. The version's lock also makes changes one at a time over all nodes, so a check
 * followed by a write needs no retry; changes are rare. After the commit `onChange` tells the local
 * node, which need not wait for its poll.
 * Throws `IngestError` for what a client did and `StoreError` for what the store did.
 */
import { IngestError } from '../../errors.ts'
import { KEYS_PER_STREAM_MAX, PROMOTED_STREAMS_MAX } from '../../limits.ts'
import { type ControlChange, createCredential, type NewCredential } from '../../model/credential.ts'
import type { Scope, Stream, StreamId } from '../../model/stream.ts'
import type { Postgres, Queryable } from '../postgres.ts'
import {
  KEY_COLUMNS,
  type KeyRecord,
  type KeyRow,
  STREAM_COLUMNS,
  type StreamRow,
  TOKEN_COLUMNS,
  type TokenRecord,
  type TokenRow,
  toKey,
  toStream,
  toToken,
} from './control-rows.ts'
import { recordChange } from './credential-store.ts'
import { PROMOTED_COUNT } from './promotion-store.ts'

/** What a client may set on a stream. */
export type StreamSettings = Omit<Stream, 'streamId' | 'owner' | 'createdAtMs' | 'isPromoted'>

/** A record with the credential's text, which is not stored and cannot be shown again. */
export interface Created<R> {
  readonly record: R
  readonly text: string
}

export interface NewToken {
  readonly name: string
  readonly owner: string
  readonly scopes: readonly Scope[]
  /** Those it is limited to; absent: no limit. */
  readonly streamIds?: readonly StreamId[] | undefined
  readonly expiresAtMs: number | null
}

/** Rows after the id `after`, at most `limit`, oldest first. */
export interface PageRequest {
  readonly after: number
  readonly limit: number
}

/** First token of an instance: any number will do, all nodes must use the same. */
const ADMIN_TOKEN_LOCK = 7_105_113

/** Admin tokens that are valid now. */
const IS_ADMIN = `'admin' = ANY (scopes) AND revoked_at IS NULL
  AND (expires_at IS NULL OR expires_at > clock_timestamp())`

export class ControlStore {
  readonly #postgres: Postgres
  readonly #onChange: (change: ControlChange | undefined) => void

  /** `onChange` gets what changed, as far as that is known. */
  constructor(postgres: Postgres, onChange: (change: ControlChange | undefined) => void) {
    this.#postgres = postgres
    this.#onChange = onChange
  }

  // --- Streams ----------------------------------------------------------------------------------

  /**
   * Throws `conflict` when the owner has a stream of that name. The first PROMOTED_STREAMS_MAX are
   * promoted at once.
   */
  async createStream(owner: string, settings: StreamSettings): Promise<Stream> {
    return this.#change(CHANGES_NOTHING, async (sql) => {
      await assertNameFree(sql, owner, settings.name)
      const { rows } = await sql.query<StreamRow>(
        `INSERT INTO streams (owner, name, retention_ms, max_stored_bytes, parse_user_agents,
           redact_sensitive, redact_fields, rate_budget, byte_budget, field_soft_cap,
           field_hard_cap, shape_soft_cap, shape_hard_cap, text_fields,
           otlp_context, promoted_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
           CASE WHEN (${PROMOTED_COUNT}) < $16 THEN now() END)
         RETURNING ${STREAM_COLUMNS}`,
        [owner, ...settingValues(settings), PROMOTED_STREAMS_MAX],
      )
      return toStream(onlyRow(rows))
    })
  }

  /** Live streams of `owner`, or of all owners when it is undefined. */
  async listStreams(owner: string | undefined, page: PageRequest): Promise<Stream[]> {
    const { rows } = await this.#postgres.query<StreamRow>(
      `SELECT ${STREAM_COLUMNS} FROM streams
       WHERE deleted_at IS NULL AND stream_id > $1 AND ($2::text IS NULL OR owner = $2)
       ORDER BY stream_id LIMIT $3`,
      [page.after, owner ?? null, page.limit],
    )
    return rows.map(toStream)
  }

  async findStream(streamId: StreamId): Promise<Stream | undefined> {
    return selectStream(this.#postgres, streamId)
  }

  /** The live one of this owner and name. */
  async findStreamNamed(owner: string, name: string): Promise<Stream | undefined> {
    const { rows } = await this.#postgres.query<StreamRow>(
      `SELECT ${STREAM_COLUMNS} FROM streams WHERE deleted_at IS NULL AND owner = $1 AND name = $2`,
      [owner, name],
    )
    return rows[0] && toStream(rows[0])
  }

  /** The live ones of this name, of any owner; two at most. */
  async findStreamsNamed(name: string): Promise<Stream[]> {
    const { rows } = await this.#postgres.query<StreamRow>(
      `SELECT ${STREAM_COLUMNS} FROM streams WHERE deleted_at IS NULL AND name = $1
       ORDER BY stream_id LIMIT 2`,
      [name],
    )
    return rows.map(toStream)
  }

  /** Those of `streamIds` that are live, by their ids. */
  async findStreams(streamIds: readonly StreamId[]): Promise<Stream[]> {
    const { rows } = await this.#postgres.query<StreamRow>(
      `SELECT ${STREAM_COLUMNS} FROM streams
       WHERE stream_id = ANY ($1::integer[]) AND deleted_at IS NULL ORDER BY stream_id`,
      [streamIds],
    )
    return rows.map(toStream)
  }

  /** Throws `not_found`, and `conflict` as `createStream` does. */
  async updateStream(streamId: StreamId, changes: Partial<StreamSettings>): Promise<Stream> {
    return this.#change({ kind: 'stream', streamId }, async (sql) => {
      const current = await selectStream(sql, streamId)
      if (current === undefined) throw streamNotFound()
      const next = { ...current, ...changes }
      if (next.name !== current.name) await assertNameFree(sql, current.owner, next.name)
      const { rows } = await sql.query<StreamRow>(
        `UPDATE streams SET name = $2, retention_ms = $3, max_stored_bytes = $4,
           parse_user_agents = $5, redact_sensitive = $6, redact_fields = $7, rate_budget = $8,
           byte_budget = $9, field_soft_cap = $10, field_hard_cap = $11, shape_soft_cap = $12,
           shape_hard_cap = $13, text_fields = $14, otlp_context = $15
         WHERE stream_id = $1 RETURNING ${STREAM_COLUMNS}`,
        [streamId, ...settingValues(next)],
      )
      return toStream(onlyRow(rows))
    })
  }

  /**
   * Hides the stream, revokes its keys, deletes its views; the data goes later. Throws `not_found`.
   */
  async deleteStream(streamId: StreamId): Promise<void> {
    await this.#change({ kind: 'stream', streamId }, async (sql) => {
      const { rowCount } = await sql.query(
        'UPDATE streams SET deleted_at = now() WHERE stream_id = $1 AND deleted_at IS NULL',
        [streamId],
      )
      if (rowCount === 0) throw streamNotFound()
      await sql.query(
        'UPDATE api_keys SET revoked_at = now() WHERE stream_id = $1 AND revoked_at IS NULL',
        [streamId],
      )
      await sql.query('DELETE FROM stream_views WHERE stream_id = $1', [streamId])
    })
  }

  // --- API keys ---------------------------------------------------------------------------------

  /** Throws `not_found`, and `conflict` when the stream has KEYS_PER_STREAM_MAX live keys. */
  async createKey(streamId: StreamId, name: string): Promise<Created<KeyRecord>> {
    const { text, prefix, secretSha256 } = createCredential('key')
    return this.#change({ kind: 'credential', prefix }, async (sql) => {
      if ((await selectStream(sql, streamId)) === undefined) throw streamNotFound()
      const { rows: counts } = await sql.query<{ readonly count: string }>(
        'SELECT count(*) FROM api_keys WHERE stream_id = $1 AND revoked_at IS NULL',
        [streamId],
      )
      if (Number(onlyRow(counts).count) >= KEYS_PER_STREAM_MAX) {
        const limit = `KEYS_PER_STREAM_MAX (${KEYS_PER_STREAM_MAX})`
        throw new IngestError('conflict', `the stream already has ${limit} live keys`)
      }
      const { rows } = await sql.query<KeyRow>(
        `INSERT INTO api_keys (stream_id, prefix, secret_sha256, name) VALUES ($1, $2, $3, $4)
         RETURNING ${KEY_COLUMNS}`,
        [streamId, prefix, secretSha256, name],
      )
      return { record: toKey(onlyRow(rows)), text }
    })
  }

  /** Live keys, then the newest revoked ones: KEYS_PER_STREAM_MAX together. */
  async listKeys(streamId: StreamId): Promise<KeyRecord[]> {
    const { rows } = await this.#postgres.query<KeyRow>(
      `SELECT ${KEY_COLUMNS} FROM api_keys WHERE stream_id = $1
       ORDER BY revoked_at IS NOT NULL, key_id DESC LIMIT $2`,
      [streamId, KEYS_PER_STREAM_MAX],
    )
    return rows.map(toKey)
  }

  /** Revoking again changes nothing. Throws `not_found` when the stream has no such key. */
  async revokeKey(streamId: StreamId, keyId: number): Promise<void> {
    const prefix = await this.#findPrefix(
      'SELECT prefix FROM api_keys WHERE stream_id = $1 AND key_id = $2',
      [streamId, keyId],
    )
    if (prefix === undefined) {
      throw new IngestError('not_found', 'the stream has no key with this id')
    }
    await this.#change({ kind: 'credential', prefix }, async (sql) => {
      await sql.query(
        `UPDATE api_keys SET revoked_at = COALESCE(revoked_at, now())
         WHERE stream_id = $1 AND key_id = $2`,
        [streamId, keyId],
      )
    })
  }

  // --- Access tokens ----------------------------------------------------------------------------

  async createToken(token: NewToken): Promise<Created<TokenRecord>> {
    const credential = createCredential('token')
    const { prefix } = credential
    return this.#change({ kind: 'credential', prefix }, (sql) => {
      return insertToken(sql, token, credential)
    })
  }

  async findToken(tokenId: number): Promise<TokenRecord | undefined> {
    const { rows } = await this.#postgres.query<TokenRow>(
      `SELECT ${TOKEN_COLUMNS} FROM access_tokens WHERE token_id = $1`,
      [tokenId],
    )
    return rows[0] && toToken(rows[0])
  }

  async listTokens(page: PageRequest): Promise<TokenRecord[]> {
    const { rows } = await this.#postgres.query<TokenRow>(
      `SELECT ${TOKEN_COLUMNS} FROM access_tokens WHERE token_id > $1 ORDER BY token_id LIMIT $2`,
      [page.after, page.limit],
    )
    return rows.map(toToken)
  }

  /**
   * Revoking again changes nothing. Throws `not_found`, and `conflict` for the last valid admin
   * token: without one nobody could create another.
   */
  async revokeToken(tokenId: number): Promise<void> {
    const prefix = await this.#findPrefix('SELECT prefix FROM access_tokens WHERE token_id = $1', [
      tokenId,
    ])
    if (prefix === undefined) throw new IngestError('not_found', 'there is no token with this id')
    await this.#change({ kind: 'credential', prefix }, async (sql) => {
      // Changes happen one at a time, so the last two tokens cannot both be revoked.
      await assertAdminIsLeft(sql, tokenId)
      await sql.query(
        `UPDATE access_tokens SET revoked_at = COALESCE(revoked_at, now()) WHERE token_id = $1`,
        [tokenId],
      )
    })
  }

  /**
   * The text of a new admin token when no live one exists, else undefined. Of nodes that start at
   * the same time exactly one gets it. `keep` is called before the token becomes valid, so that a
   * crash in between leaves no token that nobody knows; if it throws, the creation is undone.
   */
  async ensureAdminToken(keep?: (text: string) => void): Promise<string | undefined> {
    const credential = createCredential('token')
    const change = { kind: 'credential', prefix: credential.prefix } as const
    const created = await this.#postgres.transaction(async (sql) => {
      await sql.query('SELECT pg_advisory_xact_lock($1)', [ADMIN_TOKEN_LOCK])
      const { rows } = await sql.query(`SELECT 1 FROM access_tokens WHERE ${IS_ADMIN} LIMIT 1`)
      if (rows.length > 0) return undefined
      await recordChange(sql, change)
      const admin = { name: 'first admin token', owner: 'admin', expiresAtMs: null }
      const inserted = await insertToken(sql, { ...admin, scopes: ['admin'] }, credential)
      keep?.(inserted.text)
      return inserted
    })
    if (created !== undefined) this.#onChange(change)
    return created?.text
  }

  async #change<T>(change: ControlChange, write: (sql: Queryable) => Promise<T>): Promise<T> {
    try {
      return await this.#postgres.transaction(async (sql) => {
        await recordChange(sql, change)
        return write(sql)
      })
    } finally {
      // After a failure too: a lost answer to COMMIT may hide a change that took effect.
      this.#onChange(change)
    }
  }

  /** A credential's prefix never changes, so it can be read before the change. */
  async #findPrefix(text: string, values: readonly unknown[]): Promise<string | undefined> {
    const { rows } = await this.#postgres.query<{ readonly prefix: string }>(text, values)
    return rows[0]?.prefix
  }
}

const CHANGES_NOTHING: ControlChange = { kind: 'none' }

async function selectStream(sql: Queryable, streamId: StreamId): Promise<Stream | undefined> {
  const { rows } = await sql.query<StreamRow>(
    `SELECT ${STREAM_COLUMNS} FROM streams WHERE stream_id = $1 AND deleted_at IS NULL`,
    [streamId],
  )
  return rows[0] && toStream(rows[0])
}

async function assertAdminIsLeft(sql: Queryable, without: number): Promise<void> {
  const { rows } = await sql.query<{ readonly is_it: boolean }>(
    `SELECT DISTINCT token_id = $1 AS is_it FROM access_tokens WHERE ${IS_ADMIN}`,
    [without],
  )
  if (!rows.some((row) => row.is_it) || rows.some((row) => !row.is_it)) return
  const text = 'this is the last admin token that works; make another one before it is revoked'
  throw new IngestError('conflict', text)
}

async function assertNameFree(sql: Queryable, owner: string, name: string): Promise<void> {
  const { rows } = await sql.query(
    'SELECT 1 FROM streams WHERE owner = $1 AND name = $2 AND deleted_at IS NULL',
    [owner, name],
  )
  if (rows.length > 0) throw new IngestError('conflict', 'there is a stream of this name already')
}

async function insertToken(
  sql: Queryable,
  token: NewToken,
  { text, prefix, secretSha256 }: NewCredential,
): Promise<Created<TokenRecord>> {
  const { rows } = await sql.query<TokenRow>(
    `INSERT INTO access_tokens (prefix, secret_sha256, name, owner, scopes, stream_ids, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, to_timestamp($7::float8 / 1000)) RETURNING ${TOKEN_COLUMNS}`,
    [
      prefix,
      secretSha256,
      token.name,
      token.owner,
      token.scopes,
      token.streamIds ?? null,
      token.expiresAtMs,
    ],
  )
  return { record: toToken(onlyRow(rows)), text }
}

/** In the order of the columns in INSERT and UPDATE above. */
function settingValues(settings: StreamSettings): readonly unknown[] {
  return [
    settings.name,
    settings.retentionMs,
    settings.maxStoredBytes,
    settings.parseUserAgents,
    settings.redactSensitive,
    settings.redactFields,
    settings.rateBudget,
    settings.byteBudget,
    settings.schemaCaps.fieldsSoft,
    settings.schemaCaps.fieldsHard,
    settings.schemaCaps.shapesSoft,
    settings.schemaCaps.shapesHard,
    settings.textFields,
    settings.otlpContext,
  ]
}

function onlyRow<Row>(rows: readonly Row[]): Row {
  const row = rows[0]
  if (row === undefined) throw new Error('a statement that returns one row returned none')
  return row
}

export function streamNotFound(): IngestError {
  return new IngestError('not_found', 'there is no stream with this id')
}
