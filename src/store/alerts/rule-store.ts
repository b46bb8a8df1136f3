/**
 * SQL of rules as people manage them, and of what is told of them. Throws `IngestError` for what a
 * client did and `StoreError` for what the store did.
 */
import { IngestError } from '../../errors.ts'
import { ALERT_RULES_MAX } from '../../limits.ts'
import type { StreamId } from '../../model/stream.ts'
import type { Postgres, Queryable } from '../postgres.ts'
import { STORE_NOW_MS } from '../raw/clock-guard.ts'
import type { Rule, RuleRights, RuleSettings, ToldRule } from './rule.ts'
import { TOLD_COLUMNS, type ToldRow, toToldRule } from './rule-rows.ts'
import { insertTransitions } from './transitions-sql.ts'

/** A rule as it is to be. */
export interface RulePut {
  readonly rights: RuleRights
  readonly name: string
  readonly settings: RuleSettings
  readonly everyMs: number
  readonly delayMs: number
  /** Whether what is remembered under these settings is of no use under the new ones. */
  readonly isOther: (before: RuleSettings) => boolean
  /** Throws when the rule that is there, if any, is not the one to be replaced. */
  readonly assertMatch: (before: Rule | undefined) => void
}

/** Creations of rules come one after another, so that their bound holds: any number. */
const CREATE_LOCK = 7_105_114
/** The end of the last window that is over. */
const NOW_END = `(floor(${STORE_NOW_MS} / $6::bigint) * $6::bigint)::bigint`

export class RuleStore {
  readonly #postgres: Postgres

  constructor(postgres: Postgres) {
    this.#postgres = postgres
  }

  /** Of one owner, or of all, by their ids; `within`: that are limited to these streams. */
  async list(
    owner: string | undefined,
    page: { readonly after: number; readonly limit: number },
    within?: readonly StreamId[],
  ): Promise<ToldRule[]> {
    const { rows } = await this.#postgres.query<ToldRow>(
      `SELECT ${TOLD_COLUMNS} FROM alert_rules
        WHERE rule_id > $1 AND ($2::text IS NULL OR owner = $2)
          AND ($4::integer[] IS NULL OR stream_ids <@ $4) ORDER BY rule_id LIMIT $3`,
      [page.after, owner ?? null, page.limit, within ?? null],
    )
    return rows.map(toToldRule)
  }

  /** By its owner and name. */
  async findNamed(owner: string, name: string): Promise<ToldRule | undefined> {
    return await selectRule(this.#postgres, 'owner = $1 AND name = $2', [owner, name])
  }

  async find(ruleId: number): Promise<ToldRule | undefined> {
    return await selectRule(this.#postgres, 'rule_id = $1', [ruleId])
  }

  /**
   * Makes the rule, or changes it to be so; the same again changes nothing. A rule that asks or
   * judges something else begins anew, with the next window. Throws `conflict` past
   * ALERT_RULES_MAX, and what `assertMatch` throws.
   */
  async put(put: RulePut): Promise<{ readonly rule: ToldRule; readonly isNew: boolean }> {
    const { rights, name, settings, assertMatch } = put
    return await this.#postgres.transaction(async (client) => {
      await client.query('SELECT pg_advisory_xact_lock($1)', [CREATE_LOCK])
      const values = [rights.owner, name]
      const before = await selectRule(client, 'owner = $1 AND name = $2 FOR UPDATE', values)
      assertMatch(before)
      if (before === undefined) return { rule: await insert(client, put), isNew: true }
      const isSame =
        JSON.stringify(before.settings) === JSON.stringify(settings) &&
        before.asAdmin === rights.asAdmin &&
        String(before.streamIds) === String(rights.streamIds)
      if (isSame) return { rule: before, isNew: false }
      return { rule: await update(client, put, before), isNew: false }
    })
  }

  /** What fires is resolved; windows and transitions stay until they are too old. */
  /** `assertMatch` gets the rule as it is, before anything is changed; what it throws is thrown. */
  async delete(ruleId: number, assertMatch: (rule: Rule) => void): Promise<void> {
    await this.#postgres.transaction(async (client) => {
      const rule = await selectRule(client, 'rule_id = $1 FOR UPDATE', [ruleId])
      if (rule === undefined) return
      assertMatch(rule)
      await forgetStates(client, rule, 'the rule was deleted')
      await client.query('DELETE FROM alert_rules WHERE rule_id = $1', [ruleId])
      await client.query('UPDATE alert_queues SET next_at = clock_timestamp() WHERE rule_id = $1', [
        ruleId,
      ])
    })
  }
}

async function selectRule(
  sql: Queryable,
  where: string,
  values: readonly unknown[],
): Promise<ToldRule | undefined> {
  const { rows } = await sql.query<ToldRow>(
    `SELECT ${TOLD_COLUMNS} FROM alert_rules WHERE ${where}`,
    values,
  )
  return rows[0] && toToldRule(rows[0])
}

async function insert(client: Queryable, put: RulePut): Promise<ToldRule> {
  const { rows: counts } = await client.query<{ readonly count: string }>(
    'SELECT count(*) FROM alert_rules WHERE owner = $1',
    [put.rights.owner],
  )
  if (Number(counts[0]?.count) >= ALERT_RULES_MAX) {
    const limit = `ALERT_RULES_MAX (${ALERT_RULES_MAX})`
    throw new IngestError('conflict', `the owner already has ${limit} rules`)
  }
  const { rows } = await client.query<ToldRow>(
    `INSERT INTO alert_rules (owner, name, as_admin, stream_ids, settings, every_ms, delay_ms,
       paused, cursor_ms)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, ${NOW_END}) RETURNING ${TOLD_COLUMNS}`,
    valuesOf(put),
  )
  return toToldRule(rows[0]!)
}

async function update(client: Queryable, put: RulePut, before: Rule): Promise<ToldRule> {
  const { settings } = put
  const isOther = put.isOther(before.settings)
  const isAnew = isOther || before.settings.paused !== settings.paused
  if (isOther) await forgetStates(client, before, 'the rule was changed')
  const { rows } = await client.query<ToldRow>(
    `UPDATE alert_rules SET as_admin = $3, stream_ids = $4, settings = $5, every_ms = $6,
       delay_ms = $7, paused = $8,
       cursor_ms = CASE WHEN $9::boolean THEN ${NOW_END} ELSE cursor_ms END,
       version = version + 1, updated_at = now(), failures = 0, problem = NULL, retry_at = NULL,
       is_told = is_told AND NOT $9
     WHERE owner = $1 AND name = $2 RETURNING ${TOLD_COLUMNS}`,
    [...valuesOf(put), isAnew],
  )
  await lookAtQueues(client, before.ruleId, settings.channels)
  return toToldRule(rows[0]!)
}

/** What is told of it, and when, may be another; a channel may be new to it. */
async function lookAtQueues(
  client: Queryable,
  ruleId: number,
  channels: readonly string[],
): Promise<void> {
  await client.query(
    `INSERT INTO alert_queues (rule_id, channel, owner, rule_name, next_at)
     SELECT r.rule_id, c.channel, r.owner, r.name, clock_timestamp()
       FROM alert_rules r CROSS JOIN (SELECT DISTINCT unnest($2::text[]) AS channel) AS c
      WHERE r.rule_id = $1
     ON CONFLICT (rule_id, channel) DO UPDATE SET next_at = excluded.next_at`,
    [ruleId, channels],
  )
}

function valuesOf({ rights, name, settings, everyMs, delayMs }: RulePut): unknown[] {
  const { owner, asAdmin, streamIds = null } = rights
  const text = JSON.stringify(settings)
  return [owner, name, asAdmin, streamIds, text, everyMs, delayMs, settings.paused]
}

/** What fires is resolved, and it is told why. */
async function forgetStates(client: Queryable, rule: Rule, reason: string): Promise<void> {
  const { rows } = await client.query<{
    readonly fingerprint: string
    readonly group_json: string
    readonly state: string
  }>('DELETE FROM alert_states WHERE rule_id = $1 RETURNING fingerprint, group_json, state', [
    rule.ruleId,
  ])
  const firing = rows.filter(({ state }) => state === 'firing')
  await insertTransitions(
    client,
    rule,
    firing.map(({ fingerprint, group_json: json }) => ({
      kind: 'resolved' as const,
      group: { fingerprint, json },
      reason,
      fromMs: rule.cursorMs,
      untilMs: rule.cursorMs,
    })),
  )
}
