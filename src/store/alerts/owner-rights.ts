/** What an owner may do now: what his tokens may that are valid. Rules read with these rights. */
import type { Queryable } from '../postgres.ts'

export interface OwnerRights {
  readonly mayReadEvents: boolean
  readonly isAdmin: boolean
}

/** Throws `StoreError`. */
export async function readOwnerRights(sql: Queryable, owner: string): Promise<OwnerRights> {
  const { rows } = await sql.query<{ readonly may_read: boolean; readonly is_admin: boolean }>(
    `SELECT COALESCE(bool_or(scopes && ARRAY['events:read', 'admin']), false) AS may_read,
       COALESCE(bool_or('admin' = ANY (scopes)), false) AS is_admin
     FROM access_tokens WHERE owner = $1 AND revoked_at IS NULL
       AND (expires_at IS NULL OR expires_at > clock_timestamp())`,
    [owner],
  )
  const [row] = rows
  return { mayReadEvents: row?.may_read === true, isAdmin: row?.is_admin === true }
}
