/**
 * Goal: a streamed reply arrives byte for byte, however its reader reads; one who reads slowly or
 * not at all costs bounded memory; whoever writes hears that the reader is gone.
 * Method: raw clients that read in pieces or not at all, on each engine that works here.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { get } from 'node:http'
import { connect, type Socket } from 'node:net'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Exchange, StreamHead } from '../../src/http/exchange.ts'
import type { ReplyStream } from '../../src/http/reply-stream.ts'
import type { HttpServer } from '../../src/http/server.ts'
import { ONLY_LONG } from '../support/fuzzing.ts'
import { ENGINES, startServer, waitFor, wholeChunks } from './raw-client.ts'

const MIB = 1024 * 1024
const servers: HttpServer[] = []
const sockets: Socket[] = []
after(() => {
  for (const socket of sockets) socket.destroy()
  for (const server of servers) server.close()
})

/** A server that streams what `write` says; `told` counts readers who were said to be gone. */
async function serve(
  engine: (typeof ENGINES)[number],
  write: (stream: ReplyStream) => Promise<void>,
  options: { replyBytesMax?: number; bodyIdleMsMax?: number; lingerMsMax?: number } = {},
  head: Partial<StreamHead> = {},
) {
  const told: string[] = []
  const streams: ReplyStream[] = []
  const handler = async (exchange: Exchange) => {
    exchange.onAborted(() => told.push('aborted'))
    if (exchange.queryString === 'later') await sleep(10)
    const stream = exchange.stream({ status: 200, contentType: 'text/plain', ...head })
    streams.push(stream)
    await write(stream)
  }
  const { server, port, errors } = await startServer({
    engine,
    ...options,
    routes: [
      { method: 'GET', pattern: '/stream', handler },
      { method: 'GET', pattern: '/small', handler: (e) => e.reply({ status: 200, body: 'small' }) },
    ],
  })
  servers.push(server)
  const ask = async (line = 'GET /stream HTTP/1.1') => {
    const socket = connect(port, '127.0.0.1')
    sockets.push(socket)
    socket.on('error', () => undefined)
    await once(socket, 'connect')
    socket.pause()
    socket.write(`${line}\r\nHost: x\r\n\r\n`)
    return socket
  }
  return { server, port, errors, told, streams, ask }
}

const until = (what: () => boolean, name: string, ms = 5_000) => waitFor(what, name, ms)
const isIdle = (server: HttpServer) => server.activeRequests === 0 && server.replyBytes === 0

async function readAll(socket: Socket, restMs = 0, isEnough = /0\r\n\r\n$/): Promise<Buffer> {
  const pieces: Buffer[] = []
  while (!socket.destroyed) {
    const piece = socket.read() as Buffer | null
    if (piece === null) await sleep(1)
    else {
      pieces.push(piece)
      if (isEnough.test(piece.subarray(-16).toString('latin1'))) break
      if (restMs > 0) await sleep(restMs)
    }
    if (socket.readableEnded) break
  }
  return Buffer.concat(pieces)
}

/** Of server-sent events: all lines but comments and empty ones. */
function dataOf(body: string): string {
  return body
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith(':'))
    .join('\n')
}

/** Pieces of many sizes, of bytes that tell their order. */
function* piecesOf(bytesMax: number): Generator<Buffer> {
  const sizes = [1, 511, 512, 513, 16_000, 70_000, 3, 300_000, 2_000]
  for (let bytes = 0, at = 0; bytes < bytesMax; at++) {
    const piece = Buffer.alloc(sizes[at % sizes.length]!, `${at},`)
    bytes += piece.length
    yield piece
  }
}

for (const engine of ENGINES) {
  const { name } = engine

  test(`${name}: pieces arrive in order and whole, then the next reply does`, async () => {
    const { server, port, ask } = await serve(engine, async (stream) => {
      for (const piece of piecesOf(8 * MIB)) if (!stream.write(piece)) await stream.whenTaken()
      stream.end()
      stream.end()
      assert.equal(stream.write('too late'), true)
    })
    const expected = createHash('sha256')
    for (const piece of piecesOf(8 * MIB)) expected.update(piece)
    const digest = expected.digest('hex')
    for (const query of ['', '?later']) {
      const got = createHash('sha256')
      const [reply] = await once(get(`http://127.0.0.1:${port}/stream${query}`), 'response')
      assert.equal(reply.headers['transfer-encoding'], 'chunked')
      assert.equal(reply.headers['content-type'], 'text/plain')
      for await (const piece of reply) {
        got.update(piece)
        if (Math.random() < 0.2) await sleep(2)
      }
      assert.equal(got.digest('hex'), digest)
    }
    const socket = await ask()
    await readAll(socket, 1)
    socket.write('GET /small HTTP/1.1\r\nHost: x\r\n\r\n')
    assert.match((await readAll(socket, 0, /small$/)).toString(), /^HTTP\/1\.1 200 [\s\S]*small$/)
    await until(() => isIdle(server), 'given back')
  })

  test(`${name}: a slow reader gets all, and little of it is in memory`, async () => {
    let heldMax = 0
    const piece = Buffer.alloc(MIB / 4, 'x')
    const { server, ask } = await serve(engine, async (stream) => {
      for (let bytes = 0; bytes < 48 * MIB; bytes += piece.length) {
        if (!stream.write(piece)) await stream.whenTaken()
        heldMax = Math.max(heldMax, stream.heldBytes, server.replyBytes)
      }
      stream.end()
    })
    const before = process.memoryUsage().rss
    const readers = [await ask(), await ask(), await ask()]
    await sleep(300)
    const grown = (process.memoryUsage().rss - before) / MIB
    assert.ok(grown < 40, `${grown} MiB while nobody reads`)
    const lengths = await Promise.all(readers.map(async (one) => (await readAll(one)).length))
    for (const length of lengths) assert.ok(length > 48 * MIB && length < 49 * MIB)
    assert.ok(heldMax <= 3 * piece.length, `${heldMax} bytes held`)
    await until(() => isIdle(server), 'given back')
  })

  test(`${name}: many small writes to one who never reads are held back, too`, async () => {
    let written = 0
    const { server, ask, told } = await serve(engine, async (stream) => {
      while (!stream.isOver) {
        written += 200
        if (!stream.write('y'.repeat(200))) await stream.whenTaken()
        if (written % 100_000 === 0) await sleep(0)
      }
    })
    const socket = await ask()
    await until(() => (server.activeRequests === 1 ? written > 100_000 : false), 'begun')
    let before = -1
    await until(() => {
      const isStill = before === written
      before = written
      return isStill
    }, 'no more is written')
    await sleep(200)
    assert.equal(written, before)
    assert.ok(server.replyBytes <= 400, `${server.replyBytes} bytes held`)
    socket.destroy()
    await until(() => told.length === 1 && isIdle(server), 'the writer hears it')
  })

  test(`${name}: who reads nothing is closed in time; who has nothing to read is not`, async () => {
    let isOver = 0
    const { server, ask, told } = await serve(
      engine,
      async (stream) => {
        const isIdleOne = isOver < 0
        stream.write('first')
        if (isIdleOne) return
        while (!stream.isOver) {
          stream.write(Buffer.alloc(MIB))
          await stream.whenTaken()
        }
        isOver++
      },
      { bodyIdleMsMax: 400 },
    )
    await ask()
    await until(() => server.activeRequests === 1, 'asked')
    await until(() => isOver === 1 && told.length === 1 && isIdle(server), 'closed')
    isOver = -1
    const idle = await ask()
    await sleep(1_000)
    assert.equal(server.activeRequests, 1)
    idle.destroy()
    await until(() => told.length === 2 && isIdle(server), 'gone')
  })

  test(`${name}: an end and an abort differ for the reader`, async () => {
    const { server, ask, told, streams } = await serve(engine, async (stream) => {
      stream.write('some')
    })
    const whole = await ask()
    await until(() => streams.length === 1, 'begun')
    streams[0]!.end()
    assert.match((await readAll(whole)).toString(), /some\r\n0\r\n\r\n$/)
    const cut = await ask()
    await until(() => streams.length === 2, 'begun')
    await sleep(50)
    streams[1]!.drop()
    streams[1]!.drop()
    assert.match((await readAll(cut)).toString(), /some(\r\n)?$/)
    assert.equal(streams[1]!.isOver, true)
    await streams[1]!.whenTaken()
    assert.deepEqual(told, ['aborted'])
    assert.ok(isIdle(server))
  })

  test(`${name}: with filler a chunk is whole at once, its line end too`, async () => {
    const filler = Buffer.from(':\n')
    const { server, ask, streams } = await serve(engine, async () => undefined, {}, { filler })
    const socket = await ask()
    await until(() => streams.length === 1, 'begun')
    let got = ''
    socket.setEncoding('latin1').on('data', (text: string) => {
      got += text
    })
    socket.resume()
    let sent = ''
    for (const [n, bytes] of [3, 400, 3_000, 40_000, 5].entries()) {
      const message = `id: ${n}\ndata: ${'x'.repeat(bytes)}\n\n`
      sent += message
      streams[0]!.write(message)
      await until(() => dataOf(wholeChunks(got)) === dataOf(sent), `message ${n}, whole`)
    }
    streams[0]!.end()
    await until(() => /\r\n0\r\n\r\n$/.test(got), 'the end')
    const noise = wholeChunks(got)
      .split('\n')
      .filter((line) => !/^(id: \d|data: x+|)$/.test(line))
    assert.deepEqual(new Set(noise), new Set(engine.endsChunks ? [] : [':']))
    await until(() => isIdle(server), 'given back')
  })

  test(`${name}: one who does not wait is dropped past what replies may hold`, async () => {
    const { server, ask, told, errors } = await serve(
      engine,
      async (stream) => {
        while (!stream.isOver) stream.write(Buffer.alloc(MIB))
      },
      { replyBytesMax: 8 * MIB },
    )
    await ask()
    await until(() => told.length === 1 && isIdle(server), 'dropped')
    assert.deepEqual(errors, [])
  })

  test(`${name}: a writer that fails breaks the reply off`, async () => {
    const { server, ask, errors } = await serve(engine, async (stream) => {
      stream.write('some')
      await sleep(20)
      throw new Error('of the writer')
    })
    const message = (await readAll(await ask())).toString()
    assert.match(message, /some(\r\n)?$/)
    assert.match(String(errors[0]), /of the writer/)
    await until(() => isIdle(server), 'given back')
  })

  test(`${name}: HEAD has no body, an empty stream none either`, async () => {
    const { server, ask, streams } = await serve(engine, async (stream) => stream.end())
    const head = await readAll(await ask('HEAD /stream HTTP/1.1'), 0, /\r\n\r\n$/)
    assert.match(head.toString(), /^HTTP\/1\.1 200 OK\r\n[\s\S]*text\/plain/)
    assert.equal(streams[0]!.isOver, true)
    const none = await readAll(await ask(), 0, /\r\n\r\n$/)
    assert.match(none.toString(), /^HTTP\/1\.1 200 OK\r\n/)
    await until(() => isIdle(server), 'given back')
  })

  test(`${name}: a server that stops tells streams, and waits for no reader`, async () => {
    const { server, ask } = await serve(
      engine,
      async (stream) => {
        stream.write('begun,')
        if (server.activeRequests > 1) stream.write(Buffer.alloc(24 * MIB))
      },
      { lingerMsMax: 300 },
      {
        onStopping: (stream) => {
          stream.write('bye')
          stream.end()
        },
      },
    )
    const reader = await ask()
    await until(() => server.activeRequests === 1, 'one')
    await ask()
    await until(() => server.replyBytes > 0, 'one who does not read')
    server.stopListening()
    server.stopListening()
    assert.match((await readAll(reader)).toString(), /begun,[\s\S]*bye\r\n0\r\n\r\n$/)
    await until(() => isIdle(server), 'the other was dropped', 2_000)
  })
}

test('HTTP/1.0 sees the end by the connection, where an engine speaks it', async () => {
  const node = ENGINES.at(-1)!
  const { ask } = await serve(node, async (stream) => {
    stream.write('some')
    stream.end()
  })
  const message = (await readAll(await ask('GET /stream HTTP/1.0'), 0, /never/)).toString()
  assert.match(message, /connection: close/i)
  assert.doesNotMatch(message, /chunked/i)
  assert.match(message, /\r\n\r\nsome$/)
})

test('a stream without anything to send outlives what engines allow to silence', {
  skip: ONLY_LONG,
}, async () => {
  const all = ENGINES.map(async (engine) => {
    const { ask, streams, told } = await serve(engine, async (stream) => {
      stream.write('some')
    })
    const socket = await ask()
    await sleep(13_000)
    streams[0]!.write('more')
    streams[0]!.end()
    assert.match((await readAll(socket)).toString(), /some[\s\S]*more\r\n0\r\n\r\n$/)
    assert.deepEqual(told, [])
  })
  await Promise.all(all)
})
