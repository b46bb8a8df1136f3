/**
 * Goal: sizes and encodings of native ingest: what is within the limits is stored, what is over
 * them is refused as docs/api.md says, however it is sent, and costs no more than the limit.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import zlib from 'node:zlib'
import { RawClient } from '../../http/raw-client.ts'
import { type Answer, Api, NDJSON_TYPE, readIngestAnswer, readProblem } from '../../support/api.ts'
import { type SharedService, shareService } from '../../support/service.ts'

const MIB = 1024 * 1024
const NDJSON = { 'content-type': NDJSON_TYPE }
let service: SharedService
let api: Api

before(async () => {
  service = await shareService()
  api = new Api(service)
})

after(async () => {
  await service?.close()
})

/** An event whose JSON has this many bytes. */
function eventOf(bytes: number): string {
  return `{"m":"${'x'.repeat(bytes - 8)}"}`
}

async function assertTooLarge(answer: Promise<Answer>, what: string): Promise<void> {
  const { status, text, headers } = await answer
  assert.equal(status, 413, `${what}: ${text}`)
  assert.equal(headers['content-type'], 'application/problem+json')
  assert.match(text, /"code":"too_large"/)
}

test('an event of 1 MiB is taken, a byte more is rejected alone', async () => {
  const bodies = [
    [NDJSON_TYPE, [eventOf(MIB), eventOf(MIB + 1), '{"a":1}'].join('\n')],
    ['application/json', `[${[eventOf(MIB), eventOf(MIB + 1), '{"a":1}'].join(',')}]`],
    ['application/json', `[\n${[eventOf(MIB), eventOf(3 * MIB), '{"a":1}'].join(',\n')}\n]`],
    [NDJSON_TYPE, [eventOf(MIB - 1), eventOf(5 * MIB), '{"a":1}'].join('\r\n')],
  ] as const
  for (const [type, body] of bodies) {
    const stream = await api.createStream()
    const answer = await api.ingest(stream.key, body, { 'content-type': type })
    const { accepted, rejected, errors } = readIngestAnswer(answer)
    assert.deepEqual([answer.status, accepted, rejected], [200, 2, 1])
    assert.deepEqual([errors[0]?.index, errors[0]?.code], [1, 'too_large'])
    const events = await api.events(stream.id)
    const sizes = events.map(({ payload }) => JSON.stringify(payload).length)
    assert.ok(sizes[0] === 7 && Number(sizes[1]) >= MIB - 1, String(sizes))
  }
})

test('a text line of 1 MiB is taken, a byte more is rejected alone', async () => {
  const stream = await api.createStream()
  const body = ['x'.repeat(MIB), 'y'.repeat(MIB + 1), 'z'].join('\n')
  const { accepted, rejected } = readIngestAnswer(await api.ingestText(stream.key, body))
  assert.deepEqual([accepted, rejected], [2, 1])
})

test('an event over 1 MiB alone: 400', async () => {
  const stream = await api.createStream()
  const answer = await api.ingest(stream.key, eventOf(MIB + 1))
  assert.equal(answer.status, 400)
  assert.equal(readProblem(answer).errors?.[0]?.code, 'too_large')
})

test('a body of 10 MiB is taken, a byte more is 413 and stores nothing', async () => {
  const line = `${eventOf(MIB / 2 - 1)}\n`
  const full = line.repeat(20)
  assert.equal(full.length, 10 * MIB)
  const stream = await api.createStream()
  for (const chunked of [false, true]) {
    const answer = await api.ingest(stream.key, full, NDJSON, { chunked })
    assert.equal(readIngestAnswer(answer).accepted, 20)
    await assertTooLarge(api.ingest(stream.key, `${full}\n`, NDJSON, { chunked }), 'a byte more')
  }
  const array = `[${'{},'.repeat(20)}${' '.repeat(10 * MIB)}{}]`
  await assertTooLarge(api.ingest(stream.key, array), 'an array')
  await assertTooLarge(api.ingestText(stream.key, 'a'.repeat(10 * MIB + 1)), 'text')
  assert.equal((await api.usage(stream.id)).events, 40)
})

test('a body that declares too much is refused before it is sent', async () => {
  const stream = await api.createStream()
  const client = await RawClient.connect(service.port)
  const head = `POST /v1/ingest HTTP/1.1\r\nHost: x\r\nX-API-Key: ${stream.key}\r\n`
  client.write(`${head}Content-Type: application/json\r\nContent-Length: ${11 * MIB}\r\n\r\n`)
  assert.match(await client.until(/too_large/), /^HTTP\/1\.1 413 /)
  client.destroy()
})

test('encodings: decompressed, also in many small chunks', async () => {
  const body = `${'{"message":"hello, hello, hello"}\n'.repeat(5_000)}{"last":true}`
  const encoded = {
    gzip: zlib.gzipSync(body),
    'x-gzip': zlib.gzipSync(body),
    deflate: zlib.deflateSync(body),
    br: zlib.brotliCompressSync(body),
    identity: Buffer.from(body),
    GZIP: zlib.gzipSync(body),
  }
  for (const [encoding, bytes] of Object.entries(encoded)) {
    for (const chunked of [false, true]) {
      const stream = await api.createStream()
      const headers = { ...NDJSON, 'content-encoding': encoding }
      const answer = await api.ingest(stream.key, bytes, headers, { chunked })
      assert.equal(readIngestAnswer(answer).accepted, 5_001, encoding)
      const page = await api.page(stream.id, '?limit=2')
      assert.deepEqual(page.events[0]?.payload, { last: true }, encoding)
    }
  }
  const stream = await api.createStream()
  const raw = { ...NDJSON, 'content-encoding': 'deflate' }
  const answer = await api.ingest(stream.key, zlib.deflateRawSync(body), raw)
  assert.equal(readIngestAnswer(answer).accepted, 5_001, 'raw deflate')
  const text = zlib.gzipSync('one\ntwo')
  const asText = await api.ingestText(stream.key, text, { 'content-encoding': 'gzip' })
  assert.equal(readIngestAnswer(asText).accepted, 2)
})

test('zstd where this Node has it; any other encoding is 415', async () => {
  const stream = await api.createStream()
  // `{"a":1}` in one raw block of a zstd frame.
  const zstd = Buffer.concat([Buffer.from('28b52ffd2007390000', 'hex'), Buffer.from('{"a":1}')])
  const answer = await api.ingest(stream.key, zstd, { 'content-encoding': 'zstd' })
  assert.equal(answer.status, 'createZstdDecompress' in zlib ? 200 : 415)
  for (const encoding of ['lz4', 'gzip, gzip', 'compress', 'snappy']) {
    const refused = await api.ingest(stream.key, '{}', { 'content-encoding': encoding })
    assert.equal(refused.status, 415, encoding)
    assert.equal(readProblem(refused).code, 'unsupported_media_type')
  }
})

test('a compressed body that is none, is cut off, or holds nothing: 400', async () => {
  const stream = await api.createStream()
  const gzip = zlib.gzipSync(`${'{"a":1}\n'.repeat(50_000)}`)
  const headers = { ...NDJSON, 'content-encoding': 'gzip' }
  const bodies = [Buffer.from('{"a":1}'), gzip.subarray(0, gzip.length - 9), Buffer.alloc(0)]
  for (const body of bodies) {
    const answer = await api.ingest(stream.key, body, headers)
    assert.equal(answer.status, 400, `${body.length} bytes: ${answer.text}`)
  }
  assert.equal((await api.usage(stream.id)).events, 0)
})

test('a bomb is 413 and costs little more than the limit', async () => {
  const stream = await api.createStream()
  const bomb = zlib.gzipSync(Buffer.alloc(300 * MIB, ' '))
  const brotli = zlib.brotliCompressSync(Buffer.alloc(200 * MIB, ' '), {
    params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 5 },
  })
  const before = await api.metric('process_resident_memory_bytes')
  const cpuBefore = await api.metric('process_cpu_seconds_total')
  const headers = { ...NDJSON, 'content-encoding': 'gzip' }
  await assertTooLarge(api.ingest(stream.key, bomb, headers), 'gzip')
  await assertTooLarge(
    api.ingest(stream.key, brotli, { ...NDJSON, 'content-encoding': 'br' }),
    'brotli',
  )
  const grown = (await api.metric('process_resident_memory_bytes')) - before
  const cpu = (await api.metric('process_cpu_seconds_total')) - cpuBefore
  assert.ok(grown < 100 * MIB, `grew by ${grown} bytes`)
  assert.ok(cpu < 2, `took ${cpu} s of CPU`)
  assert.equal((await api.usage(stream.id)).events, 0)
})

test('a refusal is counted on the stream, and the next request works', async () => {
  const stream = await api.createStream()
  await assertTooLarge(api.ingest(stream.key, ' '.repeat(10 * MIB + 1)), 'spaces')
  await api.ingest(stream.key, '{}', { 'content-encoding': 'lz4' })
  assert.equal((await api.ingest(stream.key, '{"a":1}')).status, 200)
  const deadline = performance.now() + 10_000
  let reasons: string[] = []
  while (reasons.length < 2 && performance.now() < deadline) {
    reasons = (await api.usage(stream.id)).refusals.map(({ reason }) => reason)
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  assert.ok(reasons.includes('too_large'), String(reasons))
})
