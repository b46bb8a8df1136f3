/**
 * Goal: a sub-select has the rows of the streams that were asked for, from whichever tables they
 * are in, within the range, not removed, and by which the catalog may be behind does not show.
 * Method: the real engine; events with numbers, asked for by number.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from '../../../../src/language/parse.ts'
import { QUERY_TABLES_MAX } from '../../../../src/limits.ts'
import { type FieldCatalog, NOTHING_LEARNED } from '../../../../src/model/field-catalog.ts'
import { type SegmentId, segmentIdMs, segmentIdNode } from '../../../../src/model/segment-id.ts'
import type { NodeMarks } from '../../../../src/model/segment-place.ts'
import type { StreamId } from '../../../../src/model/stream.ts'
import { ProjectionTables } from '../../../../src/store/projection/compile/projection-tables.ts'
import {
  type RowSourceOptions,
  rowSource,
} from '../../../../src/store/projection/compile/row-source.ts'
import { SqlParams } from '../../../../src/store/projection/compile/sql-params.ts'
import { ProjectionHarness } from '../../../block/projection-harness.ts'
import { learnedCatalog, unknownCatalog } from './test-catalog.ts'

const harness = new ProjectionHarness()

const linesOf = (...numbers: readonly number[]) => numbers.map((n) => `{"n":${n},"s":"x${n}"}`)

const ALL_TIME = { timeBasis: 'ingested_at', fromNs: 0n, toNs: 1n << 62n } as const

interface Asked extends Partial<RowSourceOptions> {
  readonly catalogs: readonly FieldCatalog[]
  readonly query?: never
  readonly text?: string
  readonly removedBefore?: readonly bigint[]
  readonly projected?: NodeMarks
}

/** The numbers of the rows, with their streams. */
async function ask({ catalogs, text = '', removedBefore = [], projected, ...rest }: Asked) {
  const tables = new ProjectionTables(harness.clickhouse)
  const streams = catalogs.map((catalog, at) => {
    const { streamId } = catalog
    const marks = projected === undefined ? {} : { projected }
    return { streamId, catalog, removedBefore: (removedBefore[at] ?? 0n) as SegmentId, ...marks }
  })
  return tables.read(streams, async (present) => {
    const params = new SqlParams()
    const columns = ({ stream }: { stream: string }) => `${stream} AS stream, payload.n.:Int64 AS n`
    const options = { ...ALL_TIME, streams, query: parse(text), columns, ...rest }
    const source = rowSource(options, harness.clickhouse.place, present, params)
    if (source === undefined) return []
    const rows = await harness.clickhouse.query<{ stream: number; n: number }>(
      `SELECT stream, n FROM ${source} ORDER BY n`,
      params.values,
    )
    return rows.map(({ stream, n }) => `${catalogs.findIndex((c) => c.streamId === stream)}:${n}`)
  })
}

const catalogOf = (stream: StreamId) => unknownCatalog(stream, [])

test('rows are found in tables of their own, in the shared one, in both, and in none', async () => {
  const [none, own, shared, both] = [1, 2, 3, 4].map(() => harness.newStream())
  assert.deepEqual(await ask({ catalogs: [catalogOf(none!)] }), [])
  await harness.insertLines(own!, linesOf(1, 2))
  assert.deepEqual(await ask({ catalogs: [catalogOf(own!)] }), ['0:1', '0:2'])
  await harness.insertShared(shared!, linesOf(3, 4))
  await harness.insertLines(both!, linesOf(5))
  await harness.insertShared(both!, linesOf(6))
  assert.deepEqual(await ask({ catalogs: [catalogOf(shared!)] }), ['0:3', '0:4'])
  assert.deepEqual(await ask({ catalogs: [catalogOf(both!)] }), ['0:5', '0:6'])
  const all = await ask({ catalogs: [none!, own!, shared!, both!].map(catalogOf) })
  assert.deepEqual(all, ['1:1', '1:2', '2:3', '2:4', '3:5', '3:6'])
  const some = await ask({ catalogs: [both!, own!].map(catalogOf), text: 'n:>1' })
  assert.deepEqual(some, ['1:2', '0:5', '0:6'])
})

test('removed rows are in none, each stream having its own mark', async () => {
  const [a, b] = [harness.newStream(), harness.newStream()]
  const ids: bigint[] = []
  for (const n of [1, 2, 3, 4]) {
    ids.push(await harness.insertShared(n % 2 === 1 ? a : b, linesOf(n)))
    ids.push(...(await harness.insertLines(n % 2 === 1 ? a : b, linesOf(10 * n))))
  }
  const removedBefore = [ids[4]!, ids[3]!]
  const rows = await ask({ catalogs: [a, b].map(catalogOf), removedBefore })
  assert.deepEqual(rows, ['0:3', '1:4', '1:20', '0:30', '1:40'])
})

test('a further condition and the time range narrow it', async () => {
  const stream = harness.newStream()
  const id = await harness.insertShared(stream, linesOf(1, 2, 3))
  const catalogs = [catalogOf(stream)]
  assert.deepEqual(await ask({ catalogs, where: () => 'ordinal < 2' }), ['0:1', '0:2'])
  const receivedNs = BigInt(segmentIdMs(id)) * 1_000_000n
  for (const timeBasis of ['ingested_at', 'event_time'] as const) {
    assert.equal((await ask({ catalogs, timeBasis, fromNs: receivedNs })).length, 3)
    assert.equal((await ask({ catalogs, timeBasis, toNs: receivedNs })).length, 0)
  }
})

test('rows that the catalog has not learned from are read with all types', async () => {
  const stream = harness.newStream()
  const old = await harness.insertShared(stream, linesOf(1))
  const untilMs = segmentIdMs(old) + 1
  const known = learnedCatalog(stream, [], { n: { scalars: ['Int64'] } })
  const catalog = { ...known, learned: { ...NOTHING_LEARNED, untilMs } }
  // `s` is of the new row alone: the catalog does not know of it.
  assert.deepEqual(await ask({ catalogs: [known], text: 's:x1' }), [])
  assert.deepEqual(await ask({ catalogs: [catalog], text: 's:x1' }), [])
  const none = { ...known, learned: NOTHING_LEARNED }
  assert.deepEqual(await ask({ catalogs: [none], text: 's:x1' }), ['0:1'])
  const late = {
    upTo: new Map(),
    untilMs: untilMs + 1_000,
    behind: [{ nodeId: 0, untilMs: untilMs - 5 }],
  }
  assert.deepEqual(await ask({ catalogs: [{ ...known, learned: late }], text: 's:x1' }), ['0:1'])
  const others = { ...late, behind: [{ nodeId: 3, untilMs: untilMs - 5 }] }
  assert.deepEqual(await ask({ catalogs: [{ ...known, learned: others }], text: 's:x1' }), [])
})

test('where all rows that count are learned from, only their types are read', async () => {
  const stream = harness.newStream()
  const first = (await harness.insertShared(stream, linesOf(1))) as SegmentId
  const last = (await harness.insertShared(stream, linesOf(2))) as SegmentId
  const types = { n: { scalars: ['Int64'] as const }, s: { scalars: [] } }
  const node = segmentIdNode(first)
  const learnedTo = (upTo: ReadonlyMap<number, SegmentId>) => {
    const untilMs = segmentIdMs(last)
    return { ...learnedCatalog(stream, [], types), learned: { untilMs, behind: [], upTo } }
  }
  const up = (id: SegmentId) => new Map([[node, id]])
  const each = async (learned: SegmentId, projected: SegmentId | undefined, text: string) => {
    const marks = projected === undefined ? {} : { projected: up(projected) }
    return ask({ catalogs: [learnedTo(up(learned))], text, ...marks })
  }
  assert.deepEqual(await each(last, last, 'n:>0'), ['0:1', '0:2'])
  assert.deepEqual(await each(last, last, 's:x2'), [], 'the catalog says that there is none')
  assert.deepEqual(await each(first, last, 's:x2'), ['0:2'], 'not learned from')
  assert.deepEqual(await each(first, undefined, 's:x2'), ['0:2'], 'all rows count')
  assert.deepEqual(await each(first, first, 'n:>0'), ['0:1'], 'the other need not count')
  const nodes = new Map([...up(last), [node + 1, 5n as SegmentId]])
  const catalogs = [learnedTo(nodes)]
  const idle = new Map([...up(last), [node + 1, 4n as SegmentId]])
  assert.deepEqual(await ask({ catalogs, text: 'n:>0 OR s:x1', projected: idle }), ['0:1', '0:2'])
  const ahead = new Map([...up(last), [node + 1, 6n as SegmentId]])
  assert.deepEqual(await ask({ catalogs, text: 's:x2', projected: ahead }), ['0:2'])
})

test(`over ${QUERY_TABLES_MAX} tables of streams are refused`, () => {
  const streams = Array.from({ length: QUERY_TABLES_MAX + 1 }, (_, at) => {
    const streamId = (at + 1) as StreamId
    return { streamId, catalog: catalogOf(streamId), removedBefore: 0n as SegmentId }
  })
  const own = new Set(streams.map(({ streamId }) => streamId))
  const options = { ...ALL_TIME, streams, query: parse(''), columns: () => '1' }
  const tables = { own, hasShared: false }
  assert.throws(
    () => rowSource(options, harness.clickhouse.place, tables, new SqlParams()),
    /QUERY_TABLES_MAX/,
  )
})
