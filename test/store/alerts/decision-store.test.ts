/**
 * Goal: a window is decided once, with all that belongs to it or with nothing: whatever dies
 * between any two statements, and whoever tries at once.
 * Method: a real PostgreSQL; a session that breaks at each statement in turn.
 */
import assert from 'node:assert/strict'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { readRuleSettings, taskOf } from '../../../src/alerts/rule-settings.ts'
import { IngestError } from '../../../src/errors.ts'
import { ALERT_RULES_MAX } from '../../../src/limits.ts'
import { DecisionStore, type NewDecision } from '../../../src/store/alerts/decision-store.ts'
import type { Rule } from '../../../src/store/alerts/rule.ts'
import { RuleStore } from '../../../src/store/alerts/rule-store.ts'
import { WindowStore } from '../../../src/store/alerts/window-store.ts'
import { type PostgresClient, type Queryable, toStoreError } from '../../../src/store/postgres.ts'
import { StoreError } from '../../../src/store/store-error.ts'
import { startDatabase, type TestDatabase } from '../../serve/rest-harness.ts'
import { someOf } from '../../support/fuzzing.ts'

const NODE = { nodeId: 0, epoch: 1n }
const TABLES = [
  'alert_rules',
  'alert_states',
  'alert_windows',
  'alert_transitions',
  'alert_notices',
]
const MOST = { rules: 10, windows: 10 }
let database: TestDatabase
let rules: RuleStore
const clients: PostgresClient[] = []

before(async () => {
  database = await startDatabase()
  rules = new RuleStore(database.postgres)
  await database.postgres.query(
    `INSERT INTO nodes (node_id, identity, epoch, lease_until)
     VALUES (0, gen_random_uuid(), 1, now() + interval '1 hour')`,
  )
})

beforeEach(async () => {
  for (const table of TABLES) await database.postgres.query(`DELETE FROM ${table}`)
})

// Other files use the same server, which has room for so many.
afterEach(async () => {
  for (const client of clients.splice(0)) await client.end().catch(() => undefined)
})

after(async () => {
  await database?.close()
})

/** A session that dies before its statement `dieAt`, counted from 0, or just after it. */
async function session(dieAt = Number.POSITIVE_INFINITY, isAfter = false): Promise<Queryable> {
  const client = await database.postgres.connect()
  clients.push(client)
  client.on('error', () => undefined)
  let at = 0
  const die = async (): Promise<never> => {
    await client.end().catch(() => undefined)
    throw new StoreError('unavailable', 'the process is dead')
  }
  return {
    query: async <Row>(text: string, values: readonly unknown[] = []) => {
      const isLast = at++ === dieAt
      if (isLast && !isAfter) return await die()
      const result = await client.query(text, [...values]).catch((cause) => {
        throw toStoreError(cause)
      })
      if (isLast) return await die()
      return { rows: result.rows as Row[], rowCount: result.rowCount ?? 0 }
    },
  }
}

async function put(name: string, changes: object = {}, owner = 'ann'): Promise<Rule> {
  const settings = readRuleSettings({
    ...{ condition: { op: '>', value: 1 }, window: '1m', channels: ['ops', 'chat'] },
    ...changes,
  })
  const { everyMs, delayMs } = taskOf(settings)
  const { rule } = await rules.put({
    rights: { owner, asAdmin: false, streamIds: undefined },
    ...{ name, settings, everyMs, delayMs },
    isOther: () => true,
    assertMatch: () => undefined,
  })
  return rule
}

const GROUP = { fingerprint: 'f', json: '["web"]' }

function firing(rule: Rule): NewDecision {
  const range = { fromMs: rule.cursorMs, untilMs: rule.cursorMs + 60_000 }
  return {
    window: {
      ...{ ...range, outcome: 'breach', events: 2, groupCount: 1, uncounted: 0 },
      ...{ breachCount: 1, value: 2 },
    },
    changed: [
      {
        ...{ fingerprint: GROUP.fingerprint, groupJson: GROUP.json, state: 'firing' },
        ...{ breaches: [false, true], unmet: 0, sinceMs: range.untilMs, firedMs: range.untilMs },
        ...{ seenMs: range.untilMs, value: 2 },
      },
    ],
    forgotten: ['g'],
    transitions: [{ ...range, kind: 'firing', group: GROUP, value: 2, events: 2 }],
  }
}

async function decideOne(store: DecisionStore, rule: Rule): Promise<boolean> {
  return (await store.decide([{ rule, decision: firing(rule) }])).size > 0
}

async function counts(ruleId: number): Promise<number[]> {
  const { rows } = await database.postgres.query<Record<string, number>>(
    `SELECT ${TABLES.map((table) => {
      return `(SELECT count(*)::integer FROM ${table} WHERE rule_id = $1) AS ${table}`
    }).join(', ')}`,
    [ruleId],
  )
  return TABLES.map((table) => rows[0]![table]!)
}

test('a process dies at any statement: all of the decision is there, or nothing', async () => {
  let statements = 0
  const rule = await put('counted')
  const counted = await session()
  const counting = {
    query: (...args: [string, unknown[]?]) => {
      statements++
      return counted.query(...args)
    },
  }
  assert.ok(await decideOne(new DecisionStore(counting as Queryable, NODE), rule))
  assert.deepEqual(await counts(rule.ruleId), [1, 1, 1, 1, 2])
  assert.ok(statements > 5, `${statements} statements`)
  const next = new DecisionStore(await session(), NODE)
  // Before each statement, and after the last one: the answer to COMMIT is lost.
  for (const dieAt of someOf(Array.from({ length: statements + 1 }, (_, at) => at))) {
    const isAfter = dieAt === statements
    const name = `r${dieAt}`
    const one = await put(name)
    const dying = new DecisionStore(await session(isAfter ? dieAt - 1 : dieAt, isAfter), NODE)
    await assert.rejects(decideOne(dying, one))
    assert.deepEqual(await counts(one.ruleId), isAfter ? [1, 1, 1, 1, 2] : [1, 0, 0, 0, 0], name)
    // Whoever comes next reads how far it is, and goes on from there.
    const now = (await rules.find(one.ruleId))!
    assert.equal(now.cursorMs > one.cursorMs, isAfter)
    if (!isAfter) assert.ok(await decideOne(next, now))
    assert.deepEqual(await counts(one.ruleId), [1, 1, 1, 1, 2], name)
    assert.equal(await decideOne(next, one), false, 'who wakes late finds it done')
    assert.deepEqual(await counts(one.ruleId), [1, 1, 1, 1, 2], name)
  }
})

test('of many that decide at once one does', async () => {
  const rule = await put('raced')
  const stores = await Promise.all(
    Array.from({ length: 6 }, async () => {
      return new DecisionStore(await session(), NODE)
    }),
  )
  const done = await Promise.all(stores.map((each) => decideOne(each, rule)))
  assert.equal(done.filter(Boolean).length, 1)
  assert.deepEqual(await counts(rule.ruleId), [1, 1, 1, 1, 2])
})

test('a rule that was changed, paused or deleted meanwhile is not decided', async () => {
  const store = new DecisionStore(await session(), NODE)
  const rule = await put('changed')
  await put('changed', { condition: { op: '>', value: 2 } })
  assert.equal(await decideOne(store, rule), false)
  const paused = await put('paused', { paused: true })
  assert.equal(await decideOne(store, paused), false)
  const gone = await put('deleted')
  await rules.delete(gone.ruleId, () => undefined)
  assert.equal(await decideOne(store, gone), false)
  assert.deepEqual(await counts(gone.ruleId), [0, 0, 0, 0, 0])
})

test('of rules that are decided at once each is, or is not, by itself', async () => {
  const store = new DecisionStore(await session(), NODE)
  const names = ['one', 'changed-since', 'two', 'done-before', 'three']
  const all: Rule[] = []
  for (const name of names) all.push(await put(name, { group_by: ['service'] }))
  await put('changed-since', { condition: { op: '>', value: 2 } })
  assert.ok(await decideOne(store, all[3]!))
  const made = await store.decide(all.map((rule) => ({ rule, decision: firing(rule) })))
  assert.deepEqual(
    [...made].map(({ rule }) => rule.name),
    ['one', 'two', 'three'],
  )
  const found = await Promise.all(all.map(({ ruleId }) => counts(ruleId)))
  const [decided, not] = [
    [1, 1, 1, 1, 2],
    [1, 0, 0, 0, 0],
  ]
  assert.deepEqual(found, [decided, not, decided, decided, decided])
  // What is to be forgotten is of its own rule.
  const [one, two] = [(await rules.find(all[0]!.ruleId))!, (await rules.find(all[2]!.ruleId))!]
  const forgetting = { ...firing(one), changed: [], forgotten: [GROUP.fingerprint] }
  const keeping = { ...firing(two), changed: [] }
  const both = [
    { rule: one, decision: forgetting },
    { rule: two, decision: keeping },
  ]
  assert.equal((await store.decide(both)).size, 2)
  const states = await store.readStates([one.ruleId, two.ruleId])
  assert.deepEqual([states.get(one.ruleId)?.length, states.get(two.ruleId)?.length], [0, 1])
  const due = await store.readDue(10, [one.ruleId])
  assert.ok(due.rules.every(({ ruleId }) => ruleId !== one.ruleId))
})

test('who lost the node number decides nothing', async () => {
  const rule = await put('lost')
  const store = new DecisionStore(await session(), { nodeId: 0, epoch: 0n })
  await assert.rejects(
    decideOne(store, rule),
    (cause) => cause instanceof StoreError && cause.kind === 'lease_lost',
  )
  assert.deepEqual(await counts(rule.ruleId), [1, 0, 0, 0, 0])
})

test('each message has a key, and what fires is resolved when a rule changes', async () => {
  const store = new DecisionStore(await session(), NODE)
  const rule = await put('resolved')
  assert.ok(await decideOne(store, rule))
  const states = await store.readStates([rule.ruleId])
  assert.deepEqual(states.get(rule.ruleId), firing(rule).changed)
  await put('resolved', { condition: { op: '>', value: 2 } })
  assert.deepEqual(await counts(rule.ruleId), [1, 0, 1, 2, 4])
  const { rows } = await database.postgres.query<{ kind: string; reason: string | null }>(
    'SELECT kind, reason FROM alert_transitions ORDER BY transition_id',
  )
  assert.deepEqual(rows, [
    { kind: 'firing', reason: null },
    { kind: 'resolved', reason: 'the rule was changed' },
  ])
})

test('a window of event time is looked at once more, when its time has come', async () => {
  const store = new DecisionStore(await session(), NODE)
  const rule = await put('late', { time_basis: 'event_time', delay: '30s' })
  assert.ok(await decideOne(store, rule))
  const untilMs = rule.cursorMs + 60_000
  const dueMs = untilMs + 30_000 + 5_000
  assert.deepEqual(await store.readOpen(dueMs - 1, 5_000, MOST), [])
  const [open] = await store.readOpen(dueMs, 5_000, MOST)
  assert.deepEqual([open?.untilMs, open?.outcome, open?.events], [untilMs, 'breach', 2])
  const told = { kind: 'corrected', fromMs: rule.cursorMs, untilMs } as const
  const now = { ...open!, outcome: 'clear', events: 5 } as const
  assert.ok(await store.correct(rule, now, { events: 3, told }))
  assert.equal(await store.correct(rule, now, { events: 3, told }), false, 'once')
  assert.deepEqual(await store.readOpen(dueMs, 5_000, MOST), [])
  const [window] = await new WindowStore(database.postgres).list(rule.ruleId, {
    before: Number.MAX_SAFE_INTEGER,
    limit: 10,
  })
  assert.deepEqual([window?.outcome, window?.events, window?.lateEvents], ['clear', 5, 3])
  assert.deepEqual(await counts(rule.ruleId), [1, 1, 1, 2, 4])
})

test('rules that always fail keep the second look from no other', async () => {
  const store = new DecisionStore(await session(), NODE)
  const decided = async (name: string, windows: number) => {
    let rule = await put(name, { time_basis: 'event_time', delay: '30s' })
    for (let n = 0; n < windows; n++) {
      assert.ok(await decideOne(store, rule))
      rule = { ...rule, cursorMs: rule.cursorMs + 60_000 }
    }
    return rule
  }
  const failing = await decided('failing', 5)
  const last = await decided('last', 1)
  const open = await store.readOpen(last.cursorMs + 600_000, 5_000, { rules: 10, windows: 3 })
  assert.deepEqual(
    open.map(({ rule, untilMs }) => [rule.ruleId, untilMs]),
    [
      ...[-4, -3, -2].map((n) => [failing.ruleId, failing.cursorMs + n * 60_000]),
      [last.ruleId, last.cursorMs],
    ],
  )
  const met = new Set<number>()
  for (let n = 0; n < 100 && met.size < 2; n++) {
    const some = await store.readOpen(last.cursorMs + 600_000, 5_000, { rules: 1, windows: 3 })
    for (const { rule } of some) met.add(rule.ruleId)
  }
  assert.equal(met.size, 2, 'whichever comes first')
})

test('failing is told once, until a window is decided', async () => {
  const store = new DecisionStore(await session(), NODE)
  const rule = await put('failing')
  const told = { kind: 'evaluation_failing', reason: 'no', fromMs: 0, untilMs: 1 } as const
  await store.recordFailure(rule, 'no', 0, undefined)
  await store.recordFailure(rule, 'no', 0, told)
  await store.recordFailure(rule, 'no', 0, told)
  const failed = (await rules.find(rule.ruleId))!
  assert.deepEqual([failed.failures, failed.problem, failed.isTold], [2, 'no', true])
  assert.deepEqual(await counts(rule.ruleId), [1, 0, 0, 1, 2])
  assert.ok(await decideOne(store, failed))
  const again = (await rules.find(rule.ruleId))!
  assert.deepEqual([again.failures, again.problem, again.isTold], [0, undefined, false])
})

test('the same put changes nothing; an owner has ALERT_RULES_MAX rules at most', async () => {
  const first = await put('same')
  assert.deepEqual(await put('same'), first)
  await database.postgres.query(
    `INSERT INTO alert_rules (owner, name, as_admin, settings, every_ms, delay_ms, paused,
       cursor_ms) SELECT 'ann', 'n' || n, false, '{}', 60000, 0, true, 0
       FROM generate_series(1, $1) AS n`,
    [ALERT_RULES_MAX - 2],
  )
  await put('last')
  await assert.rejects(put('more'), (cause) => {
    return cause instanceof IngestError && /ALERT_RULES_MAX/.test(cause.message)
  })
  assert.equal((await put('other', {}, 'bob')).owner, 'bob')
})
