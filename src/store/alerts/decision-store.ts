/**
 * Decisions of windows: each is one transaction that moves the rule's cursor from where it was, and
 * has the states, the transitions and the messages. It asserts the lease of this node and is made
 * in the session that holds the evaluator's lock (`worker-lock.ts`). So of any number of processes,
 * also one that wakes up late, each window is decided by one, once.
 */
import type { Queryable } from '../postgres.ts'
import { STORE_NOW_MS } from '../raw/clock-guard.ts'
import type { NodeIdentity } from '../under-lease.ts'
import type { Rule } from './rule.ts'
import { RULE_COLUMNS, type RuleRow, toRule } from './rule-rows.ts'
import { insertTransitions, type NewTransition } from './transitions-sql.ts'

/** A group's state to store. */
export interface StoredState {
  readonly fingerprint: string
  readonly groupJson: string
  readonly state: 'inactive' | 'pending' | 'firing'
  readonly breaches: readonly boolean[]
  readonly unmet: number | undefined
  readonly sinceMs: number
  readonly firedMs: number | undefined
  readonly seenMs: number
  readonly value: number | undefined
}

/** A window that was decided, or with `gap` those that were given up. */
export interface StoredWindow {
  readonly fromMs: number
  readonly untilMs: number
  readonly outcome: 'clear' | 'breach' | 'no_data' | 'gap'
  readonly events: number
  readonly groupCount: number
  readonly uncounted: number
  readonly breachCount: number
  readonly value: number | undefined
}

export interface NewDecision {
  readonly window: StoredWindow
  /** Groups whose state is another, or new; and the fingerprints of those to forget. */
  readonly changed: readonly StoredState[]
  readonly forgotten: readonly string[]
  readonly transitions: readonly NewTransition[]
}

/** What is decided of one window of a rule as it was read. */
export interface RuleDecision {
  readonly rule: Rule
  readonly decision: NewDecision
}

export interface DueRules {
  readonly nowMs: number
  readonly rules: readonly Rule[]
}

/** A window of event time, as it was decided. */
export interface OpenWindow {
  readonly rule: Rule
  readonly untilMs: number
  readonly outcome: StoredWindow['outcome']
  readonly events: number
}

interface StateRow {
  readonly rule_id: number
  readonly fingerprint: string
  readonly group_json: string
  readonly state: StoredState['state']
  readonly breaches: string
  readonly unmet: number | null
  readonly since_ms: string
  readonly fired_ms: string | null
  readonly seen_ms: string
  readonly value: number | null
}

const STATE_COLUMNS =
  'rule_id, fingerprint, group_json, state, breaches, unmet, since_ms, fired_ms, seen_ms, value'

export class DecisionStore {
  readonly #session: Queryable
  readonly #node: NodeIdentity
  /** Ends with the last of those that wait for the session: transactions come one by one. */
  #last: Promise<unknown> = Promise.resolve()

  constructor(session: Queryable, node: NodeIdentity) {
    this.#session = session
    this.#node = node
  }

  /** Rules with a window that is over by PostgreSQL's clock, or that are ahead of it. */
  async readDue(limit: number, exceptIds: readonly number[]): Promise<DueRules> {
    const { rows } = await this.#inTurn((sql) =>
      sql.query<RuleRow & { readonly now_ms: number }>(
        `SELECT ${RULE_COLUMNS}, now_ms FROM (SELECT ${STORE_NOW_MS} AS now_ms) AS clock
         LEFT JOIN alert_rules ON NOT paused AND (retry_at IS NULL OR retry_at <= now())
           AND (cursor_ms + every_ms + delay_ms <= now_ms OR cursor_ms > now_ms)
           AND rule_id <> ALL ($2::integer[])
        ORDER BY cursor_ms, rule_id LIMIT $1`,
        [limit, exceptIds],
      ),
    )
    const rules = rows.filter((row) => row.rule_id !== null).map(toRule)
    return { nowMs: rows[0]?.now_ms ?? 0, rules }
  }

  /** By rule. */
  async readStates(ruleIds: readonly number[]): Promise<ReadonlyMap<number, StoredState[]>> {
    return await this.#inTurn((sql) => readStates(sql, ruleIds))
  }

  /**
   * Decisions of different rules in one transaction: for each rule all that belongs to it, or
   * nothing. Returns those that were made: the others' rules were changed meanwhile, or another
   * process has decided their windows.
   */
  async decide(decisions: readonly RuleDecision[]): Promise<ReadonlySet<RuleDecision>> {
    const made = new Set<RuleDecision>()
    await this.#run(async (sql) => {
      const moved = await moveCursors(sql, decisions)
      for (const each of decisions) if (moved.has(each.rule.ruleId)) made.add(each)
      if (made.size === 0) return false
      await forgetStates(sql, made)
      await writeStates(sql, made)
      await writeWindows(sql, made)
      for (const { rule, decision } of made)
        await insertTransitions(sql, rule, decision.transitions)
      return true
    })
    return made
  }

  /**
   * Of a rule whose windows are ahead of PostgreSQL's clock, as that was set back: it begins anew
   * at `untilMs`. What it decided of times to come is forgotten.
   */
  async setBack(rule: Rule, untilMs: number, told: NewTransition): Promise<boolean> {
    return await this.#run(async (sql) => {
      const moved = await moveCursors(sql, [{ rule, decision: { window: { untilMs } } }])
      if (moved.size === 0) return false
      await sql.query('DELETE FROM alert_windows WHERE rule_id = $1 AND until_ms > $2', [
        rule.ruleId,
        untilMs,
      ])
      await insertTransitions(sql, rule, [told])
      return true
    })
  }

  /** A try that failed; with `told` it is told, once for all failures in a row. */
  async recordFailure(
    { ruleId, version, cursorMs, ...rule }: Rule,
    problem: string,
    retryMs: number,
    told: NewTransition | undefined,
  ): Promise<void> {
    await this.#run(async (sql) => {
      const { rowCount } = await sql.query(
        `UPDATE alert_rules SET failures = failures + 1, problem = $4,
           retry_at = now() + $5 * interval '1 millisecond', is_told = is_told OR $6::boolean
         WHERE rule_id = $1 AND version = $2 AND cursor_ms = $3 AND NOT ($6::boolean AND is_told)`,
        [ruleId, version, cursorMs, problem, retryMs, told !== undefined],
      )
      if (rowCount === 0) return false
      if (told !== undefined) {
        await insertTransitions(sql, { ...rule, ruleId, version }, [told])
      }
      return true
    })
  }

  /**
   * Windows of event time that are to be looked at once more, by rule and time: the oldest of each
   * rule, and rules by chance where they are too many, so that those that always fail keep this
   * from no other.
   */
  async readOpen(
    closedMs: number,
    lateMs: number,
    most: { readonly rules: number; readonly windows: number },
  ): Promise<OpenWindow[]> {
    const isDue = `w.rule_id = r.rule_id AND w.is_open AND w.rule_version = r.version
      AND w.until_ms + r.delay_ms + $2 <= $1`
    const { rows } = await this.#inTurn((sql) =>
      sql.query<RuleRow & { until_ms: string; outcome: StoredWindow['outcome']; events: string }>(
        `SELECT ${RULE_COLUMNS}, w.until_ms, w.outcome, w.event_count AS events
           FROM (SELECT * FROM alert_rules r WHERE NOT paused AND EXISTS (
               SELECT 1 FROM alert_windows w WHERE ${isDue}) ORDER BY random() LIMIT $3) AS r
           CROSS JOIN LATERAL (SELECT until_ms, outcome, event_count FROM alert_windows w
             WHERE ${isDue} ORDER BY w.until_ms LIMIT $4) AS w
          ORDER BY rule_id, w.until_ms`,
        [closedMs, lateMs, most.rules, most.windows],
      ),
    )
    return rows.map((row) => ({
      ...{ rule: toRule(row), untilMs: Number(row.until_ms) },
      ...{ outcome: row.outcome, events: Number(row.events) },
    }))
  }

  /** A window was looked at once more, and is so now. False when that was done before. */
  async correct(
    rule: Rule,
    { untilMs, outcome, events }: Omit<OpenWindow, 'rule'>,
    late: { readonly events: number; readonly told: NewTransition | undefined },
  ): Promise<boolean> {
    return await this.#run(async (sql) => {
      const { rowCount } = await sql.query(
        `UPDATE alert_windows SET is_open = false, late_events = $3, outcome = $4,
           event_count = $5 WHERE rule_id = $1 AND until_ms = $2 AND is_open`,
        [rule.ruleId, untilMs, late.events, outcome, events],
      )
      if (rowCount === 0) return false
      await insertTransitions(sql, rule, late.told === undefined ? [] : [late.told])
      return true
    })
  }

  /**
   * Forgets what is older than this, but for what waits to be told; so many rows of a table at a
   * time.
   */
  async forgetBefore(keptMs: number, limit: number): Promise<void> {
    const old = (column: string) => `${column} < now() - $1 * interval '1 millisecond'`
    const isKept = (condition: string) => `NOT EXISTS (SELECT 1 FROM alert_notices n WHERE
      ${condition} AND n.message_id IS NULL)`
    for (const [table, isForgotten] of [
      ['alert_windows', old('decided_at')],
      [
        'alert_transitions t',
        `${old('decided_at')} AND ${isKept('n.transition_id = t.transition_id')}`,
      ],
      ['alert_outbox', old('created_at')],
      ['alert_rule_versions v', `${old('created_at')} AND ${isKept('n.rule_id = v.rule_id')}`],
      ['alert_silences', old('until_at')],
      // With nothing to tell, now or again: the next notice makes it anew.
      [
        'alert_queues q',
        `${old('COALESCE(grouped_at, to_timestamp(0))')} AND next_at IS NULL
          AND NOT EXISTS (SELECT 1 FROM alert_notices n
            WHERE n.rule_id = q.rule_id AND n.channel = q.channel)
          AND NOT EXISTS (SELECT 1 FROM alert_told k
            WHERE k.rule_id = q.rule_id AND k.channel = q.channel)`,
      ],
    ] as const) {
      const [name] = table.split(' ')
      const forget = `DELETE FROM ${name} WHERE ctid = ANY (ARRAY(
           SELECT ctid FROM ${table} WHERE ${isForgotten} LIMIT $2 FOR UPDATE SKIP LOCKED))`
      await this.#inTurn((sql) => sql.query(forget, [keptMs, limit]))
    }
  }

  /** What fails in the session ends it, and the transaction with it. */
  #run(work: (sql: Queryable) => Promise<boolean>): Promise<boolean> {
    const { nodeId, epoch } = this.#node
    return this.#inTurn(async (sql) => {
      await sql.query('BEGIN')
      try {
        await sql.query('CALL assert_node_lease($1::smallint, $2)', [nodeId, String(epoch)])
        const isDone = await work(sql)
        await sql.query(isDone ? 'COMMIT' : 'ROLLBACK')
        return isDone
      } catch (cause) {
        await sql.query('ROLLBACK').catch(() => undefined) // A lost session has rolled back.
        throw cause
      }
    })
  }

  #inTurn<T>(work: (sql: Queryable) => Promise<T>): Promise<T> {
    const turn = this.#last.then(() => work(this.#session))
    this.#last = turn.catch(() => undefined)
    return turn
  }
}

/** By rule. Throws `StoreError`. */
export async function readStates(
  sql: Queryable,
  ruleIds: readonly number[],
): Promise<ReadonlyMap<number, StoredState[]>> {
  const { rows } = await sql.query<StateRow>(
    `SELECT ${STATE_COLUMNS} FROM alert_states WHERE rule_id = ANY ($1::integer[])
      ORDER BY rule_id, since_ms DESC, fingerprint`,
    [ruleIds],
  )
  const states = new Map<number, StoredState[]>(ruleIds.map((ruleId) => [ruleId, []]))
  for (const row of rows) states.get(row.rule_id)?.push(toState(row))
  return states
}

function toState(row: StateRow): StoredState {
  return {
    fingerprint: row.fingerprint,
    groupJson: row.group_json,
    state: row.state,
    breaches: [...row.breaches].map((each) => each === '1'),
    unmet: row.unmet ?? undefined,
    sinceMs: Number(row.since_ms),
    firedMs: row.fired_ms === null ? undefined : Number(row.fired_ms),
    seenMs: Number(row.seen_ms),
    value: row.value ?? undefined,
  }
}

/** Rules that are as they were read go on to the end of their window; returns which. */
async function moveCursors(
  sql: Queryable,
  decisions: readonly {
    readonly rule: Rule
    readonly decision: { readonly window: { readonly untilMs: number } }
  }[],
): Promise<ReadonlySet<number>> {
  const { rows } = await sql.query<{ readonly rule_id: number }>(
    `WITH asked AS (
       SELECT * FROM unnest($1::integer[], $2::integer[], $3::bigint[], $4::bigint[])
         AS a (rule_id, version, cursor_ms, until_ms)),
     -- In one order, as others lock several rules, too.
     locked AS (
       SELECT a.* FROM alert_rules r JOIN asked a USING (rule_id, version, cursor_ms)
        WHERE NOT r.paused ORDER BY rule_id FOR UPDATE OF r)
     UPDATE alert_rules r SET cursor_ms = l.until_ms, failures = 0, problem = NULL,
         retry_at = NULL, is_told = false
       FROM locked l WHERE r.rule_id = l.rule_id RETURNING r.rule_id`,
    [
      decisions.map(({ rule }) => rule.ruleId),
      decisions.map(({ rule }) => rule.version),
      decisions.map(({ rule }) => rule.cursorMs),
      decisions.map(({ decision }) => decision.window.untilMs),
    ],
  )
  return new Set(rows.map(({ rule_id: ruleId }) => ruleId))
}

async function forgetStates(sql: Queryable, made: ReadonlySet<RuleDecision>): Promise<void> {
  const gone = [...made].flatMap(({ rule: { ruleId }, decision }) => {
    return decision.forgotten.map((fingerprint) => ({ ruleId, fingerprint }))
  })
  if (gone.length === 0) return
  await sql.query(
    `DELETE FROM alert_states WHERE (rule_id, fingerprint) IN (
       SELECT * FROM unnest($1::integer[], $2::text[]))`,
    [gone.map(({ ruleId }) => ruleId), gone.map(({ fingerprint }) => fingerprint)],
  )
}

async function writeStates(sql: Queryable, made: ReadonlySet<RuleDecision>): Promise<void> {
  const states = [...made].flatMap(({ rule: { ruleId }, decision }) => {
    return decision.changed.map((state) => ({ ruleId, ...state }))
  })
  if (states.length === 0) return
  await sql.query(
    `INSERT INTO alert_states (${STATE_COLUMNS})
     SELECT * FROM unnest($1::integer[], $2::text[], $3::text[], $4::text[], $5::text[],
       $6::integer[], $7::bigint[], $8::bigint[], $9::bigint[], $10::float8[])
     ON CONFLICT (rule_id, fingerprint) DO UPDATE SET state = excluded.state,
       breaches = excluded.breaches, unmet = excluded.unmet, since_ms = excluded.since_ms,
       fired_ms = excluded.fired_ms, seen_ms = excluded.seen_ms, value = excluded.value`,
    [
      states.map(({ ruleId }) => ruleId),
      states.map(({ fingerprint }) => fingerprint),
      states.map(({ groupJson }) => groupJson),
      states.map(({ state }) => state),
      states.map(({ breaches }) => breaches.map((each) => (each ? '1' : '0')).join('')),
      states.map(({ unmet }) => unmet ?? null),
      states.map(({ sinceMs }) => sinceMs),
      states.map(({ firedMs }) => firedMs ?? null),
      states.map(({ seenMs }) => seenMs),
      states.map(({ value }) => value ?? null),
    ],
  )
}

async function writeWindows(sql: Queryable, made: ReadonlySet<RuleDecision>): Promise<void> {
  const all = [...made]
  const windows = all.map(({ decision }) => decision.window)
  await sql.query(
    `INSERT INTO alert_windows (rule_id, rule_version, is_open, until_ms, from_ms, outcome,
       event_count, group_count, uncounted, breach_count, value)
     SELECT * FROM unnest($1::integer[], $2::integer[], $3::boolean[], $4::bigint[], $5::bigint[],
       $6::text[], $7::bigint[], $8::integer[], $9::integer[], $10::integer[], $11::float8[])`,
    [
      all.map(({ rule }) => rule.ruleId),
      all.map(({ rule }) => rule.version),
      all.map(({ rule, decision }) => {
        return rule.settings.time_basis === 'event_time' && decision.window.outcome !== 'gap'
      }),
      windows.map(({ untilMs }) => untilMs),
      windows.map(({ fromMs }) => fromMs),
      windows.map(({ outcome }) => outcome),
      windows.map(({ events }) => events),
      windows.map(({ groupCount }) => groupCount),
      windows.map(({ uncounted }) => uncounted),
      windows.map(({ breachCount }) => breachCount),
      windows.map(({ value }) => value ?? null),
    ],
  )
}
