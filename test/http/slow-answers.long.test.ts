/**
 * Goal: a request whose body was held back until its token was known is answered however long its
 * work takes: engines give the rest of a body ten seconds, and here none is left.
 * Method: a guarded route that works longer than that, on each engine, with the body in the first
 * packet.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { guardRoute } from '../../src/http/guard.ts'
import { createServer } from '../../src/http/server.ts'
import type { Principal } from '../../src/model/stream.ts'
import { ENGINES } from './raw-client.ts'

const WORK_MS = 16_000
const principal: Principal = {
  tokenId: 1,
  owner: 'ann',
  scopes: new Set(['admin']),
  streamIds: undefined,
}

for (const engine of ENGINES) {
  test(`${engine.name} ${engine.version}: an answer that takes ${WORK_MS} ms comes`, async (t) => {
    const resolveToken = async () => {
      await sleep(20)
      return principal
    }
    const route = guardRoute(
      { resolveToken },
      {
        method: 'POST',
        pattern: '/slow',
        operationId: 'slow',
        summary: 'Takes its time',
        tag: 'Tests',
        scope: 'events:read',
        body: {},
        answers: {},
        run: async () => {
          await sleep(WORK_MS)
          return { status: 200, contentType: 'application/json', body: '{"done":true}' }
        },
      },
    )
    const server = createServer({ routes: [route], engine, onError: assert.fail })
    const port = await server.listen('127.0.0.1', 0)
    t.after(() => server.close())
    const answer = await fetch(`http://127.0.0.1:${port}/slow`, {
      method: 'POST',
      headers: { authorization: 'Bearer x', 'content-type': 'application/json' },
      body: '{"a":1}',
    })
    assert.deepEqual([answer.status, await answer.json()], [200, { done: true }])
  })
}
