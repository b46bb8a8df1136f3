/**
 * Messages that wait for their delivery. Of one rule, group and channel the oldest goes first, and
 * until it is delivered or dead no other. Throws `StoreError`.
 */
import type { Postgres } from '../postgres.ts'
import { type ChannelTarget, TARGET_COLUMNS, type TargetRow, toTarget } from './channel-store.ts'
import type { RuleSettings } from './rule.ts'
import {
  TRANSITION_COLUMNS,
  type Transition,
  type TransitionRow,
  toTransition,
} from './transition-store.ts'

export interface OutboxMessage {
  readonly messageId: number
  readonly channel: string
  readonly key: string
  readonly attempts: number
  readonly ageMs: number
  readonly lastError: string | undefined
  readonly state: 'waiting' | 'delivered' | 'dead'
  readonly transition: Transition
}

/** With what is needed to send it. */
export interface DueMessage extends OutboxMessage {
  /** Undefined: there is no channel of the name. */
  readonly target: ChannelTarget | undefined
  /** Undefined: the rule was deleted. */
  readonly settings: RuleSettings | undefined
}

interface MessageRow extends TransitionRow {
  readonly message_id: string
  readonly channel: string
  readonly idempotency_key: string
  readonly attempts: number
  readonly age_ms: number
  readonly last_error: string | null
  readonly state: OutboxMessage['state']
}

interface DueRow extends MessageRow, Omit<TargetRow, 'url'> {
  readonly url: string | null
  readonly settings: string | null
}

const STATE = `CASE WHEN m.delivered_at IS NOT NULL THEN 'delivered'
  WHEN m.dead_at IS NOT NULL THEN 'dead' ELSE 'waiting' END`
const COLUMNS = `m.message_id, m.channel, m.idempotency_key, m.attempts, m.last_error,
  ${STATE} AS state, (extract(epoch FROM now() - m.created_at) * 1000)::float8 AS age_ms,
  ${TRANSITION_COLUMNS.replaceAll(/\b(transition_id|rule_id|owner|fingerprint|kind)\b/g, 't.$1')}`
const IS_WAITING = 'm.delivered_at IS NULL AND m.dead_at IS NULL'

export class OutboxStore {
  readonly #postgres: Postgres

  constructor(postgres: Postgres) {
    this.#postgres = postgres
  }

  async readDue(limit: number): Promise<DueMessage[]> {
    const { rows } = await this.#postgres.query<DueRow>(
      `SELECT ${COLUMNS}, ${TARGET_COLUMNS}, r.settings
         FROM alert_outbox m JOIN alert_transitions t ON t.transition_id = m.transition_id
         LEFT JOIN alert_channels c ON c.owner = m.owner AND c.name = m.channel
         LEFT JOIN alert_rules r ON r.rule_id = m.rule_id
        WHERE ${IS_WAITING} AND m.next_at <= clock_timestamp() AND NOT EXISTS (
          SELECT 1 FROM alert_outbox o WHERE o.rule_id = m.rule_id
             AND o.fingerprint IS NOT DISTINCT FROM m.fingerprint AND o.channel = m.channel
             AND o.delivered_at IS NULL AND o.dead_at IS NULL AND o.message_id < m.message_id)
        ORDER BY m.message_id LIMIT $1`,
      [limit],
    )
    return rows.map((row) => {
      const { url, settings } = row
      const target = url === null ? undefined : toTarget({ ...row, url })
      const parsed = settings === null ? undefined : (JSON.parse(settings) as RuleSettings)
      return { ...toMessage(row), target, settings: parsed }
    })
  }

  /** `note`: who did not get it, of several. */
  async setDelivered(messageId: number, note?: string): Promise<void> {
    await this.#set(messageId, 'delivered_at = clock_timestamp(), last_error = $2', [note ?? null])
  }

  async setDead(messageId: number, error: string): Promise<void> {
    await this.#set(messageId, 'dead_at = clock_timestamp(), last_error = $2', [error])
  }

  async retryIn(messageId: number, ms: number, error: string): Promise<void> {
    const next = `next_at = clock_timestamp() + $3 * interval '1 millisecond'`
    await this.#set(messageId, `${next}, last_error = $2`, [error, ms])
  }

  async #set(messageId: number, changes: string, values: readonly unknown[] = []): Promise<void> {
    await this.#postgres.query(
      `UPDATE alert_outbox SET attempts = attempts + 1, ${changes} WHERE message_id = $1`,
      [messageId, ...values],
    )
  }

  /** Of an owner, or of all; the newest first. */
  async list(
    owner: string | undefined,
    state: OutboxMessage['state'],
    page: { readonly before: number; readonly limit: number },
  ): Promise<OutboxMessage[]> {
    const { rows } = await this.#postgres.query<MessageRow>(
      `SELECT ${COLUMNS} FROM alert_outbox m
         JOIN alert_transitions t ON t.transition_id = m.transition_id
        WHERE ($1::text IS NULL OR m.owner = $1) AND ${STATE} = $2 AND m.message_id < $3
        ORDER BY m.message_id DESC LIMIT $4`,
      [owner ?? null, state, page.before, page.limit],
    )
    return rows.map(toMessage)
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

function toMessage(row: MessageRow): OutboxMessage {
  return {
    messageId: Number(row.message_id),
    channel: row.channel,
    key: row.idempotency_key,
    attempts: row.attempts,
    ageMs: row.age_ms,
    lastError: row.last_error ?? undefined,
    state: row.state,
    transition: toTransition(row),
  }
}
