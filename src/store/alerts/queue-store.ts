/**
 * Makes messages of what is to be told. A message is made in one transaction, with all that it will
 * ever say but the sample events: so whoever sends it, and however often, sends the same. Of any
 * number of processes one at a time looks at a queue. Throws `StoreError`.
 */
import { randomUUID } from 'node:crypto'
import type { Postgres, Queryable } from '../postgres.ts'
import { type QueueFacts, type QueueKey, readQueueFacts } from './queue-facts.ts'

/** A message to make. */
export interface NewMessage {
  readonly isGrouped: boolean
  readonly reason: string
  /** Alerts that it is about, in full or counted. */
  readonly alertCount: number
  /** Of its first alert; 0: none. */
  readonly transitionId: number
  /** All that waits of these groups, up to this one, is told by it. */
  readonly lastNoticeId: number
  readonly fingerprints: readonly string[]
  /** What is told though nothing happened. */
  readonly more: readonly MoreNotice[]
  /** No sample events go along. */
  readonly isFinal: boolean
  /** Its text but for the number of the try, under this key. */
  readonly write: (key: string) => Promise<string>
}

export interface MoreNotice {
  /** Undefined: of the rule as a whole. */
  readonly fingerprint: string | undefined
  readonly kind: 'firing' | 'repeat'
  readonly transitionId: number
  readonly firedMs: number
}

/** What is to be done with a queue now. */
export interface QueuePlan {
  readonly messages: readonly NewMessage[]
  /** Of these groups nothing that waits will be told, or not yet. */
  readonly dropped: readonly string[]
  readonly held: readonly string[]
  /** Whether a silence that ends may let something go. */
  readonly isHeld: boolean
  /** When it is looked at again, beside what happens meanwhile. */
  readonly nextAtMs: number | undefined
}

export class QueueStore {
  readonly #postgres: Postgres

  constructor(postgres: Postgres) {
    this.#postgres = postgres
  }

  /** Those that it is time to look at, the longest due first. */
  async readDue(limit: number): Promise<QueueKey[]> {
    const { rows } = await this.#postgres.query<{ rule_id: number; channel: string }>(
      `SELECT rule_id, channel FROM alert_queues WHERE next_at <= clock_timestamp()
        ORDER BY next_at LIMIT $1`,
      [limit],
    )
    return rows.map(({ rule_id: ruleId, channel }) => ({ ruleId, channel }))
  }

  async postpone({ ruleId, channel }: QueueKey, ms: number): Promise<void> {
    await this.#postgres.query(
      `UPDATE alert_queues SET next_at = clock_timestamp() + $3 * interval '1 millisecond'
        WHERE rule_id = $1 AND channel = $2`,
      [ruleId, channel, ms],
    )
  }

  /** Does what `plan` says; how many messages it made. Nothing where another one is at it. */
  async look(
    key: QueueKey,
    plan: (facts: QueueFacts) => Promise<QueuePlan> | QueuePlan,
  ): Promise<number> {
    return await this.#postgres.transaction(async (sql) => {
      const { rows } = await sql.query<{ owner: string }>(
        `SELECT owner FROM alert_queues WHERE rule_id = $1 AND channel = $2
            AND next_at <= clock_timestamp() FOR UPDATE SKIP LOCKED`,
        [key.ruleId, key.channel],
      )
      const owner = rows[0]?.owner
      if (owner === undefined) return 0
      const facts = await readQueueFacts(sql, key)
      const made = await plan(facts)
      for (const message of made.messages) await insert(sql, owner, facts, message)
      await leave(sql, key, made)
      return made.messages.length
    })
  }
}

async function insert(
  sql: Queryable,
  owner: string,
  { ruleId, ruleName, channel }: QueueFacts,
  message: NewMessage,
): Promise<void> {
  const key = `sluice-alert-${randomUUID()}`
  const content = await message.write(key)
  const { rows } = await sql.query<{ readonly message_id: string }>(
    `INSERT INTO alert_outbox (transition_id, rule_id, rule_name, owner, channel, idempotency_key,
       is_grouped, reason, alert_count, content, is_final)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING message_id`,
    [
      ...[message.transitionId, ruleId, ruleName, owner, channel, key],
      ...[message.isGrouped, message.reason, message.alertCount, content, message.isFinal],
    ],
  )
  const messageId = rows[0]!.message_id
  await sql.query(
    `UPDATE alert_notices SET message_id = $3 WHERE rule_id = $1 AND channel = $2
        AND message_id IS NULL AND notice_id <= $4
        AND CASE WHEN $5::boolean THEN fingerprint = ANY ($6::text[]) ELSE fingerprint IS NULL END`,
    [ruleId, channel, messageId, message.lastNoticeId, message.isGrouped, message.fingerprints],
  )
  const { more } = message
  if (more.length === 0) return
  await sql.query(
    `INSERT INTO alert_notices (rule_id, channel, message_id, fingerprint, kind, transition_id,
       fired_ms)
     SELECT $1, $2, $3, * FROM unnest($4::text[], $5::text[], $6::bigint[], $7::bigint[])`,
    [
      ...[ruleId, channel, messageId, more.map(({ fingerprint }) => fingerprint ?? null)],
      ...[more.map(({ kind }) => kind), more.map(({ transitionId }) => transitionId)],
      more.map(({ firedMs }) => firedMs),
    ],
  )
}

async function leave(sql: Queryable, { ruleId, channel }: QueueKey, plan: QueuePlan) {
  const { dropped, held, isHeld, nextAtMs } = plan
  const waiting = `rule_id = $1 AND channel = $2 AND message_id IS NULL
    AND fingerprint = ANY ($3::text[])`
  if (dropped.length > 0) {
    await sql.query(`DELETE FROM alert_notices WHERE ${waiting}`, [ruleId, channel, dropped])
  }
  if (held.length > 0) {
    await sql.query(`UPDATE alert_notices SET was_held = true WHERE ${waiting} AND NOT was_held`, [
      ...[ruleId, channel, held],
    ])
  }
  const isGrouped = plan.messages.some((message) => message.isGrouped)
  await sql.query(
    `UPDATE alert_queues SET is_held = $3, next_at = to_timestamp($4::float8 / 1000),
       grouped_at = CASE WHEN $5::boolean THEN clock_timestamp() ELSE grouped_at END
     WHERE rule_id = $1 AND channel = $2`,
    [ruleId, channel, isHeld, nextAtMs ?? null, isGrouped],
  )
}
