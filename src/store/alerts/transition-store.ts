/** Reads what happened to rules and their groups, and notes what is an event by now. */
import type { Postgres } from '../postgres.ts'
import type { Rule } from './rule.ts'
import { type StoredKind, toldKinds } from './transitions-sql.ts'

export interface Transition {
  readonly transitionId: number
  readonly ruleId: number
  readonly ruleName: string
  readonly owner: string
  readonly ruleVersion: number
  readonly fingerprint: string | undefined
  readonly groupJson: string | undefined
  readonly kind: StoredKind
  readonly reason: string | undefined
  readonly fromMs: number
  readonly untilMs: number
  readonly value: number | undefined
  readonly events: number | undefined
  readonly decidedAtMs: number
}

export interface TransitionRow {
  readonly transition_id: string
  readonly rule_id: number
  readonly rule_name: string
  readonly owner: string
  readonly rule_version: number
  readonly fingerprint: string | null
  readonly group_json: string | null
  readonly kind: StoredKind
  readonly reason: string | null
  readonly from_ms: string
  readonly until_ms: string
  readonly value: number | null
  readonly event_count: string | null
  readonly decided_at_ms: number
}

/** Of `alert_transitions t`. */
export const TRANSITION_COLUMNS = `t.transition_id, t.rule_id, t.rule_name, t.owner,
  t.rule_version, t.fingerprint, t.group_json, t.kind, t.reason, t.from_ms, t.until_ms, t.value,
  t.event_count, floor(extract(epoch FROM t.decided_at) * 1000)::float8 AS decided_at_ms`

export class TransitionStore {
  readonly #postgres: Postgres

  constructor(postgres: Postgres) {
    this.#postgres = postgres
  }

  /** Of a rule, the newest first. Throws `StoreError`. */
  async list(
    ruleId: number,
    page: { readonly before: number; readonly limit: number },
  ): Promise<Transition[]> {
    const { rows } = await this.#postgres.query<TransitionRow>(
      `SELECT ${TRANSITION_COLUMNS} FROM alert_transitions t
        WHERE rule_id = $1 AND transition_id < $2 ORDER BY transition_id DESC LIMIT $3`,
      [ruleId, page.before, page.limit],
    )
    return rows.map(toTransition)
  }

  /** The last of a rule that its channels, if any, are told of. Throws `StoreError`. */
  async findLastTold({
    ruleId,
    settings,
  }: Pick<Rule, 'ruleId' | 'settings'>): Promise<Transition | undefined> {
    const { rows } = await this.#postgres.query<TransitionRow>(
      `SELECT ${TRANSITION_COLUMNS} FROM alert_transitions t
        WHERE rule_id = $1 AND kind = ANY ($2::text[]) ORDER BY transition_id DESC LIMIT 1`,
      [ruleId, toldKinds(settings)],
    )
    return rows[0] && toTransition(rows[0])
  }

  /**
   * All of the oldest decision that is not published, of one rule and one transaction; not of these
   * owners. Throws `StoreError`.
   */
  async readUnpublished(except: readonly string[]): Promise<Transition[]> {
    const { rows } = await this.#postgres.query<TransitionRow>(
      `SELECT ${TRANSITION_COLUMNS} FROM alert_transitions t
        WHERE NOT is_published AND (rule_id, decided_at) = (
          SELECT rule_id, decided_at FROM alert_transitions
           WHERE NOT is_published AND owner <> ALL ($1::text[])
           ORDER BY transition_id LIMIT 1)
        ORDER BY transition_id`,
      [except],
    )
    return rows.map(toTransition)
  }

  async setPublished(transitionIds: readonly number[]): Promise<void> {
    await this.#postgres.query(
      'UPDATE alert_transitions SET is_published = true WHERE transition_id = ANY ($1::bigint[])',
      [transitionIds],
    )
  }
}

export function toTransition(row: TransitionRow): Transition {
  return {
    transitionId: Number(row.transition_id),
    ruleId: row.rule_id,
    ruleName: row.rule_name,
    owner: row.owner,
    ruleVersion: row.rule_version,
    fingerprint: row.fingerprint ?? undefined,
    groupJson: row.group_json ?? undefined,
    kind: row.kind,
    reason: row.reason ?? undefined,
    fromMs: Number(row.from_ms),
    untilMs: Number(row.until_ms),
    value: row.value ?? undefined,
    events: row.event_count === null ? undefined : Number(row.event_count),
    decidedAtMs: row.decided_at_ms,
  }
}
