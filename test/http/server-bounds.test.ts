/**
 * Goal: bodies that nobody wants, or that stall, hold a connection as long as the limits say.
 * Method: an engine that the test plays, and timers in its hands; each limit just met and passed.
 */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { IngestError } from '../../src/errors.ts'
import type {
  Engine,
  EngineApp,
  EngineHandler,
  EngineRequest,
  EngineResponse,
} from '../../src/http/engine.ts'
import type { Handler } from '../../src/http/exchange.ts'
import { createServer } from '../../src/http/server.ts'
import { BODY_IDLE_MS_MAX, LINGER_BYTES_MAX, LINGER_MS_MAX } from '../../src/limits.ts'
import { settle } from '../support/virtual-time.ts'

const SWEEP_MS = 1_000
const nothing = () => undefined

/** A request with a large body, of which nothing has come yet. */
async function startUpload(t: TestContext, handler: Handler) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let handle: EngineHandler | undefined
  const state = { isClosed: false, replies: 0 }
  const app = {
    ...{ get: nothing, put: nothing, patch: nothing, del: nothing, head: nothing },
    ...{ options: nothing, any: nothing },
    post: (_pattern: string, added: EngineHandler) => {
      handle = added
    },
    listen: (_host: string, _port: number, _options: number, told: (token: object) => void) =>
      told({}),
    close: nothing,
  } satisfies EngineApp
  const engine: Engine = {
    name: 'played',
    version: '0',
    copiesBodies: true,
    endsChunks: true,
    createApp: () => app,
    closeListenSocket: nothing,
    localPort: () => 1,
    writeRaw: () => {
      state.replies++
    },
  }
  const routes = [{ method: 'POST', pattern: '/x', handler } as const]
  const server = createServer({ routes, engine, onError: assert.fail })
  await server.listen('127.0.0.1', 1)
  t.after(() => server.close())

  let send: (chunk: Uint8Array, isLast: boolean) => void = assert.fail
  let onAborted: () => void = nothing
  const response = {
    onData: (listener: typeof send) => {
      send = listener
    },
    onAborted: (listener: () => void) => {
      onAborted = listener
    },
    close: () => {
      if (state.isClosed) return
      state.isClosed = true
      onAborted()
    },
    resume: nothing,
    pause: nothing,
  } as unknown as EngineResponse
  const request: EngineRequest = {
    getHeader: (name) => (name === 'content-length' ? String(1024 * 1024 * 1024) : ''),
    forEach: (visit) => visit('content-length', String(1024 * 1024 * 1024)),
    getParameter: nothing,
    getUrl: () => '/x',
    getMethod: () => 'post',
    getQuery: nothing,
  }
  handle?.(response, request)
  await settle()
  return { state, send: (bytes: number) => send(new Uint8Array(bytes), false) }
}

const refuse: Handler = () => {
  throw new IngestError('overloaded', 'full')
}

test('of a refused body LINGER_BYTES_MAX are read', async (t) => {
  const { state, send } = await startUpload(t, refuse)
  assert.equal(state.replies, 1)
  const chunk = 1024 * 1024
  for (let bytes = 0; bytes < LINGER_BYTES_MAX; bytes += chunk) send(chunk)
  assert.equal(state.isClosed, false)
  send(1)
  assert.equal(state.isClosed, true)
})

test('a refused body is read for LINGER_MS_MAX', async (t) => {
  const { state, send } = await startUpload(t, refuse)
  for (let ms = SWEEP_MS; ms < LINGER_MS_MAX; ms += SWEEP_MS) {
    t.mock.timers.tick(SWEEP_MS)
    send(1) // However lively it is.
  }
  assert.equal(state.isClosed, false)
  t.mock.timers.tick(SWEEP_MS)
  assert.equal(state.isClosed, true)
})

test('a body that makes no progress for BODY_IDLE_MS_MAX is aborted', async (t) => {
  let isAborted = false
  const { state, send } = await startUpload(t, (exchange) => {
    exchange.readBody({
      chunk: nothing,
      aborted: () => {
        isAborted = true
      },
    })
  })
  for (let times = 0; times < 3; times++) {
    t.mock.timers.tick(BODY_IDLE_MS_MAX)
    assert.equal(state.isClosed, false)
    send(1)
  }
  t.mock.timers.tick(BODY_IDLE_MS_MAX)
  assert.equal(isAborted, false)
  t.mock.timers.tick(SWEEP_MS)
  assert.deepEqual([state.isClosed, isAborted], [true, true])
})
