/** Reads what is pending or fires, of many rules at a time. Throws `StoreError`. */
import type { Postgres } from '../postgres.ts'

export interface ActiveAlert {
  readonly ruleId: number
  readonly fingerprint: string
  readonly groupJson: string
  readonly state: 'pending' | 'firing'
  /** Since when it is in this state. */
  readonly activeMs: number
  readonly value: number | undefined
}

interface ActiveRow {
  readonly rule_id: number
  readonly fingerprint: string
  readonly group_json: string
  readonly state: ActiveAlert['state']
  readonly active_ms: string
  readonly value: number | null
}

export class ActiveStore {
  readonly #postgres: Postgres

  constructor(postgres: Postgres) {
    this.#postgres = postgres
  }

  /** By rule, what fires first. */
  async readActive(ruleIds: readonly number[], limit: number): Promise<ActiveAlert[]> {
    const { rows } = await this.#postgres.query<ActiveRow>(
      `SELECT rule_id, fingerprint, group_json, state, value,
         CASE WHEN state = 'firing' THEN coalesce(fired_ms, since_ms) ELSE since_ms END AS active_ms
         FROM alert_states WHERE rule_id = ANY ($1::integer[]) AND state IN ('firing', 'pending')
        ORDER BY rule_id, state, active_ms DESC, fingerprint LIMIT $2`,
      [ruleIds, limit],
    )
    return rows.map((row) => ({
      ...{ ruleId: row.rule_id, fingerprint: row.fingerprint, groupJson: row.group_json },
      ...{ state: row.state, activeMs: Number(row.active_ms), value: row.value ?? undefined },
    }))
  }

  /** When the last window of each was decided; rules without one are not in it. */
  async readDecided(ruleIds: readonly number[]): Promise<ReadonlyMap<number, number>> {
    const { rows } = await this.#postgres.query<{ rule_id: number; decided_ms: number }>(
      `SELECT r.rule_id, floor(extract(epoch FROM w.decided_at) * 1000)::float8 AS decided_ms
         FROM unnest($1::integer[]) AS r (rule_id) CROSS JOIN LATERAL (
           SELECT decided_at FROM alert_windows w WHERE w.rule_id = r.rule_id
            ORDER BY until_ms DESC LIMIT 1) AS w`,
      [ruleIds],
    )
    return new Map(rows.map((row) => [row.rule_id, row.decided_ms]))
  }
}
