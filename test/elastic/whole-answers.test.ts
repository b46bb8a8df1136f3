/**
 * Goal: an answer that is not whole never looks whole: it says `timed_out`, and to an alert it is
 * an error. One search that fails does not touch the others. Streams are found as indices are.
 * Method: the functions behind the routes, with sources that say how far they are.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runMsearch } from '../../src/elastic/msearch.ts'
import { jsonTexts } from '../../src/elastic/raw-json.ts'
import { Indices } from '../../src/elastic/resolve-indices.ts'
import { type ElasticDeps, newRun } from '../../src/elastic/run-search.ts'
import { IngestError } from '../../src/errors.ts'
import { ELASTIC_LAG_MS_MAX, ELASTIC_SCANS_MAX, ELASTIC_SEARCHES_MAX } from '../../src/limits.ts'
import type { Principal, Stream, StreamId } from '../../src/model/stream.ts'

const NOW = Date.parse('2026-03-01T12:00:00Z')
const PRINCIPAL = { owner: 'ann', scopes: new Set(['events:read']), tokenId: 1 } as never

const NAMES = ['web', 'db', 'web-2026', 'api.v1', '7']
const streams = NAMES.map((name, index) => {
  return { streamId: (index + 1) as StreamId, name, owner: 'ann' } as Stream
})
const source = {
  findStreams: () => Promise.resolve([]),
  listStreams: (_: string | undefined, { after }: { readonly after: number }) =>
    Promise.resolve(streams.filter(({ streamId }) => streamId > after)),
}
const indices = () => new Indices(source, PRINCIPAL as Principal)

interface Sources {
  readonly asOfMs?: number
  readonly fails?: boolean
  readonly isPartial?: boolean
}

function depsOf({ asOfMs = NOW, fails = false, isPartial = false }: Sources): ElasticDeps {
  return {
    nowMs: () => NOW,
    search: {} as never,
    shouldYieldToIngest: () => true,
    openStreams: () => {
      const catalog = { isPartial, observed: new Map() }
      return Promise.resolve({ sources: [{ streamId: 1, catalog } as never], asOfMs })
    },
    runAggregate: () => {
      const stats = { rowsRead: 0, engineMs: 0 }
      if (fails) throw new IngestError('unavailable', 'the query took over 30000 ms')
      return Promise.resolve({ rows: [], total: 5n, groups: 0, isEstimated: false, stats })
    },
  }
}

async function ask(of: Sources, body: string, isAlert = false) {
  const run = newRun(depsOf(of), new AbortController().signal, isAlert)
  const answer = await runMsearch(run, indices(), { text: body, index: '' })
  return JSON.parse([...jsonTexts(answer)].join('')).responses
}

const LATE = NOW - ELASTIC_LAG_MS_MAX - 5_000
const range = (lte: number) => ({ range: { '@timestamp': { gte: NOW - 3_600_000, lte } } })
const search = (query: unknown, header: unknown = { index: 'web' }) => {
  const aggs = { n: { max: { field: 'n' } } }
  return `${JSON.stringify(header)}\n${JSON.stringify({ size: 0, query, aggs })}\n`
}

test('what is not projected yet makes an answer incomplete, and an error of an alert', async () => {
  const [whole] = await ask({}, search(range(NOW)))
  assert.deepEqual([whole.timed_out, whole._shards.failed, whole.status], [false, 0, 200])
  const [late] = await ask({ asOfMs: LATE }, search(range(NOW)))
  assert.deepEqual([late.timed_out, late._shards.failed, late.status], [true, 1, 200])
  assert.match(late._shards.failures[0].reason.reason, /the newest 15 s are not projected/)
  const [past] = await ask({ asOfMs: LATE }, search(range(LATE - 1)))
  assert.equal(past.timed_out, false, 'nothing of its range is missing')
  const [alert] = await ask({ asOfMs: LATE }, search(range(NOW)), true)
  assert.equal(alert.status, 503)
  assert.match(alert.error.reason, /the answer is not whole: the newest 15 s/)
  const [named] = await ask({ asOfMs: LATE }, search(range(NOW), { FromAlert: true }))
  assert.equal(named.status, 503)
})

test('fields that were never learned make an answer to words incomplete', async () => {
  const words = { bool: { filter: [range(NOW), { query_string: { query: 'timeout' } }] } }
  const [answer] = await ask({ isPartial: true }, search(words))
  assert.equal(answer.timed_out, true)
  const [plain] = await ask({ isPartial: true }, search(range(NOW)))
  assert.equal(plain.timed_out, false)
})

test('a search that fails has its error in its place; the others are answered', async () => {
  const bad = '{"index":"nope"}\n{"size":0}\n{}\n{"query":{"script":{}}}\n{}\n{broken\n'
  const [gone, wrong, broken, good] = await ask({}, `${bad}${search(range(NOW))}`)
  assert.deepEqual([gone.status, wrong.status, broken.status, good.status], [404, 400, 400, 200])
  assert.equal(gone.error.type, 'index_not_found_exception')
  assert.equal(wrong.error.root_cause[0].reason, 'query: "script" is not supported')
  assert.match(broken.error.reason, /not valid JSON/)
  const [failed] = await ask({ fails: true }, search(range(NOW)))
  assert.deepEqual([failed.status, failed.error.reason], [503, 'the query took over 30000 ms'])
  const many = '{}\n{}\n'.repeat(ELASTIC_SEARCHES_MAX + 1)
  await assert.rejects(() => ask({}, many), /ELASTIC_SEARCHES_MAX/)
  await assert.rejects(() => ask({}, '{}\n{}\n{}\n'), /a header and a search in turn/)
})

test('an index is a stream: by name, id, pattern, exclusion or with a date', async () => {
  const names = async (expression: string, ignoresUnknown = false) => {
    const found = await indices().resolve(expression, { ignoresUnknown })
    return found.map(({ name }) => name).join(' ')
  }
  for (const [expression, expected] of [
    ['', 'web db web-2026 api.v1 7'],
    ['_all', 'web db web-2026 api.v1 7'],
    ['web', 'web'],
    ['2', 'db'],
    ['7', '7'],
    ['db,web', 'web db'],
    ['web*', 'web web-2026'],
    ['*,-web*', 'db api.v1 7'],
    ['w?b', 'web'],
    ['nothing*', ''],
    ['web-2026.11.29', 'web'],
    ['web-2026', 'web-2026'],
    ['db-2026.11.28,db-2026.11.29', 'db'],
    ['api.v1-2026.48', 'api.v1'],
  ] as const) {
    assert.equal(await names(expression), expected, expression)
  }
  await assert.rejects(() => names('web,nope'), /no such index \[nope\]/)
  assert.equal(await names('web,nope', true), 'web')
  await assert.rejects(() => names('web-99'), /no such index/)
})

test('searches past the bound on the queries of a request fail, others do not', async () => {
  const lines = Array.from({ length: ELASTIC_SEARCHES_MAX }, (_, n) => {
    const group = (name: string) => ({ terms: { field: `${name}${n}` } })
    const aggs = { a: group('a'), b: group('b') }
    return `{"index":"web"}\n${JSON.stringify({ size: 0, aggs })}\n`
  })
  const answers = await ask({}, lines.join(''))
  const reasons = answers.flatMap((one: { error?: { reason: string } }) => one.error?.reason ?? [])
  assert.ok(reasons.length > 0 && reasons.length <= ELASTIC_SCANS_MAX, `${reasons.length}`)
  for (const reason of reasons) assert.match(reason, /over 100 queries \(ELASTIC_SCANS_MAX\)/)
})
