/**
 * Goal: to `@clickhouse/client` the embedded engine is a ClickHouse server.
 * Method: one engine for the file; the client through our own class, and raw HTTP for what a
 * client library hides.
 */
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { connect } from 'node:net'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient } from '@clickhouse/client'
import { startEmbeddedClickHouse } from '../../src/embedded/clickhouse.ts'
import type { EmbeddedStore } from '../../src/embedded/supervisor.ts'
import { ClickHouse } from '../../src/store/clickhouse.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { eventually, makeDirectory, recordingLog, removeDirectory } from '../store/temporary.ts'
import { ONLY_LONG } from '../support/fuzzing.ts'
import { openTcpFront, type TcpFront } from '../support/store-socket.ts'

const dataDir = makeDirectory()
let store: EmbeddedStore
/** For what cannot speak to a unix socket. */
let front: TcpFront
let clickHouse: ClickHouse

before(async () => {
  store = await startEmbeddedClickHouse({ dataDir, log: recordingLog() })
  front = await openTcpFront(store.url)
  clickHouse = new ClickHouse({ url: store.url })
})

after(async () => {
  await clickHouse?.close()
  await front?.close()
  await store?.stop()
  removeDirectory(dataDir)
})

interface Reply {
  readonly status: number
  readonly body: Buffer
}

interface Sent {
  readonly params?: Record<string, string>
  readonly body?: Uint8Array | string
  readonly method?: string
}

function send({ params = {}, body, method = 'POST' }: Sent) {
  const url = new URL(front.url)
  const auth = `${url.username}:${url.password}`
  const search = new URLSearchParams(params)
  return new Promise<Reply>((resolve, reject) => {
    const call = request(
      { host: url.hostname, port: url.port, method, path: `/?${search}`, auth },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) })
        })
      },
    )
    call.on('error', reject)
    call.end(body)
  })
}

/** What a server would send: the Native form of a result. */
async function native(sql: string): Promise<Buffer> {
  const reply = await send({ body: `${sql} FORMAT Native` })
  assert.equal(reply.status, 200, reply.body.toString())
  return reply.body
}

async function count(table: string): Promise<number> {
  const rows = await clickHouse.query<{ n: number }>(`SELECT toUInt32(count()) AS n FROM ${table}`)
  return rows[0]?.n ?? -1
}

const storeError = (kind: string, clickHouseCode?: number) => (error: unknown) => {
  assert.ok(error instanceof StoreError)
  assert.equal(error.kind, kind, error.message)
  if (clickHouseCode !== undefined) assert.equal(error.clickHouseCode, clickHouseCode)
  return true
}

test('parameters arrive as they were given', async () => {
  const text = `it's "quoted"\\ back\\\\slash\n\t\0 é 日本 {x:String} \\N; DROP`
  const rows = await clickHouse.query(
    `SELECT {text:String} AS text, {list:Array(String)} AS list, {none:Nullable(String)} AS none,
            {map:Map(String, UInt8)} AS map, {number:Int64} AS number`,
    { text, list: ["a'b", 'c\\d', '\n'], none: null, map: { "k'": 1 }, number: -5 },
  )
  const list = ["a'b", 'c\\d', '\n']
  assert.deepEqual(rows, [{ text, list, none: null, map: { "k'": 1 }, number: -5 }])
})

test('parameters and settings of one request do not reach another', async () => {
  const calls = Array.from({ length: 60 }, async (_, i) => {
    const settings = { max_block_size: String(1_000 + i) }
    const rows = await clickHouse.query<{ x: string; m: string }>(
      `SELECT {x:String} AS x, toString(getSetting('max_block_size')) AS m`,
      { x: `v${i}` },
      settings,
    )
    assert.deepEqual(rows, [{ x: `v${i}`, m: `${1_000 + i}` }])
  })
  await Promise.all(calls)
  await assert.rejects(clickHouse.query('SELECT {x:String}'), storeError('other', 456))
})

test('reads one after another: nothing of one reaches the next, the same or another', async () => {
  const told = async (settings: Record<string, number>) => {
    const names = ['max_block_size', 'max_rows_to_read', 'max_execution_time', 'max_threads']
    const columns = names.map((name) => `toString(getSetting('${name}')) AS ${name}`)
    return (await clickHouse.query<Record<string, string>>(`SELECT ${columns}`, {}, settings))[0]
  }
  const read = async (x: string) => {
    const rows = await clickHouse.query('SELECT {x:String} AS x', { x })
    assert.deepEqual(rows, [{ x }])
    await assert.rejects(clickHouse.query('SELECT {x:String}'), storeError('other', 456))
  }
  const usual = await told({})
  const asked: Record<string, number>[] = [
    { max_block_size: 1_001 },
    { max_rows_to_read: 1_002, max_threads: 1 },
    { max_execution_time: 7 },
    {},
  ]
  for (const settings of [...asked, ...asked.toReversed()]) {
    const texts = Object.entries(settings).map(([name, value]) => [name, String(value)])
    for (let n = 0; n < 3; n++) {
      assert.deepEqual(await told(settings), { ...usual, ...Object.fromEntries(texts) })
    }
    await read(JSON.stringify(settings))
    await assert.rejects(clickHouse.query('SELECT 1', {}, { nope: 1 }), storeError('other', 115))
  }
})

test('errors have the code and text of the server, under a failing status', async () => {
  for (const [sql, status, code] of [
    ['SELECT * FROM nowhere', 500, 60],
    ['SELECT nothing', 500, 47],
    ['SELECT FROM WHERE', 500, 62],
    ['SELECT throwIf(1)', 500, 395],
    ['SELECT 1; SELECT 2', 400, 62],
    ['', 400, 62],
  ] as const) {
    const reply = await send({ body: sql })
    assert.equal(reply.status, status, `${sql}: ${reply.body}`)
    assert.match(reply.body.toString(), new RegExp(`^Code: ${code}\\. DB::Exception: .*\\(version`))
  }
  await assert.rejects(clickHouse.query('SELECT * FROM nowhere'), storeError('other', 60))
  await assert.rejects(clickHouse.query('SELECT 1', {}, { nope: 1 }), storeError('other', 115))
})

test('a semicolon inside a string or at the end is no second statement', async () => {
  assert.equal(
    (await send({ body: `SELECT ';' AS a, "b;c" FROM (SELECT 1 AS "b;c");` })).status,
    200,
  )
  assert.equal((await send({ body: 'SELECT 1 -- a; b\n;' })).status, 200)
})

test('everything needs the password', async () => {
  const { host, port } = new URL(front.url)
  const none = await fetch(`http://${host}/`, { method: 'POST', body: 'SELECT 1' })
  assert.equal(none.status, 403)
  assert.match(await none.text(), /^Code: 516\./)
  const wrong = new ClickHouse({ url: `http://sluice:wrong@127.0.0.1:${port}/` })
  await assert.rejects(wrong.ping(), storeError('other', 516))
  await wrong.close()
})

test('the client library can query, insert, exec and command', async () => {
  await clickHouse.command('CREATE DATABASE IF NOT EXISTS other')
  const client = createClient({ url: front.url, database: 'other' })
  await client.command({
    query: 'CREATE TABLE lib (a UInt32, s String) ENGINE=MergeTree ORDER BY a',
  })
  const values = [
    { a: 1, s: 'x\n\ny' },
    { a: 2, s: `;'"` },
  ]
  await client.insert({ table: 'lib', values, format: 'JSONEachRow' })
  const result = await client.query({ query: 'SELECT * FROM other.lib ORDER BY a', format: 'JSON' })
  assert.deepEqual((await result.json()).data, values)
  const { stream } = await client.exec({ query: 'SELECT 1 FORMAT CSV' })
  assert.equal(String((await stream.toArray()).join('')), '1\n')
  await client.close()
})

test('Native blocks arrive whole, whatever bytes are in them', async () => {
  // The first byte is the number of columns, the second of rows: line ends, blanks, quotes, …
  for (const [columns, rows] of [
    [9, 9],
    [10, 10],
    [10, 13],
    [11, 12],
    [13, 10],
    [32, 32],
  ] as const) {
    const names = Array.from({ length: columns }, (_, i) => `c${i}`)
    const table = `blanks_${columns}_${rows}`
    const types = names.map((name) => `${name} UInt8`).join(', ')
    await clickHouse.command(`CREATE TABLE ${table} (${types}) ENGINE=MergeTree ORDER BY tuple()`)
    const select = names.map((name) => `toUInt8(10) AS ${name}`).join(', ')
    const block = await native(`SELECT ${select} FROM numbers(${rows})`)
    assert.equal(block[0], columns)
    await clickHouse.insertNative(`INSERT INTO ${table} FORMAT Native`, [block])
    assert.equal(await count(table), rows)
    await clickHouse.insertNative(`INSERT INTO ${table} FORMAT Native`, [block, block, block])
    assert.equal(await count(table), 4 * rows)
  }
})

test('strings with quotes, semicolons, NUL and empty lines survive a Native insert', async () => {
  await clickHouse.command('CREATE TABLE odd (s String) ENGINE=MergeTree ORDER BY tuple()')
  const odd = `'";--\\\n\n\0;\n\nSELECT 1\n\n/*`
  const escaped = odd.replaceAll('\\', '\\\\').replaceAll("'", "\\'").replaceAll('\0', '\\0')
  const block = await native(`SELECT '${escaped}' AS s FROM numbers(2570)`)
  await clickHouse.insertNative('INSERT INTO odd (s) FORMAT Native', [block])
  const rows = await clickHouse.query<{ s: string }>('SELECT DISTINCT s FROM odd')
  assert.deepEqual(rows, [{ s: odd }])
  assert.equal(await count('odd'), 2_570)
})

test('100 MB go in at once; a broken block inserts nothing of it', async () => {
  await clickHouse.command('CREATE TABLE large (n UInt64, s String) ENGINE=MergeTree ORDER BY n')
  const block = await native(`SELECT number AS n, repeat('\\n\\nx;', 25) AS s FROM numbers(200000)`)
  const chunks = Array.from({ length: 5 }, () => block)
  assert.ok(block.byteLength * 5 > 100_000_000)
  await clickHouse.insertNative('INSERT INTO large FORMAT Native', chunks)
  assert.equal(await count('large'), 1_000_000)
  await clickHouse.command('TRUNCATE TABLE large')
  const broken = [block, block, block.subarray(0, block.byteLength - 10)]
  const insert = clickHouse.insertNative('INSERT INTO large FORMAT Native', broken)
  await assert.rejects(insert, storeError('other', 33))
  assert.equal(await count('large'), 0)
  await clickHouse.command('DROP TABLE large SYNC')
})

test('an INSERT without data stores nothing, one with VALUES or SELECT is a command', async () => {
  await clickHouse.command('CREATE TABLE forms (s String) ENGINE=MergeTree ORDER BY tuple()')
  await clickHouse.insertNative('INSERT INTO forms FORMAT Native', [])
  assert.equal(await count('forms'), 0)
  await clickHouse.command(`INSERT INTO forms VALUES ('a FORMAT b\n\nc;')`)
  await clickHouse.command('INSERT INTO forms SELECT toString(1)')
  assert.equal(await count('forms'), 2)
})

test('what the client never sends is refused', async () => {
  const query = 'INSERT INTO forms FORMAT TSV'
  for (const [sent, status] of [
    [{ method: 'GET', params: { query: 'SELECT 1' } }, 405],
    [{ params: { query: 'SELECT 1' } }, 501],
    [{ params: { query: `${query} SETTINGS max_threads=1` }, body: 'a\n' }, 501],
    [{ params: { query: 'INSERT INTO forms VALUES' }, body: `('a')` }, 501],
  ] as const) {
    const reply = await send(sent)
    assert.equal(reply.status, status, reply.body.toString())
  }
})

test('a body that breaks off inserts nothing', async () => {
  await clickHouse.command('CREATE TABLE cut (s String) ENGINE=MergeTree ORDER BY tuple()')
  const { port, username, password } = new URL(front.url)
  const auth = Buffer.from(`${username}:${password}`).toString('base64')
  const query = encodeURIComponent('INSERT INTO cut FORMAT TSV')
  const socket = connect(Number(port), '127.0.0.1')
  socket.write(
    `POST /?query=${query} HTTP/1.1\r\nHost: x\r\nAuthorization: Basic ${auth}\r\n` +
      'Content-Length: 1000\r\n\r\na\nb\n',
  )
  await sleep(200)
  socket.destroy()
  await sleep(200)
  assert.equal(await count('cut'), 0)
})

async function runningQueries(): Promise<number> {
  const sql = `SELECT toUInt32(count()) AS n FROM system.processes WHERE query LIKE '%SLOW%'
    AND query NOT LIKE '%processes%'`
  return (await clickHouse.query<{ n: number }>(sql))[0]?.n ?? -1
}

test('more long queries than may run do not hold up an insert', { skip: ONLY_LONG }, async () => {
  await clickHouse.command('CREATE TABLE quick (a UInt8) ENGINE=MergeTree ORDER BY tuple()')
  const block = await native('SELECT toUInt8(1) AS a')
  const slow = new ClickHouse({ url: store.url, connectionsMax: 10 })
  const sql = 'SELECT sleepEachRow(0.5) AS SLOW FROM numbers(5) SETTINGS max_block_size = 1'
  const queries = Array.from({ length: 9 }, () => slow.query(sql))
  await sleep(300)
  const insert = clickHouse.insertNative('INSERT INTO quick FORMAT Native', [block])
  const ofQueries = Promise.race(queries).then(() => 'a query')
  assert.equal(await Promise.race([insert.then(() => 'the insert'), ofQueries]), 'the insert')
  await Promise.all(queries)
  await slow.close()
})

test('a client that goes away cancels its query', async () => {
  // Short delays too: the query may just be starting.
  for (const delayMs of [300, 3, 4, 5]) {
    const signal = AbortSignal.timeout(delayMs)
    const sql = 'SELECT count() AS SLOW FROM numbers(100000000000) WHERE sipHash64(number) = 1'
    await assert.rejects(clickHouse.query(sql, {}, {}, { signal }))
    await eventually('no query runs', async () => (await runningQueries()) === 0, 3_000)
  }
})

test('more waiting queries than the queue holds are refused, not kept', async () => {
  const { host, username, password } = new URL(front.url)
  const headers = { Authorization: `Basic ${btoa(`${username}:${password}`)}` }
  const abort = new AbortController()
  const calls = Array.from({ length: 300 }, async () => {
    const call = { method: 'POST', body: 'SELECT sleep(3) AS SLOW', headers, signal: abort.signal }
    return await fetch(`http://${host}/`, call)
  })
  const first = await Promise.any(calls)
  assert.equal(first.status, 500)
  assert.match(await first.text(), /^Code: 202\./)
  abort.abort()
  await Promise.allSettled(calls)
  await eventually('queries are served again', () => clickHouse.ping().then(() => true))
})

test('memory is bounded and no log tables exist', async () => {
  const greedy = `SELECT length(groupArray(repeat('x', 1000))) AS n FROM numbers(3000000)`
  await assert.rejects(clickHouse.query(greedy), storeError('unavailable', 241))
  await clickHouse.ping()
  const sql = `SELECT name FROM system.tables WHERE database = 'system' AND name LIKE '%\\_log'`
  assert.deepEqual(await clickHouse.query(sql), [])
})
