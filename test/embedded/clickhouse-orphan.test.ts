/**
 * Goal: the engine's process ends when its parent is killed, whenever that is: also while the
 * engine is still being opened, which takes a second. One that stays holds the directory for ever.
 * Method: a parent of the test's own, killed some time after it has started the engine's process.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { removeDataDir } from '../support/service.ts'

const HOST = fileURLToPath(new URL('../../src/embedded/clickhouse-host.js', import.meta.url))
const PARENT = `
  const { fork } = require('node:child_process')
  const [host, directory] = process.argv.slice(1)
  const child = fork(host, [], { cwd: directory, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] })
  child.send({ directory, socketName: 'clickhouse.sock', user: 'sluice', password: 'x' })
  console.log(child.pid)
  setInterval(() => undefined, 1000)
`
const ENDS_MS_MAX = 15_000

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

for (const afterMs of [0, 60, 300, 700, 3_000]) {
  test(`the parent is killed ${afterMs} ms after it started the engine`, async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'sluice-orphan-'))
    t.after(() => removeDataDir(directory))
    const parent = spawn(process.execPath, ['-e', PARENT, HOST, directory])
    const [said] = await once(parent.stdout, 'data')
    const pid = Number(String(said))
    assert.ok(isAlive(pid))
    await sleep(afterMs)
    parent.kill('SIGKILL')
    const deadline = performance.now() + ENDS_MS_MAX
    while (isAlive(pid) && performance.now() < deadline) await sleep(50)
    const hasEnded = !isAlive(pid)
    if (!hasEnded) process.kill(pid, 'SIGKILL')
    assert.ok(hasEnded, `the engine's process lives after ${ENDS_MS_MAX} ms`)
  })
}
