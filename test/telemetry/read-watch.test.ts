/**
 * Goal: each read that a store fails is counted by what was read and why, and `/readyz` tells while
 * one kind of read fails again and again, and no longer.
 * Method: reads that fail as told, on a clock of the test's.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IngestError } from '../../src/errors.ts'
import { QueryError } from '../../src/language/query-error.ts'
import { TIMEOUT_EXCEEDED } from '../../src/store/clickhouse-codes.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { Health } from '../../src/telemetry/health.ts'
import { createLog } from '../../src/telemetry/log.ts'
import { Metrics } from '../../src/telemetry/metrics.ts'
import {
  READ_FAILURES,
  READS,
  READS_FAILED_MIN,
  READS_FAILED_MS,
  type Read,
  ReadWatch,
} from '../../src/telemetry/read-watch.ts'

const ANSWERED = new StoreError('other', 'clickhouse: secret (349 SOME_NAME)', {
  clickHouseCode: 349,
  clickHouseName: 'SOME_NAME',
})
const AWAY = new StoreError('unavailable', 'clickhouse: connect ECONNREFUSED', {
  code: 'ECONNREFUSED',
})

function setUp() {
  const health = new Health()
  for (const store of ['postgres', 'clickhouse']) {
    health.declare(store, 'degraded')
    health.report(store)
  }
  const lines: string[] = []
  const log = createLog('info', { write: (line: string) => void lines.push(line) })
  const metrics = new Metrics({ version: '1', engine: 'test' })
  const clock = { ms: 0 }
  const watch = new ReadWatch({ health, metrics, log, nowMs: () => clock.ms })
  const read = async (kind: Read, cause?: unknown, signal = new AbortController().signal) => {
    const fn = async (_: AbortSignal) => {
      if (cause !== undefined) throw cause
      return 'it'
    }
    return await watch
      .watch(
        kind,
        fn,
      )(signal)
      .catch((thrown: unknown) => {
        assert.equal(thrown, cause)
      })
  }
  const counted = async () => {
    const text = await metrics.scrape()
    const found = text.matchAll(
      /^ingest_read_failures_total\{read="(\w+)",reason="(\w+)"\} (\d+)$/gm,
    )
    const all = [...found].map(([, kind, reason, count]) => [`${kind} ${reason}`, Number(count)])
    assert.equal(all.length, READS.length * READ_FAILURES.length, 'all are there from the start')
    return Object.fromEntries(all.filter(([, count]) => count !== 0))
  }
  const reason = () => health.readiness().checks.reads?.reason
  return { health, lines, clock, watch, read, counted, reason }
}

test('failures are counted by read and reason; what is not a failure is not', async () => {
  const { read, counted } = setUp()
  const gone = new AbortController()
  gone.abort()
  const late = new StoreError('unavailable', 'late', { clickHouseCode: TIMEOUT_EXCEEDED })
  const memory = new IngestError('unavailable', 'too much', { members: { reason: 'memory' } })
  await read('search', ANSWERED)
  await read('search', AWAY)
  await read('search', late)
  await read('aggregate', memory)
  await read('facets', new IngestError('unavailable', 'no store', { cause: AWAY }))
  await read('tail', new TypeError('a bug'))
  await read('search', ANSWERED, gone.signal)
  await read('search', new QueryError({ start: 0, end: 1 }, 'wrong'))
  await read('search', new IngestError('malformed', 'wrong'))
  await read('views', new StoreError('conflict', 'there is one'))
  assert.equal(await read('search'), 'it')
  assert.deepEqual(await counted(), {
    'search error': 1,
    'search away': 1,
    'search timeout': 1,
    'aggregate memory': 1,
    'facets away': 1,
    'tail error': 1,
  })
})

test('a read that is answered with errors again and again is told until it is over', async () => {
  const { clock, read, reason, watch, lines } = setUp()
  for (let n = 1; n < READS_FAILED_MIN; n++) await read('search', ANSWERED)
  assert.equal(reason(), undefined)
  // Other searches, without the word, succeed all the time.
  await read('search')
  await read('aggregate')
  await read('search', ANSWERED)
  assert.equal(reason(), 'these fail again and again: search (SOME_NAME)')
  await read('search')
  clock.ms += READS_FAILED_MS - 1
  watch.check()
  assert.match(reason() ?? '', /search/)
  clock.ms += 2
  watch.check()
  assert.equal(reason(), undefined)
  assert.deepEqual(
    lines.map((line) => (JSON.parse(line) as { msg: string }).msg),
    ['reads fail again and again', 'reads do not fail any more'],
  )
  assert.doesNotMatch(lines.join(), /secret/)
})

test('failures that lie far apart, or of several reads, are not again and again', async () => {
  const { clock, read, reason } = setUp()
  for (let n = 0; n < 2 * READS_FAILED_MIN; n++) {
    await read('facets', ANSWERED)
    clock.ms += READS_FAILED_MS / (READS_FAILED_MIN - 1)
  }
  await read('search', ANSWERED)
  await read('aggregate', ANSWERED)
  await read('explain', ANSWERED)
  assert.equal(reason(), undefined)
})

test('a store that is away is its own check, else that of reads until one succeeds', async () => {
  const { health, read, reason, watch } = setUp()
  for (let n = 0; n < READS_FAILED_MIN; n++) await read('search', AWAY)
  assert.equal(reason(), 'these fail again and again: search (ECONNREFUSED)')
  await read('search')
  watch.check()
  assert.equal(reason(), undefined)
  for (let n = 0; n < READS_FAILED_MIN; n++) await read('search', AWAY)
  health.report('clickhouse', 'it does not answer')
  watch.check()
  assert.equal(reason(), undefined)
  health.report('clickhouse')
  watch.check()
  assert.equal(reason(), undefined)
})

test('each method of a store is watched, and its own calls of others are not', async () => {
  const { watch, counted } = setUp()
  class Store {
    readonly #cause = ANSWERED
    get name(): string {
      return 'store'
    }
    count(): number {
      return 7
    }
    async inner(): Promise<never> {
      throw this.#cause
    }
    async outer(): Promise<never> {
      return await this.inner()
    }
  }
  const store = watch.watchAll('usage', new Store())
  await assert.rejects(store.outer(), { clickHouseCode: 349 })
  await assert.rejects(store.inner.bind(store)(), { clickHouseCode: 349 })
  assert.deepEqual([store.name, store.count()], ['store', 7])
  assert.deepEqual(await counted(), { 'usage error': 2 })
})
