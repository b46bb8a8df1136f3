/** What happened is stored with what is to be sent of it, in one statement. */
import type { Queryable } from '../postgres.ts'
import type { Rule } from './rule.ts'

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

/** `rule` as it is when they happen. Throws `StoreError`. */
export async function insertTransitions(
  client: Queryable,
  rule: Pick<Rule, 'ruleId' | 'name' | 'owner' | 'version' | 'settings'>,
  transitions: readonly NewTransition[],
): Promise<void> {
  if (transitions.length === 0) return
  const { channels, send_resolved: sendsResolved } = rule.settings
  const told = ['firing', 'gap', 'corrected', 'evaluation_failing', 'evaluation_restored']
  if (sendsResolved) told.push('resolved')
  await client.query(
    `WITH happened AS (
       INSERT INTO alert_transitions (rule_id, rule_name, owner, rule_version, fingerprint,
         group_json, kind, reason, from_ms, until_ms, value, event_count)
       SELECT $1, $2, $3, $4, t.fingerprint, t.group_json, t.kind, t.reason, t.from_ms, t.until_ms,
         t.value, t.event_count
       FROM unnest($5::text[], $6::text[], $7::text[], $8::text[], $9::bigint[], $10::bigint[],
           $11::float8[], $12::bigint[]) WITH ORDINALITY
         AS t (fingerprint, group_json, kind, reason, from_ms, until_ms, value, event_count, place)
       ORDER BY t.place
       RETURNING transition_id, fingerprint, kind)
     INSERT INTO alert_outbox (transition_id, rule_id, owner, fingerprint, channel,
       idempotency_key)
     SELECT transition_id, $1, $3, fingerprint, channel,
       'sluice-alert-' || transition_id || '-' || place
     FROM happened CROSS JOIN unnest($13::text[]) WITH ORDINALITY AS c (channel, place)
     WHERE kind = ANY ($14::text[]) ORDER BY transition_id, place`,
    [
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
      told,
    ],
  )
}
