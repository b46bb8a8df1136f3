/**
 * Goal: whatever a query of the allowed size becomes, the engine takes it, or it was refused
 * before: never a failure of the engine's own.
 * Method: the largest and deepest queries of each form, against the real engine, for rows of which
 * nothing is known and streams with many text fields.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from '../../../../src/language/parse.ts'
import { QueryError } from '../../../../src/language/query-error.ts'
import {
  QUERY_CLAUSES_MAX,
  QUERY_CONDITIONS_MAX,
  QUERY_LEVELS_MAX,
  QUERY_PATHS_MAX,
  QUERY_TEXT_BYTES_MAX,
} from '../../../../src/limits.ts'
import type { SegmentId } from '../../../../src/model/segment-id.ts'
import type { StreamId } from '../../../../src/model/stream.ts'
import { rowSource } from '../../../../src/store/projection/compile/row-source.ts'
import { SqlParams } from '../../../../src/store/projection/compile/sql-params.ts'
import { querySettings } from '../../../../src/store/projection/query-bounds.ts'
import { ProjectionHarness } from '../../../block/projection-harness.ts'
import { ONLY_LONG, testSeed } from '../../../support/fuzzing.ts'
import { unknownCatalog } from './test-catalog.ts'

const harness = new ProjectionHarness()
const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this choice)`)

async function count(stream: StreamId, text: string, fields: number): Promise<number> {
  const textFields = Array.from({ length: fields }, (_, n) => `text${n}`)
  const paths = Array.from({ length: QUERY_PATHS_MAX }, (_, n) => [`a.${'p'.repeat(100)}${n}`])
  const catalog = unknownCatalog(stream, textFields, paths)
  const params = new SqlParams()
  const source = rowSource(
    {
      streams: [{ streamId: stream, catalog, removedBefore: 0n as SegmentId }],
      timeBasis: 'ingested_at',
      fromNs: 0n,
      toNs: 1n << 62n,
      query: parse(text),
      columns: () => 'ordinal',
    },
    harness.clickhouse.place,
    { own: new Set([stream]), hasShared: false },
    params,
  )
  const rows = await harness.clickhouse.query<{ n: number }>(
    `SELECT count() AS n FROM ${source}`,
    params.values,
    querySettings(20_000),
  )
  return rows[0]!.n
}

const clauses = (make: (n: number) => string, join = ' ', all = QUERY_CLAUSES_MAX) => {
  const parts = Array.from({ length: all }, (_, n) => make(n))
  while (Buffer.byteLength(parts.join(join)) > QUERY_TEXT_BYTES_MAX) parts.pop()
  return parts.join(join)
}
const nested = (open: string, inner: string, close: string, levels = QUERY_LEVELS_MAX) =>
  open.repeat(levels) + inner + close.repeat(levels)

const QUERIES: Readonly<Record<string, string>> = {
  'many fields': clauses((n) => `f${n}:${n}`),
  'many alternatives': clauses((n) => `f${n}:x${n}`, ' OR '),
  'many negations': clauses((n) => `NOT f${n}:${n}`),
  'many times': clauses((n) => `f${n}:>2026-01-01T00:00:00Z`),
  'many words': clauses((n) => `word${n}`),
  'many phrases': clauses((n) => `"word ${n} x"`),
  'many regular expressions': clauses((n) => `f:/a{${n}}[^b]*/`),
  'all fields': clauses((n) => `*:x${n}`, ' ', 6),
  'too many fields': clauses((n) => `a.*:${n}`, ' ', 60),
  'elements of elements': nested('a[]:{', 'b:1', '}'),
  'elements of three levels': clauses((n) => `a[].b[].c[]:{x:${n} NOT y:z}`, ' ', 100),
  parentheses: nested('(', 'a:1', ')'),
  'negated parentheses': nested('NOT (b:2 OR ', 'a:1', ')', QUERY_LEVELS_MAX),
  'alternating levels': nested('(b:2 AND (c:3 OR ', 'a:1', '))', QUERY_LEVELS_MAX / 2),
  'long values': `f:"${'é'.repeat(4_000)}"`,
  'a long name': `\`${'é'.repeat(2_000)}\`:1`,
}

/** They take as long as the others together. */
const SLOW = ['many times']

/** Of how many text fields: `npm test` tries one of the two, the long run both. */
const FIELDS = [1, QUERY_PATHS_MAX]
const fieldsOf = (query: number) => (ONLY_LONG ? [FIELDS[(seed + query) % 2]!] : FIELDS)

for (const [at, [name, text]] of Object.entries(QUERIES).entries()) {
  const skip = SLOW.includes(name) && ONLY_LONG
  test(`${name}: the engine takes it, or it is refused`, { skip }, async () => {
    const stream = harness.newStream()
    await harness.insertLines(stream, ['{"a":1,"text0":"word"}', '{"a":[{"b":1}]}'])
    for (const fields of fieldsOf(at)) {
      const startMs = performance.now()
      let length = 'refused'
      try {
        await count(stream, text, fields)
        length = 'answered'
      } catch (cause) {
        if (!(cause instanceof QueryError)) throw cause
        assert.match(cause.message, /QUERY_(?:CONDITIONS|PATHS)_MAX/)
      }
      const ms = Math.round(performance.now() - startMs)
      console.log(`${name}, ${fields} text fields: ${length} in ${ms} ms`)
      assert.ok(ms < 20_000)
    }
  })
}

test(`up to ${QUERY_CONDITIONS_MAX} conditions`, async () => {
  const stream = harness.newStream()
  await harness.insertLines(stream, ['{"a":1}'])
  assert.equal(
    await count(
      stream,
      clauses((n) => `word${n}`, ' OR ', 18),
      QUERY_PATHS_MAX,
    ),
    0,
  )
})
