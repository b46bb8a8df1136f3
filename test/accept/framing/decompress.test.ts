/**
 * Goal: a compressed body comes out unchanged, wherever the network cuts it; a bad one is refused
 * with the right code, and a bomb costs no more than the limit.
 * Method: bodies compressed by zlib itself, in random chunks; truncated, damaged and endless ones.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import zlib from 'node:zlib'
import fc from 'fast-check'
import {
  Decompressor,
  type Encoding,
  INFLATER_BYTES,
  parseContentEncoding,
  tryDecompressSmall,
  WIDE_INFLATER_BYTES,
} from '../../../src/accept/framing/decompress.ts'
import { IngestError } from '../../../src/errors.ts'
import {
  BODY_BYTES_MAX,
  SMALL_BODY_BYTES_MAX,
  SMALL_COMPRESSED_BYTES_MAX,
} from '../../../src/limits.ts'
import { eventually } from '../../store/temporary.ts'
import { fuzzed, testSeed } from '../../support/fuzzing.ts'
import { cutAt } from './frame-body.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

interface Decompressed {
  readonly bytes: Buffer
  readonly error: IngestError | undefined
  readonly pressure: readonly boolean[]
}

/** Pushes all chunks at once, as a fast network does. */
function decompress(encoding: Encoding, chunks: readonly Uint8Array[]): Promise<Decompressed> {
  return new Promise((resolve) => {
    const output: Uint8Array[] = []
    const pressure: boolean[] = []
    let ends = 0
    const finish = (error?: IngestError) => {
      assert.equal(++ends, 1, 'ended or failed once')
      // Anything else would be reported before this.
      setImmediate(() => resolve({ bytes: Buffer.concat(output), error, pressure }))
    }
    const decompressor = new Decompressor(encoding, {
      onBytes: (bytes) => {
        assert.equal(ends, 0, 'no bytes after the end')
        output.push(bytes)
      },
      onEnd: () => finish(),
      onError: finish,
      onPressure: (isHigh) => pressure.push(isHigh),
    })
    for (const chunk of chunks) {
      const copy = Buffer.from(chunk)
      decompressor.push(copy)
      copy.fill(0xff) // The network takes its buffer back.
    }
    decompressor.end()
  })
}

type Compress = (bytes: Uint8Array) => Buffer

const COMPRESS: readonly (readonly [name: string, Encoding, Compress])[] = [
  ['gzip', 'gzip', (bytes) => zlib.gzipSync(bytes)],
  ['x-gzip', 'x-gzip', (bytes) => zlib.gzipSync(bytes, { level: 1 })],
  ['deflate', 'deflate', (bytes) => zlib.deflateSync(bytes)],
  ['deflate, small window', 'deflate', (bytes) => zlib.deflateSync(bytes, { windowBits: 9 })],
  ['raw deflate', 'deflate', (bytes) => zlib.deflateRawSync(bytes)],
  ['raw deflate, stored', 'deflate', (bytes) => zlib.deflateRawSync(bytes, { level: 0 })],
  ['br', 'br', (bytes) => zlib.brotliCompressSync(bytes, { params: { [BROTLI_QUALITY]: 1 } })],
]
const BROTLI_QUALITY = zlib.constants.BROTLI_PARAM_QUALITY

for (const [name, encoding, compress] of COMPRESS) {
  test(`${name}: the body does not depend on where the network cut it`, async () => {
    const body = fc.oneof(
      fc.uint8Array({ maxLength: 2_000 }),
      fc.nat(200_000).map((length) => Buffer.alloc(length, 'log line\n')),
    )
    const cuts = fc.array(fc.nat(3_000), { maxLength: 6 })
    const property = fc.asyncProperty(body, cuts, async (bytes, offsets) => {
      const { bytes: output, error } = await decompress(encoding, cutAt(compress(bytes), offsets))
      assert.equal(error, undefined)
      assert(output.equals(bytes))
    })
    await fc.assert(property, fuzzed(seed, 60, 400))
  })

  test(`${name}: a truncated body is malformed, wherever it ends`, async () => {
    const whole = compress(Buffer.from('{"a":1}\n'.repeat(50)))
    for (let end = 1; end < whole.length; end += 1 + (end >> 3)) {
      const { error } = await decompress(encoding, [whole.subarray(0, end)])
      assert.equal(error?.code, 'malformed', `${end} of ${whole.length} bytes`)
    }
  })

  test(`${name}: exactly BODY_BYTES_MAX comes out, a bomb stops there`, async () => {
    const full = await decompress(encoding, [compress(Buffer.alloc(BODY_BYTES_MAX, ' '))])
    assert.deepEqual([full.error, full.bytes.length], [undefined, BODY_BYTES_MAX])
    const bomb = compress(Buffer.alloc(4 * BODY_BYTES_MAX, ' '))
    const { bytes, error } = await decompress(encoding, cutAt(bomb, [1, 100, 1_000]))
    assert.equal(error?.code, 'too_large')
    assert.match(error?.message ?? '', /BODY_BYTES_MAX/)
    assert(bytes.length <= BODY_BYTES_MAX, `${bytes.length} bytes came out`)
  })
}

for (const [name, encoding, compress] of COMPRESS) {
  test(`${name}: bytes behind the end are malformed, however they come`, async () => {
    const whole = compress(Buffer.from('{"a":1}\n'.repeat(50)))
    for (const rest of ['x', '\0', '{"a":1}\n', 'x'.repeat(200_000)]) {
      for (const chunks of [
        [Buffer.concat([whole, Buffer.from(rest)])],
        [whole, Buffer.from(rest)],
      ]) {
        const { error } = await decompress(encoding, chunks)
        assert.equal(error?.code, 'malformed', `${rest.length} bytes in ${chunks.length} chunks`)
      }
      const late = await decompressSlowly(encoding, [whole, Buffer.from(rest)])
      assert.equal(late?.code, 'malformed', `${rest.length} bytes, later`)
    }
    assert.equal(await decompressSlowly(encoding, [whole]), undefined)
  })
}

/** Lets zlib finish each chunk before the next; resolves with the error, if there is one. */
async function decompressSlowly(
  encoding: Encoding,
  chunks: readonly Uint8Array[],
): Promise<IngestError | undefined> {
  const { promise, resolve } = withResolvers<IngestError | undefined>()
  const nothing = () => undefined
  const decompressor = new Decompressor(encoding, {
    onBytes: nothing,
    onEnd: () => resolve(undefined),
    onError: resolve,
    onPressure: nothing,
  })
  for (const chunk of chunks) {
    decompressor.push(chunk)
    await new Promise((done) => setTimeout(done, 10))
  }
  decompressor.end()
  return promise
}

function withResolvers<T>() {
  let resolve: (value: T) => void = () => undefined
  const promise = new Promise<T>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

test('a body that is not compressed as its header says is malformed', async () => {
  for (const encoding of ['gzip', 'deflate', 'br'] as const) {
    for (const body of ['{"a":1}\n{"b":2}', '\0\0\0\0', '\xff'.repeat(64)]) {
      const { error } = await decompress(encoding, [Buffer.from(body, 'latin1')])
      assert.equal(error?.code, 'malformed', `${encoding} ${JSON.stringify(body)}`)
      assert.equal(error?.message, `the body is not valid ${encoding}`)
    }
  }
})

test('damage to a gzip body is noticed by its checksum', async () => {
  const body = zlib.gzipSync(Buffer.from('{"a":1}\n'.repeat(20)), { level: 0 })
  body[40]! ^= 1
  const { error } = await decompress('gzip', [body])
  assert.equal(error?.code, 'malformed')
})

test('several gzip members are one body', async () => {
  const members = ['{"a":1}\n', '{"b":2}\n'].map((text) => zlib.gzipSync(text))
  const { bytes, error } = await decompress('gzip', members)
  assert.deepEqual([bytes.toString(), error], ['{"a":1}\n{"b":2}\n', undefined])
})

test('an empty body is empty', async () => {
  const { bytes, error } = await decompress('gzip', [])
  assert.deepEqual([bytes.length, error], [0, undefined])
})

test('input that piles up asks for a pause, and for more when it is used up', async () => {
  const random = randomBytes(1 << 20)
  const compressed = zlib.gzipSync(random)
  assert(compressed.length > 300_000)
  const { bytes, pressure } = await decompress(
    'gzip',
    cutAt(compressed, [100_000, 200_000, 280_000]),
  )
  assert(bytes.equals(random))
  assert.deepEqual(pressure.slice(0, 2), [true, false])
})

test('nothing is called after destroy', async () => {
  const fail = () => assert.fail('called after destroy')
  const events = { onBytes: fail, onEnd: fail, onError: fail, onPressure: fail }
  const decompressor = new Decompressor('gzip', events)
  decompressor.push(zlib.gzipSync('x'))
  decompressor.end()
  decompressor.destroy()
  decompressor.push(Buffer.from('more'))
  await new Promise((resolve) => setTimeout(resolve, 20))
})

test('encodings by name; unknown ones and lists are refused with 415', () => {
  assert.equal(parseContentEncoding(''), undefined)
  assert.equal(parseContentEncoding('identity'), undefined)
  assert.equal(parseContentEncoding(' GZip '), 'gzip')
  assert.equal(parseContentEncoding('x-gzip'), 'x-gzip')
  for (const name of ['compress', 'gzip, gzip', 'gzip, br', 'snappy', 'lz4', '*']) {
    assert.throws(
      () => parseContentEncoding(name),
      (error) => {
        assert(error instanceof IngestError)
        assert.equal(error.code, 'unsupported_media_type')
        return true
      },
    )
  }
  const hasZstd = 'createZstdDecompress' in zlib
  if (hasZstd) assert.equal(parseContentEncoding('zstd'), 'zstd')
  else assert.throws(() => parseContentEncoding('zstd'), /gzip, x-gzip, deflate, br/)
})

test('a small body decompressed at once equals what the stream makes of it', () => {
  const text = fc.string({ maxLength: 3_000 }).map((each) => Buffer.from(each.repeat(5)))
  fc.assert(
    fc.property(text, (bytes) => {
      for (const [name, encoding, compress] of COMPRESS) {
        const whole = tryDecompressSmall(encoding, compress(bytes))
        assert.deepEqual(whole, bytes, name)
      }
    }),
    fuzzed(seed, 100, 3_000),
  )
})

test('bodies that are not small, whole and valid are left to the stream', () => {
  const noise = randomBytes(SMALL_COMPRESSED_BYTES_MAX)
  const bomb = Buffer.alloc(SMALL_BODY_BYTES_MAX + 1)
  const small = Buffer.from('{"a":1}')
  for (const [name, encoding, compress] of COMPRESS) {
    const body = compress(small)
    assert.equal(tryDecompressSmall(encoding, body.subarray(0, -1)), undefined, `${name}: cut`)
    const trailing = Buffer.concat([body, Buffer.from('x')])
    assert.equal(tryDecompressSmall(encoding, trailing), undefined, `${name}: trailing`)
    assert.equal(tryDecompressSmall(encoding, compress(bomb)), undefined, `${name}: bomb`)
    assert.equal(tryDecompressSmall(encoding, compress(noise)), undefined, `${name}: large`)
    assert.equal(tryDecompressSmall(encoding, new Uint8Array(0)), undefined, `${name}: empty`)
    const most = compress(bomb.subarray(1))
    if (most.length > SMALL_COMPRESSED_BYTES_MAX) continue
    assert.deepEqual(tryDecompressSmall(encoding, most), bomb.subarray(1), name)
  }
})

test('an open decompressor counts what it holds besides its output', async () => {
  const body = randomBytes(300_000)
  for (const [encoding, bytes] of [
    ['gzip', zlib.gzipSync(body)],
    ['br', zlib.brotliCompressSync(body)],
  ] as const) {
    let output = 0
    let end: () => void = () => undefined
    const ended = new Promise<void>((resolve) => {
      end = resolve
    })
    const decompressor = new Decompressor(encoding, {
      onBytes: (chunk) => {
        output += chunk.length
      },
      onEnd: () => end(),
      onError: () => assert.fail('it is valid'),
      onPressure: () => undefined,
    })
    assert.equal(decompressor.heldBytes, 0, 'nothing was opened')
    decompressor.push(bytes.subarray(0, 200_000))
    const state = encoding === 'br' ? WIDE_INFLATER_BYTES : INFLATER_BYTES
    assert.equal(decompressor.heldBytes, state + 200_000, 'what piled up counts')
    const isRead = () => {
      return output > 0 && decompressor.heldBytes === state + (encoding === 'br' ? output : 0)
    }
    await eventually('what is put out no longer counts', isRead)
    decompressor.push(bytes.subarray(200_000))
    decompressor.end()
    await ended
    assert.equal(decompressor.heldBytes, 0)
  }
})

test('a destroyed decompressor stops: what it has read is not put out', async () => {
  let output = 0
  const decompressor = new Decompressor('gzip', {
    onBytes: (chunk) => {
      output += chunk.length
      decompressor.destroy()
    },
    onEnd: () => assert.fail('it was given up'),
    onError: () => assert.fail('it was given up'),
    onPressure: () => undefined,
  })
  decompressor.push(zlib.gzipSync(Buffer.alloc(BODY_BYTES_MAX)))
  decompressor.end()
  while (output === 0) await new Promise((resolve) => setTimeout(resolve, 1))
  const before = process.cpuUsage()
  await new Promise((resolve) => setTimeout(resolve, 200))
  assert.ok(output <= 64 * 1024)
  assert.equal(decompressor.heldBytes, 0)
  assert.ok(process.cpuUsage(before).user < 100_000, "nothing goes on on zlib's threads")
})
