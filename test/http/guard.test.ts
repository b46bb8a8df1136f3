/** Goal: what a route's failures become, and that nothing of the request is asked for too late. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IngestError } from '../../src/errors.ts'
import { BodyBudget } from '../../src/http/body-budget.ts'
import type { Exchange, Reply } from '../../src/http/exchange.ts'
import { guardRoute, type RestRoute, type RunInLane } from '../../src/http/guard.ts'
import type { ReplyStream } from '../../src/http/reply-stream.ts'
import { REST_BODY_MS_MAX } from '../../src/limits.ts'
import { type Principal, tryParseRowId } from '../../src/model/stream.ts'
import { Lane } from '../../src/read/lane.ts'
import { StoreError } from '../../src/store/store-error.ts'

const ABOUT = { operationId: 'x', summary: '', tag: '', answers: {} }
const ANYTHING = {}
const PRINCIPAL: Principal = {
  tokenId: 1,
  owner: 'ann',
  scopes: new Set(['events:read']),
  streamIds: undefined,
}

/** Fails the test when headers or the body are asked for after the handler's first wait. */
function fakeExchange(headers: Readonly<Record<string, string>>, body = '', queryString = '') {
  const replies: Reply[] = []
  const flow: string[] = []
  let isFirstCall = true
  const exchange: Exchange = {
    method: 'POST',
    path: '/v1/x/7',
    queryString,
    aborted: false,
    param: (index) => ['7', 'eight'][index] ?? '',
    header: (name) => {
      assert.ok(isFirstCall, 'headers are gone')
      return headers[name] ?? ''
    },
    headerLines: () => assert.fail('nothing here asks for it'),
    readBody: (consumer) => {
      assert.ok(isFirstCall, 'the body is gone')
      setImmediate(() => consumer.chunk(Buffer.from(body), true))
    },
    onAborted: () => undefined,
    pause: () => flow.push('pause'),
    resume: () => flow.push('resume'),
    reply: (reply) => replies.push(reply),
    stream: () => assert.fail('nothing here is streamed'),
    drop: () => assert.fail('nothing here has an unknown outcome'),
  }
  return { exchange, replies, flow, endFirstCall: () => (isFirstCall = false) }
}

async function run(
  route: Partial<RestRoute>,
  options: {
    readonly token?: string
    readonly body?: string
    readonly queryString?: string
    readonly seen?: string[]
  } = {},
): Promise<Reply | undefined> {
  const rest: RestRoute = {
    method: 'POST',
    pattern: '/v1/x/:id/y/:other',
    ...ABOUT,
    scope: 'events:read',
    run: async () => ({ status: 200 }),
    ...route,
  }
  const resolveToken = async (text: string) => {
    options.seen?.push(text)
    if (text === 'away') throw new IngestError('unavailable', 'away')
    return PRINCIPAL
  }
  const authorization = `bearer ${options.token ?? 'good'}`
  const { exchange, replies, endFirstCall } = fakeExchange(
    { authorization },
    options.body,
    options.queryString,
  )
  const handled = guardRoute({ resolveToken }, rest).handler(exchange)
  endFirstCall()
  await handled
  assert.ok(replies.length <= 1)
  return replies[0]
}

test('a route gets who asks, its parameters and its body', async () => {
  const seen: string[] = []
  const reply = await run(
    {
      body: ANYTHING,
      query: { properties: { a: { type: 'integer' }, b: { type: 'string' } } },
      run: async ({ principal, params, query, body }) => {
        assert.equal(principal, PRINCIPAL)
        assert.deepEqual(params, ['7', 'eight'])
        assert.deepEqual(query, { a: 1, b: ' ' })
        assert.deepEqual(body, { c: 1 })
        return { status: 201 }
      },
    },
    { body: '{"c":1}', queryString: 'a=1&b=%20', seen },
  )
  assert.equal(reply?.status, 201)
  assert.deepEqual(seen, ['good'])
})

test('a parameter that a route does not know is refused, with those that it knows', async () => {
  const query = { properties: { limit: { type: 'integer' }, after: { type: 'string' } } } as const
  for (const [route, known] of [
    [{}, 'none'],
    [{ query }, 'limit, after'],
  ] as const) {
    const reply = await run(route, { queryString: 'limt=5' })
    assert.equal(reply?.status, 400)
    assert.ok(String(reply?.body).includes(`unknown parameter \\"limt\\"; known are: ${known}"`))
  }
})

test('failures of clients and of absent stores are told, in this order', async () => {
  const throwing = (cause: unknown) => ({ run: () => Promise.reject(cause) })
  const cases = [
    [{}, { token: 'away' }, 503],
    [{ scope: 'admin', body: ANYTHING }, { body: '{' }, 403],
    [{ body: ANYTHING }, { body: '{' }, 400],
    [throwing(new IngestError('conflict', 'taken')), {}, 409],
    [throwing(new StoreError('unavailable', 'connection refused')), {}, 503],
    [throwing(new StoreError('disk_full', 'no space')), {}, 503],
  ] as const
  for (const [route, options, status] of cases) {
    const reply = await run(route, options)
    assert.equal(reply?.status, status)
    assert.equal(reply?.contentType, 'application/problem+json')
    assert.ok(!String(reply?.body).includes('connection refused'), 'details stay inside')
  }
})

test('a failure that nobody expects is thrown on, to be logged', async () => {
  for (const cause of [new Error('bug'), new StoreError('other', 'syntax error')]) {
    await assert.rejects(run({ run: () => Promise.reject(cause) }), cause)
  }
})

test('row ids are positive 32-bit integers in canonical decimal', () => {
  assert.equal(tryParseRowId('2147483647'), 2_147_483_647)
  for (const text of [undefined, '', '0', '01', '-1', '1.0', '2147483648', '99999999999', ' 1']) {
    assert.equal(tryParseRowId(text), undefined)
  }
})

test('a body is not read on before the token is known to be good, and has the scope', async () => {
  for (const [isGood, scope, expected] of [
    [true, 'events:read', ['pause', 'resolved', 'resume']],
    [true, 'admin', ['pause', 'resolved']],
    [false, 'events:read', ['pause', 'resolved']],
  ] as const) {
    const { exchange, replies, flow } = fakeExchange({ 'content-length': '1000000' }, '{}')
    const resolveToken = async () => {
      await new Promise((resolve) => setImmediate(resolve))
      flow.push('resolved')
      if (!isGood) throw new IngestError('unauthenticated', 'who are you')
      return PRINCIPAL
    }
    const rest: RestRoute = {
      method: 'POST',
      pattern: '/v1/x',
      scope,
      ...ABOUT,
      body: ANYTHING,
      run: async () => ({ status: 200 }),
    }
    await guardRoute({ resolveToken }, rest).handler(exchange)
    assert.deepEqual(flow, expected)
    assert.equal(replies.length, 1)
  }
})

test('a body that does not end in REST_BODY_MS_MAX is too slow', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { exchange, replies } = fakeExchange({ authorization: 'bearer good' })
  const slow: Exchange = {
    ...exchange,
    readBody: (consumer) => consumer.chunk(Buffer.from('{"a":'), false),
  }
  const bodies = new BodyBudget()
  const guard = { resolveToken: async () => PRINCIPAL, bodies }
  const run = () => assert.fail('it never came')
  const scope = 'events:read' as const
  const route = { method: 'POST', pattern: '/v1/x/:id/y/:other', ...ABOUT, scope } as const
  const handled = guardRoute(guard, { ...route, body: ANYTHING, run }).handler(slow)
  await new Promise((resolve) => setImmediate(resolve))
  assert.ok(bodies.bytes > 0)
  t.mock.timers.tick(REST_BODY_MS_MAX - 1)
  await new Promise((resolve) => setImmediate(resolve))
  assert.equal(replies.length, 0)
  t.mock.timers.tick(1)
  await handled
  assert.equal(replies[0]?.status, 408)
  assert.match(String(replies[0]?.body), /REST_BODY_MS_MAX/)
  assert.equal(bodies.bytes, 0)
})

test('a body is parsed in its turn: until then it takes what it has as bytes', async () => {
  const bounds = { name: 'queries', places: () => 1, waitingMax: 1, waitMsMax: 60_000 }
  const lane = new Lane(bounds)
  let leave: () => void = () => undefined
  const first = lane.run(2, new AbortController().signal, async () => {
    await new Promise<void>((resolve) => {
      leave = resolve
    })
  })
  const { exchange, replies } = fakeExchange({ authorization: 'bearer good' }, '{')
  const rest: RestRoute = {
    method: 'POST',
    pattern: '/v1/x/:id/y/:other',
    ...ABOUT,
    scope: 'events:read',
    body: ANYTHING,
    run: () => assert.fail('it is not JSON'),
  }
  const handled = guardRoute({ resolveToken: async () => PRINCIPAL, lane }, rest).handler(exchange)
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
  assert.equal(lane.waiting, 1)
  assert.equal(replies.length, 0)
  leave()
  await Promise.all([first, handled])
  assert.equal(replies[0]?.status, 400)
})

test('an answer in pieces holds no place in its lane, and takes one for each turn', async () => {
  const bounds = { name: 'queries', places: () => 1, waitingMax: 1, waitMsMax: 60_000 }
  const lane = new Lane(bounds)
  const { exchange, replies } = fakeExchange({ authorization: 'bearer good' })
  const said: unknown[] = []
  const stream: ReplyStream = {
    isOver: false,
    heldBytes: 0,
    write: (bytes) => said.push(bytes) > 0,
    whenTaken: async () => undefined,
    end: () => said.push('end'),
    drop: () => said.push('drop'),
  }
  const streaming: Exchange = {
    ...exchange,
    stream: ({ status }) => {
      said.push(status)
      return stream
    },
  }
  const send = async (to: ReplyStream, turn: RunInLane) => {
    said.push(lane.running)
    await turn(async () => to.write(`in its turn: ${lane.running}`))
  }
  const route = { method: 'POST', pattern: '/v1/x/:id/y/:other', ...ABOUT } as const
  const rest: RestRoute = {
    ...route,
    scope: 'events:read',
    run: async () => ({ status: 200, send }),
  }
  const guard = { resolveToken: async () => PRINCIPAL, lane }
  await guardRoute(guard, rest).handler(streaming)
  assert.deepEqual(said, [200, 0, 'in its turn: 1', 'end'])
  const failing = {
    ...rest,
    run: async () => ({ status: 200, send: () => assert.fail('no more') }),
  }
  await assert.rejects(async () => guardRoute(guard, failing).handler(streaming), /no more/)
  assert.equal(said.at(-1), 200, 'no end: the server breaks it off')
  assert.deepEqual(replies, [])
})
