/**
 * Messages that wait for their delivery. Of one rule and channel the oldest goes first, those about
 * groups and those about the rule by themselves, and until it is delivered or dead no other. Throws
 * `StoreError`.
 */
import type { Postgres } from '../postgres.ts'
import { type ChannelTarget, TARGET_COLUMNS, type TargetRow, toTarget } from './channel-store.ts'
import {
  TRANSITION_COLUMNS,
  type Transition,
  type TransitionRow,
  toTransition,
} from './transition-store.ts'

export interface OutboxMessage {
  readonly messageId: number
  readonly ruleName: string
  readonly channel: string
  readonly key: string
  readonly reason: string
  /** Alerts that it is about. */
  readonly alertCount: number
  readonly attempts: number
  readonly ageMs: number
  readonly lastError: string | undefined
  readonly state: 'waiting' | 'delivered' | 'dead'
}

/** With what was first in it; undefined where that is forgotten. */
export interface ListedMessage extends OutboxMessage {
  readonly transition: Transition | undefined
}

/** With what is needed to send it. */
export interface DueMessage extends OutboxMessage {
  readonly ruleId: number
  /** Undefined: there is no channel of the name. */
  readonly target: ChannelTarget | undefined
  /** Its text, as JSON, but for the number of the try. */
  readonly content: string
  /** Nothing is added to it any more: it may be sent. */
  readonly isFinal: boolean
}

interface MessageRow {
  readonly message_id: string
  readonly message_rule: string
  readonly channel: string
  readonly idempotency_key: string
  readonly message_reason: string
  readonly alert_count: number
  readonly attempts: number
  readonly age_ms: number
  readonly last_error: string | null
  readonly state: OutboxMessage['state']
}

interface ListedRow extends MessageRow, Omit<TransitionRow, 'transition_id'> {
  readonly transition_id: string | null
}

interface DueRow extends MessageRow, Omit<TargetRow, 'url'> {
  readonly of_rule: number
  readonly content: string
  readonly is_final: boolean
  readonly url: string | null
}

const STATE = `CASE WHEN m.delivered_at IS NOT NULL THEN 'delivered'
  WHEN m.dead_at IS NOT NULL THEN 'dead' ELSE 'waiting' END`
const COLUMNS = `m.message_id, m.rule_name AS message_rule, m.channel, m.idempotency_key,
  m.reason AS message_reason, m.alert_count, m.attempts, m.last_error, ${STATE} AS state,
  (extract(epoch FROM now() - m.created_at) * 1000)::float8 AS age_ms`
/** As indices are over it. */
const IS = {
  waiting: 'm.delivered_at IS NULL AND m.dead_at IS NULL',
  delivered: 'm.delivered_at IS NOT NULL',
  dead: 'm.dead_at IS NOT NULL',
} as const satisfies Readonly<Record<OutboxMessage['state'], string>>
/** Something else of the rule may be told to the channel now. */
const LOOK_AGAIN = `UPDATE alert_queues q SET next_at = clock_timestamp() FROM ended e
  WHERE q.rule_id = e.rule_id AND q.channel = e.channel`

export class OutboxStore {
  readonly #postgres: Postgres

  constructor(postgres: Postgres) {
    this.#postgres = postgres
  }

  async readDue(limit: number): Promise<DueMessage[]> {
    const { rows } = await this.#postgres.query<DueRow>(
      `SELECT ${COLUMNS}, m.rule_id AS of_rule, m.content, m.is_final, ${TARGET_COLUMNS}
         FROM alert_outbox m
         LEFT JOIN alert_channels c ON c.owner = m.owner AND c.name = m.channel
        WHERE ${IS.waiting} AND m.next_at <= clock_timestamp() AND NOT EXISTS (
          SELECT 1 FROM alert_outbox o WHERE o.rule_id = m.rule_id AND o.channel = m.channel
             AND o.is_grouped = m.is_grouped
             AND o.delivered_at IS NULL AND o.dead_at IS NULL AND o.message_id < m.message_id)
        ORDER BY m.message_id LIMIT $1`,
      [limit],
    )
    return rows.map((row) => {
      const { url } = row
      const target = url === null ? undefined : toTarget({ ...row, url })
      const { of_rule: ruleId, content, is_final: isFinal } = row
      return { ...toMessage(row), ruleId, target, content, isFinal }
    })
  }

  /** With this text, unless another process was first: what it says from now on. */
  async finish(messageId: number, content: string): Promise<string> {
    const { rows } = await this.#postgres.query<{ readonly content: string }>(
      `UPDATE alert_outbox SET is_final = true,
         content = CASE WHEN is_final THEN content ELSE $2 END
       WHERE message_id = $1 RETURNING content`,
      [messageId, content],
    )
    return rows[0]?.content ?? content
  }

  /**
   * From now on the channel knows what fires, and what is over. `note`: who did not get it, of
   * several.
   */
  async setDelivered(messageId: number, note?: string): Promise<void> {
    await this.#postgres.query(
      `WITH ended AS (
         UPDATE alert_outbox SET attempts = attempts + 1, last_error = $2,
           delivered_at = clock_timestamp()
         WHERE message_id = $1 AND delivered_at IS NULL RETURNING rule_id, channel),
       gone AS (
         DELETE FROM alert_notices n USING ended WHERE n.message_id = $1),
       last AS (${LAST}),
       told AS (
         INSERT INTO alert_told (rule_id, channel, fingerprint, transition_id, fired_ms, told_at,
           is_delivered)
         SELECT rule_id, channel, name, transition_id, fired_ms, clock_timestamp(), true
           FROM last WHERE fired_ms IS NOT NULL
         ON CONFLICT (rule_id, channel, fingerprint) DO UPDATE SET told_at = excluded.told_at,
           fired_ms = excluded.fired_ms, transition_id = excluded.transition_id,
           is_delivered = true),
       over AS (
         DELETE FROM alert_told k USING last l WHERE k.rule_id = l.rule_id
           AND k.channel = l.channel AND k.fingerprint = l.name
           AND l.kind IN ('resolved', 'evaluation_restored'))
       ${LOOK_AGAIN}`,
      [messageId, note ?? null],
    )
  }

  /** What fires is tried again as if it had been told: not at once. */
  async setDead(messageId: number, error: string): Promise<void> {
    await this.#postgres.query(
      `WITH ended AS (
         UPDATE alert_outbox SET attempts = attempts + 1, last_error = $2,
           dead_at = clock_timestamp()
         WHERE message_id = $1 AND dead_at IS NULL AND delivered_at IS NULL
         RETURNING rule_id, channel),
       last AS (${LAST}),
       told AS (
         INSERT INTO alert_told (rule_id, channel, fingerprint, transition_id, fired_ms, told_at,
           is_delivered)
         SELECT rule_id, channel, name, transition_id, fired_ms, clock_timestamp(), false
           FROM last WHERE fired_ms IS NOT NULL
         ON CONFLICT (rule_id, channel, fingerprint) DO UPDATE SET told_at = excluded.told_at)
       ${LOOK_AGAIN}`,
      [messageId, error],
    )
  }

  async retryIn(messageId: number, ms: number, error: string): Promise<void> {
    await this.#postgres.query(
      `UPDATE alert_outbox SET attempts = attempts + 1, last_error = $2,
         next_at = clock_timestamp() + $3 * interval '1 millisecond' WHERE message_id = $1`,
      [messageId, error, ms],
    )
  }

  /** Of an owner, or of all, and of a rule, or of all; the newest first. */
  async list(
    of: { readonly owner: string | undefined; readonly ruleId?: number | undefined },
    state: OutboxMessage['state'],
    page: { readonly before: number; readonly limit: number },
  ): Promise<ListedMessage[]> {
    const { rows } = await this.#postgres.query<ListedRow>(
      `SELECT ${COLUMNS}, ${TRANSITION_COLUMNS} FROM alert_outbox m
         LEFT JOIN alert_transitions t ON t.transition_id = m.transition_id
        WHERE ($1::text IS NULL OR m.owner = $1) AND ($2::integer IS NULL OR m.rule_id = $2)
          AND ${IS[state]} AND m.message_id < $3
        ORDER BY m.message_id DESC LIMIT $4`,
      [of.owner ?? null, of.ruleId ?? null, page.before, page.limit],
    )
    return rows.map((row) => {
      const { transition_id: id } = row
      const transition = id === null ? undefined : toTransition({ ...row, transition_id: id })
      return { ...toMessage(row), transition }
    })
  }

  /** A dead message is sent once more, under the same key. False when there is none. */
  async sendAgain(owner: string | undefined, messageId: number): Promise<boolean> {
    const { rowCount } = await this.#postgres.query(
      `UPDATE alert_outbox SET dead_at = NULL, attempts = 0, next_at = clock_timestamp(),
         created_at = clock_timestamp()
       WHERE message_id = $2 AND dead_at IS NOT NULL AND ($1::text IS NULL OR owner = $1)`,
      [owner ?? null, messageId],
    )
    return rowCount > 0
  }
}

/** Of each group of a message that ended the last that it tells; the rule as a whole is ''. */
const LAST = `SELECT DISTINCT ON (COALESCE(n.fingerprint, '')) n.rule_id, n.channel, n.kind,
    COALESCE(n.fingerprint, '') AS name, n.transition_id, n.fired_ms
  FROM alert_notices n JOIN ended ON true WHERE n.message_id = $1
  ORDER BY COALESCE(n.fingerprint, ''), n.notice_id DESC`

function toMessage(row: MessageRow): OutboxMessage {
  return {
    messageId: Number(row.message_id),
    ruleName: row.message_rule,
    channel: row.channel,
    key: row.idempotency_key,
    reason: row.message_reason,
    alertCount: row.alert_count,
    attempts: row.attempts,
    ageMs: row.age_ms,
    lastError: row.last_error ?? undefined,
    state: row.state,
  }
}
