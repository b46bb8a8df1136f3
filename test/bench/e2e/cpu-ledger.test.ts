/**
 * Goal: the CPU of every process of a service is counted once, however short it lived.
 * Method: literal /proc texts and literal process trees; one real short-lived child.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import {
  CpuLedger,
  type Role,
  selectMembers,
  subtractCpu,
  totalCpu,
} from '../../../bench/e2e/cpu-ledger.ts'
import { ProcessWatch } from '../../../bench/e2e/process-watch.ts'
import {
  type ProcessStat,
  parseProcessMemory,
  parseProcessStat,
} from '../../../bench/e2e/procfs.ts'

const STAT =
  '4711 (post) gres: w) S 12 4711 4711 0 -1 4194304 101 0 1 0 150 50 30 20 20 0 1 0 233619 313'

function stat(pid: number, ppid: number, ownMicros: number, reapedMicros = 0): ProcessStat {
  return { pid, ppid, ownMicros, reapedMicros, comm: 'x', startTicks: pid * 10 }
}

test('a stat line is parsed around a name with spaces and parentheses', () => {
  assert.deepEqual(parseProcessStat(STAT), {
    pid: 4711,
    comm: 'post) gres: w',
    ppid: 12,
    ownMicros: 2_000_000,
    reapedMicros: 500_000,
    startTicks: 233_619,
  })
  assert.throws(() => parseProcessStat('nonsense'))
})

test('memory lines are parsed, absent ones are 0', () => {
  const text = 'Name:\tnode\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\nRssAnon:\t 512 kB\n'
  assert.deepEqual(parseProcessMemory(text), {
    rssBytes: 1_048_576,
    peakRssBytes: 2_097_152,
    anonymousBytes: 524_288,
    fileBytes: 0,
    sharedBytes: 0,
  })
})

test('members are the tree below the roots and what is claimed, nothing else', () => {
  const all = [stat(1, 0, 0), stat(10, 1, 0), stat(11, 10, 0), stat(12, 11, 0), stat(20, 1, 0)]
  const orphan = [stat(30, 1, 0), stat(31, 30, 0)]
  const members = selectMembers([...all, ...orphan], [10], ({ pid }) => pid === 30)
  assert.deepEqual(members.map(({ pid }) => pid).sort(), [10, 11, 12, 30, 31])
})

test('a child that ended is counted once, through its parent', () => {
  const ledger = new CpuLedger()
  const role = ({ pid }: ProcessStat): Role => (pid === 1 ? 'node' : 'postgres')
  ledger.update([stat(1, 0, 100), stat(2, 1, 40)], role)
  assert.equal(totalCpu(ledger.totals()), 140)
  ledger.update([stat(1, 0, 110, 45)], role)
  assert.equal(totalCpu(ledger.totals()), 155)
})

test('a process whose parent is not ours is remembered when it ends', () => {
  const ledger = new CpuLedger()
  const role = ({ pid }: ProcessStat): Role => (pid === 1 ? 'node' : 'postgres')
  ledger.update([stat(1, 0, 100), stat(2, 999, 40, 5)], role)
  const start = ledger.totals()
  ledger.update([stat(1, 0, 120)], role)
  ledger.update([stat(1, 0, 130)], role)
  assert.deepEqual(ledger.totals(), { node: 130, postgres: 45, clickhouse: 0, other: 0 })
  assert.deepEqual(subtractCpu(ledger.totals(), start), {
    node: 30,
    postgres: 0,
    clickhouse: 0,
    other: 0,
  })
})

test('a pid that is used again is another process', () => {
  const ledger = new CpuLedger()
  ledger.update([stat(2, 999, 40)], () => 'other')
  ledger.update([{ ...stat(2, 999, 7), startTicks: 99_999 }], () => 'other')
  assert.equal(ledger.totals().other, 47)
})

test('CPU of a real child that nobody sampled is counted', async () => {
  // A shell that burns CPU in a child of its own, and then waits to be looked at.
  const burn = 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'
  const shell = spawn('sh', ['-c', `sh -c '${burn}'; echo done; read line`], {
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const watch = new ProcessWatch({ pids: [shell.pid!], dataDirectory: undefined })
  await once(shell.stdout, 'data')
  const { cpu } = watch.sample()
  assert(cpu.node >= 30_000, `only ${cpu.node} µs`)
  assert(watch.memory().node.bytes > 0)
  shell.stdin.end('\n')
  await once(shell, 'exit')
})
