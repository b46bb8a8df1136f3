/**
 * Goal: neither how a body arrives nor where it is cut shows in its events; bodies that cannot be
 * cut exactly are not cut, or are refused.
 * Method: random requests, regular, odd and broken, in random chunks with tiny targets, compared
 * with decoding them whole; literal cases for the bounds.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../../../bench/random.ts'
import type { FramedPart } from '../../../../src/accept/framing/body-framer.ts'
import { OtlpFramer } from '../../../../src/accept/surfaces/otlp/otlp-framer.ts'
import { BATCH_PADDING, BatchBuffers } from '../../../../src/bytes/batch-buffers.ts'
import type { IngestError } from '../../../../src/errors.ts'
import { BATCH_BYTES_TARGET, OTLP_GENERATED_BYTES_MAX } from '../../../../src/limits.ts'
import { decodeOtlp } from '../../../decode/otlp/decode-otlp.ts'
import { fixed64, lengthDelimited, mutate, WireMaker } from '../../../decode/otlp/otlp-wire.ts'
import { forMilliseconds, testSeed } from '../../../support/fuzzing.ts'
import { cutAt } from '../../framing/frame-body.ts'

const seed = testSeed()
console.log(`SLUICE_TEST_SEED=${seed}`)

interface Framed {
  readonly parts: readonly FramedPart[]
  readonly error: IngestError | undefined
}

function frame(chunks: readonly Uint8Array[], target?: number): Framed {
  const parts: FramedPart[] = []
  let error: IngestError | undefined
  const framer = new OtlpFramer(
    0,
    new BatchBuffers(BATCH_BYTES_TARGET),
    {
      part: (part) => parts.push(part),
      fail: (failure) => {
        assert.equal(error, undefined, 'fails once')
        error = failure
      },
    },
    target,
  )
  for (const chunk of chunks) framer.push(chunk)
  framer.end()
  return { parts, error }
}

interface Decoded {
  readonly events: readonly string[]
  readonly times: readonly (string | undefined)[]
  readonly rejected: number
  readonly repaired: number
  readonly isRefused: boolean
}

const REFUSED = { events: [], times: [], rejected: 0, repaired: 0, isRefused: true }
function decodeParts(parts: readonly FramedPart[]) {
  return parts.map(({ buffer, ...part }) => {
    assert(part.end + BATCH_PADDING <= buffer.length, 'there is room for the padding')
    return decodeOtlp('otlp-protobuf', buffer.subarray(0, part.end), part)
  })
}

function decodeFramed({ parts, error }: Framed): Decoded {
  const decoded = decodeParts(parts)
  const isRefused = error !== undefined || decoded.some(({ result }) => result.fatal !== undefined)
  if (isRefused) return REFUSED
  return {
    events: decoded.flatMap(({ events }) => events),
    times: decoded.flatMap(({ times }) => times),
    rejected: decoded.reduce((sum, { result }) => sum + result.rejected, 0),
    repaired: decoded.reduce((sum, { result }) => sum + result.repaired, 0),
    isRefused: false,
  }
}

function decodeWhole(bytes: Uint8Array): Decoded {
  const { events, times, result } = decodeOtlp('otlp-protobuf', bytes)
  if (result.fatal !== undefined) return REFUSED
  const { rejected, repaired } = result
  return { events, times, rejected, repaired, isRefused: false }
}

function randomChunks(bytes: Uint8Array, random: Random): Uint8Array[] {
  const offsets = Array.from({ length: random.below(8) }, () => random.below(bytes.length + 1))
  return cutAt(bytes, random.chance(0.1) ? Array.from(bytes.keys()) : offsets)
}

for (const kind of ['regular', 'odd', 'broken'] as const) {
  test(`${kind} requests: any chunks and any cuts make the same events`, () => {
    const random = new Random(seed)
    const next = () => random.unit()
    const maker = new WireMaker(next, kind !== 'regular')
    const seen = { cut: 0, refused: 0 }
    forMilliseconds(1_000, () => {
      const made = maker.request()
      const bytes = kind === 'broken' ? mutate(made, next) : made
      const target = random.pick([1, 1, 20, 100, 1_000, undefined])
      const framed = frame(randomChunks(bytes, random), target)
      if (framed.parts.length > 1) seen.cut++
      const whole = decodeWhole(bytes)
      assert.deepEqual(decodeFramed(framed), whole)
      if (whole.isRefused) seen.refused++
    })
    assert(seen.cut > 10, JSON.stringify(seen))
    if (kind === 'regular') assert.equal(seen.refused, 0)
    if (kind === 'broken') assert(seen.refused > 0)
  })
}

const text = (value: string) => lengthDelimited(1, Buffer.from(value))
const keyValue = (key: string, value: Uint8Array) =>
  Buffer.concat([lengthDelimited(1, Buffer.from(key)), lengthDelimited(2, value)])
const resource = lengthDelimited(1, lengthDelimited(1, keyValue('service.name', text('checkout'))))
const scope = lengthDelimited(1, lengthDelimited(1, Buffer.from('library')))
const record = (i: number) =>
  lengthDelimited(2, Buffer.concat([fixed64(1, BigInt(i)), lengthDelimited(5, text(`log ${i}`))]))
const records = (count: number) => Buffer.concat(Array.from({ length: count }, (_, i) => record(i)))
const TWICE = 'invalid OTLP request: a resource or scope comes twice'
const scopeLogs = (...fields: Uint8Array[]) => lengthDelimited(2, Buffer.concat(fields))
const resourceLogs = (...fields: Uint8Array[]) => lengthDelimited(1, Buffer.concat(fields))

test("a collector's request is cut into batches of about the target", () => {
  const bytes = resourceLogs(resource, scopeLogs(scope, records(8_192)))
  const framed = frame(
    cutAt(
      bytes,
      Array.from({ length: 40 }, (_, i) => i * 6_000),
    ),
  )
  assert(framed.parts.length > 1)
  const decoded = decodeFramed(framed)
  assert.deepEqual(decoded, decodeWhole(bytes))
  assert.equal(decoded.events.length, 8_192)
  const sizes = framed.parts.map(({ buffer, ...part }) => {
    const { events } = decodeOtlp('otlp-protobuf', buffer.subarray(0, part.end), part)
    return events.reduce((sum, { length }) => sum + length, 0)
  })
  for (const size of sizes.slice(0, -1)) {
    assert(size > 0.7 * BATCH_BYTES_TARGET && size < 2 * BATCH_BYTES_TARGET, String(sizes))
  }
})

test('a second resource or scope is refused wherever it is cut', () => {
  const lateResource = resourceLogs(resource, scopeLogs(scope, records(3)), resource)
  const lateScope = resourceLogs(resource, scopeLogs(scope, records(3), scope))
  for (const bytes of [lateResource, lateScope]) {
    const refusal = { code: 'malformed', message: TWICE }
    assert.deepEqual(frame([bytes], 1).error?.toData(), refusal)
    assert.deepEqual(frame([bytes]).error?.toData(), refusal)
    assert(decodeWhole(bytes).isRefused)
  }
  const unknown = resourceLogs(scopeLogs(records(3)), resource)
  assert.equal(frame([unknown], 1).parts.length, 1)
  assert.deepEqual(decodeFramed(frame([unknown], 1)), decodeWhole(unknown))
})

test('a body that ends inside a message is refused, wherever it was cut', () => {
  const bytes = resourceLogs(resource, scopeLogs(scope, records(4)))
  for (let length = 1; length < bytes.length; length++) {
    for (const target of [1, 60, undefined]) {
      const framed = frame([bytes.subarray(0, length)], target)
      assert(decodeFramed(framed).isRefused, `${length} of ${bytes.length} bytes`)
    }
  }
  assert.deepEqual(frame([]), { parts: [], error: undefined })
})

test('a request whose events would be over OTLP_GENERATED_BYTES_MAX is refused early', () => {
  const large = lengthDelimited(1, lengthDelimited(1, keyValue('r', text('x'.repeat(500_000)))))
  const of = (count: number) => resourceLogs(large, scopeLogs(scope, records(count)))
  const fits = of(Math.floor(OTLP_GENERATED_BYTES_MAX / 501_000))
  assert.equal(frame([fits]).error, undefined)
  assert.equal(typeof OtlpFramer.measureWhole(fits), 'number')
  const over = of(Math.ceil(OTLP_GENERATED_BYTES_MAX / 500_000))
  const { error } = frame([over])
  assert.equal(error?.code, 'too_large')
  assert.match(error.message, /OTLP_GENERATED_BYTES_MAX/)
  const measured = OtlpFramer.measureWhole(over)
  assert(typeof measured !== 'number' && measured.code === 'too_large')
})

test('the measured size is about the size of the events', () => {
  for (const count of [1, 10, 1_000]) {
    const bytes = resourceLogs(resource, scopeLogs(scope, records(count)))
    const measured = OtlpFramer.measureWhole(bytes)
    assert(typeof measured === 'number')
    const { events } = decodeWhole(bytes)
    const real = events.reduce((sum, { length }) => sum + length, 0)
    assert(measured > 0.7 * real && measured < 1.4 * real, `${measured} for ${real}`)
  }
  assert.equal(OtlpFramer.measureWhole(Buffer.from('no protobuf')), 11)
})

test('buffers are given back when a body is refused or discarded', () => {
  const released: number[] = []
  const buffers = new BatchBuffers(BATCH_BYTES_TARGET)
  const release = buffers.release.bind(buffers)
  buffers.release = (buffer) => {
    released.push(buffer.length)
    release(buffer)
  }
  const sink = { part: () => assert.fail('no part'), fail: () => undefined }
  const framer = new OtlpFramer(0, buffers, sink)
  framer.push(resourceLogs(resource))
  framer.discard()
  framer.discard()
  framer.push(resource)
  framer.end()
  assert.equal(released.length, 1)
})
