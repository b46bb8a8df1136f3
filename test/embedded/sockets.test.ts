/**
 * Goal: nobody else can take an embedded store's place, or get at what is meant for it: no port,
 * a socket in a directory of its own. And who holds which lock.
 * Method: what Linux says of the descriptors of the stores' processes.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { startEmbeddedClickHouse } from '../../src/embedded/clickhouse.ts'
import { startEmbeddedPostgres } from '../../src/embedded/postgres.ts'
import type { EmbeddedStore } from '../../src/embedded/supervisor.ts'
import { type DataDirectory, openDataDirectory } from '../../src/machine/data-directory.ts'
import { ClickHouse } from '../../src/store/clickhouse.ts'
import { Postgres } from '../../src/store/postgres.ts'
import { makeDirectory, recordingLog, removeDirectory } from '../store/temporary.ts'

const root = makeDirectory()
const log = recordingLog()
let directory: DataDirectory
let postgres: EmbeddedStore
let clickHouse: EmbeddedStore

before(async () => {
  // Longer than the address of a socket may be.
  const long = join(root, 'd'.repeat(100), 'é'.repeat(50))
  mkdirSync(long, { recursive: true, mode: 0o700 })
  directory = await openDataDirectory(long)
  const options = { dataDir: directory.path, log }
  ;[postgres, clickHouse] = await Promise.all([
    startEmbeddedPostgres(options),
    startEmbeddedClickHouse(options),
  ])
})

after(async () => {
  await postgres?.stop()
  await clickHouse?.stop()
  await directory?.close()
  removeDirectory(root)
})

/** What a process has open. */
function openFiles(pid: number): string[] {
  return readdirSync(`/proc/${pid}/fd`).flatMap((descriptor) => {
    try {
      return [readlinkSync(`/proc/${pid}/fd/${descriptor}`)]
    } catch {
      return [] // Closed meanwhile.
    }
  })
}

/** The store's processes, without those of the test. */
function processesOf(store: EmbeddedStore): number[] {
  const pid = store.pid() ?? 0
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return [pid, ...children.split(' ').filter(Boolean).map(Number)]
}

/** Sockets that anybody on the machine can connect to. */
function internetSockets(): Set<string> {
  const tables = ['tcp', 'tcp6', 'udp', 'udp6'].map((name) =>
    readFileSync(`/proc/self/net/${name}`, 'utf8'),
  )
  const rows = tables.flatMap((table) => table.split('\n').slice(1))
  return new Set(rows.map((row) => `socket:[${row.trim().split(/\s+/)[9]}]`))
}

test('both stores work below a path that is too long for a socket', async () => {
  const client = new Postgres({ url: postgres.url, log })
  await client.ping()
  await client.end()
  const other = new ClickHouse({ url: clickHouse.url })
  await other.ping()
  await other.close()
})

test('no process of theirs has a socket of the internet', () => {
  const reachable = internetSockets()
  for (const store of [postgres, clickHouse]) {
    for (const pid of processesOf(store)) {
      const found = openFiles(pid).filter((file) => reachable.has(file))
      assert.deepEqual(found, [], readFileSync(`/proc/${pid}/comm`, 'utf8'))
    }
  }
})

test('their sockets are where only we and their user come', () => {
  const data = directory.path
  assert.ok(statSync(join(data, 'postgres', '.s.PGSQL.5432')).isSocket())
  assert.ok(statSync(join(data, 'clickhouse', 'http.sock')).isSocket())
  for (const path of [data, join(data, 'postgres'), join(data, 'clickhouse')]) {
    assert.equal(statSync(path).mode & 0o777, 0o700, path)
  }
})

test("a store's processes hold its lock, and not that of the service", () => {
  const ours = [directory.path, join(directory.path, 'sluice.lock')]
  for (const [store, name] of [
    [postgres, 'postgres.lock'],
    [clickHouse, 'clickhouse.lock'],
  ] as const) {
    for (const pid of processesOf(store)) {
      const files = openFiles(pid)
      assert.ok(files.includes(join(directory.path, name)))
      for (const file of ours) assert.ok(!files.includes(file), file)
    }
    assert.ok(!openFiles(process.pid).includes(join(directory.path, name)))
  }
  for (const file of ours) assert.ok(openFiles(process.pid).includes(file), file)
})

test('removing the lock file of a running service lets no other start', async () => {
  rmSync(join(directory.path, 'sluice.lock'))
  await assert.rejects(openDataDirectory(directory.path), /is in use by process/)
})
