/** Goal: merges and mutations of the embedded engine run below the rest, and only they do. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { test } from 'node:test'
import { backgroundNice } from '../../src/embedded/background-priority.ts'
import { startEmbeddedClickHouse } from '../../src/embedded/clickhouse.ts'
import { ClickHouse } from '../../src/store/clickhouse.ts'
import { eventually, makeDirectory, recordingLog, removeDirectory } from '../store/temporary.ts'

/** Nice values of a process's threads, by name. */
function niceValues(pid: number): Map<string, Set<number>> {
  const values = new Map<string, Set<number>>()
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')
    const name = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'))
    // proc(5): nice is field 19; the third is the first behind the name.
    const nice = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])
    values.set(name, (values.get(name) ?? new Set()).add(nice))
  }
  return values
}

test('the step is the same wherever the service is, up to the lowest', () => {
  assert.deepEqual([-10, 0, 5, 10, 19].map(backgroundNice), [0, 10, 15, 19, 19])
})

test('threads that merge give way, others do not', async (t) => {
  const lowered = backgroundNice(getPriority())
  if (lowered === getPriority()) return t.skip('this process runs at the lowest priority already')
  const dataDir = makeDirectory()
  const known = new Set(children())
  const engine = await startEmbeddedClickHouse({ dataDir, log: recordingLog() })
  try {
    const [pid] = children().filter((child) => !known.has(child))
    const clickhouse = new ClickHouse({ url: engine.url })
    await clickhouse.command('CREATE TABLE t (n UInt64) ENGINE = MergeTree ORDER BY n')
    for (const n of [1, 2]) await clickhouse.command(`INSERT INTO t VALUES (${n})`)
    await clickhouse.command('OPTIMIZE TABLE t FINAL')
    await clickhouse.close()
    const background = () => [...(niceValues(pid!).get('MergeMutate') ?? [])].join()
    await eventually('lowered', () => background() === String(lowered))
    const values = niceValues(pid!)
    values.delete('MergeMutate')
    // Threads of reads have names of Node's, as others that must keep what the process has.
    const kept = [...values].filter(([, set]) => set.has(getPriority()))
    assert.ok(kept.some(([name]) => name === 'node'))
    const lowerOnes = [...values].filter(([name, set]) => set.has(lowered) && name !== 'node')
    assert.deepEqual(lowerOnes, [])
  } finally {
    await engine.stop()
    removeDirectory(dataDir)
  }
})

function children(): number[] {
  const text = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8').trim()
  return text === '' ? [] : text.split(' ').map(Number)
}
