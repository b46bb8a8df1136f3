/**
 * Goal: what a slow reader has not taken of a large reply lies in memory once and is counted; there
 * is a bound to it, within which nobody is cut; a reader gets every byte, however slowly.
 * Method: raw clients that read in pieces or not at all, on each engine that works here.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { IngestError } from '../../src/errors.ts'
import { InFlight } from '../../src/http/in-flight.ts'
import type { HttpServer } from '../../src/http/server.ts'
import { REPLY_DIRECT_BYTES_MAX, SLOW_BODY_MS } from '../../src/limits.ts'
import { ENGINES, startServer, waitFor } from './raw-client.ts'

const MIB = 1024 * 1024
/** More than what sockets take on both sides. */
const BODY = Buffer.alloc(24 * MIB, '0123456789abcdef').fill('!', 24 * MIB - 1)

const servers: HttpServer[] = []
const sockets: Socket[] = []
after(() => {
  for (const socket of sockets) socket.destroy()
  for (const server of servers) server.close()
})

async function serve(engine: (typeof ENGINES)[number], replyBytesMax = 64 * MIB) {
  const ingest = new InFlight(replyBytesMax)
  let sent = 0
  const body = { contentType: 'text/plain', body: BODY, sent: () => sent++ }
  const { server, port, errors } = await startServer({
    engine,
    replyBytesMax,
    routes: [
      { method: 'GET', pattern: '/large', handler: (e) => e.reply({ status: 200, ...body }) },
      {
        method: 'GET',
        pattern: '/text',
        handler: (e) => e.reply({ status: 200, body: `${'é'.repeat(MIB)}!` }),
      },
      {
        method: 'POST',
        pattern: '/stored',
        handler: (e) => {
          const room = (bytes: number, cut: () => void) => ingest.enterReply(bytes, cut)
          const chunk = (_: unknown, isLast: boolean) =>
            isLast && e.reply({ status: 200, ...body, room })
          e.readBody({ chunk, aborted: () => undefined })
        },
      },
      { method: 'GET', pattern: '/small', handler: (e) => e.reply({ status: 200, body: 'small' }) },
    ],
  })
  servers.push(server)
  const ask = async (path: string, head = '', method = 'GET') => {
    const socket = connect(port, '127.0.0.1')
    sockets.push(socket)
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    socket.pause()
    socket.write(`${method} ${path} HTTP/1.1\r\nHost: x\r\n${head}\r\n`)
    return socket
  }
  return { server, ingest, ask, errors, sent: () => sent }
}

/** Reads `bytes`, or until the end of what `isEnough` looks for, resting after each piece. */
async function read(
  socket: Socket,
  bytes: number,
  { restMs = 0, end = 'nothing' } = {},
): Promise<Buffer> {
  const pieces: Buffer[] = []
  let length = 0
  while (length < bytes && !socket.destroyed) {
    const piece = socket.read() as Buffer | null
    await sleep(piece === null ? 2 : restMs)
    if (piece === null) continue
    pieces.push(piece)
    length += piece.length
    if (piece.toString('latin1').endsWith(end)) break
  }
  return Buffer.concat(pieces)
}

const WHOLE = { end: '!' }
const bodyOf = (message: Buffer) => message.subarray(message.indexOf('\r\n\r\n') + 4)
const until = (what: () => boolean, name: string) => waitFor(what, name, 5_000)

for (const engine of ENGINES) {
  test(`${engine.name}: every byte arrives, however slowly; then the next reply`, async () => {
    const { server, ask, sent } = await serve(engine)
    const socket = await ask('/large')
    await until(() => server.replyBytes > 0, 'counted')
    await sleep(300)
    assert.ok(server.replyBytes > MIB && server.replyBytes <= BODY.length)
    assert.equal(server.activeRequests, 1)
    const message = await read(socket, Number.POSITIVE_INFINITY, { ...WHOLE, restMs: 1 })
    assert.match(message.toString('latin1', 0, 400), /content-length: 25165824/i)
    assert.ok(bodyOf(message).equals(BODY))
    await until(() => server.replyBytes === 0 && server.activeRequests === 0, 'given back')
    assert.equal(sent(), engine.copiesBodies ? 1 : 0)
    socket.write('GET /small HTTP/1.1\r\nHost: x\r\n\r\n')
    assert.match(
      (await read(socket, MIB, { end: 'small' })).toString(),
      /^HTTP\/1\.1 200 [\s\S]*small$/,
    )
    const text = bodyOf(await read(await ask('/text'), Number.POSITIVE_INFINITY, WHOLE))
    assert.equal(text.toString(), `${'é'.repeat(MIB)}!`)
    const head = (await read(await ask('/large', '', 'HEAD'), MIB, { end: '\r\n\r\n' })).toString()
    assert.match(head, /content-length: 25165824/i)
  })

  test(`${engine.name}: readers that do not read cost no copies, and leave nothing`, async () => {
    const { server, ask } = await serve(engine, 1_024 * MIB)
    const before = process.memoryUsage().rss
    const clients: Socket[] = []
    for (let i = 0; i < 20; i++) clients.push(await ask('/large'))
    await until(() => server.activeRequests === clients.length, 'all asked')
    await sleep(200)
    assert.ok(server.replyBytes > clients.length * 16 * MIB)
    const grownMib = (process.memoryUsage().rss - before) / MIB
    assert.ok(grownMib < 150, `${grownMib} MiB, of ${(clients.length * BODY.length) / MIB}`)
    for (const client of clients) client.destroy()
    await until(() => server.replyBytes === 0 && server.activeRequests === 0, 'given back')
  })

  test(`${engine.name}: without room a reply is overloaded, not so what is stored`, async () => {
    const { server, ingest, ask, errors } = await serve(engine, BODY.length + MIB)
    const slow = await ask('/large')
    await until(() => server.replyBytes > MIB, 'counted')
    const refused = (await read(await ask('/large'), MIB, { end: '}' })).toString()
    assert.match(refused, /^HTTP\/1\.1 429 [\s\S]*retry-after: 1[\s\S]*REPLY_BYTES_MAX/i)
    const stored = await ask('/stored', 'Content-Length: 0\r\n', 'POST')
    const others = await ask('/stored', 'Content-Length: 0\r\n', 'POST')
    await until(() => ingest.bytes > 2 * MIB, 'both are counted where they belong')
    assert.throws(() => ingest.enter(BODY.length), IngestError)
    others.destroy()
    assert.ok(bodyOf(await read(stored, Number.POSITIVE_INFINITY, WHOLE)).equals(BODY))
    await until(() => ingest.bytes === 0 && ingest.requests === 0, 'given back')
    assert.deepEqual(errors, [])
    slow.destroy()
  })
}

test('a reader that takes too little is cut off only when another needs the budget', async () => {
  const { server, ask } = await serve(ENGINES[0]!, BODY.length + MIB)
  const slow = await ask('/large')
  await until(() => server.replyBytes > MIB, 'counted')
  await sleep(SLOW_BODY_MS + 300)
  assert.equal(server.activeRequests, 1, 'nobody needs the room')
  const message = await read(await ask('/large'), Number.POSITIVE_INFINITY, WHOLE)
  assert.ok(bodyOf(message).equals(BODY))
  const rest = await read(slow, Number.POSITIVE_INFINITY)
  assert.ok(rest.length < BODY.length, 'the slow one is closed')
  await until(() => server.replyBytes === 0, 'given back')
})

test('a reader that takes nothing at all is closed in time', async () => {
  const { server, port } = await startServer({
    bodyIdleMsMax: 400,
    routes: [{ method: 'GET', pattern: '/', handler: (e) => e.reply({ status: 200, body: BODY }) }],
  })
  servers.push(server)
  const socket = connect(port, '127.0.0.1')
  sockets.push(socket)
  socket.pause()
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await until(() => server.replyBytes > MIB, 'counted')
  await until(() => server.replyBytes === 0 && server.activeRequests === 0, 'closed')
})

test('REPLY_DIRECT_BYTES_MAX bytes are left to the socket', async () => {
  const { server, port } = await startServer({
    replyBytesMax: REPLY_DIRECT_BYTES_MAX,
    routes: [1, 0].map((more) => ({
      method: 'GET' as const,
      pattern: `/${more}`,
      handler: (e) => {
        const body = new Uint8Array(REPLY_DIRECT_BYTES_MAX + more)
        e.reply({ status: 200, body })
      },
    })),
  })
  servers.push(server)
  const status = async (path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status
  assert.deepEqual([await status('/0'), await status('/1')], [200, 429])
})
