/**
 * What is known of a rule and a channel when it is decided what to tell now: what waits, what
 * fires, what the channel knows, and what is silenced. Read in one transaction, under the queue's
 * lock.
 */
import { ALERT_MESSAGE_GROUPS_MAX } from '../../limits.ts'
import type { Queryable } from '../postgres.ts'
import { STORE_NOW_MS } from '../raw/clock-guard.ts'
import type { Rule, RuleSettings } from './rule.ts'
import { RULE_COLUMNS, type RuleRow, toRule } from './rule-rows.ts'
import { type Holding, readHolding } from './silence-store.ts'
import type { StoredKind } from './transitions-sql.ts'

/** What happened to a group, or to the rule, that is not told yet. */
export interface Notice {
  readonly noticeId: number
  readonly transitionId: number
  /** Undefined: it is about the rule as a whole. */
  readonly fingerprint: string | undefined
  readonly kind: StoredKind
  readonly groupJson: string
  readonly reason: string | undefined
  readonly fromMs: number
  readonly untilMs: number
  readonly value: number | undefined
  readonly events: number | undefined
  readonly decidedAtMs: number
  readonly ruleVersion: number
}

/** A group of which something waits: the newest of it. */
export interface WaitingGroup extends Notice {
  readonly fingerprint: string
  /** Since when something of it waits. */
  readonly sinceMs: number
  /** A silence held some of it back. */
  readonly wasHeld: boolean
  /** Of what waits: the end of the window with which it began to fire. */
  readonly firedMs: number | undefined
}

/** What a channel knows to fire. */
export interface Told {
  readonly transitionId: number
  readonly firedMs: number
  /** When it was delivered, or given up. */
  readonly atMs: number
  readonly isDelivered: boolean
}

/** A group that fires now. */
export interface FiringGroup {
  readonly fingerprint: string
  readonly groupJson: string
  readonly firedMs: number
  readonly value: number | undefined
}

export interface QueueFacts {
  readonly nowMs: number
  readonly ruleId: number
  readonly ruleName: string
  readonly channel: string
  /** Undefined: there is no channel of the name. */
  readonly channelKind: string | undefined
  /** Undefined: it was deleted. */
  readonly rule: Rule | undefined
  /** When the last message about groups was made. */
  readonly groupedAtMs: number | undefined
  /** Messages about groups, and about the rule, that are not delivered yet. */
  readonly isBusy: { readonly groups: boolean; readonly rule: boolean }
  /** About the rule as a whole, the oldest first. */
  readonly ofRule: readonly Notice[]
  /** The oldest first; ALERT_MESSAGE_GROUPS_MAX at most. */
  readonly ofGroups: readonly WaitingGroup[]
  readonly firing: readonly FiringGroup[]
  /** By fingerprint; of the rule as a whole by the empty text. */
  readonly told: ReadonlyMap<string, Told>
  readonly holding: Holding
  /** Of the rule as it was when something happened, by its version. */
  readonly versions: ReadonlyMap<number, RuleSettings>
}

export interface QueueKey {
  readonly ruleId: number
  readonly channel: string
}

interface NoticeRow {
  readonly notice_id: string
  readonly transition_id: string
  readonly fingerprint: string | null
  readonly kind: StoredKind
  readonly group_json: string | null
  readonly reason: string | null
  readonly from_ms: string | null
  readonly until_ms: string | null
  readonly value: number | null
  readonly event_count: string | null
  readonly decided_at_ms: number | null
  readonly rule_version: number | null
}

interface GroupRow extends NoticeRow {
  readonly since_ms: number
  readonly was_held: boolean
  readonly fired_ms: string | null
}

/** Of those about a rule as a whole that are read at a time. */
const RULE_NOTICES_MAX = 1_000
/** Of a rule, among what waits; older ones are told as the rule is now. */
const VERSIONS_MAX = 100
const msOf = (column: string) => `floor(extract(epoch FROM ${column}) * 1000)::float8`
const NOTICE = `n.notice_id, n.transition_id, n.fingerprint, n.kind, t.group_json, t.reason,
  t.from_ms, t.until_ms, t.value, t.event_count, t.rule_version,
  ${msOf('t.decided_at')} AS decided_at_ms`
const OF_NOTICE = 'LEFT JOIN alert_transitions t ON t.transition_id = n.transition_id'
const WAITS = 'n.rule_id = $1 AND n.channel = $2 AND n.message_id IS NULL'

/** Precondition: the caller has locked the queue's row. */
export async function readQueueFacts(sql: Queryable, key: QueueKey): Promise<QueueFacts> {
  const values = [key.ruleId, key.channel]
  const { rows: queues } = await sql.query<
    RuleRow & {
      readonly now_ms: number
      readonly queue_owner: string
      readonly rule_name: string
      readonly grouped_at_ms: number | null
      readonly channel_kind: string | null
      readonly is_groups_busy: boolean
      readonly is_rule_busy: boolean
    }
  >(
    `SELECT r.*, ${STORE_NOW_MS} AS now_ms, q.owner AS queue_owner, q.rule_name,
       ${msOf('q.grouped_at')} AS grouped_at_ms,
       c.kind AS channel_kind,
       ${isBusy(true)} AS is_groups_busy, ${isBusy(false)} AS is_rule_busy
     FROM alert_queues q
     LEFT JOIN (SELECT ${RULE_COLUMNS} FROM alert_rules WHERE rule_id = $1) r USING (rule_id)
     LEFT JOIN alert_channels c ON c.owner = q.owner AND c.name = q.channel
     WHERE q.rule_id = $1 AND q.channel = $2`,
    values,
  )
  const queue = queues[0]!
  const rule = queue.version === null ? undefined : toRule(queue)
  const { rows } = await sql.query<NoticeRow>(
    `SELECT ${NOTICE} FROM alert_notices n ${OF_NOTICE}
      WHERE ${WAITS} AND n.fingerprint IS NULL ORDER BY n.notice_id LIMIT ${RULE_NOTICES_MAX}`,
    values,
  )
  const ofRule = rows.map(toNotice)
  const ofGroups = await readWaitingGroups(sql, values)
  return {
    ...key,
    nowMs: queue.now_ms,
    ruleName: rule?.name ?? queue.rule_name,
    channelKind: queue.channel_kind ?? undefined,
    rule,
    groupedAtMs: queue.grouped_at_ms ?? undefined,
    isBusy: { groups: queue.is_groups_busy, rule: queue.is_rule_busy },
    ...{ ofRule, ofGroups },
    ...(await readFiring(sql, values)),
    holding: await readHolding(sql, queue.queue_owner, key.ruleId),
    versions: await readVersions(sql, key.ruleId, [...ofRule, ...ofGroups]),
  }
}

async function readVersions(
  sql: Queryable,
  ruleId: number,
  notices: readonly Notice[],
): Promise<ReadonlyMap<number, RuleSettings>> {
  const versions = [...new Set(notices.map(({ ruleVersion }) => ruleVersion))]
  if (versions.length === 0) return new Map()
  const { rows } = await sql.query<{ readonly version: number; readonly settings: string }>(
    `SELECT version, settings FROM alert_rule_versions
      WHERE rule_id = $1 AND version = ANY ($2::integer[])
      ORDER BY version DESC LIMIT ${VERSIONS_MAX}`,
    [ruleId, versions],
  )
  return new Map(rows.map((row) => [row.version, JSON.parse(row.settings) as RuleSettings]))
}

function isBusy(isGrouped: boolean): string {
  return `EXISTS (SELECT 1 FROM alert_outbox m WHERE m.rule_id = q.rule_id
    AND m.channel = q.channel AND m.is_grouped = ${isGrouped}
    AND m.delivered_at IS NULL AND m.dead_at IS NULL)`
}

async function readWaitingGroups(
  sql: Queryable,
  values: readonly unknown[],
): Promise<WaitingGroup[]> {
  const { rows } = await sql.query<GroupRow>(
    `WITH waiting AS (
       SELECT n.fingerprint, max(n.notice_id) AS notice_id, min(n.created_at) AS since,
         bool_or(n.was_held) AS was_held, min(n.fired_ms) AS fired_ms
       FROM alert_notices n WHERE ${WAITS} AND n.fingerprint IS NOT NULL
       GROUP BY n.fingerprint ORDER BY max(n.notice_id) LIMIT ${ALERT_MESSAGE_GROUPS_MAX})
     SELECT ${NOTICE}, w.was_held, w.fired_ms, ${msOf('w.since')} AS since_ms
       FROM waiting w JOIN alert_notices n USING (notice_id) ${OF_NOTICE} ORDER BY n.notice_id`,
    values,
  )
  return rows.map((row) => ({
    ...toNotice(row),
    fingerprint: row.fingerprint!,
    sinceMs: row.since_ms,
    wasHeld: row.was_held,
    firedMs: row.fired_ms === null ? undefined : Number(row.fired_ms),
  }))
}

async function readFiring(
  sql: Queryable,
  values: readonly unknown[],
): Promise<Pick<QueueFacts, 'firing' | 'told'>> {
  // What nothing is to be told of any more: it neither fires nor waits to be told that it is over.
  await sql.query(
    `DELETE FROM alert_told k WHERE k.rule_id = $1 AND k.channel = $2
       AND NOT CASE k.fingerprint
         WHEN '' THEN EXISTS (SELECT 1 FROM alert_rules r WHERE r.rule_id = $1 AND r.is_told)
         ELSE EXISTS (SELECT 1 FROM alert_states s WHERE s.rule_id = $1
           AND s.fingerprint = k.fingerprint AND s.state = 'firing') END
       AND NOT EXISTS (SELECT 1 FROM alert_notices n WHERE n.rule_id = $1
         AND n.channel = $2 AND COALESCE(n.fingerprint, '') = k.fingerprint)`,
    values,
  )
  const { rows: firing } = await sql.query<{
    readonly fingerprint: string
    readonly group_json: string
    readonly fired_ms: string | null
    readonly value: number | null
  }>(
    `SELECT fingerprint, group_json, fired_ms, value FROM alert_states
      WHERE rule_id = $1 AND state = 'firing' ORDER BY since_ms, fingerprint`,
    values.slice(0, 1),
  )
  const { rows: told } = await sql.query<{
    readonly fingerprint: string
    readonly transition_id: string
    readonly fired_ms: string
    readonly told_at_ms: number
    readonly is_delivered: boolean
  }>(
    `SELECT fingerprint, transition_id, fired_ms, ${msOf('told_at')} AS told_at_ms, is_delivered
       FROM alert_told WHERE rule_id = $1 AND channel = $2`,
    values,
  )
  return {
    firing: firing.map((row) => ({
      fingerprint: row.fingerprint,
      groupJson: row.group_json,
      firedMs: Number(row.fired_ms ?? 0),
      value: row.value ?? undefined,
    })),
    told: new Map(
      told.map((row) => [
        row.fingerprint,
        {
          transitionId: Number(row.transition_id),
          firedMs: Number(row.fired_ms),
          atMs: row.told_at_ms,
          isDelivered: row.is_delivered,
        },
      ]),
    ),
  }
}

function toNotice(row: NoticeRow): Notice {
  return {
    noticeId: Number(row.notice_id),
    transitionId: Number(row.transition_id),
    fingerprint: row.fingerprint ?? undefined,
    kind: row.kind,
    groupJson: row.group_json ?? '[]',
    reason: row.reason ?? undefined,
    fromMs: Number(row.from_ms ?? 0),
    untilMs: Number(row.until_ms ?? 0),
    value: row.value ?? undefined,
    events: row.event_count === null ? undefined : Number(row.event_count),
    decidedAtMs: row.decided_at_ms ?? 0,
    ruleVersion: row.rule_version ?? 0,
  }
}
