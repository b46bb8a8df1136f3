/** Goal: a request's head may have HEAD_BYTES_MAX bytes, and no more, on node:http. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeEngine } from '../../src/http/load-engine.ts'
import { HEAD_BYTES_MAX } from '../../src/limits.ts'
import { echo, head, RawClient, startServer } from './raw-client.ts'

/** Names, values and what Node.js counts with them make the difference. */
const UNCOUNTED_BYTES = 128

test('a head of HEAD_BYTES_MAX is taken, a larger one answered with 431', async () => {
  const routes = [{ method: 'POST', pattern: '/echo', handler: echo } as const]
  const { server, port } = await startServer({ routes, engine: nodeEngine })
  for (const [bytes, status] of [
    [HEAD_BYTES_MAX - UNCOUNTED_BYTES, 200],
    [HEAD_BYTES_MAX + UNCOUNTED_BYTES, 431],
  ] as const) {
    const empty = head('POST', '/echo', 'Content-Length: 0', 'X-Long: ').length
    const client = await RawClient.connect(port)
    client.write(head('POST', '/echo', 'Content-Length: 0', `X-Long: ${'x'.repeat(bytes - empty)}`))
    assert.match(await client.until(/\r\n\r\n/), new RegExp(`^HTTP/1.1 ${status} `))
    client.destroy()
  }
  server.close()
})
