/** Goal: on a thread of reads, what one read sets never reaches the next, however soon it comes. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { makeDirectory, removeDirectory } from '../store/temporary.ts'

const READER = fileURLToPath(new URL('./read-by-turns.js', import.meta.url))

test('reads without a pause, of the same session and of others, some of which fail', (t) => {
  const directory = makeDirectory()
  t.after(() => removeDirectory(directory))
  const { stdout, stderr } = spawnSync(process.execPath, [READER, directory], { timeout: 60_000 })
  assert.notEqual(stdout.toString(), '', stderr.toString())
  const told = JSON.parse(stdout.toString()) as string[]
  assert.equal(told.length, 900)
  const preset = JSON.parse(told[2] ?? '{}').block
  const of = (block: number, threads: number) => JSON.stringify({ block, threads })
  const three = [of(1001, 3), of(1002, 3), of(preset, 3)]
  // More sessions than the thread keeps connections for.
  const others = [6, 7, 8, 9].map((n) => of(preset, n))
  const turn = [...three, 'Code: 115', of(1003, 5), ...others]
  assert.ok(preset > 1003)
  for (let n = 0; n < told.length; n += turn.length) {
    assert.deepEqual(told.slice(n, n + turn.length), turn)
  }
})
