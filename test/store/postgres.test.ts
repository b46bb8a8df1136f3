/**
 * Goal: PostgreSQL's failures reach the stages as `StoreError`s they can act on, without values
 * or secrets; migrations, node numbers and the commit's lease check hold under concurrency.
 * Method: one real server for the file, a database for each test that needs its own.
 */
import assert from 'node:assert/strict'
import { type AddressInfo, createServer } from 'node:net'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startEmbeddedPostgres } from '../../src/embedded/postgres.ts'
import type { EmbeddedStore } from '../../src/embedded/supervisor.ts'
import { IngestError } from '../../src/errors.ts'
import { MIGRATIONS } from '../../src/store/migrations/all.ts'
import { migratePostgres } from '../../src/store/migrations/run.ts'
import { Postgres, toStoreError } from '../../src/store/postgres.ts'
import { NODE_DEAD_MS, NodeLease } from '../../src/store/raw/node-lease.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { eventually, makeDirectory, recordingLog, removeDirectory } from './temporary.ts'

const dataDir = makeDirectory()
const log = recordingLog()
let store: EmbeddedStore
let postgres: Postgres
const opened: Postgres[] = []

before(async () => {
  store = await startEmbeddedPostgres({ dataDir, log })
  postgres = openPostgres(store.url)
})

after(async () => {
  for (const each of opened) await each.end()
  await store?.stop()
  removeDirectory(dataDir)
})

function openPostgres(url: string, statementMsMax = 10_000): Postgres {
  const created = new Postgres({ url, log, statementMsMax, connectMsMax: 3_000 })
  opened.push(created)
  return created
}

/** A fresh database on the same server. */
async function newDatabase(name: string): Promise<Postgres> {
  await postgres.query(`CREATE DATABASE ${name}`)
  const url = new URL(store.url)
  url.pathname = `/${name}`
  return openPostgres(url.href)
}

const kind = (expected: string) => (error: unknown) => {
  assert.ok(error instanceof StoreError, String(error))
  assert.equal(error.kind, expected, error.message)
  return true
}

test('the plan of a statement that is asked often is kept where that is safe', async () => {
  const ask = async (keepsPlans: boolean) => {
    const url = store.url
    const one = new Postgres({ url, log, connectionsMax: 1, keepsPlans })
    opened.push(one)
    const told: unknown[] = []
    for (const n of [1, 2, 3]) {
      const { rows } = await one.queryOften('doubled', 'SELECT 2 * $1::integer AS n', [n])
      told.push(...rows)
    }
    const kept = await one.query<{ name: string }>('SELECT name FROM pg_prepared_statements')
    return { told, kept: kept.rows.map(({ name }) => name) }
  }
  const told = [{ n: 2 }, { n: 4 }, { n: 6 }]
  assert.deepEqual(await ask(true), { told, kept: ['doubled'] })
  assert.deepEqual(await ask(false), { told, kept: [] }, 'behind a pooler')
})

test('failures are told apart', async () => {
  await postgres.query('CREATE TABLE failures (n integer PRIMARY KEY, s text)')
  await postgres.query('INSERT INTO failures VALUES (1)')
  await assert.rejects(postgres.query('INSERT INTO failures VALUES (1)'), (error) => {
    assert.ok(error instanceof StoreError)
    assert.equal(error.constraint, 'failures_pkey')
    return kind('conflict')(error)
  })
  await assert.rejects(postgres.query('SELECT nothing'), kind('other'))
  const raise = (state: string) =>
    `DO $$ BEGIN RAISE EXCEPTION 'x' USING ERRCODE='${state}'; END $$`
  await assert.rejects(postgres.query(raise('53100')), kind('disk_full'))
  await assert.rejects(postgres.query(raise('SL001')), kind('lease_lost'))
  await assert.rejects(postgres.query(raise('08006')), kind('unavailable'))
  const nobody = openPostgres('postgres://u:secret@127.0.0.1:1/d')
  await assert.rejects(nobody.ping(), kind('unavailable'))
  assert.equal(toStoreError(new Error('Connection terminated unexpectedly')).kind, 'unavailable')
  const full = Object.assign(new Error('write'), { code: 'ENOSPC' })
  assert.equal(toStoreError(full).kind, 'disk_full')
})

test('no message and no field holds a value or the password', async () => {
  const found: string[] = []
  const collect = (error: unknown) => {
    assert.ok(error instanceof StoreError)
    found.push(`${error.stack} ${JSON.stringify(error)} ${error.cause}`)
    return true
  }
  await assert.rejects(postgres.query('SELECT $1::integer', ['SECRET']), collect)
  await postgres.query('CREATE TABLE unique_text (s text UNIQUE)')
  await postgres.query('INSERT INTO unique_text VALUES ($1)', ['SECRET'])
  await assert.rejects(postgres.query('INSERT INTO unique_text VALUES ($1)', ['SECRET']), collect)
  assert.throws(() => openPostgres('postgres://u:SECRET@[bad/d'), collect)
  assert.throws(() => openPostgres('http://u:SECRET@x/d'), collect)
  await assert.rejects(openPostgres('postgres://u:SECRET@127.0.0.1:1/d').ping(), collect)
  await assert.rejects(openPostgres(store.url.replace(/:[0-9a-f]+@/, ':SECRET@')).ping(), collect)
  assert.equal(found.length, 6)
  for (const text of [...found, ...log.lines]) assert.ok(!text.includes('SECRET'), text)
})

test('a statement that takes too long is cancelled', async () => {
  const hasty = openPostgres(store.url, 200)
  await assert.rejects(hasty.query('SELECT pg_sleep(30)'), kind('unavailable'))
  await hasty.ping()
})

test('a transaction commits as a whole or not at all', async () => {
  await postgres.query('CREATE TABLE whole (n integer PRIMARY KEY)')
  const count = async () => (await postgres.query('SELECT * FROM whole')).rowCount
  await postgres.transaction((client) => client.query('INSERT INTO whole VALUES (1)'))
  const failed = postgres.transaction(async (client) => {
    await client.query('INSERT INTO whole VALUES (2)')
    throw new StoreError('other', 'no')
  })
  await assert.rejects(failed, /no/)
  const hidden = postgres.transaction(async (client) => {
    await client.query('INSERT INTO whole VALUES (3)')
    await client.query('SELECT nothing').catch(() => undefined)
  })
  await assert.rejects(hidden, /rolled back/)
  assert.equal(await count(), 1)
})

test('a transaction passes on what its callback threw, and maps what the store did', async () => {
  await postgres.query('CREATE TABLE late (n integer UNIQUE DEFERRABLE INITIALLY DEFERRED, s text)')
  const refusal = new IngestError('conflict', 'timeout of a client, says the client')
  const failed = postgres.transaction(async (client) => {
    await client.query('INSERT INTO late VALUES (1)')
    throw refusal
  })
  await assert.rejects(failed, (error) => error === refusal)
  assert.equal((await postgres.query('SELECT * FROM late')).rowCount, 0)

  const query = postgres.transaction((client) => client.query('SELECT nothing'))
  await assert.rejects(query, kind('other'))
  const commit = postgres.transaction((client) => client.query('INSERT INTO late VALUES (2), (2)'))
  await assert.rejects(commit, kind('conflict'))
  const broken = postgres.transaction(async (client) => {
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    await postgres.query('SELECT pg_terminate_backend($1, 5000)', [rows[0]?.pid])
  })
  await assert.rejects(broken, kind('unavailable'))
})

test('connections broken by the server are replaced and end nothing', async () => {
  const client = await postgres.connect()
  const others = openPostgres(store.url)
  await others.ping()
  await postgres.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'`,
  )
  await assert.rejects(client.query('SELECT 1'))
  await eventually('it answers again', () => others.ping().then(() => true))
})

test('the server gives up a lost connection within about a minute', async () => {
  // The embedded server has a unix socket, of which these mean nothing: so what is asked for.
  const asked: string[] = []
  const server = createServer((socket) => {
    socket.once('data', (bytes) => {
      const fields = bytes.subarray(8).toString().split('\0')
      asked.push(fields[fields.indexOf('options') + 1] ?? '')
      socket.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const unreachable = openPostgres(`postgres://u:p@127.0.0.1:${port}/d`)
  await assert.rejects(unreachable.ping())
  await assert.rejects(unreachable.connect())
  server.close()
  const tcp =
    '-c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3 ' +
    '-c tcp_user_timeout=60000'
  assert.deepEqual(asked, [tcp, tcp])

  const url = new URL(store.url)
  url.searchParams.set('options', '-c work_mem=7MB')
  url.searchParams.set('application_name', 'an operator & more')
  const own = openPostgres(url.href)
  const { rows } = await own.query(
    "SELECT current_setting('work_mem') AS work, current_setting('application_name') AS name",
  )
  assert.deepEqual(rows, [{ work: '7MB', name: 'an operator & more' }])
})

test('migrations are applied once, also by many nodes at a time', async () => {
  const database = await newDatabase('migrations')
  const all = Array.from({ length: 4 }, () => migratePostgres(database, { log }))
  const applied = await Promise.all(all)
  assert.equal(
    applied.reduce((sum, count) => sum + count),
    MIGRATIONS.length,
  )
  assert.equal(await migratePostgres(database, { log }), 0)
  const { rowCount } = await database.query('SELECT version FROM schema_migrations')
  assert.equal(rowCount, MIGRATIONS.length)
})

test('what waits to be told when messages come to hold several is told', async () => {
  const database = await newDatabase('messages')
  const before = MIGRATIONS.filter(({ version }) => version < 9)
  await migratePostgres(database, { log, migrations: before })
  await database.query(
    `INSERT INTO alert_rules (owner, name, as_admin, settings, paused, every_ms, delay_ms,
       cursor_ms) VALUES ('ann', 'slow', false, '{"channels":["ops","chat"]}', false, 1, 0, 0);
     INSERT INTO alert_states (rule_id, fingerprint, group_json, state, breaches, since_ms,
       fired_ms, seen_ms) SELECT 1, name, '[]', 'firing', '1', 5, 5, 5
       FROM unnest(ARRAY['a', 'b']) AS name;
     INSERT INTO alert_transitions (rule_id, rule_name, owner, rule_version, fingerprint, kind,
       from_ms, until_ms) VALUES (1, 'slow', 'ann', 1, 'a', 'firing', 0, 5);
     INSERT INTO alert_outbox (transition_id, rule_id, owner, fingerprint, channel,
       idempotency_key, delivered_at, dead_at)
       SELECT 1, 1, 'ann', 'a', name, name, CASE name WHEN 'chat' THEN now() END, NULL
       FROM unnest(ARRAY['ops', 'chat']) AS name`,
  )
  await migratePostgres(database, { log })
  const all = async (sql: string) => (await database.query<object>(sql)).rows.map(Object.values)
  assert.deepEqual(
    await all('SELECT rule_id, channel, fingerprint, kind, fired_ms FROM alert_notices'),
    [[1, 'ops', 'a', 'firing', '5']],
  )
  assert.deepEqual(
    await all('SELECT channel, fingerprint, is_delivered FROM alert_told ORDER BY 1, 2'),
    [
      ['chat', 'a', true],
      ['chat', 'b', true],
      ['ops', 'b', true],
    ],
  )
  const queues = 'SELECT channel, owner, rule_name FROM alert_queues ORDER BY channel'
  assert.deepEqual(await all(queues), [
    ['chat', 'ann', 'slow'],
    ['ops', 'ann', 'slow'],
  ])
})

test('a newer database, another text or a failing migration is refused and why', async () => {
  const database = await newDatabase('refused')
  const one = { version: 1, name: 'one', sql: 'CREATE TABLE one (n integer)' }
  const two = { version: 2, name: 'two', sql: 'CREATE TABLE two (n integer); SELECT nothing' }
  const failing = migratePostgres(database, { log, migrations: [one, two] })
  await assert.rejects(failing, /migration 2 \(two\) failed/)
  const fixed = { ...two, sql: 'CREATE TABLE two (n integer)' }
  assert.equal(await migratePostgres(database, { log, migrations: [one, fixed] }), 1)
  const older = migratePostgres(database, { log, migrations: [one] })
  await assert.rejects(older, /version 2 \(two\), but this Sluice knows versions up to 1/)
  const other = { ...one, sql: 'CREATE TABLE one (n bigint)' }
  const changed = migratePostgres(database, { log, migrations: [other, fixed] })
  await assert.rejects(changed, /another text of migration 1 \(one\)/)
})

const A = '00000000-0000-4000-8000-00000000000a'
const B = '00000000-0000-4000-8000-00000000000b'
const C = '00000000-0000-4000-8000-00000000000c'

test('node numbers: lowest free, own again, expired last, none left', async () => {
  const database = await newDatabase('leases')
  await migratePostgres(database, { log })
  const claim = (identity: string) => {
    const onLost = () => undefined
    return NodeLease.claim({ postgres: database, identity, log, onLost, nodeIdMax: 1 })
  }
  const [a, b] = await Promise.all([claim(A), claim(B)])
  assert.deepEqual([a.nodeId, b.nodeId].toSorted(), [0, 1])
  await assert.rejects(claim(C), /all 2 node numbers are in use/)

  await b.stop()
  const again = await claim(B)
  assert.equal(again.nodeId, b.nodeId)
  assert.equal(again.epoch, b.epoch + 1n)
  assert.equal(again.wasTakenOver, false)

  await again.stop()
  const c = await claim(C)
  assert.equal(c.nodeId, b.nodeId)
  assert.equal(c.wasTakenOver, true)
  await Promise.all([a.stop(), c.stop()])
})

test('a new node takes the number of one long gone, not of one just gone', async () => {
  const database = await newDatabase('dead')
  await migratePostgres(database, { log })
  const claim = async (identity: string) => {
    const onLost = () => undefined
    const lease = await NodeLease.claim({ postgres: database, identity, log, onLost })
    await lease.stop()
    return [lease.nodeId, lease.wasTakenOver]
  }
  const age = (identity: string, ms: number) =>
    database.query(
      `UPDATE nodes SET lease_until = clock_timestamp() - $2 * interval '1 millisecond'
        WHERE identity = $1`,
      [identity, ms],
    )
  assert.deepEqual(await claim(A), [0, false])
  await age(A, NODE_DEAD_MS - 10_000)
  assert.deepEqual(await claim(B), [1, false])
  await age(A, NODE_DEAD_MS + 1_000)
  await age(B, NODE_DEAD_MS + 2_000)
  assert.deepEqual(await claim(A), [0, false], 'its own comes first')
  await age(A, NODE_DEAD_MS + 1_000)
  assert.deepEqual(await claim(C), [1, true], 'the one gone for longest')
  assert.deepEqual(await claim(B), [0, true])
})

test('a node that lost its number hears of it and cannot commit', async () => {
  const database = await newDatabase('lost')
  await migratePostgres(database, { log })
  let lostCount = 0
  const onLost = () => void lostCount++
  const options = { postgres: database, identity: A, log, times: { renewMs: 50 } }
  const first = await NodeLease.claim({ ...options, onLost })
  await sleep(200)
  assert.equal(lostCount, 0)
  const assertLease = (lease: NodeLease) =>
    database.query('CALL assert_node_lease($1, $2)', [lease.nodeId, String(lease.epoch)])
  await assertLease(first)
  const second = await NodeLease.claim({ ...options, onLost: () => assert.fail('not this one') })
  await assert.rejects(assertLease(first), kind('lease_lost'))
  await assertLease(second)
  await eventually('the first hears of it', () => lostCount === 1)
  await sleep(150)
  assert.equal(lostCount, 1)
  await Promise.all([first.stop(), second.stop()])
})

test('a claim waits for commits under way; a renewal does not', async () => {
  const database = await newDatabase('waiting')
  await migratePostgres(database, { log })
  const options = { postgres: database, identity: A, log, renewMs: 50, onLost: () => undefined }
  const lease = await NodeLease.claim(options)
  const until = async () => {
    const { rows } = await database.query<{ t: Date }>('SELECT lease_until AS t FROM nodes')
    return rows[0]?.t.getTime() ?? 0
  }
  let isCommitted = false
  let claimed: Promise<NodeLease> | undefined
  await database.transaction(async (client) => {
    await client.query('CALL assert_node_lease($1, $2)', [lease.nodeId, String(lease.epoch)])
    const start = await until()
    await eventually('the lease is renewed meanwhile', async () => (await until()) > start)
    claimed = NodeLease.claim(options).then((next) => {
      assert.ok(isCommitted, 'the claim overtook a commit')
      return next
    })
    await sleep(300)
    isCommitted = true
  })
  const next = await claimed
  assert.equal(next?.epoch, lease.epoch + 1n)
  await Promise.all([lease.stop(), next?.stop()])
})

test('without the database a lease is not called lost', async () => {
  const database = await newDatabase('away')
  await migratePostgres(database, { log })
  const onLost = () => assert.fail('nobody took it')
  const options = { postgres: database, identity: A, log, renewMs: 50, onLost }
  const lease = await NodeLease.claim(options)
  process.kill(store.pid() ?? 0, 'SIGKILL')
  await eventually(
    'renewed after the restart',
    async () => {
      const { rows } = await database.query<{ fresh: boolean }>(
        `SELECT lease_until > now() + interval '14 seconds' AS fresh FROM nodes`,
      )
      return store.restartCount() === 1 && rows[0]?.fresh === true
    },
    60_000,
  )
  await lease.stop()
})
