/**
 * SQL of sessions: browsers that are signed in with an access token. What authentication reads of
 * them is in `credential-store.ts`. That one begins changes nothing that a node has cached; that
 * one ends is a change like the revocation of a token.
 */
import { IngestError } from '../../errors.ts'
import { SESSION_MS_MAX, SESSIONS_PER_TOKEN_MAX } from '../../limits.ts'
import { type ControlChange, createCredential } from '../../model/credential.ts'
import type { Postgres, Queryable } from '../postgres.ts'
import { recordChange } from './credential-store.ts'

export interface NewSession {
  /** What the cookie holds. It is not stored and cannot be shown again. */
  readonly text: string
  readonly expiresAtMs: number
}

export class SessionStore {
  readonly #postgres: Postgres
  readonly #onChange: (change: ControlChange) => void

  constructor(postgres: Postgres, onChange: (change: ControlChange) => void) {
    this.#postgres = postgres
    this.#onChange = onChange
  }

  /** The same on all nodes of an installation, and on no other one. */
  async readInstallation(): Promise<string> {
    const { rows } = await this.#postgres.query<{ readonly installation: string }>(
      'SELECT installation::text FROM control_version',
    )
    const [row] = rows
    if (row === undefined) throw new Error('control_version has lost its row')
    return row.installation
  }

  /**
   * Of SESSIONS_PER_TOKEN_MAX the one that was used least lately makes room. Throws
   * `unauthenticated` when the token does not work any more.
   */
  async create(tokenId: number, origin: string): Promise<NewSession> {
    const { text, prefix, secretSha256 } = createCredential('session')
    const ended: string[] = []
    const expiresAtMs = await this.#change(ended, async (sql) => {
      // Sign-ins with one token happen one at a time, so that their bound holds.
      await sql.query('SELECT FROM access_tokens WHERE token_id = $1 FOR NO KEY UPDATE', [tokenId])
      await sql.query('DELETE FROM sessions WHERE expires_at <= now()')
      ended.push(
        ...(await removeSessions(
          sql,
          `session_id IN (SELECT session_id FROM sessions WHERE token_id = $1
             ORDER BY last_used_at DESC, session_id DESC OFFSET $2)`,
          [tokenId, SESSIONS_PER_TOKEN_MAX - 1],
        )),
      )
      const { rows } = await sql.query<{ readonly ms: number }>(
        `INSERT INTO sessions (token_id, prefix, secret_sha256, origin, expires_at)
         SELECT token_id, $2, $3, $4,
           LEAST(expires_at, clock_timestamp() + $5::float8 * interval '1 ms')
         FROM access_tokens WHERE token_id = $1 AND revoked_at IS NULL
           AND (expires_at IS NULL OR expires_at > clock_timestamp())
         RETURNING floor(extract(epoch FROM expires_at) * 1000)::float8 AS ms`,
        [tokenId, prefix, secretSha256, origin, SESSION_MS_MAX],
      )
      return rows[0]?.ms
    })
    if (expiresAtMs !== undefined) return { text, expiresAtMs }
    throw new IngestError('unauthenticated', 'the token was revoked, or has expired')
  }

  /** Ending it again changes nothing. */
  async end(sessionId: number): Promise<void> {
    await this.#endWhere('session_id = $1', sessionId)
  }

  /** Of every browser that is signed in with this token. */
  async endAll(tokenId: number): Promise<void> {
    await this.#endWhere('token_id = $1', tokenId)
  }

  async #endWhere(condition: string, id: number): Promise<void> {
    const ended: string[] = []
    await this.#change(ended, async (sql) => {
      ended.push(...(await removeSessions(sql, condition, [id])))
    })
  }

  /** `ended` gets the prefixes of what `write` ends. */
  async #change<T>(ended: readonly string[], write: (sql: Queryable) => Promise<T>): Promise<T> {
    try {
      return await this.#postgres.transaction(async (sql) => await write(sql))
    } finally {
      // After a failure too: a lost answer to COMMIT may hide a change that took effect.
      for (const prefix of ended) this.#onChange({ kind: 'credential', prefix })
    }
  }
}

/** The prefixes of what was removed; nodes hear of each. */
async function removeSessions(
  sql: Queryable,
  condition: string,
  values: readonly unknown[],
): Promise<readonly string[]> {
  const { rows } = await sql.query<{ readonly prefix: string }>(
    `DELETE FROM sessions WHERE ${condition} RETURNING prefix`,
    values,
  )
  for (const { prefix } of rows) await recordChange(sql, { kind: 'credential', prefix })
  return rows.map(({ prefix }) => prefix)
}
