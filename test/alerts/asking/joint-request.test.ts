/**
 * Goal: rules about different searches that are asked in one statement see what each sees by
 * itself: values, events and groups, in one window or many.
 * Method: random rules over random events in the real engine's tables, own and shared, of which
 * the catalog knows all or nothing.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type AskDeps, askWindows } from '../../../src/alerts/asking/ask-windows.ts'
import { askedNames, questionOf } from '../../../src/alerts/asking/joint-request.ts'
import { readRuleSettings } from '../../../src/alerts/rule-settings.ts'
import type { FieldCatalog } from '../../../src/model/field-catalog.ts'
import { MIXED_STREAM } from '../../../src/model/mixed-runs.ts'
import type { SegmentId } from '../../../src/model/segment-id.ts'
import type { Stream, StreamId } from '../../../src/model/stream.ts'
import type { RuleSettings } from '../../../src/store/alerts/rule.ts'
import { ClickHouse } from '../../../src/store/clickhouse.ts'
import { ensureClickHouse } from '../../../src/store/migrations/run.ts'
import { ProjectionTables } from '../../../src/store/projection/compile/projection-tables.ts'
import { AggregateStore } from '../../../src/store/projection/reads/aggregate-store.ts'
import { unknownCatalog } from '../../store/projection/compile/test-catalog.ts'
import {
  catalogOf,
  FROM_MS,
  insert,
  MINUTE_MS,
  type Random,
  randomEvents,
  startRandom,
} from '../../store/projection/reads/plain-events.ts'
import { rounds } from '../../support/fuzzing.ts'
import { openTestClickHouse } from '../../support/stores.ts'

const IDS = [201, 202] as StreamId[]
const closers: (() => Promise<void>)[] = []
let clickhouse: ClickHouse
let store: AggregateStore

before(async () => {
  const engine = await openTestClickHouse()
  closers.push(() => engine.close())
  clickhouse = new ClickHouse({ url: engine.url })
  closers.push(() => clickhouse.close())
  await ensureClickHouse(clickhouse)
  store = new AggregateStore(clickhouse, new ProjectionTables(clickhouse))
})

after(async () => {
  for (const close of closers.reverse()) await close()
})

const SEARCHES = [
  ...['', 'string:a', 'integer:>=2', 'NOT string:a', 'mixed:"x" OR number:1.5', '_level:error'],
  ...['string:a integer:1', 'number:*', 'NOT (string:b AND integer:>1)', 'nowhere:1'],
]
const AGGREGATES = [
  ...[
    { fn: 'count' },
    { fn: 'rate' },
    { fn: 'uniq', field: 'mixed' },
    { fn: 'sum', field: 'number' },
  ],
  ...[
    { fn: 'max', field: 'mixed' },
    { fn: 'p50', field: 'number' },
    { fn: 'avg', field: 'integer' },
  ],
  { fn: 'count', query: 'string:a OR string:b' },
]

function randomRules(random: Random, shared: object): RuleSettings[] {
  return Array.from({ length: 2 + random.below(6) }, () => {
    return readRuleSettings({
      ...shared,
      window: '5m',
      query: random.pick(SEARCHES),
      aggregate: random.pick(AGGREGATES),
      condition: { op: random.pick(['>', '<'] as const), value: 1 },
      ...(random.below(4) === 0 && { relative_to: random.pick(AGGREGATES) }),
    })
  })
}

function depsOf(catalogs: readonly FieldCatalog[]): AskDeps & { asked: number } {
  const sources = catalogs.map((catalog) => {
    return { streamId: catalog.streamId, catalog, removedBefore: 0n as SegmentId }
  })
  const deps = {
    asked: 0,
    openStreams: async () => ({ sources, asOfMs: Number.MAX_SAFE_INTEGER }),
    runAggregate: async (...args: Parameters<AskDeps['runAggregate']>) => {
      deps.asked++
      return await store.run(...args)
    },
  }
  return deps
}

async function seenBy(deps: AskDeps, rules: readonly RuleSettings[], ends: readonly number[]) {
  const streams = IDS.map((streamId) => ({ streamId }) as Stream)
  const question = { rules, streams, ends, timeoutMs: 30_000 }
  const windows = []
  for await (const all of askWindows(deps, question, new AbortController().signal)) {
    windows.push(
      all.map(({ groups, ...window }) => ({
        ...window,
        // Whatever their order is: all are there.
        groups: groups.toSorted((a, b) => (a.groupJson < b.groupJson ? -1 : 1)),
      })),
    )
  }
  return windows
}

test('rules of different searches see together what each sees alone', async () => {
  const random = startRandom()
  const events = IDS.flatMap((stream) => randomEvents(random, stream, 400))
  await insert(clickhouse, IDS[0]!, events.slice(0, 300))
  await insert(clickhouse, MIXED_STREAM, events.slice(300))
  const learned = IDS.map((stream) => catalogOf(stream, events, FROM_MS + 1e9))
  const unknown = IDS.map((stream) => unknownCatalog(stream, []))
  for (let round = 0; round < rounds(6); round++) {
    const shared = { group_by: random.pick([[], ['string'], ['_level', 'mixed'], ['_stream']]) }
    const rules = randomRules(random, shared)
    const questions = rules.map((settings) => JSON.stringify(questionOf(settings)))
    assert.deepEqual(new Set(questions).size, 1)
    const deps = depsOf(random.pick([learned, unknown]))
    const windows = random.pick([1, 4])
    const ends = Array.from({ length: windows }, (_, n) => FROM_MS + (n + 5) * 5 * MINUTE_MS)
    const together = await seenBy(deps, rules, ends)
    assert.equal(deps.asked, 1, 'one statement')
    for (const [at, settings] of rules.entries()) {
      const alone = await seenBy(deps, [settings], ends)
      const what = JSON.stringify([
        settings.query,
        settings.aggregate,
        settings.relative_to,
        shared,
      ])
      assert.deepEqual(
        together.map((all) => all[at]),
        alone.map(([one]) => one),
        what,
      )
    }
  }
})

test('what rules have in common is asked once; what waits for the catalog keeps no other', () => {
  const rule = (changes: object) => {
    return readRuleSettings({ window: '1m', condition: { op: '>', value: 1 }, ...changes })
  }
  const names = (rules: readonly RuleSettings[]) => new Set(rules.flatMap(askedNames)).size
  const ofA = [1, 2, 3].map((value) => rule({ query: 'a:1', condition: { op: '>', value } }))
  assert.equal(names(ofA), 1, 'a count is how many events there are')
  assert.equal(names([...ofA, rule({ query: 'a:1', aggregate: { fn: 'max', field: 'x' } })]), 2)
  assert.equal(names([...ofA, rule({ query: 'b:1', relative_to: { fn: 'count' } })]), 2)
  const question = (changes: object) => JSON.stringify(questionOf(rule(changes)))
  assert.equal(question({ query: 'a:1' }), question({ query: 'b:1' }))
  assert.notEqual(question({ query: 'a:1' }), question({ query: 'word' }))
  assert.notEqual(question({}), question({ aggregate: { fn: 'count', query: 'word' } }))
  assert.notEqual(question({}), question({ group_by: ['a'] }))
  assert.notEqual(question({}), question({ relative_to: { before: '1d' } }))
})
