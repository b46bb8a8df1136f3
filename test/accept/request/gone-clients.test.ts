/**
 * Goal: no work is done for a request that is over: its batches are dropped when their turn comes,
 * requests that share a batch with it are not affected, and every buffer comes back.
 * Method: as in `batcher.test.ts`; then a real server in front of such a pool.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { TEXT_BODY } from '../../../src/accept/framing/body-format.ts'
import { ingestHandler } from '../../../src/accept/request/ingest-handler.ts'
import { InFlight } from '../../../src/http/in-flight.ts'
import type { HttpServer } from '../../../src/http/server.ts'
import { BATCH_BYTES_TARGET, IN_FLIGHT_BYTES_MAX } from '../../../src/limits.ts'
import { RawClient, startServer } from '../../http/raw-client.ts'
import { bytes, setUp, stream, turn, wholePart } from '../batching/batcher-harness.ts'

const servers: HttpServer[] = []
after(() => {
  for (const server of servers) server.close()
})

test('the batch of a large request that is over is dropped when its turn comes', async () => {
  const { pool, batcher, buffers } = setUp()
  pool.hasIdleThread = false
  const client = { isOver: false }
  const encoded = ['{"a":1}\n', '{"a":2}\n'].map((text) => {
    const buffer = buffers.take(text.length)
    buffer.set(bytes(text))
    const part = { buffer, framing: 'ndjson', start: 0, end: text.length, linesBefore: 0 } as const
    return batcher.encodeOwn(stream(1), part, undefined, client)
  })
  assert.equal(buffers.out.size, 2, 'no memory for what is not made yet')
  pool.turns.shift()!()
  client.isOver = true
  pool.turns.shift()!()
  assert.equal(pool.tasks.length, 1)
  assert.equal(await encoded[1], undefined)
  pool.work()
  const [segment] = (await encoded[0])!.segments
  buffers.releaseView(segment!.payload)
  buffers.releaseView(segment!.block.bytes)
  assert.equal(buffers.out.size, 0)
})

test('a shared batch holds the requests that still wait; each gets its own answer', async () => {
  const { pool, batcher, commits, buffers } = setUp()
  pool.hasIdleThread = false
  const gone = { isOver: false }
  const submit = (text: string, client?: typeof gone) => {
    return batcher.submitShared(stream(1), wholePart('ndjson', bytes(text)), undefined, client)
  }
  const first = submit('{"a":1}')
  const dropped = [submit('{"gone":1}', gone), submit('{"gone":2}', gone)]
  const last = submit('{"a":2}\n{"bad')
  for (const each of dropped) each.catch(() => undefined)
  await turn()
  gone.isOver = true
  pool.turns.shift()!()
  pool.work()
  await turn()
  assert.deepEqual(commits[0]?.texts, ['{"a":1}\n{"a":2}\n'])
  commits[0]?.resolve()
  const placed = [await first, await last]
  assert.deepEqual(
    placed.map(({ result, firstEvent }) => [result.accepted, result.rejected, firstEvent]),
    [
      [1, 0, 0],
      [1, 1, 1],
    ],
  )
  for (const each of dropped) await assert.rejects(each, /went away/)
  assert.equal(buffers.out.size, 2, 'block and payload')
})

test('a shared batch with no client left is dropped, and the next batch has its turn', async () => {
  for (const isMixed of [false, true]) {
    const { pool, batcher, buffers } = setUp(() => !isMixed)
    pool.hasIdleThread = false
    const gone = { isOver: false }
    for (const id of [2, 3]) {
      const line = bytes('{"a":1}')
      const lost = batcher.submitShared(stream(id), wholePart('ndjson', line), undefined, gone)
      lost.catch(() => undefined)
    }
    void batcher.submitShared(stream(4), wholePart('ndjson', bytes('{"a":2}')))
    await turn()
    gone.isOver = true
    pool.turns.shift()!()
    assert.deepEqual(
      pool.tasks.map(
        ({ batch }) => batch.owners?.map(({ streamId }) => streamId) ?? batch.streamId,
      ),
      [isMixed ? [4] : 4],
    )
    assert.equal(buffers.out.size, 3, 'batch, block and payload')
  }
})

/** A service whose pool is answered by hand. */
async function serve() {
  const harness = setUp()
  harness.pool.hasIdleThread = false
  const inFlight = new InFlight(IN_FLIGHT_BYTES_MAX)
  const nothing = () => undefined
  const deps = {
    batcher: harness.batcher,
    inFlight,
    credentials: { tryResolveKey: () => ({ stream: stream(1) }) },
    meter: { onReply: nothing, onAcknowledged: nothing, onJudged: nothing, onRefused: nothing },
    checkStorage: nothing,
    budgets: { check: nothing, charge: nothing },
    isStopping: () => false,
    onFault: nothing,
  } as never
  const handler = ingestHandler(deps, () => ({
    surface: 'text',
    replyFormat: 'text',
    apiKey: 'key',
    plan: () => ({ format: TEXT_BODY }),
    judge: nothing,
    answer: () => 'taken',
    acceptedReply: (answer) => ({ status: 200, body: answer }),
    refusedReply: (error) => ({ status: 500, body: `told ${error.code}` }),
  }))
  const { server, port } = await startServer({
    routes: [{ method: 'POST', pattern: '/in', handler }],
  })
  servers.push(server)
  const begin = async (head: string, body: Uint8Array) => {
    const client = await RawClient.connect(port)
    client.write(`POST /in HTTP/1.1\r\nHost: x\r\n${head}\r\n`)
    client.write(body)
    return client
  }
  return { ...harness, inFlight, begin }
}

async function until(what: () => boolean): Promise<void> {
  const deadline = performance.now() + 5_000
  while (!what()) {
    assert(performance.now() < deadline, 'in time')
    await sleep(5)
  }
}

const LINES = Buffer.from('a\n'.repeat(BATCH_BYTES_TARGET))
const BATCHES = LINES.length / BATCH_BYTES_TARGET

test('a client that goes away: its batches count until they are dropped', async () => {
  const { pool, inFlight, buffers, commits, begin } = await serve()
  const body = gzipSync(LINES)
  const client = await begin(`Content-Encoding: gzip\r\nContent-Length: ${body.length}\r\n`, body)
  await until(() => pool.turns.length >= BATCHES)
  assert.ok(inFlight.bytes >= LINES.length)
  client.destroy()
  await sleep(100)
  assert.ok(inFlight.bytes >= LINES.length, 'they are in memory')
  for (const give of pool.turns.splice(0)) give()
  await until(() => inFlight.bytes === 0)
  assert.deepEqual([pool.tasks.length, inFlight.requests, buffers.out.size], [0, 0, 0])
  assert.deepEqual(commits, [])
})

test('a batch that a worker has when its client goes away counts until it is done', async () => {
  const { pool, inFlight, buffers, begin } = await serve()
  const client = await begin(`Content-Length: ${LINES.length}\r\n`, LINES)
  await until(() => pool.turns.length >= BATCHES)
  pool.turns.shift()!()
  client.destroy()
  await sleep(100)
  for (const give of pool.turns.splice(0)) give()
  await until(() => inFlight.bytes < LINES.length)
  assert.equal(inFlight.requests, 1)
  pool.work()
  await until(() => inFlight.bytes === 0)
  assert.deepEqual([pool.tasks.length, inFlight.requests, buffers.out.size], [0, 0, 0])
})

test('the same holds for a request refused after batches of it were handed over', async () => {
  const { pool, inFlight, buffers, begin } = await serve()
  const damaged = gzipSync(LINES)
  damaged.fill(0xff, damaged.length - 8) // Its checksum comes last.
  const head = `Content-Encoding: gzip\r\nContent-Length: ${damaged.length}\r\n`
  const client = await begin(head, damaged)
  await client.until(/told malformed/)
  assert.ok(inFlight.bytes > 0, 'what was cut before is in memory')
  for (const give of pool.turns.splice(0)) give()
  await until(() => inFlight.bytes === 0)
  assert.deepEqual([pool.tasks.length, inFlight.requests, buffers.out.size], [0, 0, 0])
})

test('a batch that fails refuses its request at once, before the body has ended', async () => {
  const { pool, inFlight, begin } = await serve()
  const head = `Content-Length: ${LINES.length + 100_000}\r\n`
  const client = await begin(head, LINES)
  await until(() => pool.turns.length >= BATCHES)
  pool.turns.shift()!()
  pool.tasks.shift()!.reject(new Error('died'))
  await client.until(/told internal/)
  for (const give of pool.turns.splice(0)) give()
  await until(() => inFlight.bytes === 0)
})
