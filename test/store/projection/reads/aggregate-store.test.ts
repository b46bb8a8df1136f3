/**
 * Goal: groups, aggregates and their order are those of the events, whatever their types, in
 * whichever table they are, and whatever the catalog has learned of them so far.
 * Method: random events in the real engine's tables, own and shared; the same computed plainly.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { FieldCatalog, ScalarType } from '../../../../src/model/field-catalog.ts'
import { MIXED_STREAM } from '../../../../src/model/mixed-runs.ts'
import type { SegmentId } from '../../../../src/model/segment-id.ts'
import type { StreamId } from '../../../../src/model/stream.ts'
import { readAggregateRequest } from '../../../../src/read/aggregate/aggregate-request.ts'
import { ClickHouse } from '../../../../src/store/clickhouse.ts'
import { MEMORY_LIMIT_EXCEEDED } from '../../../../src/store/clickhouse-codes.ts'
import { ensureClickHouse } from '../../../../src/store/migrations/run.ts'
import { ProjectionTables } from '../../../../src/store/projection/compile/projection-tables.ts'
import {
  type AggregateResult,
  AggregateStore,
} from '../../../../src/store/projection/reads/aggregate-store.ts'
import { StoreError } from '../../../../src/store/store-error.ts'
import { openTestClickHouse } from '../../../support/stores.ts'
import { learnedCatalog, unknownCatalog } from '../compile/test-catalog.ts'
import { groupText, naiveAggregate, naiveLeftOut, type PlainEvent } from './naive-aggregate.ts'
import { catalogOf, FROM_MS, insert, MINUTE_MS, randomEvents, startRandom } from './plain-events.ts'

const OWN = 101 as StreamId
const BOTH = 102 as StreamId
const SMALL = 103 as StreamId

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

const RANGE = {
  from: '2026-01-01T00:10:00Z',
  to: '2026-01-01T00:50:00Z',
}

function run(
  body: Readonly<Record<string, unknown>>,
  catalogs: readonly FieldCatalog[],
  by = store,
): Promise<AggregateResult> {
  const request = readAggregateRequest({ ...RANGE, ...body }, Date.now())
  const streams = catalogs.map((catalog) => ({
    streamId: catalog.streamId,
    catalog,
    removedBefore: 0n as SegmentId,
  }))
  return by.run({ ...request, streams })
}

/** Groups with their values, in any order. */
function shown({ rows }: AggregateResult): string[] {
  return rows
    .map(({ group, bucket, values, leftOut }) => {
      const texts = group.map(({ kind, text }) => {
        return kind === 'string'
          ? JSON.stringify(text)
          : kind === 'other'
            ? `other ${text}`
            : text || 'null'
      })
      return [
        ...texts,
        ...(bucket === undefined ? [] : [bucket]),
        ...values,
        ...leftOutText(leftOut),
      ].join(' | ')
    })
    .sort()
}

const leftOutText = (counts: readonly number[]) => {
  return counts.some((count) => count > 0) ? [`left out ${counts}`] : []
}

const AGGREGATES = [
  { fn: 'count' },
  { fn: 'count', field: 'mixed' },
  { fn: 'uniq', field: 'mixed' },
  { fn: 'sum', field: 'integer' },
  { fn: 'sum', field: 'number' },
  { fn: 'avg', field: 'number' },
  { fn: 'min', field: 'mixed' },
  { fn: 'max', field: 'mixed' },
  { fn: 'p50', field: 'number' },
  { fn: 'p99', field: 'number' },
  { fn: 'p75', field: 'mixed' },
  { fn: 'uniq', field: 'string' },
  { fn: 'count', query: 'string=a', as: 'a' },
  { fn: 'max', field: 'integer', query: 'string=a', as: 'max a' },
] as const

function naiveShown(
  events: readonly PlainEvent[],
  keys: readonly string[],
  stepMs: number | undefined,
): string[] {
  const [from, to] = [Date.parse(RANGE.from), Date.parse(RANGE.to)]
  const groups = new Map<string, PlainEvent[]>()
  for (const event of events.filter(({ ms }) => ms >= from && ms < to)) {
    const texts = keys.map((key) => {
      if (key === '_stream') return JSON.stringify(String(event.stream))
      if (key === '_level') return event.level === '' ? 'null' : JSON.stringify(event.level)
      return groupText(event.fields[key]).replace('e+', 'e')
    })
    const bucket = stepMs === undefined ? [] : [Math.floor((event.ms - from) / stepMs)]
    const name = [...texts, ...bucket].join(' | ')
    groups.set(name, [...(groups.get(name) ?? []), event])
  }
  return [...groups]
    .map(([name, group]) => {
      const values = AGGREGATES.map((one) => {
        const isOnlyA = 'query' in one
        const meant = isOnlyA ? group.filter(({ fields }) => fields.string === '"a"') : group
        const { fn } = one
        const of = 'field' in one ? meant.map(({ fields }) => fields[one.field]) : undefined
        return naiveAggregate(fn, of, meant.length).replace('e+', 'e')
      })
      const leftOut = AGGREGATES.map((one) => {
        const isOfNumbers = !['count', 'uniq'].includes(one.fn)
        if (!isOfNumbers || !('field' in one)) return 0
        const meant = 'query' in one ? group.filter(({ fields }) => fields.string === '"a"') : group
        return naiveLeftOut(meant.map(({ fields }) => fields[one.field]))
      })
      return [...(name === '' ? [] : [name]), ...values, ...leftOutText(leftOut)].join(' | ')
    })
    .sort()
}

test('groups and aggregates are those of the events, in every table', async () => {
  const random = startRandom()
  const own = randomEvents(random, OWN, 400)
  const both = randomEvents(random, BOTH, 400)
  const small = randomEvents(random, SMALL, 200)
  const foreign = randomEvents(random, 999, 50)
  const all = [...own, ...both, ...small]
  await insert(clickhouse, OWN, own)
  await insert(clickhouse, BOTH, both.slice(0, 200))
  await insert(clickhouse, MIXED_STREAM, [...both.slice(200), ...small, ...foreign])
  const middleMs = FROM_MS + 30 * MINUTE_MS
  const catalogs = {
    unknown: [OWN, BOTH, SMALL].map((stream) => unknownCatalog(stream, [])),
    learned: [OWN, BOTH, SMALL].map((stream) => catalogOf(stream, all, FROM_MS + 1e9)),
    partly: [OWN, BOTH, SMALL].map((stream) => catalogOf(stream, all, middleMs)),
  }
  const cases: readonly (readonly [readonly unknown[], readonly string[], number?])[] = [
    [[], []],
    ...['string', 'integer', 'number', 'mixed', '_stream', '_level'].map(
      (key) => [[key], [key]] as const,
    ),
    [
      ['_stream', 'mixed'],
      ['_stream', 'mixed'],
    ],
    [
      ['number', '_level'],
      ['number', '_level'],
    ],
    [[{ bucket: '5m' }], [], 5 * MINUTE_MS],
    [['_level', { bucket: '5m' }], ['_level'], 5 * MINUTE_MS],
    [['mixed', { bucket: '10m' }, '_stream'], ['mixed', '_stream'], 10 * MINUTE_MS],
  ]
  for (const [name, known] of Object.entries(catalogs)) {
    for (const [groupBy, keys, stepMs] of cases) {
      const result = await run({ group_by: groupBy, aggregates: AGGREGATES, limit: 500 }, known)
      const expected = naiveShown(all, keys, stepMs)
      assert.deepEqual(shown(result), expected, `${name} ${JSON.stringify(groupBy)}`)
      assert.equal(result.isEstimated, false)
    }
    const one = await run({ group_by: 'mixed', aggregates: AGGREGATES }, known.slice(1, 2))
    assert.deepEqual(shown(one), naiveShown(both, ['mixed'], undefined), name)
  }
})

/** Over the same tables; statements that `isTooLarge` run out of memory. What was asked: `how`. */
function storeWithin(isTooLarge: (isExact: boolean, isSmall: boolean) => boolean) {
  const asked: string[] = []
  const query = async (...args: Parameters<ClickHouse['query']>) => {
    const [sql, , settings = {}] = args
    if (!sql.includes('uniq')) return clickhouse.query(...args)
    const [isExact, isSmall] = [sql.includes('uniqExact'), 'max_block_size' in settings]
    asked.push(`${isExact ? 'exact' : 'estimate'}${isSmall ? ' small' : ''}`)
    if (!isTooLarge(isExact, isSmall)) return clickhouse.query(...args)
    throw new StoreError('unavailable', 'no', { clickHouseCode: MEMORY_LIMIT_EXCEEDED })
  }
  const limited = { query } as unknown as ClickHouse
  const tables = new ProjectionTables(clickhouse)
  return { asked, by: new AggregateStore(limited, tables) }
}

test('values that do not fit memory are estimated each time; in small blocks exact', async () => {
  const stream = 106 as StreamId
  const events = Array.from({ length: 50 }, (_, n): PlainEvent => {
    return { stream, ms: FROM_MS + 20 * MINUTE_MS, level: '', fields: { integer: String(n) } }
  })
  await insert(clickhouse, stream, events)
  const catalog = learnedCatalog(stream, [], { integer: { scalars: ['Int64'] } })
  const body = { aggregates: [{ fn: 'uniq', field: 'integer' }] }
  const values = storeWithin((isExact) => isExact)
  const blocks = storeWithin((_, isSmall) => !isSmall)
  for (const [{ asked, by }, isEstimated, first, then] of [
    [values, true, ['exact', 'estimate'], ['exact', 'estimate']],
    [blocks, false, ['exact', 'estimate', 'exact small'], ['exact small']],
  ] as const) {
    for (const expected of [first, then, then]) {
      asked.length = 0
      const result = await run(body, [catalog], by)
      assert.deepEqual([shown(result), result.isEstimated], [['50'], isEstimated])
      assert.deepEqual(asked, expected)
    }
  }
})

test('integers past 64 bits signed are those that the catalog says', async () => {
  const stream = 104 as StreamId
  const event = (json: string): PlainEvent => {
    return { stream, ms: FROM_MS + 20 * MINUTE_MS, level: '', fields: { integer: json } }
  }
  // As signed bits the large one is -5.
  const value = '18446744073709551611'
  await insert(clickhouse, stream, [event('1'), event('-5'), event('-5'), event(value)])
  const catalogOf = (...scalars: ScalarType[]) =>
    learnedCatalog(stream, [], { integer: { scalars } })
  const aggregates = [
    { fn: 'count' },
    { fn: 'uniq', field: 'integer' },
    { fn: 'max', field: 'integer' },
    { fn: 'sum', field: 'integer' },
  ]
  const ask = async (catalog: FieldCatalog) => {
    return shown(await run({ aggregates, group_by: 'integer' }, [catalog]))
  }
  const totals = async (catalog: FieldCatalog) => {
    const counts: number[] = []
    for (const query of [
      'integer:>5',
      'NOT integer:>5',
      'integer:1',
      'integer:<0 OR integer:>=7',
    ]) {
      counts.push(Number((await run({ query }, [catalog])).total))
    }
    return counts
  }
  const both = catalogOf('Int64', 'UInt64')
  const small = ['-5 | 2 | 1 | -5 | -10', '1 | 1 | 1 | 1 | 1']
  assert.deepEqual(await ask(both), [...small, `${value} | 1 | 1 | ${value} | ${value}`])
  assert.deepEqual(await totals(both), [1, 3, 1, 3])
  // Its column is not read where the catalog says that there is none.
  assert.deepEqual(await totals(catalogOf('Int64')), [0, 4, 1, 2])
})
