/**
 * Goal: of several PostgreSQL servers the one that takes writes is used by all connections, before
 * and after a failover; one that takes none is not used again; every wait for a server is bounded.
 * Method: a real primary and its standby; ports that never answer, or that hide what a server says
 * about itself, as poolers do.
 */
import assert from 'node:assert/strict'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Postgres } from '../../src/store/postgres.ts'
import { LOOK_MS_MAX, PostgresWatch } from '../../src/store/postgres-watch.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { recordingLog } from '../store/temporary.ts'
import { PostgresPair } from '../support/postgres-pair.ts'

const log = recordingLog()
const opened: Postgres[] = []
const servers: Server[] = []
const sockets: Socket[] = []
let pair: PostgresPair

before(async () => {
  pair = await PostgresPair.start()
  await pair.sql('CREATE TABLE kept (n integer)')
})

after(async () => {
  for (const each of opened) await each.end()
  for (const socket of sockets) socket.destroy()
  for (const server of servers) server.close()
  await pair?.close()
})

function open(url: string): Postgres {
  const postgres = new Postgres({ url, log })
  opened.push(postgres)
  return postgres
}

function urlOf(ports: readonly number[], rest = ''): string {
  const list = ports.map((port) => `127.0.0.1:${port}`).join(',')
  return `postgres://sluice:${pair.password}@${list}/sluice${rest}`
}

/** A port that leads to another one; what the server says passes through `change`. */
async function listen(
  to?: number | (() => number),
  change = (bytes: Buffer) => bytes,
): Promise<number> {
  const server = createServer((client) => {
    sockets.push(client)
    client.on('error', () => undefined)
    if (to === undefined) return
    const upstream = connect(typeof to === 'number' ? to : to(), '127.0.0.1')
    sockets.push(upstream)
    upstream.on('error', () => client.destroy())
    upstream.on('data', (bytes) => client.write(change(bytes)))
    upstream.on('close', () => client.destroy())
    client.on('close', () => upstream.destroy())
    client.pipe(upstream)
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return (server.address() as { port: number }).port
}

const isUnavailable = (text: RegExp) => (error: unknown) => {
  assert.ok(error instanceof StoreError)
  assert.equal(error.kind, 'unavailable')
  assert.match(error.message, text)
  return true
}

const PORT = 'SELECT inet_server_port() AS port'

test('all connections are to the primary, wherever it stands in the list', async () => {
  const [primary, standby] = [pair.portOf('primary'), pair.portOf('standby')]
  for (const ports of [
    [primary, standby],
    [standby, primary],
  ]) {
    const postgres = open(urlOf(ports))
    const answers = await Promise.all(
      Array.from({ length: 6 }, () => postgres.query<{ port: number }>(PORT)),
    )
    const client = await postgres.connect()
    const own = await client.query<{ port: number }>(PORT)
    await client.end()
    const found = [...answers, own].map(({ rows }) => rows[0]?.port)
    assert.deepEqual(new Set(found), new Set([primary]))
  }
})

test('a server that never answers holds nothing up, one that is down neither', async () => {
  const silent = await listen()
  const postgres = open(urlOf([silent, 1, pair.portOf('primary')]))
  const startMs = performance.now()
  await postgres.query('INSERT INTO kept VALUES (1)')
  assert.ok(performance.now() - startMs < 2_000)
  const none = open(urlOf([silent, pair.portOf('standby'), 1], '?connect_timeout=1'))
  const text = /no server takes connections to write \(.*: timeout.*; .*it is a standby; .*REFUSED/
  await assert.rejects(none.ping(), isUnavailable(text))
})

test('what only another password cures is told as that', async () => {
  const url = urlOf([pair.portOf('primary'), pair.portOf('standby')])
  const wrong = open(url.replace(pair.password, 'HUSH'))
  await assert.rejects(wrong.ping(), (error) => {
    assert.ok(error instanceof StoreError)
    assert.equal(error.kind, 'other')
    assert.match(error.message, /password authentication failed/)
    assert.doesNotMatch(error.message, /HUSH/)
    return true
  })
})

test('of one server it holds, too; behind a pooler a query asks', async () => {
  const standby = pair.portOf('standby')
  // Poolers do not pass on every parameter: this one has another name.
  const hides = (bytes: Buffer) =>
    Buffer.from(bytes.toString('latin1').replaceAll('in_hot_standby', 'in_hot_sta___y'), 'latin1')
  for (const port of [standby, await listen(standby, hides)]) {
    const postgres = open(urlOf([port], '?target_session_attrs=read-write'))
    await assert.rejects(postgres.ping(), isUnavailable(/it is a standby/))
    await assert.rejects(postgres.connect(), isUnavailable(/it is a standby/))
  }
  const behind = await listen(pair.portOf('primary'), hides)
  await open(urlOf([behind], '?target_session_attrs=primary')).ping()
})

test('a connection that turns out read-only is not used again', async () => {
  const postgres = open(urlOf([pair.portOf('standby')])) // Anything will do, says the URL.
  const pid = async () => {
    const { rows } = await postgres.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    return rows[0]?.pid
  }
  const first = await pid()
  const writes = [
    () => postgres.query('INSERT INTO kept VALUES (2)'),
    () => postgres.transaction((client) => client.query('INSERT INTO kept VALUES (2)')),
  ]
  for (const write of writes) {
    const before = await pid()
    await assert.rejects(write(), isUnavailable(/read-only transaction \(25006\)/))
    assert.notEqual(await pid(), before)
  }
  assert.notEqual(await pid(), first)
  const watch = new PostgresWatch({ postgres, log, all: () => [postgres] })
  assert.equal(await watch.look(), 'it is a standby and takes no writes')
  watch.stop()
})

test('after a failover all go to the new primary, by a list or by a name that moves', async () => {
  const ports = [pair.portOf('primary'), pair.portOf('standby')] as const
  let named: number = ports[0]
  const name = await listen(() => named)
  const urls = [urlOf(ports), urlOf([name], '?target_session_attrs=read-write&connect_timeout=3')]
  let moved = 0
  const followers = urls.map((url) => {
    const postgres = open(url)
    const watch = new PostgresWatch({ postgres, log, all: () => [postgres] })
    watch.whenMoved(async (sql) => {
      await sql.query('INSERT INTO kept VALUES (3)')
      moved++
    })
    return { postgres, watch }
  })
  const look = () => Promise.all(followers.map(({ watch }) => watch.look()))
  assert.deepEqual(await look(), [undefined, undefined])
  await Promise.all(followers.map(({ postgres }) => postgres.ping()))
  // Their server hangs: a statement under way gets no answer any more.
  const hanging = followers.map(({ postgres }) => postgres.query('SELECT pg_sleep(60)'))
  for (const query of hanging) query.catch(() => undefined)
  await sleep(100)
  pair.freeze('primary')
  const startMs = performance.now()
  assert.deepEqual(await look(), ['it does not answer', 'it does not answer'])
  assert.ok(performance.now() - startMs < 3 * LOOK_MS_MAX)
  await pair.promote()
  named = ports[1]
  assert.deepEqual(await look(), [undefined, undefined])
  assert.equal(moved, 2)
  for (const query of hanging) await assert.rejects(query, isUnavailable(/terminated/))
  for (const { postgres } of followers) {
    const { rows } = await postgres.query<{ port: number }>(PORT)
    assert.equal(rows[0]?.port, ports[1])
  }
  assert.deepEqual(await look(), [undefined, undefined])
  assert.equal(moved, 2, 'told once')
  for (const { watch } of followers) watch.stop()
  for (const line of log.lines) assert.ok(!line.includes(pair.password), line)
})
