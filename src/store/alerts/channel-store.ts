/** Where messages of alerts are sent. Throws `StoreError`; `put` also what `assertMatch` throws. */
import { IngestError } from '../../errors.ts'
import { ALERT_CHANNELS_MAX } from '../../limits.ts'
import type { Postgres } from '../postgres.ts'

export interface ChannelSettings {
  readonly url: string
  /** Signs what is sent. */
  readonly secret: string | undefined
  readonly allowsPrivate: boolean
}

export interface Channel extends ChannelSettings {
  readonly channelId: number
  readonly owner: string
  readonly name: string
  readonly version: number
  readonly updatedAtMs: number
}

interface ChannelRow {
  readonly channel_id: number
  readonly owner: string
  readonly name: string
  readonly url: string
  readonly secret: string | null
  readonly allows_private: boolean
  readonly version: number
  readonly updated_at_ms: number
}

const COLUMNS = `channel_id, owner, name, url, secret, allows_private, version,
  floor(extract(epoch FROM updated_at) * 1000)::float8 AS updated_at_ms`
/** Any number. */
const CREATE_LOCK = 7_105_115

export class ChannelStore {
  readonly #postgres: Postgres

  constructor(postgres: Postgres) {
    this.#postgres = postgres
  }

  /** All of an owner; ALERT_CHANNELS_MAX at most. */
  async list(owner: string): Promise<Channel[]> {
    const { rows } = await this.#postgres.query<ChannelRow>(
      `SELECT ${COLUMNS} FROM alert_channels WHERE owner = $1 ORDER BY name`,
      [owner],
    )
    return rows.map(toChannel)
  }

  async find(owner: string, name: string): Promise<Channel | undefined> {
    const { rows } = await this.#postgres.query<ChannelRow>(
      `SELECT ${COLUMNS} FROM alert_channels WHERE owner = $1 AND name = $2`,
      [owner, name],
    )
    return rows[0] && toChannel(rows[0])
  }

  /** Makes it, or changes it to be so. Throws `conflict` past ALERT_CHANNELS_MAX. */
  async put(
    owner: string,
    name: string,
    {
      url,
      secret = null,
      allowsPrivate,
    }: { readonly secret?: string | null } & Omit<ChannelSettings, 'secret'>,
  ): Promise<{ readonly channel: Channel; readonly isNew: boolean }> {
    return await this.#postgres.transaction(async (client) => {
      await client.query('SELECT pg_advisory_xact_lock($1)', [CREATE_LOCK])
      const { rows: counts } = await client.query<{ readonly others: number }>(
        `SELECT count(*)::integer AS others FROM alert_channels WHERE owner = $1 AND name <> $2`,
        [owner, name],
      )
      if (counts[0]!.others >= ALERT_CHANNELS_MAX) {
        const limit = `ALERT_CHANNELS_MAX (${ALERT_CHANNELS_MAX})`
        throw new IngestError('conflict', `the owner already has ${limit} channels`)
      }
      const { rows } = await client.query<ChannelRow & { readonly is_new: boolean }>(
        `INSERT INTO alert_channels AS c (owner, name, url, secret, allows_private)
         VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (owner, name) DO UPDATE SET url = $3, secret = $4, allows_private = $5,
           version = c.version + (ROW(c.url, c.secret, c.allows_private)
             IS DISTINCT FROM ROW($3, $4, $5::boolean))::integer, updated_at = now()
         RETURNING ${COLUMNS}, xmax = 0 AS is_new`,
        [owner, name, url, secret, allowsPrivate],
      )
      const row = rows[0]!
      return { channel: toChannel(row), isNew: row.is_new }
    })
  }

  /** False when there is none. */
  async delete(owner: string, name: string): Promise<boolean> {
    const { rowCount } = await this.#postgres.query(
      'DELETE FROM alert_channels WHERE owner = $1 AND name = $2',
      [owner, name],
    )
    return rowCount > 0
  }
}

function toChannel(row: ChannelRow): Channel {
  return {
    channelId: row.channel_id,
    owner: row.owner,
    name: row.name,
    url: row.url,
    secret: row.secret ?? undefined,
    allowsPrivate: row.allows_private,
    version: row.version,
    updatedAtMs: row.updated_at_ms,
  }
}
