/**
 * Goal: what the embedded engine is asked is what the client library would ask.
 * Method: the same query to two servers that keep what they get: one at a unix socket, as the
 * embedded engine, and one at a TCP port, which the library asks. The engine itself is asked in
 * `test/embedded/`.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { mainTurns } from '../../src/api/main-turns.ts'
import { ClickHouse } from '../../src/store/clickhouse.ts'
import { unixClickHouseUrl } from '../../src/store/clickhouse-address.ts'
import { SERVER_SETTINGS } from '../../src/store/server-settings.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { makeDirectory, removeDirectory } from './temporary.ts'

interface Asked {
  readonly authorization: string | undefined
  readonly lane: string | string[] | undefined
  readonly members: Record<string, string>
}

const ANSWER = '{"data":[{"one":1}],"statistics":{"rows_read":7,"elapsed":0.5}}'

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** What a request says, in whichever of the two forms. */
async function read(request: IncomingMessage): Promise<Asked> {
  const body = await bodyOf(request)
  const { searchParams } = new URL(request.url ?? '/', 'http://engine')
  const isForm = request.headers['content-type'] === 'application/x-www-form-urlencoded'
  const named = isForm ? new URLSearchParams(body) : searchParams
  if (!isForm) named.set('query', body.replace(/\s+FORMAT/, '\nFORMAT'))
  named.delete('default_format')
  const { authorization } = request.headers
  return {
    authorization,
    lane: request.headers['x-sluice-lane'],
    members: Object.fromEntries(named),
  }
}

/** A client of the embedded engine, one of a server, and what both were asked last. */
async function openBoth(t: TestContext, listener?: RequestListener) {
  const asked: Asked[] = []
  const directory = makeDirectory()
  const answer: RequestListener = (request, response) => {
    const keep = (each: Asked) => {
      asked.push(each)
      response.end(ANSWER)
    }
    read(request).then(keep, (cause: Error) => response.destroy(cause))
  }
  const servers = [createServer(listener ?? answer), createServer(listener ?? answer)] as const
  const socket = join(directory, 'http.sock')
  servers[0].listen(socket)
  servers[1].listen(0, '127.0.0.1')
  await Promise.all(servers.map((server) => once(server, 'listening')))
  const { port } = servers[1].address() as AddressInfo
  const urls = [
    unixClickHouseUrl('me', 'se%3Acret', socket),
    `http://me:se%3Acret@127.0.0.1:${port}/`,
  ]
  const clients = urls.map((url) => new ClickHouse({ url, lane: 'read' }))
  t.after(async () => {
    for (const client of clients) await client.close()
    for (const server of servers) {
      server.closeAllConnections()
      server.close()
    }
    removeDirectory(directory)
  })
  return { clients, asked, servers }
}

/** The library sends long parameters as a body of parts, which this does not read. */
const LENGTH = { maxLength: 12 }
const scalar = fc.oneof(
  fc.string({ unit: 'binary', ...LENGTH }),
  fc.string({
    ...LENGTH,
    unit: fc.constantFrom('\t', '\n', '\r', "'", '\\', '"', '\0', '{', 'é', 'N'),
  }),
  fc.integer(),
  fc.bigInt(),
  fc.double(),
  fc.constant(null),
)
const value = fc.oneof(
  scalar,
  fc.array(scalar, { maxLength: 5 }),
  fc.array(fc.array(scalar, { maxLength: 3 }), { maxLength: 3 }),
  fc.dictionary(fc.string(LENGTH), scalar, { maxKeys: 4 }),
)

test('parameters, settings, credentials and lane are those that the library sends', async (t) => {
  const { clients, asked } = await openBoth(t)
  const params = fc.dictionary(fc.stringMatching(/^p[0-9]{1,3}$/), value, { maxKeys: 4 })
  await fc.assert(
    fc.asyncProperty(params, fc.integer({ min: 1, max: 9 }), async (given, threads) => {
      asked.length = 0
      const settings = { max_threads: threads, readonly: '2' } as const
      for (const client of clients) {
        const onStats = () => undefined
        await client.query('SELECT 1', given, settings, { queryId: 'q1', onStats })
      }
      const [embedded, library] = asked
      for (const [name, setting] of Object.entries(SERVER_SETTINGS)) {
        assert.equal(library?.members[name], String(setting))
        delete library?.members[name]
      }
      assert.deepEqual(embedded, library)
      assert.equal(embedded?.members.query, 'SELECT 1\nFORMAT JSON')
      assert.equal(embedded?.members.query_id, 'q1')
    }),
    { numRuns: 300 },
  )
})

test('rows and statistics are those of the answer', async (t) => {
  const { clients } = await openBoth(t)
  for (const client of clients) {
    let told: unknown
    const rows = await client.query('SELECT 1', {}, {}, { onStats: (stats) => void (told = stats) })
    assert.deepEqual(rows, [{ one: 1 }])
    assert.deepEqual(told, { rowsRead: 7, engineMs: 500 })
  }
})

test('a large answer is parsed in turns of the main thread, whoever gives it', async (t) => {
  const rows = Array.from({ length: 5_000 }, (_, n) => ({ n, text: 'x'.repeat(100) }))
  const lines = rows.map((row) => `\t\t${JSON.stringify(row)}`).join(',\n')
  const { clients } = await openBoth(t, (request, response) => {
    request.resume()
    response.end(`{\n\t"data":\n\t[\n${lines}\n\t],\n\n\t"rows": 5000\n}\n`)
  })
  const turns = t.mock.method(mainTurns, 'next')
  for (const client of clients) {
    turns.mock.resetCalls()
    assert.deepEqual(await client.query('SELECT 1'), rows)
    assert.ok(turns.mock.callCount() > 4, `${turns.mock.callCount()} turns`)
  }
})

test('failures are those that the library makes of them', async (t) => {
  const text = 'Code: 60. DB::Exception: No table `secret`. (UNKNOWN_TABLE) (version 26.7)\n'
  const { clients } = await openBoth(t, (request, response) => {
    request.resume()
    response.statusCode = 500
    response.end(text)
  })
  const told = await Promise.all(
    clients.map(async (client) => {
      const cause: unknown = await client.query('SELECT 1').catch((error: unknown) => error)
      assert.ok(cause instanceof StoreError)
      const { kind, message, clickHouseCode, clickHouseName } = cause
      return { kind, message, clickHouseCode, clickHouseName }
    }),
  )
  assert.deepEqual(told[0], told[1])
  assert.equal(told[0]?.clickHouseCode, 60)
})

test('a connection that breaks is "unavailable", as is a server that is not there', async (t) => {
  const { clients, servers } = await openBoth(t, (request) => void request.socket.destroy())
  const kindOf = async () => {
    const cause: unknown = await clients[0]?.query('SELECT 1').catch((error: unknown) => error)
    return cause instanceof StoreError ? cause.kind : cause
  }
  assert.equal(await kindOf(), 'unavailable')
  servers[0].close()
  await once(servers[0], 'close')
  assert.equal(await kindOf(), 'unavailable')
})
