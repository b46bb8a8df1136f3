/**
 * Goal: the embedded stores come back with their data from any death, theirs or ours, and
 * nothing of them is left running without us.
 * Method: kill -9 for real: the server, the engine, and a process that owns both.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { startEmbeddedClickHouse } from '../../src/embedded/clickhouse.ts'
import { startEmbeddedPostgres } from '../../src/embedded/postgres.ts'
import { endOrphans } from '../../src/embedded/postgres-cluster.ts'
import type { StoreState } from '../../src/embedded/supervisor.ts'
import { isAlive, sendSignal } from '../../src/machine/processes.ts'
import { ClickHouse } from '../../src/store/clickhouse.ts'
import { Postgres } from '../../src/store/postgres.ts'
import { eventually, makeDirectory, recordingLog, removeDirectory } from '../store/temporary.ts'
import { ONLY_LONG, rounds } from '../support/fuzzing.ts'

const directories: string[] = []
const children: ChildProcess[] = []

after(() => {
  for (const child of children) child.kill('SIGKILL')
  for (const directory of directories) removeDirectory(directory)
})

function newDirectory(): string {
  const directory = makeDirectory()
  directories.push(directory)
  return directory
}

let made: Promise<string> | undefined

/** One in which PostgreSQL has been: to make its files takes longer than to start on them. */
async function usedDirectory(): Promise<string> {
  made ??= makeUsed()
  const directory = newDirectory()
  // With owners and modes: PostgreSQL's files are another user's where we are root.
  execFileSync('cp', ['-a', '--reflink=auto', `${await made}/.`, directory])
  return directory
}

async function makeUsed(): Promise<string> {
  const dataDir = newDirectory()
  const store = await startEmbeddedPostgres({ dataDir, log: recordingLog() })
  await store.stop()
  return dataDir
}

async function postgresRows(postgres: Postgres): Promise<number> {
  const { rows } = await postgres.query<{ n: number }>('SELECT count(*)::integer AS n FROM kept')
  return rows[0]?.n ?? -1
}

async function clickHouseRows(clickHouse: ClickHouse): Promise<number> {
  const sql = 'SELECT toUInt32(count()) AS n FROM kept'
  return (await clickHouse.query<{ n: number }>(sql))[0]?.n ?? -1
}

test('PostgreSQL keeps its data over stop and start, and its password stays secret', async () => {
  const dataDir = newDirectory()
  const log = recordingLog()
  for (const expected of [0, 1]) {
    const states: StoreState[] = []
    const onStateChange = (state: StoreState) => void states.push(state)
    const store = await startEmbeddedPostgres({ dataDir, log, onStateChange })
    const postgres = new Postgres({ url: store.url, log })
    await postgres.query('CREATE TABLE IF NOT EXISTS kept (n integer)')
    assert.equal(await postgresRows(postgres), expected)
    await postgres.query('INSERT INTO kept VALUES (1)')
    await postgres.end()
    const pid = store.pid() ?? 0
    await store.stop()
    await store.stop()
    assert.equal(isAlive(pid), false)
    assert.deepEqual(states, ['starting', 'running', 'stopped'])
  }
  const password = readFileSync(join(dataDir, 'postgres-password'), 'utf8').trim()
  assert.ok(log.lines.every((line) => !line.includes(password)))
})

test('PostgreSQL leaves payloads that were added alone until they are removed or old', async () => {
  const log = recordingLog()
  const store = await startEmbeddedPostgres({ dataDir: await usedDirectory(), log })
  after(() => store.stop())
  const postgres = new Postgres({ url: store.url, log })
  after(() => postgres.end())
  const { rows } = await postgres.query<{ name: string; setting: string }>(
    "SELECT name, setting FROM pg_settings WHERE name ~ '^autovacuum(_vacuum_insert_threshold)?$'",
  )
  assert.deepEqual(rows, [
    { name: 'autovacuum', setting: 'on' },
    { name: 'autovacuum_vacuum_insert_threshold', setting: '-1' },
  ])
})

test('PostgreSQL has the log files it will need, made before the first commit', async () => {
  const dataDir = newDirectory()
  const log = recordingLog()
  const store = await startEmbeddedPostgres({ dataDir, log })
  after(() => store.stop())
  const postgres = new Postgres({ url: store.url, log })
  after(() => postgres.end())
  const made = readdirSync(join(dataDir, 'postgres', 'pg_wal'))
    .filter((name) => name.length === 24)
    .sort()
  assert.ok(made.length >= 12, `${made.length} files`)
  for (let megabytes = 0; megabytes < 100; megabytes += 20) {
    const text = "SELECT pg_logical_emit_message(true, 'test', repeat('x', 20 * 1024 * 1024))"
    await postgres.query(text)
  }
  const { rows } = await postgres.query<{ name: string }>(
    'SELECT pg_walfile_name(pg_current_wal_lsn()) AS name',
  )
  assert.ok(made.indexOf(rows[0]?.name ?? '') > 5, 'what 100 MB were written to was there')
})

test('PostgreSQL killed with -9 is started again at the same address, nothing lost', async () => {
  const dataDir = await usedDirectory()
  const log = recordingLog()
  const store = await startEmbeddedPostgres({ dataDir, log })
  const postgres = new Postgres({ url: store.url, log })
  await postgres.query('CREATE TABLE kept (n integer)')
  for (let round = 1; round <= 3; round++) {
    await postgres.query('INSERT INTO kept VALUES ($1)', [round])
    const pid = store.pid() ?? 0
    process.kill(pid, 'SIGKILL')
    await eventually('another pid', () => ![pid, undefined].includes(store.pid()))
    await eventually('rows are back', async () => (await postgresRows(postgres)) === round)
    assert.equal(store.restartCount(), round)
  }
  await postgres.end()
  await store.stop()
})

test('a PostgreSQL that still runs on our data is stopped before another starts', async () => {
  const dataDir = await usedDirectory()
  const log = recordingLog()
  const store = await startEmbeddedPostgres({ dataDir, log })
  const pid = store.pid() ?? 0
  await endOrphans(join(dataDir, 'postgres'), log)
  assert.equal(isAlive(pid), false)
  await eventually('it is back', () => ![pid, undefined].includes(store.pid()))
  await store.stop()
})

test('a PostgreSQL killed while it took its lock starts again: the file is empty', async () => {
  const dataDir = await usedDirectory()
  const log = recordingLog()
  for (const lock of ['', '\n', 'not a number\n']) {
    writeFileSync(join(dataDir, 'postgres', 'postmaster.pid'), lock)
    const store = await startEmbeddedPostgres({ dataDir, log })
    await store.stop()
  }
})

test('ClickHouse keeps its data over stop and start, and is quick to stop', async () => {
  const dataDir = newDirectory()
  const log = recordingLog()
  for (const expected of [0, 1]) {
    const store = await startEmbeddedClickHouse({ dataDir, log })
    const clickHouse = new ClickHouse({ url: store.url })
    await clickHouse.command(
      'CREATE TABLE IF NOT EXISTS kept (n Int32) ENGINE=MergeTree ORDER BY n',
    )
    assert.equal(await clickHouseRows(clickHouse), expected)
    await clickHouse.command('INSERT INTO kept VALUES (1)')
    const slow = clickHouse.query('SELECT sleepEachRow(1) FROM numbers(3)').catch(() => 'cancelled')
    const startedAt = performance.now()
    await store.stop()
    assert.ok(performance.now() - startedAt < 4_000)
    assert.equal(await slow, 'cancelled')
    await clickHouse.close()
    assert.ok(log.lines.every((line) => !line.includes(new URL(store.url).password)))
  }
})

test('ClickHouse killed with -9 is started again at the same address, nothing lost', async () => {
  const dataDir = newDirectory()
  const log = recordingLog()
  const store = await startEmbeddedClickHouse({ dataDir, log })
  const clickHouse = new ClickHouse({ url: store.url })
  await clickHouse.command('CREATE TABLE kept (n Int32) ENGINE=MergeTree ORDER BY n')
  for (let round = 1; round <= 2; round++) {
    await clickHouse.command(`INSERT INTO kept VALUES (${round})`)
    const pid = store.pid() ?? 0
    process.kill(pid, 'SIGKILL')
    await eventually('another pid', () => ![pid, undefined].includes(store.pid()))
    await eventually('rows are back', async () => (await clickHouseRows(clickHouse)) === round)
  }
  await clickHouse.close()
  await store.stop()
})

interface OwnedStore {
  readonly url: string
  readonly pid: number
}

interface Owned {
  readonly postgres: OwnedStore
  /** Unless it owns PostgreSQL alone. */
  readonly clickHouse?: OwnedStore
}

async function startOwner(
  dataDir: string,
  ...which: readonly 'postgres'[]
): Promise<{ owner: ChildProcess; owned: Owned }> {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  const script = fileURLToPath(new URL(`./own-both-stores.${extension}`, import.meta.url))
  const owner = spawn(process.execPath, [script, dataDir, ...which], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  children.push(owner)
  assert.ok(owner.stdout)
  const [line] = await once(createInterface(owner.stdout), 'line')
  return { owner, owned: JSON.parse(String(line)) }
}

test('when we are killed with -9 both stores end; the next start has all data', async () => {
  const dataDir = await usedDirectory()
  const log = recordingLog()
  const { owner, owned } = await startOwner(dataDir)
  const before = new Postgres({ url: owned.postgres.url, log })
  await before.query('CREATE TABLE kept AS SELECT 1 AS n')
  const engineBefore = new ClickHouse({ url: owned.clickHouse!.url })
  await engineBefore.command('CREATE TABLE kept (n Int32) ENGINE=MergeTree ORDER BY n')
  await engineBefore.command('INSERT INTO kept VALUES (1)')
  owner.kill('SIGKILL')
  await once(owner, 'exit')
  // At once, without waiting for them to be gone: that is the start's business.
  const postgresStore = await startEmbeddedPostgres({ dataDir, log })
  const clickHouseStore = await startEmbeddedClickHouse({ dataDir, log })
  assert.equal(isAlive(owned.postgres.pid), false)
  assert.equal(isAlive(owned.clickHouse!.pid), false)
  const postgres = new Postgres({ url: postgresStore.url, log })
  const clickHouse = new ClickHouse({ url: clickHouseStore.url })
  assert.equal(await postgresRows(postgres), 1)
  assert.equal(await clickHouseRows(clickHouse), 1)
  await Promise.all([before.end(), engineBefore.close(), postgres.end(), clickHouse.close()])
  await Promise.all([postgresStore.stop(), clickHouseStore.stop()])
})

test('a ClickHouse host that hangs when its parent dies is ended by the next start', {
  skip: ONLY_LONG,
}, async () => {
  const dataDir = await usedDirectory()
  const { owner, owned } = await startOwner(dataDir)
  process.kill(owned.clickHouse!.pid, 'SIGSTOP')
  owner.kill('SIGKILL')
  await once(owner, 'exit')
  await eventually('PostgreSQL ends by itself', () => !isAlive(owned.postgres.pid))
  const store = await startEmbeddedClickHouse({ dataDir, log: recordingLog() })
  assert.equal(isAlive(owned.clickHouse!.pid), false)
  await store.stop()
})

/** The server's processes: the first one and its children. */
function serverProcesses(postmaster: number): number[] {
  const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8').trim()
  return [postmaster, ...children.split(' ').map(Number)]
}

const ROUNDS = rounds(8)

test('PostgreSQL starts at once after all of it was killed, again and again', {
  skip: ONLY_LONG,
}, async () => {
  const dataDir = await usedDirectory()
  const log = recordingLog()
  for (let round = 0; round < ROUNDS; round++) {
    const { owner, owned } = await startOwner(dataDir, 'postgres')
    const backends = new Postgres({ url: owned.postgres.url, log })
    await Promise.all(Array.from({ length: 8 }, () => backends.query('SELECT pg_sleep(0.1)')))
    const processes = serverProcesses(owned.postgres.pid)
    assert.ok(processes.length > 8)
    for (const pid of [owner.pid ?? 0, ...processes]) sendSignal(pid, 'SIGKILL')
    const store = await startEmbeddedPostgres({ dataDir, log })
    await store.stop()
    await backends.end()
  }
})

test('PostgreSQL starts beside the zombie of the one before', { skip: ONLY_LONG }, async () => {
  const dataDir = await usedDirectory()
  const { owner, owned } = await startOwner(dataDir, 'postgres')
  owner.kill('SIGSTOP') // It will not look after its child.
  process.kill(owned.postgres.pid, 'SIGKILL')
  const store = await startEmbeddedPostgres({ dataDir, log: recordingLog() })
  assert.match(readFileSync(`/proc/${owned.postgres.pid}/stat`, 'utf8'), /\) Z /)
  await store.stop()
  owner.kill('SIGKILL')
  await once(owner, 'exit')
})

test('a process at the same path in another container is not ended', async (t) => {
  const directory = join(newDirectory(), 'postgres')
  mkdirSync(directory)
  const script = `mount -t tmpfs none "$1" && cp "$(command -v sleep)" "$1/postgres" &&
    cd "$1" && echo mounted && exec ./postgres 600`
  const other = spawn('unshare', ['--mount', 'sh', '-c', script, 'sh', directory])
  children.push(other)
  const told = await Promise.race([
    once(other.stdout, 'data').then(String),
    once(other, 'close').then(() => 'no'),
    once(other, 'error').then(() => 'no'),
  ])
  if (told !== 'mounted\n') return t.skip('no mounts of our own are to be had here')
  await eventually(
    'it runs',
    () => readFileSync(`/proc/${other.pid}/comm`, 'utf8') === 'postgres\n',
  )
  writeFileSync(join(directory, 'postmaster.pid'), `${other.pid}\n`)
  await endOrphans(directory, recordingLog())
  assert.ok(isAlive(other.pid ?? 0))
  other.kill('SIGKILL')
  await once(other, 'close')
})
