/**
 * Goal: a query ends when its time is over although the server does not answer, and says why; the
 * server sees that it was given up.
 * Method: servers that take requests and never answer, or stop in the middle of their answer.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { QUERY_GRACE_MS } from '../../src/limits.ts'
import { ClickHouse } from '../../src/store/clickhouse.ts'
import { TIMEOUT_EXCEEDED } from '../../src/store/clickhouse-codes.ts'
import { QueryDeadline } from '../../src/store/query-deadline.ts'
import { StoreError } from '../../src/store/store-error.ts'

async function withServer(
  listener: RequestListener,
  run: (clickhouse: ClickHouse, closed: Promise<unknown>) => Promise<void>,
): Promise<void> {
  let onClosed = () => {}
  const closed = new Promise<void>((resolve) => {
    onClosed = resolve
  })
  const server = createServer((request, response) => {
    response.on('close', onClosed)
    listener(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const clickhouse = new ClickHouse({ url: `http://127.0.0.1:${port}/default` })
  try {
    await run(clickhouse, closed)
  } finally {
    await clickhouse.close()
    server.closeAllConnections()
    server.close()
  }
}

const silent: RequestListener = (request) => void request.resume()
const stuck: RequestListener = (request, response) => {
  request.resume()
  response.writeHead(200, { 'content-type': 'application/json' })
  response.write('{"one":1}\n{"one"')
}

for (const [name, listener] of Object.entries({ silent, stuck })) {
  test(`a ${name} server: the query ends with its time`, async () => {
    await withServer(listener, async (clickhouse, closed) => {
      const startedAt = performance.now()
      const settings = { max_execution_time: 0.3 }
      await assert.rejects(clickhouse.query('SELECT 1', {}, settings), (cause) => {
        return cause instanceof StoreError && cause.clickHouseCode === TIMEOUT_EXCEEDED
      })
      const tookMs = performance.now() - startedAt
      assert.ok(tookMs >= 300 && tookMs < 300 + QUERY_GRACE_MS + 1_000, `${tookMs} ms`)
      await closed
    })
  })
}

for (const [name, listener] of Object.entries({ silent, stuck })) {
  test(`a ${name} server: who gives a query up hears that, not of its time`, async () => {
    await withServer(listener, async (clickhouse, closed) => {
      const settings = { max_execution_time: 30 }
      const signal = AbortSignal.timeout(100)
      await assert.rejects(clickhouse.query('SELECT 1', {}, settings, { signal }), (cause) => {
        assert.ok(cause instanceof StoreError)
        assert.deepEqual([cause.kind, cause.clickHouseCode], ['unavailable', undefined])
        return true
      })
      await closed
    })
  })
}

test('who gives a query up as its answer begins is told so, whatever the client throws', () => {
  const given = new AbortController()
  const deadline = new QueryDeadline({ max_execution_time: 30 }, given.signal)
  given.abort()
  let isClosed = false
  deadline.watch({
    close: () => {
      isClosed = true
    },
  })
  deadline.end()
  assert.ok(isClosed)
  assert.equal(deadline.error?.kind, 'unavailable')
})
