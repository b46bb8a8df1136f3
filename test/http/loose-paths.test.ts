/**
 * Goal: slashes too many in the path of a loose route mean nothing, on every engine; other routes
 * stay strict, names keep their bytes, and a path that is taken as it was written is not touched.
 * Method: raw requests, whose answers tell the handler, the path and the parameters.
 */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Route } from '../../src/http/exchange.ts'
import { ENGINES, head, RawClient, startServer } from './raw-client.ts'

function route(method: Route['method'], pattern: string, isLoose: boolean): Route {
  const params = pattern.split('/:').length - 1
  return {
    method,
    pattern,
    ...(isLoose && { isLoose }),
    handler: (exchange) => {
      const told = Array.from({ length: params }, (_, index) => exchange.param(index))
      const body = [pattern, exchange.path, exchange.queryString, ...told].join(' ')
      exchange.reply({ status: 200, body: `${body}.` })
    },
  }
}

const routes: readonly Route[] = [
  route('POST', '/v1/ingest', true),
  route('POST', '/v1/otlp/v1/logs', true),
  route('POST', '/_bulk', true),
  route('POST', '/:index/_bulk', true),
  route('PUT', '/:index/_doc/:id', true),
  route('HEAD', '/:index', true),
  route('PUT', '/:index', true),
  route('GET', '/_nodes', true),
  route('GET', '/', true),
  route('GET', '/v1/streams', false),
  route('GET', '/v1/streams/:id', false),
  route('GET', '/metrics', false),
]

/** Method and path, and the answer's status and text. */
const CASES: readonly (readonly [string, string, number, string])[] = [
  ['POST', '/v1/ingest/', 200, '/v1/ingest /v1/ingest .'],
  ['POST', '//v1/ingest', 200, '/v1/ingest /v1/ingest .'],
  ['POST', '/v1//ingest?a=//b/', 200, '/v1/ingest /v1/ingest a=//b/.'],
  ['POST', '/v1/otlp//v1/logs', 200, '/v1/otlp/v1/logs /v1/otlp/v1/logs .'],
  ['POST', '/v1/otlp/v1/logs/', 200, '/v1/otlp/v1/logs /v1/otlp/v1/logs .'],
  ['POST', '////v1///otlp//v1/logs///', 200, '/v1/otlp/v1/logs /v1/otlp/v1/logs .'],
  ['POST', '//_bulk', 200, '/_bulk /_bulk .'],
  ['POST', '/_bulk/', 200, '/_bulk /_bulk .'],
  ['POST', '/_bulk//', 200, '/_bulk /_bulk .'],
  ['POST', '/logs//_bulk', 200, '/:index/_bulk /logs/_bulk  logs.'],
  ['POST', '//logs/_bulk/', 200, '/:index/_bulk /logs/_bulk  logs.'],
  ['POST', '/a%2Fb//_bulk', 200, '/:index/_bulk /a%2Fb/_bulk  a/b.'],
  ['POST', '/%2F/_bulk/', 200, '/:index/_bulk /%2F/_bulk  /.'],
  ['POST', '/a%20b%2F%2F/_bulk', 200, '/:index/_bulk /a%20b%2F%2F/_bulk  a b//.'],
  ['POST', '/_bulk/_bulk', 200, '/:index/_bulk /_bulk/_bulk  _bulk.'],
  ['PUT', '/logs/_doc//7', 200, '/:index/_doc/:id /logs/_doc/7  logs 7.'],
  ['PUT', '/logs/', 200, '/:index /logs  logs.'],
  ['GET', '/_nodes/', 200, '/_nodes /_nodes .'],
  ['GET', '//', 200, '/ / .'],
  ['POST', '/%zz//_bulk', 400, 'percent-encoded'],
  ['PUT', '//_bulk//_doc', 404, 'not_found'],
  ['POST', '/logs/_doc/', 404, 'not_found'],
  ['GET', '/v1/ingest/', 405, 'this path takes POST'],
  ['GET', '/v1/streams/', 404, 'not_found'],
  ['GET', '//v1/streams', 404, 'not_found'],
  ['GET', '/v1/streams//1', 404, 'not_found'],
  ['GET', '/v1/streams/1/', 404, 'not_found'],
  ['GET', '/metrics/', 404, 'not_found'],
]

for (const engine of ENGINES) {
  describe(`slashes too many, ${engine.name} ${engine.version}`, () => {
    test('are ignored on loose routes, and there alone', async () => {
      const { server, port } = await startServer({ routes, engine })
      const client = await RawClient.connect(port)
      try {
        for (const [method, path, status, text] of CASES) {
          client.received = ''
          client.write(head(method, path, 'Content-Length: 0'))
          const end = status === 200 ? /\.$/ : /\}$/
          await client.until(end, 2_000).catch(() => assert.fail(`no answer to ${method} ${path}`))
          const told = `${method} ${path}: ${client.received}`
          assert.match(client.received, new RegExp(`^HTTP/1.1 ${status} `), told)
          assert.ok(client.received.includes(text), told)
          if (status === 405) assert.match(client.received, /\r\nAllow: POST\r\n/i)
        }
        client.received = ''
        client.write(head('HEAD', '//metrics'))
        await client.until(/\r\n\r\n$/, 2_000)
        assert.match(client.received, /^HTTP\/1\.1 404 /)
      } finally {
        client.destroy()
        server.close()
      }
    })
  })
}
