/**
 * Goal: what the rest of the code relies on about requests and replies holds on every engine.
 * Method: raw sockets against a real server, so that the bytes on the wire are what is judged.
 */
import assert from 'node:assert/strict'
import { createServer as createNetServer } from 'node:net'
import { describe, test } from 'node:test'
import { IngestError } from '../../src/errors.ts'
import type { Exchange, Route } from '../../src/http/exchange.ts'
import { createServer } from '../../src/http/server.ts'
import { kindOf } from './engine-differences.ts'
import { ENGINES, echo, head, RawClient, startServer, waitFor } from './raw-client.ts'

const describeExchange = (exchange: Exchange) =>
  exchange.reply({
    status: 200,
    contentType: 'text/plain',
    headers: [['X-Seen', exchange.header('x-sent')]],
    body: `${exchange.method} ${exchange.path} ${exchange.queryString}`,
  })

const ROUTES: readonly Route[] = [
  { method: 'GET', pattern: '/plain', handler: describeExchange },
  { method: 'POST', pattern: '/plain', handler: describeExchange },
  {
    method: 'GET',
    pattern: '/things/:id/parts/:part',
    handler: (exchange) =>
      exchange.reply({ status: 200, body: `${exchange.param(0)}|${exchange.param(1)}` }),
  },
  { method: 'DELETE', pattern: '/things/:id', handler: (x) => x.reply({ status: 204 }) },
  { method: 'POST', pattern: '/echo', handler: echo },
  {
    method: 'OPTIONS',
    pattern: '/asked',
    isLoose: true,
    handler: (x) => x.reply({ status: 200, headers: [['Vary', 'Origin']] }),
  },
  {
    method: 'GET',
    pattern: '/throws',
    handler: () => {
      throw new Error('the secret detail')
    },
  },
  {
    method: 'GET',
    pattern: '/rejects',
    handler: async () => {
      await Promise.resolve()
      throw new Error('the secret detail')
    },
  },
  {
    method: 'GET',
    pattern: '/refuses',
    handler: async () => {
      throw new IngestError('overloaded', 'full', { retryAfterSeconds: 2.5 })
    },
  },
]

/** A request that is the body of another, unless the other's length is overlooked. */
const INNER = head('POST', '/echo')
const INNER_LENGTH = `Content-Length: ${INNER.length}`

for (const engine of ENGINES) {
  describe(`server on ${engine.name}`, () => {
    const request = async (text: string) => {
      const { server, port, errors } = await startServer({ routes: ROUTES, engine })
      const client = await RawClient.connect(port)
      client.write(text)
      const reply = await client.until(/\r\n\r\n/)
      await new Promise((resolve) => setTimeout(resolve, 20))
      client.destroy()
      server.close()
      return { reply: client.received || reply, errors, server }
    }

    test('the handler sees method, path, query string and headers', async () => {
      const { reply } = await request(head('GET', '/plain?a=%20b&c', 'X-Sent: yes'))
      assert.match(reply, /^HTTP\/1\.1 200 OK\r\n/)
      assert.match(reply, /x-seen: yes\r\n/i)
      assert.match(reply, /content-length: 19\r\n/i)
      assert.match(reply, /\r\n\r\nGET \/plain a=%20b&c$/)
    })

    test('without a query string it is empty, and an absent header too', async () => {
      const { reply } = await request(head('GET', '/plain'))
      assert.match(reply, /x-seen: ?\r\n/i)
      assert.match(reply, /\r\n\r\nGET \/plain $/)
    })

    test('parameters are percent-decoded', async () => {
      const { reply } = await request(head('GET', '/things/a%2Fb/parts/%C3%A9'))
      assert.match(Buffer.from(reply, 'latin1').toString(), /\r\n\r\na\/b\|é$/)
    })

    test('a badly encoded parameter is malformed', async () => {
      const { reply } = await request(head('GET', '/things/%/parts/%ff'))
      assert.match(reply, /^HTTP\/1\.1 400 Bad Request\r\n/)
      assert.match(reply, /application\/problem\+json/)
      assert.match(reply, /"code":"malformed"/)
    })

    for (const [name, headers] of [
      ['different', [INNER_LENGTH, 'Content-Length: 2']],
      ['equal', [INNER_LENGTH, INNER_LENGTH]],
      ['in both ways', [INNER_LENGTH, 'Transfer-Encoding: chunked']],
      ['the first unreadable', ['Content-Length: \xff', INNER_LENGTH]],
      ['the second unreadable', [INNER_LENGTH, 'Content-Length: \xff']],
      ['the first empty', ['Content-Length:', INNER_LENGTH]],
      ['an encoding unreadable', ['Transfer-Encoding: \xff', INNER_LENGTH]],
      ['one, which is unreadable', ['Content-Length: \xff']],
    ] as const) {
      test(`two lengths, ${name}: refused, and nothing behind them is taken`, async () => {
        const { server, port } = await startServer({
          routes: [{ method: 'POST', pattern: '/echo', handler: echo }],
          engine,
        })
        const client = await RawClient.connect(port)
        const text = `${head('POST', '/echo', ...headers)}${INNER}`
        client.write(Buffer.from(text, 'latin1'))
        const reply = await client.untilClosed(3_000).catch(() => `open ${client.received}`)
        client.destroy()
        server.close()
        assert.doesNotMatch(reply, /HTTP\/1\.1 200/)
        if (reply !== '') assert.match(reply, /^HTTP\/1\.1 400 /)
      })

      test(`two lengths, ${name}: answered 400 where that is all that came`, async () => {
        const { server, port } = await startServer({
          routes: [{ method: 'POST', pattern: '/echo', handler: echo }],
          engine,
        })
        const client = await RawClient.connect(port)
        client.write(Buffer.from(head('POST', '/echo', ...headers), 'latin1'))
        await waitFor(() => client.closed || client.received !== '', 'an answer').catch(() => '')
        client.write(INNER)
        const reply = await client.untilClosed(3_000).catch(() => `open ${client.received}`)
        client.destroy()
        server.close()
        // The older one ends such a connection by itself, without a word.
        if (name === 'in both ways' && kindOf(engine) === 'older') assert.equal(reply, '')
        else assert.match(reply, /^HTTP\/1\.1 400 /)
        assert.doesNotMatch(reply, /HTTP\/1\.1 200/)
      })
    }

    test('HEAD is answered like GET, without the body', async () => {
      const { reply } = await request(head('HEAD', '/plain?q'))
      assert.match(reply, /^HTTP\/1\.1 200 OK\r\n/)
      assert.match(reply, /content-length: 13\r\n/i)
      assert.match(reply, /\r\n\r\n$/)
    })

    test('204 has neither body nor length', async () => {
      const { reply } = await request(head('DELETE', '/things/1'))
      assert.match(reply, /^HTTP\/1\.1 204 No Content\r\n/)
      assert.doesNotMatch(reply, /content-length/i)
    })

    test('an unknown path is 404', async () => {
      const { reply } = await request(head('GET', '/nowhere'))
      assert.match(reply, /^HTTP\/1\.1 404 Not Found\r\n/)
      assert.match(reply, /"code":"not_found"/)
    })

    test('OPTIONS goes to its own route, also with slashes too many', async () => {
      for (const path of ['/asked', '//asked/']) {
        const { reply } = await request(head('OPTIONS', path))
        assert.match(reply, /^HTTP\/1\.1 200 OK\r\n/)
        assert.match(reply, /vary: Origin\r\n/i)
      }
      const { reply } = await request(head('OPTIONS', '/plain'))
      assert.match(reply, /^HTTP\/1\.1 405 /)
    })

    test('another method on a known path is 405 and names those it takes', async () => {
      const { reply } = await request(head('PUT', '/plain', 'Content-Length: 0'))
      assert.match(reply, /^HTTP\/1\.1 405 Method Not Allowed\r\n/)
      assert.match(reply, /allow: GET, HEAD, POST\r\n/i)
    })

    for (const path of ['/throws', '/rejects']) {
      test(`${path}: a handler's failure is internal, without details, and reported`, async () => {
        const { reply, errors, server } = await request(head('GET', path))
        assert.match(reply, /^HTTP\/1\.1 500 Internal Server Error\r\n/)
        assert.match(reply, /"code":"internal"/)
        assert.doesNotMatch(reply, /secret/)
        assert.equal(String(errors[0]), 'Error: the secret detail')
        assert.equal(server.activeRequests, 0)
      })
    }

    test('an IngestError is answered as what it is and not reported', async () => {
      const { reply, errors } = await request(head('GET', '/refuses'))
      assert.match(reply, /^HTTP\/1\.1 429 Too Many Requests\r\n/)
      assert.match(reply, /retry-after: 3\r\n/i)
      assert.match(reply, /"retry_after":3/)
      assert.deepEqual(errors, [])
    })

    test('header is refused once the handler has returned', async () => {
      let late: Exchange | undefined
      const route: Route = { method: 'GET', pattern: '/', handler: (x) => void (late = x) }
      const { server, port } = await startServer({ routes: [route], engine })
      const client = await RawClient.connect(port)
      client.write(head('GET', '/'))
      await waitFor(() => late !== undefined && server.activeRequests === 1, 'the request')
      assert.throws(() => late?.header('host'), /headers are gone/)
      late?.reply({ status: 200 })
      await client.until(/200 OK/)
      assert.throws(() => late?.reply({ status: 200 }), /second reply/)
      client.destroy()
      server.close()
    })

    test('a header value cannot add headers', async () => {
      const handler = (x: Exchange) =>
        x.reply({ status: 200, headers: [['Location', 'x\r\nSet-Cookie: y']] })
      const routes: Route[] = [{ method: 'GET', pattern: '/', handler }]
      const { server, port, errors } = await startServer({ routes, engine })
      const client = await RawClient.connect(port)
      client.write(head('GET', '/'))
      await waitFor(() => errors.length > 0, 'the error')
      assert.doesNotMatch(client.received, /Set-Cookie/)
      client.destroy()
      server.close()
    })

    test('drop closes the connection without a reply', async () => {
      const routes: Route[] = [
        { method: 'GET', pattern: '/', handler: (x) => void setImmediate(() => x.drop()) },
      ]
      const { server, port } = await startServer({ routes, engine })
      const client = await RawClient.connect(port)
      client.write(head('GET', '/'))
      assert.equal((await client.untilClosed()).replace(/<.*>/, ''), '')
      assert.equal(server.activeRequests, 0)
      server.close()
    })

    test('one connection serves many requests; when stopping, replies close it', async () => {
      const { server, port } = await startServer({ routes: ROUTES, engine })
      const client = await RawClient.connect(port)
      for (let count = 1; count <= 3; count++) {
        client.write(head('GET', '/plain?x'))
        await waitFor(() => client.received.split('/plain x').length === count + 1, 'a reply')
      }
      server.stopListening()
      client.write(head('GET', '/plain?x'))
      assert.match(await client.untilClosed(), /connection: close/i)
      await assert.rejects(RawClient.connect(port), /ECONNREFUSED/)
      server.close()
      server.close()
    })

    test('close drops what is open, and waiting handlers hear of it', async () => {
      let aborted = 0
      const handler = (x: Exchange) =>
        x.readBody({ chunk: () => undefined, aborted: () => void aborted++ })
      const { server, port } = await startServer({
        routes: [{ method: 'POST', pattern: '/', handler }],
        engine,
      })
      const client = await RawClient.connect(port)
      client.write(`${head('POST', '/', 'Content-Length: 9')}abc`)
      await waitFor(() => server.activeRequests === 1, 'the request')
      server.close()
      await client.untilClosed()
      await waitFor(() => aborted === 1, 'aborted')
      assert.equal(server.activeRequests, 0)
    })

    test('a port that is taken is named, with the options that change it', async () => {
      const other = createNetServer()
      await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
      const address = other.address()
      assert(address !== null && typeof address === 'object')
      const server = createServer({ routes: [], onError: () => undefined, engine })
      const expected = new RegExp(
        `127\\.0\\.0\\.1:${address.port}: another process uses this port.*--host and --port`,
      )
      await assert.rejects(server.listen('127.0.0.1', address.port), expected)
      server.close()
      other.close()
    })

    test('two servers never share a port', async () => {
      const { server, port } = await startServer({ routes: [], engine })
      const second = createServer({ routes: [], onError: () => undefined, engine })
      await assert.rejects(second.listen('127.0.0.1', port), /another process uses this port/)
      second.close()
      server.close()
      const { server: third, port: again } = await startServer({ routes: [], engine })
      assert(again > 0)
      third.close()
    })
  })
}
