/**
 * Goal: in the embedded engine reads never take what writes and control need: places, memory, and
 * most of the processor. Method: the real engine under queries that go on for seconds.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { after, before, test } from 'node:test'
import { backgroundNice } from '../../src/embedded/background-priority.ts'
import { startEmbeddedClickHouse } from '../../src/embedded/clickhouse.ts'
import type { EmbeddedStore } from '../../src/embedded/supervisor.ts'
import { ENGINE_CONTROLS_MAX, ENGINE_READS_MAX, ENGINE_WRITES_MAX } from '../../src/limits.ts'
import { ClickHouse } from '../../src/store/clickhouse.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { eventually, makeDirectory, recordingLog, removeDirectory } from '../store/temporary.ts'

const dataDir = makeDirectory()
let store: EmbeddedStore
let reads: ClickHouse
let writes: ClickHouse
let control: ClickHouse

before(async () => {
  store = await startEmbeddedClickHouse({ dataDir, log: recordingLog() })
  const { url } = store
  reads = new ClickHouse({ url, lane: 'read', connectionsMax: 40 })
  writes = new ClickHouse({ url, lane: 'write' })
  control = new ClickHouse({ url, lane: 'control' })
  await control.command('CREATE TABLE t (n UInt64) ENGINE = MergeTree ORDER BY n')
})

after(async () => {
  for (const client of [reads, writes, control]) await client?.close()
  await store?.stop()
  removeDirectory(dataDir)
})

/** What reads run at. */
const LOWERED = backgroundNice(getPriority())

const SLEEP = 'SELECT sleepEachRow(0.1) FROM numbers(30)'
const HOG = 'SELECT length(groupArray(toString(number))) AS n FROM numbers(100000000)'

/** A block of one column `n` with one row. */
const BLOCK = Buffer.concat([
  Buffer.from('\x01\x01\x01n\x06UInt64', 'latin1'),
  Buffer.from([7, 0, 0, 0, 0, 0, 0, 0]),
])

async function insertAndLook(): Promise<number> {
  const startedAt = performance.now()
  await writes.insertNative('INSERT INTO t (n) FORMAT Native', [BLOCK])
  // What catch-up asks for is a read by its form, and a write by what it is for.
  await writes.query('SELECT count() AS n FROM t')
  await control.ping()
  return performance.now() - startedAt
}

test('writes and control have places beside any number of reads', async () => {
  const gone = new AbortController()
  const options = { signal: gone.signal }
  const slow = Array.from({ length: 40 }, () =>
    reads.query(SLEEP, {}, { function_sleep_max_microseconds_per_block: '9000000' }, options),
  )
  const settled = Promise.allSettled(slow)
  await eventually('they run', async () => (await running()) >= 6)
  for (let i = 0; i < 3; i++) assert.ok((await insertAndLook()) < 2_500)
  assert.ok((await running()) >= 6, 'they still ran')
  gone.abort()
  await settled
  await eventually('what nobody waits for has stopped', async () => (await running()) === 0)
})

async function running(looker = control): Promise<number> {
  const rows = await looker.query<{ n: number }>(
    `SELECT toUInt32(count()) AS n FROM system.processes WHERE query LIKE '%sleepEachRow%'
       AND query NOT LIKE '%system.processes%'`,
  )
  return rows[0]?.n ?? 0
}

test('each lane has its places, and statements beyond them wait', async () => {
  for (const [client, looker, places] of [
    [reads, control, ENGINE_READS_MAX],
    [writes, control, ENGINE_WRITES_MAX],
    [control, reads, ENGINE_CONTROLS_MAX],
  ] as const) {
    const gone = new AbortController()
    const options = { signal: gone.signal }
    const settings = { function_sleep_max_microseconds_per_block: '9000000' }
    const settled = Promise.allSettled(
      Array.from({ length: places + 2 }, () => client.query(SLEEP, {}, settings, options)),
    )
    await eventually('they run', async () => (await running(looker)) >= places)
    for (let look = 0; look < 3; look++) assert.equal(await running(looker), places)
    gone.abort()
    await settled
    await eventually('all have stopped', async () => (await running(looker)) === 0)
  }
})

test('a read alone works on two threads, unless its client asks for one', async () => {
  const plan = async () => {
    const rows = await reads.query<{ explain: string }>(
      'EXPLAIN PIPELINE SELECT sum(cityHash64(number)) FROM numbers_mt(10000000)',
    )
    return rows.map(({ explain }) => explain).join('\n')
  }
  assert.match(await plan(), /NumbersRange × 2/)
  let threads = 1
  reads.setDefaults(() => ({ max_threads: threads }))
  assert.doesNotMatch(await plan(), /NumbersRange × 2/)
  threads = 2
  assert.match(await plan(), /NumbersRange × 2/)
  reads.setDefaults(() => ({}))
})

test('reads run out of memory, inserts do not', async () => {
  const hogs = Array.from({ length: 6 }, () =>
    // What it asks for is more than a read gets.
    reads.query(HOG, {}, { max_memory_usage: '10000000000' }).then(
      () => assert.fail('it cannot have had room'),
      (cause: unknown) => {
        assert.ok(cause instanceof StoreError)
        assert.equal(cause.clickHouseCode, 241)
      },
    ),
  )
  let isOver = false
  const all = Promise.all(hogs).then(() => {
    isOver = true
  })
  let inserts = 0
  for (; !isOver; inserts++) await insertAndLook()
  await all
  assert.ok(inserts > 0)
})

test('all that works for a read gives way from its start, and nothing else does', {
  skip:
    (process.platform !== 'linux' && 'threads have priorities of their own on Linux only') ||
    (LOWERED === getPriority() && 'this process runs at the lowest priority already'),
}, async () => {
  const sql = 'SELECT max(cityHash64(toString(number))) AS m FROM numbers(20000000000)'
  const gone = new AbortController()
  const slow = reads.query(sql, {}, {}, { signal: gone.signal }).catch(() => undefined)
  await eventually('it runs', () => niceOfThreads('Query').length > 0)
  const seen = new Set<number>()
  for (let look = 0; look < 20; look++) {
    for (const nice of niceOfThreads('Query')) seen.add(nice)
    await insertAndLook()
  }
  // Those of the insert and the looks, at the process's own, are as short as they are.
  seen.delete(getPriority())
  assert.deepEqual([...seen], [LOWERED])
  gone.abort()
  await slow
  // What the engine made ends a moment after the query: then one a place is left, and no other.
  await eventually('only the threads of reads are left', () => {
    const lowered = niceOfThreads('').filter((nice) => nice === LOWERED)
    return lowered.length > 0 && lowered.length <= ENGINE_READS_MAX
  })
})

/** Nice values of the engine's threads whose name begins with `name`; merges yield, too. */
function niceOfThreads(name: string): number[] {
  const pid = store.pid()
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    try {
      const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')
      // proc(5): nice is field 19; the third is the first behind the name.
      const [nice] = stat
        .slice(stat.lastIndexOf(')') + 2)
        .split(' ')
        .slice(16)
      const isMerge = stat.includes('(MergeMutate')
      return stat.includes(`(${name}`) && !isMerge ? [Number(nice)] : []
    } catch {
      return [] // It has ended.
    }
  })
}
