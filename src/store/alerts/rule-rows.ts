import type { StreamId } from '../../model/stream.ts'
import type { Rule, RuleSettings, ToldRule } from './rule.ts'

const msOf = (column: string) => `floor(extract(epoch FROM ${column}) * 1000)::float8`

export const RULE_COLUMNS = `rule_id, owner, name, as_admin, stream_ids, settings, version,
  every_ms, delay_ms, cursor_ms, failures, problem, is_told, ${msOf('created_at')} AS created_at_ms,
  ${msOf('updated_at')} AS updated_at_ms`

const groupsOf = (state: string) => `(SELECT count(*)::integer FROM alert_states AS s
   WHERE s.rule_id = alert_rules.rule_id AND s.state = '${state}')`

/** Of what people are told: with the states of its groups. */
export const TOLD_COLUMNS = `${RULE_COLUMNS}, ${groupsOf('firing')} AS groups_firing,
  ${groupsOf('pending')} AS groups_pending`

export interface ToldRow extends RuleRow {
  readonly groups_firing: number
  readonly groups_pending: number
}

export function toToldRule(row: ToldRow): ToldRule {
  const { groups_firing: groupsFiring, groups_pending: groupsPending } = row
  return { ...toRule(row), groupsFiring, groupsPending }
}

export interface RuleRow {
  readonly rule_id: number
  readonly owner: string
  readonly name: string
  readonly as_admin: boolean
  readonly stream_ids: readonly number[] | null
  readonly settings: string
  readonly version: number
  readonly every_ms: string
  readonly delay_ms: string
  readonly cursor_ms: string
  readonly failures: number
  readonly problem: string | null
  readonly is_told: boolean
  readonly created_at_ms: number
  readonly updated_at_ms: number
}

export function toRule(row: RuleRow): Rule {
  return {
    ruleId: row.rule_id,
    owner: row.owner,
    name: row.name,
    asAdmin: row.as_admin,
    streamIds: (row.stream_ids ?? undefined) as readonly StreamId[] | undefined,
    settings: JSON.parse(row.settings) as RuleSettings,
    version: row.version,
    everyMs: Number(row.every_ms),
    delayMs: Number(row.delay_ms),
    cursorMs: Number(row.cursor_ms),
    failures: row.failures,
    problem: row.problem ?? undefined,
    isTold: row.is_told,
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
  }
}
