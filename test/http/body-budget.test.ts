/**
 * Goal: whatever senders of management bodies do, memory stays in its budget, who is refused hears
 * when to come again, and strangers take nothing from who is known.
 * Method: a real server and a guarded route; hundreds of bodies that never end.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { IngestError } from '../../src/errors.ts'
import { BodyBudget } from '../../src/http/body-budget.ts'
import { guardRoute } from '../../src/http/guard.ts'
import type { HttpServer } from '../../src/http/server.ts'
import {
  REST_BODIES_BYTES_MAX,
  REST_BODY_BYTES_MAX,
  REST_STRANGERS_BYTES_MAX,
} from '../../src/limits.ts'
import type { Principal } from '../../src/model/stream.ts'
import { ENGINES, head, RawClient, startServer, waitFor } from './raw-client.ts'

const SENDERS = 100
const KNOWN: Principal = {
  tokenId: 1,
  owner: 'ann',
  scopes: new Set(['admin']),
  streamIds: undefined,
}

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const servers: HttpServer[] = []
after(() => {
  for (const server of servers) server.close()
})

for (const engine of ENGINES) {
  const serve = async () => {
    const bodies = new BodyBudget()
    let endLookup: () => void = () => undefined
    const lookup = new Promise<Principal>((_, reject) => {
      endLookup = () => reject(new IngestError('unauthenticated', 'who are you'))
    })
    lookup.catch(() => undefined)
    const resolveToken = (text: string) => (text === 'known' ? Promise.resolve(KNOWN) : lookup)
    const route = guardRoute(
      { resolveToken, bodies },
      {
        method: 'POST',
        pattern: '/v1/x',
        scope: 'admin',
        operationId: 'x',
        summary: '',
        tag: '',
        answers: {},
        body: {},
        run: async ({ body }) => ({ status: 200, body: JSON.stringify(body) }),
      },
    )
    const { server, port } = await startServer({ routes: [route], engine })
    servers.push(server)
    return { bodies, port, endLookup }
  }
  /** All of a body of the largest size but its last byte. */
  const send = async (port: number, token: string) => {
    const length = `Content-Length: ${REST_BODY_BYTES_MAX}`
    const client = await RawClient.connect(port)
    client.write(head('POST', '/v1/x', `Authorization: Bearer ${token}`, length))
    client.write(`"${'x'.repeat(REST_BODY_BYTES_MAX - 2)}`)
    return client
  }
  const isRefused = ({ received }: RawClient) => /^HTTP\/1.1 429 /.test(received)

  test(`bodies of who is known stay in their budget, on ${engine.name}`, async () => {
    const { bodies, port } = await serve()
    const before = process.memoryUsage().arrayBuffers
    const clients = await Promise.all(Array.from({ length: SENDERS }, () => send(port, 'known')))
    const fitting = REST_BODIES_BYTES_MAX / REST_BODY_BYTES_MAX
    const refused = () => clients.filter(isRefused)
    await waitFor(() => refused().length >= SENDERS - fitting, 'refusals', 15_000)
    assert.ok(bodies.bytes <= REST_BODIES_BYTES_MAX + REST_STRANGERS_BYTES_MAX)
    assert.match(refused()[0]!.received, /retry-after: 1\r\n.*REST_BODIES_BYTES_MAX/is)
    // Clients and server share this process: what the sockets hold is not all the server's, and
    // what was sent is given up as it is written.
    const isBounded = () => {
      collectGarbage()
      return process.memoryUsage().arrayBuffers - before < 2 * REST_BODIES_BYTES_MAX
    }
    await waitFor(isBounded, 'memory to be within twice the budget', 10_000)
    const served = clients.filter((client) => !isRefused(client))
    for (const client of served) client.write('"')
    for (const client of served) await client.until(/x"$/, 10_000)
    for (const client of clients) client.destroy()
    await waitFor(() => bodies.bytes === 0, 'the budget to be free again')
  })

  test(`strangers have a small part of their own, on ${engine.name}`, async () => {
    const { bodies, port, endLookup } = await serve()
    const clients = await Promise.all(Array.from({ length: SENDERS }, () => send(port, 'unknown')))
    await new Promise((resolve) => setTimeout(resolve, 300))
    assert.ok(bodies.bytes <= REST_STRANGERS_BYTES_MAX, `${bodies.bytes} bytes`)
    const known = await send(port, 'known')
    known.write('"')
    await known.until(/^HTTP\/1.1 200 .*x"$/s, 10_000)
    endLookup()
    for (const client of clients) await client.until(/^HTTP\/1.1 (401|429) /, 10_000)
    for (const client of [...clients, known]) client.destroy()
    await waitFor(() => bodies.bytes === 0, 'the budget to be free again')
  })
}

test('a budget counts what it holds, and nothing of what it refused', () => {
  const budget = new BodyBudget(100, 10)
  const [one, two] = [budget.enter(), budget.enter()]
  one.hold(10)
  assert.throws(() => two.hold(1), /REST_STRANGERS_BYTES_MAX/)
  one.becomeKnown()
  two.hold(10)
  one.hold(95)
  assert.throws(() => one.hold(101), /REST_BODIES_BYTES_MAX/)
  assert.throws(() => two.becomeKnown(), /REST_BODIES_BYTES_MAX/)
  assert.equal(budget.bytes, 105)
  one.leave()
  one.leave()
  one.hold(50)
  two.becomeKnown()
  assert.equal(budget.bytes, 10)
  two.leave()
  assert.equal(budget.bytes, 0)
})
