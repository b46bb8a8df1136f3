/** What happened is stored with what is to be told of it, in one statement. */
import { ALERT_GROUP_WAIT_MS } from '../../limits.ts'
import type { Queryable } from '../postgres.ts'
import type { Rule, RuleSettings } from './rule.ts'

/** Of a group: what its state became. Of a rule: without a group. */
export type StoredKind =
  | 'pending'
  | 'firing'
  | 'resolved'
  | 'inactive'
  | 'gap'
  | 'corrected'
  | 'evaluation_failing'
  | 'evaluation_restored'

export interface NewTransition {
  readonly kind: StoredKind
  readonly group?: { readonly fingerprint: string; readonly json: string } | undefined
  readonly reason?: string | undefined
  readonly fromMs: number
  readonly untilMs: number
  readonly value?: number | undefined
  readonly events?: number | undefined
}

const TOLD: readonly StoredKind[] = [
  ...(['firing', 'gap', 'corrected', 'evaluation_failing', 'evaluation_restored'] as const),
]

/** Kinds of which the channels of a rule are told. */
export function toldKinds({ send_resolved: sendsResolved }: RuleSettings): readonly StoredKind[] {
  return sendsResolved ? [...TOLD, 'resolved'] : TOLD
}

/**
 * `rule` as it is when they happen. Each channel gets a notice of what is told; what is about
 * groups may wait for others, the rest goes at once. Throws `StoreError`.
 */
export async function insertTransitions(
  client: Queryable,
  rule: Pick<Rule, 'ruleId' | 'name' | 'owner' | 'version' | 'settings'>,
  transitions: readonly NewTransition[],
): Promise<void> {
  if (transitions.length === 0) return
  const { channels } = rule.settings
  await client.query(INSERT, [
    ...[rule.ruleId, rule.name, rule.owner, rule.version],
    transitions.map(({ group }) => group?.fingerprint ?? null),
    transitions.map(({ group }) => group?.json ?? null),
    transitions.map(({ kind }) => kind),
    transitions.map(({ reason }) => reason ?? null),
    transitions.map(({ fromMs }) => fromMs),
    transitions.map(({ untilMs }) => untilMs),
    transitions.map(({ value }) => value ?? null),
    transitions.map(({ events }) => events ?? null),
    channels,
    toldKinds(rule.settings),
    JSON.stringify(rule.settings),
    ALERT_GROUP_WAIT_MS,
  ])
}

/** One statement: all of it or nothing, and one round trip. */
const INSERT = `
  WITH happened AS (
    INSERT INTO alert_transitions (rule_id, rule_name, owner, rule_version, fingerprint,
      group_json, kind, reason, from_ms, until_ms, value, event_count)
    SELECT $1, $2, $3, $4, t.fingerprint, t.group_json, t.kind, t.reason, t.from_ms, t.until_ms,
      t.value, t.event_count
    FROM unnest($5::text[], $6::text[], $7::text[], $8::text[], $9::bigint[], $10::bigint[],
        $11::float8[], $12::bigint[]) WITH ORDINALITY
      AS t (fingerprint, group_json, kind, reason, from_ms, until_ms, value, event_count, place)
    ORDER BY t.place
    RETURNING transition_id, fingerprint, kind, until_ms),
  known AS (
    DELETE FROM alert_acknowledgements a USING happened h
     WHERE a.rule_id = $1 AND a.fingerprint = h.fingerprint AND h.kind = 'resolved'),
  told AS (
    SELECT h.*, c.channel, c.place
      FROM happened h CROSS JOIN unnest($13::text[]) WITH ORDINALITY AS c (channel, place)
     WHERE h.kind = ANY ($14::text[])),
  noticed AS (
    INSERT INTO alert_notices (rule_id, channel, transition_id, fingerprint, kind, fired_ms)
    SELECT $1, channel, transition_id, fingerprint, kind,
      CASE WHEN kind IN ('firing', 'evaluation_failing') THEN until_ms END
    FROM told ORDER BY transition_id, place),
  version AS (
    INSERT INTO alert_rule_versions (rule_id, version, settings)
    SELECT $1, $4, $15 WHERE EXISTS (SELECT 1 FROM told) ON CONFLICT DO NOTHING)
  INSERT INTO alert_queues AS q (rule_id, channel, owner, rule_name, next_at)
  SELECT $1, channel, $3, $2, clock_timestamp() + CASE WHEN bool_or(fingerprint IS NULL) THEN 0
    ELSE $16::float8 END * interval '1 millisecond'
  FROM told GROUP BY channel ORDER BY channel
  ON CONFLICT (rule_id, channel) DO UPDATE SET rule_name = excluded.rule_name,
    next_at = LEAST(q.next_at, excluded.next_at)`
