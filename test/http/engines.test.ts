/**
 * Goal: engines differ where it is written down, and nowhere else in what is asked here.
 * Method: the same bytes to each that loads; the rows of the documented table are the cases.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { Exchange, Route } from '../../src/http/exchange.ts'
import { loadEngine } from '../../src/http/load-engine.ts'
import { DIFFERENCES, kindOf } from './engine-differences.ts'
import { ENGINES, echo, RawClient, startServer } from './raw-client.ts'

const ANSWER_MS_MAX = 400
const OPERATIONS = fileURLToPath(new URL('../../../docs/operations.md', import.meta.url))

const seen = (exchange: Exchange) =>
  exchange.reply({ status: exchange.header('x-sent') === '' && isSent(exchange) ? 400 : 200 })
const isSent = (exchange: Exchange) => exchange.headerLines('x-sent') > 0
/** As ingest, whose answer waits for the stores. */
const later = (exchange: Exchange) => {
  const chunk = (_: Uint8Array, isLast: boolean) => {
    if (isLast) setTimeout(() => exchange.reply({ status: 200 }), 50)
  }
  exchange.readBody({ chunk, aborted: () => undefined })
}
const sized = (exchange: Exchange) =>
  exchange.reply({ status: Number(exchange.header('content-length')) > 1_000 ? 413 : 200 })
const routes: readonly Route[] = [
  { method: 'GET', pattern: '/seen', handler: seen },
  { method: 'POST', pattern: '/echo', handler: echo },
  { method: 'POST', pattern: '/later', handler: later },
  { method: 'POST', pattern: '/sized', handler: sized },
]

// They mostly wait for answers that do not come.
for (const engine of ENGINES) {
  const kind = kindOf(engine)
  describe(`differences of ${engine.name} ${engine.version}`, { concurrency: 8 }, () => {
    for (const { what, pieces, outcome } of DIFFERENCES) {
      test(what, async () => {
        const { server, port } = await startServer({ routes, engine })
        const client = await RawClient.connect(port)
        for (const piece of pieces) {
          client.write(Buffer.from(piece, 'latin1'))
          await new Promise((resolve) => setTimeout(resolve, 50))
        }
        await new Promise((resolve) => setTimeout(resolve, ANSWER_MS_MAX))
        const statuses = client.received.match(/(?<=HTTP\/1\.1 )\d+/g) ?? []
        const got = [...statuses, ...(client.closed ? ['closed'] : [])].join(' ')
        client.destroy()
        server.close()
        assert.equal(got, outcome[kind])
      })
    }
  })
}

test('each difference is a row of the documented table', () => {
  const page = readFileSync(OPERATIONS, 'utf8')
  for (const { what, shown } of DIFFERENCES) {
    const row = `| ${what} | ${shown.newer} | ${shown.older} | ${shown.node} |`
    assert.ok(page.includes(row), `docs/operations.md lacks: ${row}`)
  }
})

test('the engine that runs here is named with its version, and why no faster one does', () => {
  const { engine, notLoaded } = loadEngine()
  assert.equal(engine.name, ENGINES[0]?.name)
  assert.match(engine.version, /^\d+\.\d+/)
  const expected = { newer: 0, older: 1, node: 2 }[kindOf(engine)]
  assert.equal(notLoaded.length, expected)
  for (const text of notLoaded) {
    assert.match(text, /^\S+ \d+\.\d+\S*: (needs GLIBC [\d.]+ or newer|not built for Node\.js .+)$/)
  }
})
