/**
 * Goal: what OTLP's kernel takes, it writes as the decoder does, byte for byte and entry for entry;
 * what it leaves, it leaves untouched. Method: differential fuzzing of a decoder with its kernel
 * against one without, over regular, odd and broken requests whose keys are known by then; the
 * kernel alone with ever less room.
 */
import './checked-kernels.ts'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../bench/random.ts'
import { DEPTH_MAX } from '../../src/limits.ts'
import { OtlpDecoder } from '../../workers/decode/otlp/otlp-protobuf.ts'
import { arena } from '../../workers/kernel/arena.ts'
import { kernels } from '../../workers/kernel/kernels.ts'
import { DecodedEvents } from '../../workers/tape/decoded-events.ts'
import { EventBuffer } from '../../workers/tape/event-buffer.ts'
import { JsonTape, TAPE_PADDING } from '../../workers/tape/json-tape.ts'
import { PathTrie, ROOT } from '../../workers/tape/path-trie.ts'
import { TapeKernel } from '../../workers/tape/tape-kernel.ts'
import { double, lengthDelimited, mutate, varint, WireMaker } from '../decode/otlp/otlp-wire.ts'
import { forMilliseconds, testSeed } from '../support/fuzzing.ts'

const FUZZ_MS = 700
const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

/** A decoder as a worker has it. */
class Decoder {
  readonly tape: JsonTape
  readonly #events = new DecodedEvents()
  readonly #into = new EventBuffer()
  readonly #decoder: OtlpDecoder
  tried = 0
  taken = 0

  constructor(isQuick: boolean) {
    this.tape = new JsonTape(new PathTrie(), { isQuick })
    this.#decoder = new OtlpDecoder(this.tape, this.#events, this.#into)
    const { quick } = this.tape
    if (quick === undefined) return
    const tryWriteMembers = quick.tryWriteMembers.bind(quick)
    quick.tryWriteMembers = (...of) => {
      const end = tryWriteMembers(...of)
      this.tried++
      if (end >= 0) this.taken++
      return end
    }
  }

  /** Everything that comes of a request. */
  decode(request: Uint8Array) {
    const padded = Buffer.concat([request, Buffer.from('\n'), Buffer.alloc(TAPE_PADDING)])
    this.#events.reset()
    this.#into.reset()
    this.tape.begin(this.#into.bytes)
    const bytes = this.tape.batch.hold(padded)
    const outcome = this.#decoder.decode(bytes, { start: 0, end: request.length })
    const { count, start, end, tapeEnd } = this.#events
    return {
      result: outcome.toResult(),
      text: this.#into.bytes.toString('latin1', 0, this.#into.length),
      places: Array.from({ length: count }, (_, i) => [start[i], end[i], tapeEnd[i]]),
      entries: [...this.tape.entries.subarray(0, this.tape.length)],
    }
  }
}

for (const isOdd of [false, true]) {
  test(`${isOdd ? 'odd' : 'regular'} and broken requests are the same with it and without`, () => {
    const random = new Random(seed)
    const next = () => random.unit()
    const maker = new WireMaker(next, isOdd)
    const [quick, slow] = [new Decoder(true), new Decoder(false)]
    const both = (bytes: Uint8Array) => {
      assert.deepEqual(quick.decode(bytes), slow.decode(bytes), Buffer.from(bytes).toString('hex'))
    }
    forMilliseconds(FUZZ_MS, () => {
      const bytes = maker.request()
      both(bytes)
      both(mutate(bytes, next))
    })
    assert(quick.taken * 8 > quick.tried, `it took ${quick.taken} of ${quick.tried}`)
  })
}

const string = (text: string) => lengthDelimited(1, Buffer.from(text))
const int = (value: bigint) => Buffer.concat([varint(24), varint(value)])
const bool = (value: number) => Buffer.concat([varint(16), varint(value)])
const array = (...values: Uint8Array[]) =>
  lengthDelimited(5, Buffer.concat(values.map((value) => lengthDelimited(1, value))))
const member = (key: string, value: Uint8Array) =>
  lengthDelimited(
    1,
    Buffer.concat([lengthDelimited(1, Buffer.from(key)), lengthDelimited(2, value)]),
  )
const kvlist = (...members: Uint8Array[]) => lengthDelimited(6, Buffer.concat(members))
const requestOf = (body: Uint8Array) =>
  lengthDelimited(1, lengthDelimited(2, lengthDelimited(2, lengthDelimited(5, body))))

/** So many arrays in each other; their ends come all at once. */
function deep(levels: number): Buffer {
  return levels === 0 ? int(1n) : array(deep(levels - 1))
}

/** Members of one object, and what becomes of their values. */
const MEMBERS: [key: string, value: Uint8Array, json: string][] = [
  ['empty', string(''), '""'],
  ['long', string('x'.repeat(300)), `"${'x'.repeat(300)}"`],
  ['sixteen', string('0123456789abcdef'), '"0123456789abcdef"'],
  ['é', string('é€😀'), '"é€😀"'],
  [
    'escapes',
    string('"\\\b\t\n\f\r\u0001\u001f\u007f/'),
    '"\\"\\\\\\b\\t\\n\\f\\r\\u0001\\u001f\u007f/"',
  ],
  ['yes', bool(1), 'true'],
  ['no', bool(0), 'false'],
  ['null', Buffer.alloc(0), 'null'],
  ['zero', int(0n), '0'],
  ['nine', int(9n), '9'],
  ['ten', int(10n), '10'],
  ['minus', int(-1n), '-1'],
  ['u32', int(4294967295n), '4294967295'],
  ['u33', int(4294967296n), '4294967296'],
  ['most', int(2n ** 63n - 1n), '9223372036854775807'],
  ['least', int(-(2n ** 63n)), '-9223372036854775808'],
  ['half', double(4, 0.5), '0.5'],
  ['whole', double(4, 5), '5'],
  ['-0', double(4, -0), '0'],
  ['huge', double(4, 1e21), '1e+21'],
  ['u64', double(4, 2 ** 63), '9223372036854776000'],
  ['tiny', double(4, 5e-324), '5e-324'],
  ['third', double(4, 1 / 3), '0.3333333333333333'],
  ['list', array(int(1n), string('a'), array(), array(bool(1))), '[1,"a",[],[true]]'],
  ['none', array(), '[]'],
  ['objects', array(kvlist(member('k', int(1n))), kvlist()), '[{"k":1},{}]'],
  ['o', kvlist(), '{}'],
  ['p', kvlist(member('q', kvlist(member('r', int(1n))))), '{"q":{"r":1}}'],
  ['deep', deep(DEPTH_MAX - 1), `${'['.repeat(DEPTH_MAX - 1)}1${']'.repeat(DEPTH_MAX - 1)}`],
]
const ALL = MEMBERS.map(([key, value]) => member(key, value))
const JSON_OF_ALL = MEMBERS.map(([key, , json]) => `${JSON.stringify(key)}:${json}`).join(',')

test('it takes every kind of value', () => {
  const [quick, slow] = [new Decoder(true), new Decoder(false)]
  const request = requestOf(kvlist(...ALL))
  quick.decode(request)
  assert.equal(quick.taken, 0, 'keys it does not know')
  const { text, entries } = quick.decode(request)
  assert.equal(quick.taken, 1)
  assert.equal(Buffer.from(text, 'latin1').toString(), `{${JSON_OF_ALL}}\n`)
  assert.deepEqual(entries, slow.decode(request).entries)
})

test('it leaves what is not as nearly all are', () => {
  const decoder = new Decoder(true)
  const known = [member('a', int(1n)), member('b', int(2n)), member('o', array(int(1n)))]
  const nested = (levels: number): Buffer =>
    levels === 0 ? int(1n) : kvlist(member('a', nested(levels - 1)))
  decoder.decode(requestOf(kvlist(...known, member('a"b', int(1n)))))
  decoder.decode(requestOf(nested(DEPTH_MAX)))
  decoder.decode(requestOf(nested(DEPTH_MAX)))
  assert.equal(decoder.taken, 1, 'the deepest')
  const key = lengthDelimited(1, Buffer.from('a'))
  const value = lengthDelimited(2, int(1n))
  const left: Record<string, Uint8Array> = {
    'a new key': kvlist(member('new', int(1n))),
    'a key twice': kvlist(known[0]!, known[0]!),
    'a key with an escape': kvlist(member('a"b', int(1n))),
    'as it is spelled': kvlist(member('a\\"b', int(1n))),
    'another order': kvlist(lengthDelimited(1, Buffer.concat([value, key]))),
    'no value': kvlist(lengthDelimited(1, key)),
    'two values': kvlist(lengthDelimited(1, Buffer.concat([key, value, value]))),
    'an unknown field': kvlist(known[0]!, lengthDelimited(9, key)),
    'two kinds': kvlist(member('a', Buffer.concat([int(1n), int(2n)]))),
    bytes: kvlist(member('a', lengthDelimited(7, key))),
    'no number': kvlist(member('a', double(4, Number.NaN))),
    infinity: kvlist(member('a', double(4, Number.NEGATIVE_INFINITY))),
    'too deep': nested(DEPTH_MAX + 1),
    'an element of a new array': kvlist(member('b', array(int(1n)))),
    'a number that does not end': kvlist(member('a', Buffer.alloc(12, 0x98))),
    'a length past the end': kvlist(lengthDelimited(1, Buffer.of(0x0a, 0x7f, 0x61))),
    'a length of five bytes': kvlist(lengthDelimited(1, Buffer.concat([key, value]), 4)),
  }
  for (const [what, body] of Object.entries(left)) {
    const { taken, tried } = decoder
    decoder.decode(requestOf(body))
    assert.deepEqual([decoder.taken, decoder.tried], [taken, tried + 1], what)
    decoder.decode(requestOf(kvlist(...known)))
    assert.equal(decoder.taken, taken + 1, `after ${what}`)
  }
})

test('without room it leaves everything, and writes nothing past what it was given', () => {
  const trie = new PathTrie()
  const decoder = new OtlpDecoder(new JsonTape(trie), new DecodedEvents(), new EventBuffer())
  const request = Buffer.concat([requestOf(kvlist(...ALL)), Buffer.alloc(1 + TAPE_PADDING)])
  decoder.decode(request, { start: 0, end: request.length - 1 - TAPE_PADDING })
  const kernel = new TapeKernel(trie, kernels)
  const contents = Buffer.concat(ALL)
  const bytes = arena.buffer(contents.length)
  contents.copy(bytes)
  const fields = { bytes, start: 0, end: contents.length, tag: 0x0a }
  const [text, entries] = [arena.buffer(4_096), arena.int32(4_096)]
  const run = (room: number, capacity: number) => {
    text.fill(0xa5)
    entries.fill(-7)
    const tape = { entries: entries.subarray(0, capacity), length: 0 }
    const end = kernel.tryWriteMembers(tape, fields, ROOT, 1, text, 0, room)
    assert(
      text.subarray(room).every((byte) => byte === 0xa5),
      `room ${room}`,
    )
    assert(
      entries.subarray(capacity).every((value) => value === -7),
      `capacity ${capacity}`,
    )
    return { end, length: tape.length }
  }
  const whole = run(4_096, 4_096)
  assert.equal(text.toString('utf8', 0, whole.end), `{${JSON_OF_ALL}`)
  for (let room = 0; room < whole.end; room++) {
    assert.deepEqual(run(room, 4_096), { end: -1, length: 0 })
  }
  for (let capacity = 0; capacity < whole.length; capacity += 4) {
    assert.deepEqual(run(4_096, capacity), { end: -1, length: 0 })
  }
})

test('fields of a tag are skipped up to another one, or to one that is not whole', () => {
  const bytes = arena.buffer(1_024)
  const fields = [lengthDelimited(2, Buffer.alloc(300)), lengthDelimited(2, Buffer.alloc(0))]
  const skip = (...parts: Uint8Array[]) => {
    const all = Buffer.concat(parts)
    all.copy(bytes)
    return kernels.skipFields(bytes.byteOffset, 0, all.length, 0x12)
  }
  const length = Buffer.concat(fields).length
  assert.equal(skip(), 0)
  assert.equal(skip(...fields), length)
  assert.equal(skip(...fields, lengthDelimited(1, Buffer.alloc(3)), fields[0]!), length)
  assert.equal(skip(...fields, Buffer.of(0x12, 5, 1)), length)
  assert.equal(skip(...fields, Buffer.of(0x12)), length)
  assert.equal(skip(...fields, Buffer.of(0x12, 0xff, 0xff, 0xff, 0xff, 0x01)), length)
})
