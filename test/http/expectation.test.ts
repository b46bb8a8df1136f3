/**
 * Goal: a client that waits for "100 Continue" before it sends its body gets it, however it writes
 * the expectation (RFC 9110, 10.1.1: any case of letters, and lists), and a whole reply after it.
 * Method: a raw client that sends nothing more until the interim answer is there.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Exchange, Route } from '../../src/http/exchange.ts'
import { ENGINES, echo, head, RawClient, startServer, waitFor } from './raw-client.ts'

const INTERIM = 'HTTP/1.1 100 Continue\r\n\r\n'
const LARGE = 'x'.repeat(3 * 1024 * 1024)

/** Answers at once, whatever the body. */
const refuse = (exchange: Exchange) =>
  exchange.reply({ status: 401, contentType: 'text/plain', body: 'no' })
const large = (exchange: Exchange) => {
  const chunk = (_: Uint8Array, isLast: boolean) => {
    if (isLast) exchange.reply({ status: 200, contentType: 'text/plain', body: LARGE })
  }
  exchange.readBody({ chunk, aborted: () => undefined })
}
const empty = (exchange: Exchange) => {
  const chunk = (_: Uint8Array, isLast: boolean) => {
    if (isLast) exchange.reply({ status: 204 })
  }
  exchange.readBody({ chunk, aborted: () => undefined })
}
const streamed = (exchange: Exchange) => {
  const chunk = (_: Uint8Array, isLast: boolean) => {
    if (!isLast) return
    const stream = exchange.stream({ status: 200, contentType: 'text/plain' })
    stream.write(Buffer.from('a piece'))
    stream.end()
  }
  exchange.readBody({ chunk, aborted: () => undefined })
}
const routes: readonly Route[] = [
  { method: 'POST', pattern: '/echo', handler: echo },
  { method: 'POST', pattern: '/refuse', handler: refuse },
  { method: 'POST', pattern: '/large', handler: large },
  { method: 'POST', pattern: '/empty', handler: empty },
  { method: 'POST', pattern: '/streamed', handler: streamed },
]

const SPELLINGS = [
  '100-continue',
  '100-Continue',
  '100-CONTINUE',
  '100-Continue, other=1',
  'other;q="100", 100-Continue',
]

/** What follows the one interim answer. */
function finalOf(received: string): string {
  assert.ok(received.startsWith(INTERIM), JSON.stringify(received.slice(0, 200)))
  const rest = received.slice(INTERIM.length)
  assert.ok(!rest.includes('100 Continue'), 'a second interim answer')
  return rest
}

for (const engine of ENGINES) {
  describe(`expectations, ${engine.name} ${engine.version}`, () => {
    async function connect() {
      const { server, port } = await startServer({ routes, engine })
      const client = await RawClient.connect(port)
      const end = () => {
        client.destroy()
        server.close()
      }
      return { client, end }
    }

    for (const spelling of SPELLINGS) {
      test(`Expect: ${spelling} gets an interim answer before the body`, async () => {
        const { client, end } = await connect()
        try {
          for (const length of ['Content-Length: 4', 'Transfer-Encoding: chunked']) {
            client.received = ''
            client.write(head('POST', '/echo', length, `Expect: ${spelling}`))
            await client.until(/100 Continue\r\n\r\n/, 2_000)
            client.write(length.startsWith('C') ? 'body' : '4\r\nbody\r\n0\r\n\r\n')
            await client.until(/\r\n\r\nbody$/, 2_000)
            assert.match(finalOf(client.received), /^HTTP\/1\.1 200 OK\r\n/)
          }
          assert.equal(client.closed, false)
        } finally {
          end()
        }
      })
    }

    test('every kind of reply is whole behind an interim answer', async () => {
      const { client, end } = await connect()
      try {
        for (const [path, ending] of [
          ['/large', `\r\n\r\n${LARGE}`],
          ['/empty', '\r\n\r\n'],
          ['/streamed', 'a piece\r\n0\r\n\r\n'],
          ['/echo', '\r\n\r\nbody'],
        ] as const) {
          client.received = ''
          client.write(head('POST', path, 'Content-Length: 4', 'Expect: 100-Continue'))
          await client.until(/100 Continue\r\n\r\n/, 2_000)
          client.write('body')
          const isWhole = () =>
            client.received.length > INTERIM.length + 20 && client.received.endsWith(ending)
          await waitFor(isWhole, `the whole of ${path}`)
          const final = finalOf(client.received)
          assert.match(
            final.slice(0, 30),
            path === '/empty' ? /^HTTP\/1\.1 204 / : /^HTTP\/1\.1 200 /,
          )
        }
      } finally {
        end()
      }
    })

    test('a reply that does not wait for the body arrives, and the connection closes', async () => {
      const { client, end } = await connect()
      try {
        client.write(head('POST', '/refuse', 'Content-Length: 900000', 'Expect: 100-CONTINUE'))
        await client.until(/no/, 4_000)
        assert.match(finalOf(client.received), /^HTTP\/1\.1 401 Unauthorized\r\n[\s\S]*\r\n\r\nno/)
        assert.match(client.received, /Connection: close/i)
      } finally {
        end()
      }
    })

    test('an expectation that nobody knows is ignored', async () => {
      const { client, end } = await connect()
      try {
        client.write(`${head('POST', '/echo', 'Content-Length: 4', 'Expect: 200-maybe')}body`)
        await client.until(/\r\n\r\nbody$/, 2_000)
        assert.match(client.received, /^HTTP\/1\.1 200 OK\r\n/)
      } finally {
        end()
      }
    })
  })
}
