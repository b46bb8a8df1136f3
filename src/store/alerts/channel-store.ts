/** Where messages of alerts are sent. Throws `StoreError`; `put` also what `assertMatch` throws. */
import { IngestError } from '../../errors.ts'
import { ALERT_CHANNELS_MAX } from '../../limits.ts'
import type { Postgres } from '../postgres.ts'

export type ChannelKind =
  | 'webhook'
  | 'alertmanager'
  | 'slack'
  | 'mattermost'
  | 'discord'
  | 'teams'
  | 'google_chat'
  | 'pagerduty'
  | 'ntfy'
  | 'template'
  | 'email'
  | 'heartbeat'

/** What some kinds have beside their URL and secret; nothing of it is a secret. */
export interface ChannelOptions {
  readonly username?: string
  /** Of mail: how the connection is kept private. */
  readonly tls?: 'starttls' | 'implicit' | 'none'
  readonly from?: string
  readonly to?: readonly string[]
  /** A body in JSON, with placeholders in its texts. */
  readonly template?: unknown
}

/** What is needed to send to it. */
export interface ChannelTarget {
  readonly kind: ChannelKind
  /** Of mail: the server, as `smtp://HOST:PORT`. */
  readonly url: string
  /** Signs what is sent, or is the password, token or key that the kind needs. */
  readonly secret: string | undefined
  readonly allowsPrivate: boolean
  readonly options: ChannelOptions
}

/** A channel as it is to be; a webhook where the kind is left out. */
export interface ChannelSettings
  extends Pick<ChannelTarget, 'url' | 'allowsPrivate'>,
    Partial<Pick<ChannelTarget, 'kind' | 'secret' | 'options'>> {}

export interface Channel extends ChannelTarget {
  readonly channelId: number
  readonly owner: string
  readonly name: string
  readonly version: number
  readonly updatedAtMs: number
}

/** A row of `TARGET_COLUMNS`. */
export interface TargetRow {
  readonly channel_kind: ChannelKind
  readonly url: string
  readonly secret: string | null
  readonly allows_private: boolean
  readonly options: string
}

interface ChannelRow extends TargetRow {
  readonly channel_id: number
  readonly owner: string
  readonly name: string
  readonly version: number
  readonly updated_at_ms: number
}

/** Of `alert_channels AS c`. Transitions have a kind, too. */
export const TARGET_COLUMNS = 'c.kind AS channel_kind, c.url, c.secret, c.allows_private, c.options'
const COLUMNS = `${TARGET_COLUMNS}, channel_id, owner, name, version,
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
      `SELECT ${COLUMNS} FROM alert_channels AS c WHERE owner = $1 ORDER BY name`,
      [owner],
    )
    return rows.map(toChannel)
  }

  async find(owner: string, name: string): Promise<Channel | undefined> {
    const { rows } = await this.#postgres.query<ChannelRow>(
      `SELECT ${COLUMNS} FROM alert_channels AS c WHERE owner = $1 AND name = $2`,
      [owner, name],
    )
    return rows[0] && toChannel(rows[0])
  }

  /** Makes it, or changes it to be so. Throws `conflict` past ALERT_CHANNELS_MAX. */
  async put(
    owner: string,
    name: string,
    { kind = 'webhook', url, secret, allowsPrivate, options = {} }: ChannelSettings,
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
        `INSERT INTO alert_channels AS c (owner, name, kind, url, secret, allows_private, options)
         VALUES ($1, $2, $3, $4, $5, $6, $7)
         ON CONFLICT (owner, name) DO UPDATE SET kind = $3, url = $4, secret = $5,
           allows_private = $6, options = $7,
           version = c.version + (ROW(c.kind, c.url, c.secret, c.allows_private, c.options)
             IS DISTINCT FROM ROW($3, $4, $5, $6::boolean, $7))::integer, updated_at = now()
         RETURNING ${COLUMNS}, xmax = 0 AS is_new`,
        [owner, name, kind, url, secret ?? null, allowsPrivate, JSON.stringify(options)],
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

export function toTarget(row: TargetRow): ChannelTarget {
  return {
    kind: row.channel_kind,
    url: row.url,
    secret: row.secret ?? undefined,
    allowsPrivate: row.allows_private,
    options: JSON.parse(row.options) as ChannelOptions,
  }
}

function toChannel(row: ChannelRow): Channel {
  return {
    ...toTarget(row),
    channelId: row.channel_id,
    owner: row.owner,
    name: row.name,
    version: row.version,
    updatedAtMs: row.updated_at_ms,
  }
}
