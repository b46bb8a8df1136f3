/** What is watched of alerts: how many rules and messages are in which state, and heartbeats. */
import type { Postgres } from '../postgres.ts'
import { STORE_NOW_MS } from '../raw/clock-guard.ts'
import { type ChannelTarget, TARGET_COLUMNS, type TargetRow, toTarget } from './channel-store.ts'

export interface AlertCounts {
  readonly waiting: number
  readonly dead: number
  /** The age of the oldest message that waits. */
  readonly oldestS: number
  /** Rules: those that are paused are not counted among the others. */
  readonly evaluating: number
  readonly failing: number
  readonly paused: number
}

/** A heartbeat to send, unless a rule of its owner is late. */
export interface DueHeartbeat {
  readonly target: ChannelTarget
  readonly isLate: boolean
}

export class AlertCountsStore {
  readonly #postgres: Postgres

  constructor(postgres: Postgres) {
    this.#postgres = postgres
  }

  /** Throws `StoreError`. */
  async read(): Promise<AlertCounts> {
    const { rows } = await this.#postgres.query<Record<'oldest_s' | keyof AlertCounts, number>>(
      `SELECT * FROM
        (SELECT count(*)::float8 AS waiting,
           coalesce(extract(epoch FROM clock_timestamp() - min(created_at)), 0)::float8 AS oldest_s
         FROM alert_outbox WHERE delivered_at IS NULL AND dead_at IS NULL) AS of_waiting,
        (SELECT count(*)::float8 AS dead FROM alert_outbox WHERE dead_at IS NOT NULL) AS of_dead,
        (SELECT count(*) FILTER (WHERE paused)::float8 AS paused,
           count(*) FILTER (WHERE NOT paused AND failures > 0)::float8 AS failing,
           count(*) FILTER (WHERE NOT paused AND failures = 0)::float8 AS evaluating
         FROM alert_rules) AS of_rules`,
    )
    const { oldest_s: oldestS, ...counts } = rows[0]!
    return { ...counts, oldestS: Math.max(0, oldestS) }
  }

  /** Of all owners; late is a rule whose next window is over for `lateMs`. Throws `StoreError`. */
  async readHeartbeats(lateMs: number): Promise<DueHeartbeat[]> {
    const { rows } = await this.#postgres.query<TargetRow & { readonly is_late: boolean }>(
      `SELECT ${TARGET_COLUMNS}, EXISTS (
          SELECT 1 FROM alert_rules r WHERE r.owner = c.owner AND NOT r.paused
             AND r.cursor_ms + r.every_ms + r.delay_ms + $1 < ${STORE_NOW_MS}) AS is_late
         FROM alert_channels AS c WHERE c.kind = 'heartbeat' ORDER BY c.channel_id`,
      [lateMs],
    )
    return rows.map((row) => ({ target: toTarget(row), isLate: row.is_late }))
  }
}
