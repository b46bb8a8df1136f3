/** Reads what was decided: windows of a rule, and the states of its groups. */
import type { Postgres } from '../postgres.ts'
import { readStates, type StoredState, type StoredWindow } from './decision-store.ts'

export interface DecidedWindow extends StoredWindow {
  readonly ruleVersion: number
  readonly decidedAtMs: number
  /** Of its events, those that came after it was decided. */
  readonly lateEvents: number
}

interface WindowRow {
  readonly until_ms: string
  readonly from_ms: string
  readonly rule_version: number
  readonly outcome: StoredWindow['outcome']
  readonly event_count: string
  readonly group_count: number
  readonly uncounted: number
  readonly breach_count: number
  readonly value: number | null
  readonly decided_at_ms: number
  readonly late_events: string
}

export class WindowStore {
  readonly #postgres: Postgres

  constructor(postgres: Postgres) {
    this.#postgres = postgres
  }

  /** The newest first. Throws `StoreError`. */
  async list(
    ruleId: number,
    page: { readonly before: number; readonly limit: number },
  ): Promise<DecidedWindow[]> {
    const { rows } = await this.#postgres.query<WindowRow>(
      `SELECT until_ms, from_ms, rule_version, outcome, event_count, group_count, uncounted,
         breach_count, value, late_events,
         floor(extract(epoch FROM decided_at) * 1000)::float8 AS decided_at_ms
       FROM alert_windows WHERE rule_id = $1 AND until_ms < $2 ORDER BY until_ms DESC LIMIT $3`,
      [ruleId, page.before, page.limit],
    )
    return rows.map((row) => ({
      fromMs: Number(row.from_ms),
      untilMs: Number(row.until_ms),
      ruleVersion: row.rule_version,
      outcome: row.outcome,
      events: Number(row.event_count),
      groupCount: row.group_count,
      uncounted: row.uncounted,
      breachCount: row.breach_count,
      value: row.value ?? undefined,
      decidedAtMs: row.decided_at_ms,
      lateEvents: Number(row.late_events),
    }))
  }

  /** The last that changed first. Throws `StoreError`. */
  async readGroups(ruleId: number): Promise<readonly StoredState[]> {
    return (await this.readGroupsOf([ruleId])).get(ruleId) ?? []
  }

  /** The same of several rules at once. */
  async readGroupsOf(
    ruleIds: readonly number[],
  ): Promise<ReadonlyMap<number, readonly StoredState[]>> {
    return await readStates(this.#postgres, ruleIds)
  }
}
