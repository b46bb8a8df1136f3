/**
 * Goal: log records become exactly the events that docs/api.md says, whatever their wire looks
 * like, and no wire does harm.
 * Method: random requests, regular, odd and broken, against protobufjs' decoder and a plain
 * mapping; each event's tape against parsing its JSON. Literal cases for bounds and rules.
 */
import '../../kernel/checked-kernels.ts'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../../bench/random.ts'
import { DEPTH_MAX, EVENT_BYTES_MAX, OTLP_GENERATED_BYTES_MAX } from '../../../src/limits.ts'
import { cpuNow } from '../../support/cpu-time.ts'
import { forMilliseconds, testSeed } from '../../support/fuzzing.ts'
import { decodeOtlp } from './decode-otlp.ts'
import { type ExpectedEvent, expectedEvents } from './otlp-oracle.ts'
import { fixed64, lengthDelimited, mutate, varint, WireMaker } from './otlp-wire.ts'

const seed = testSeed()
console.log(`SLUICE_TEST_SEED=${seed}`)

function assertSame(bytes: Uint8Array, expected: readonly ExpectedEvent[]): void {
  const { events, times, result } = decodeOtlp('otlp-protobuf', bytes)
  assert.equal(result.fatal, undefined, result.fatal?.message)
  assert.deepEqual(
    events,
    expected.map(({ json }) => json),
  )
  const fitting = expected.map(({ time }) =>
    time !== undefined && BigInt(time) < 2n ** 63n ? time : undefined,
  )
  assert.deepEqual(times, fitting)
  for (const text of events) JSON.parse(text)
}

/** The same where messages may come in pieces: without the records that are rejected for it. */
function assertSameButPieces(bytes: Uint8Array, expected: readonly ExpectedEvent[]): void {
  const { events, result } = decodeOtlp('otlp-protobuf', bytes)
  if (result.fatal !== undefined) return assert.match(result.fatal.message, COMES_TWICE)
  const rejected = new Set(result.rejects.map(({ index }) => index))
  assert.deepEqual(Object.keys(result.rejectedByCode), rejected.size > 0 ? ['malformed'] : [])
  const kept = expected.filter((_, i) => !rejected.has(i))
  assert.deepEqual(
    events,
    kept.map(({ json }) => json),
  )
}

const COMES_TWICE = /^invalid protobuf at byte \d+: a (resource|scope) comes twice$/

for (const isOdd of [false, true]) {
  test(`${isOdd ? 'odd' : 'regular'} requests become the events that protobufjs sees`, () => {
    const random = new Random(seed)
    const next = () => random.unit()
    const maker = new WireMaker(next, isOdd)
    forMilliseconds(600, () => {
      const bytes = maker.request()
      const assertEvents = maker.hasPieces ? assertSameButPieces : assertSame
      assertEvents(bytes, expectedEvents(bytes))
    })
  })
}

test('broken requests fail where protobufjs fails in what they have events of', () => {
  const random = new Random(seed ^ 1)
  const next = () => random.unit()
  const maker = new WireMaker(next, true)
  const seen = { both: 0, neither: 0, unread: 0 }
  forMilliseconds(1_200, () => {
    const bytes = mutate(maker.request(), next)
    const expected = tryExpected(bytes)
    if (expected !== undefined) {
      seen.both++
      assertSameButPieces(bytes, expected)
      return
    }
    // What no event is made of is not read. Anything else must have been noticed.
    const { result } = decodeOtlp('otlp-protobuf', bytes)
    if (result.fatal === undefined) seen.unread++
    else {
      seen.neither++
      assert.equal(result.fatal.code, 'malformed')
      assert.match(result.fatal.message, /^invalid protobuf at byte \d+: [a-z0-9: ]+$/)
    }
  })
  assert(seen.both > 0 && seen.neither > seen.unread, JSON.stringify(seen))
})

function tryExpected(bytes: Uint8Array): ExpectedEvent[] | undefined {
  try {
    return expectedEvents(bytes)
  } catch {
    return undefined
  }
}

const string = (text: string) => lengthDelimited(1, Buffer.from(text))
const keyValue = (key: string, value: Uint8Array) =>
  lengthDelimited(
    1,
    Buffer.concat([lengthDelimited(1, Buffer.from(key)), lengthDelimited(2, value)]),
  )
const kvlist = (...members: Uint8Array[]) => lengthDelimited(6, Buffer.concat(members))
const body = (value: Uint8Array) => lengthDelimited(5, value)
const record = (...fields: Uint8Array[]) => lengthDelimited(2, Buffer.concat(fields))
const scopeLogs = (...fields: Uint8Array[]) => lengthDelimited(2, Buffer.concat(fields))
const request = (...resourceLogs: Uint8Array[]) => lengthDelimited(1, Buffer.concat(resourceLogs))
const requestOf = (...records: Uint8Array[]) => request(scopeLogs(...records))

function decode(bytes: Uint8Array) {
  return decodeOtlp('otlp-protobuf', bytes)
}

test('an empty request has no events', () => {
  for (const bytes of [Buffer.alloc(0), request(), request(scopeLogs()), requestOf()]) {
    const { events, result } = decode(bytes)
    assert.deepEqual([events, result.fatal], [[], undefined])
  }
})

test('a record without anything is an event', () => {
  const { events } = decode(requestOf(record()))
  const empty = '"severity":null,"time_unix_nano":null'
  assert.deepEqual(events, [`{"body":null,"attributes":{},"resource":{},${empty}}`])
})

test('times keep their nanoseconds; those past 2262 are kept as text only', () => {
  const times = [1n, 999_999n, 1_000_000n, 1_763_733_600_123_456_789n, 2n ** 63n - 1n]
  const records = [...times, 2n ** 63n, 2n ** 64n - 1n].map((time) => record(fixed64(1, time)))
  const decoded = decode(requestOf(...records))
  assert.deepEqual(decoded.times, [...times.map(String), undefined, undefined])
  const texts = decoded.events.map((event) => JSON.parse(event).time_unix_nano)
  assert.deepEqual(texts.slice(-2), ['9223372036854775808', '18446744073709551615'])
})

test('a key that comes again stays in the event, and the last one counts', () => {
  const twice = kvlist(
    keyValue('a', kvlist(keyValue('x', string('1')))),
    keyValue('b', string('2')),
    keyValue('a', string('3')),
  )
  const { events } = decode(requestOf(record(body(twice))))
  assert.deepEqual(events, ['{"a":{"x":"1"},"b":"2","a":"3"}'])
})

test('a boolean is true by any bit of its number, a whole number keeps 64', () => {
  const beyond = Buffer.concat([Buffer.alloc(9, 0x80), Buffer.of(0x02)])
  const cases: [number, Uint8Array, string][] = [
    [2, Buffer.concat([Buffer.alloc(9, 0x80), Buffer.of(0)]), 'false'],
    [2, beyond, 'true'],
    [2, varint(2n ** 63n), 'true'],
    [3, beyond, '0'],
  ]
  for (const [field, number, expected] of cases) {
    const value = Buffer.concat([varint(field * 8), number])
    const bytes = requestOf(record(body(kvlist(keyValue('a', value)))))
    for (let i = 0; i < 2; i++) assert.deepEqual(decode(bytes).events, [`{"a":${expected}}`])
  }
})

test('a record with a message in pieces is rejected alone', () => {
  const array = (...items: string[]) =>
    lengthDelimited(5, Buffer.concat(items.map((item) => lengthDelimited(1, string(item)))))
  const object = (key: string) => kvlist(keyValue(key, string('v')))
  const twoValues = lengthDelimited(
    1,
    Buffer.concat([lengthDelimited(2, string('1')), lengthDelimited(2, string('2'))]),
  )
  const inPieces = [
    record(body(string('x')), body(string('y'))),
    record(body(Buffer.concat([object('a'), object('b')]))),
    record(body(Buffer.concat([array('a'), array('b')]))),
    record(body(lengthDelimited(5, lengthDelimited(1, Buffer.concat([object('a'), object('b')]))))),
    record(body(kvlist(twoValues))),
    record(body(string('x')), lengthDelimited(6, twoValues.subarray(2))),
  ]
  for (const bytes of inPieces) {
    const good = record(body(object('k')))
    const { result, events } = decode(requestOf(good, bytes, good))
    assert.deepEqual(events, ['{"k":"v"}', '{"k":"v"}'])
    const message = 'a message comes in several pieces, which are not merged'
    assert.deepEqual(result.rejects, [{ index: 1, line: 0, code: 'malformed', message }])
  }
  const attribute = lengthDelimited(1, twoValues.subarray(2))
  const everywhere = decode(request(lengthDelimited(1, attribute), scopeLogs(record(), record())))
  assert.deepEqual(everywhere.result.rejectedByCode, { malformed: 2 })
})

test('of a oneof the last field counts', () => {
  const array = (item: string) => lengthDelimited(5, lengthDelimited(1, string(item)))
  const cases: [Uint8Array[], string][] = [
    [[string('x'), kvlist()], '{}'],
    [[array('a'), string('x'), array('b')], '["b"]'],
    [[array('a'), string('x')], '"x"'],
  ]
  for (const [fields, expected] of cases) {
    const bytes = requestOf(record(body(Buffer.concat(fields))))
    const [event] = decode(bytes).events
    assert.equal(event, expectedEvents(bytes)[0]?.json)
    assert(event?.includes(expected), `${event} has ${expected}`)
  }
})

test('a request with a resource or scope that comes twice is malformed', () => {
  const resource = lengthDelimited(1, lengthDelimited(1, keyValue('one', string('v'))))
  const scope = lengthDelimited(1, lengthDelimited(1, Buffer.from('first')))
  for (const bytes of [
    request(resource, scopeLogs(record()), resource),
    request(resource, resource, scopeLogs(record())),
    request(scopeLogs(scope, record(), scope)),
  ]) {
    const { fatal } = decode(bytes).result
    assert.equal(fatal?.code, 'malformed')
    assert.match(fatal.message, COMES_TWICE)
  }
  const late = request(scopeLogs(record(), scope), resource)
  assertSame(late, expectedEvents(late))
})

test('invalid UTF-8 is repaired and counted, wherever it is', () => {
  const bad = Buffer.of(0x61, 0xff, 0x62)
  const badText = lengthDelimited(1, bad)
  const badKey = lengthDelimited(1, Buffer.concat([lengthDelimited(1, bad)]))
  const resource = lengthDelimited(1, keyValue('r', badText))
  const good = record(body(kvlist(keyValue('k', string('é')))))
  const cases: [Uint8Array, number][] = [
    [requestOf(good, record(body(badText)), good), 1],
    [requestOf(good, record(body(kvlist(badKey))), good), 1],
    [request(resource, scopeLogs(record(), good, record())), 2],
    [requestOf(record(lengthDelimited(3, bad)), record(lengthDelimited(12, bad))), 2],
    [requestOf(good), 0],
  ]
  for (const [bytes, repaired] of cases) {
    const decoded = decode(bytes)
    assert.equal(decoded.result.repaired, repaired)
    assertSame(bytes, expectedEvents(bytes))
  }
})

/** An AnyValue that is `depth` arrays deep. */
function nestedArrays(depth: number): Buffer {
  let value: Buffer = Buffer.alloc(0)
  for (let i = 0; i < depth; i++)
    value = lengthDelimited(5, i === 0 ? value : lengthDelimited(1, value))
  return value
}

test('a record is rejected alone when it is deeper than DEPTH_MAX', () => {
  const fits = record(body(nestedArrays(DEPTH_MAX - 1)))
  const deep = record(body(nestedArrays(DEPTH_MAX)))
  const deeper = record(body(nestedArrays(5_000)))
  const member = record(body(kvlist(keyValue('a', nestedArrays(DEPTH_MAX - 1)))))
  const memberDeep = record(body(kvlist(keyValue('a', nestedArrays(DEPTH_MAX)))))
  const { result } = decode(requestOf(fits, deep, member, memberDeep, deeper, record()))
  assert.deepEqual([result.accepted, result.rejected], [3, 3])
  assert.deepEqual(result.rejectedByCode, { too_deep: 3 })
  assert.deepEqual(
    result.rejects.map(({ index }) => index),
    [1, 3, 4],
  )
  const resource = lengthDelimited(1, keyValue('r', nestedArrays(DEPTH_MAX)))
  const inKvlist = record(body(kvlist()))
  const all = decode(request(resource, scopeLogs(record(), inKvlist, record())))
  assert.deepEqual([all.events, all.result.rejectedByCode], [['{}'], { too_deep: 2 }])
})

test('a record is rejected alone when its event is over EVENT_BYTES_MAX', () => {
  const around = '{"a":""}'.length
  const ofBytes = (bytes: number) =>
    record(body(kvlist(keyValue('a', string('x'.repeat(bytes - around))))))
  const escaped = record(body(kvlist(keyValue('a', string('\u0001'.repeat(EVENT_BYTES_MAX / 6))))))
  const members = Buffer.concat(Array.from({ length: 200_000 }, () => keyValue('', string(''))))
  const many = record(body(kvlist(members)))
  const fits = ofBytes(EVENT_BYTES_MAX)
  const { result, events } = decode(
    requestOf(fits, ofBytes(EVENT_BYTES_MAX + 1), escaped, many, ofBytes(20)),
  )
  assert.deepEqual(
    events.map(({ length }) => length),
    [EVENT_BYTES_MAX, 20],
  )
  assert.deepEqual(result.rejectedByCode, { too_large: 3 })
})

test('closing brackets have room however the buffer ends', () => {
  // 200 closing brackets in a row, at every place relative to the end of the buffer's first size.
  const deep = record(body(kvlist(keyValue('a', nestedArrays(200)))))
  for (let fill = 261_600; fill < 261_700; fill += 3) {
    const filler = record(body(kvlist(keyValue('a', string('x'.repeat(fill))))))
    const bytes = requestOf(filler, deep, record(), deep)
    assertSame(bytes, [...expectedEvents(requestOf(filler)), ...deepEvents(bytes)])
  }
})

/** Deeper than protobufjs decodes. */
function deepEvents(bytes: Uint8Array): ExpectedEvent[] {
  const event = { json: `{"a":${'['.repeat(200)}${']'.repeat(200)}}`, time: undefined }
  assert(bytes.length > 0)
  const [empty] = expectedEvents(requestOf(record()))
  return [event, empty!, event]
}

test('a large resource cannot make more than OTLP_GENERATED_BYTES_MAX of a part', () => {
  const resource = lengthDelimited(1, keyValue('r', string('x'.repeat(EVENT_BYTES_MAX / 2))))
  const times = Math.floor(OTLP_GENERATED_BYTES_MAX / (EVENT_BYTES_MAX / 2 + 200))
  const records = (count: number) => Buffer.concat(Array.from({ length: count }, () => record()))
  assert.equal(decode(request(resource, scopeLogs(records(times)))).result.accepted, times)
  const { fatal } = decode(request(resource, scopeLogs(records(times + 2)))).result
  assert.equal(fatal?.code, 'too_large')
  assert.match(fatal.message, /OTLP_GENERATED_BYTES_MAX/)
  // Nor with a resource that makes every event too large.
  const tooLarge = lengthDelimited(1, keyValue('r', string('x'.repeat(EVENT_BYTES_MAX))))
  const started = cpuNow()
  const { result } = decode(request(tooLarge, scopeLogs(records(100_000))))
  assert.equal(result.fatal?.code, 'too_large')
  assert(cpuNow() - started < 5_000)
})

test('hostile wires fail, quickly and as a whole', () => {
  const groups = Buffer.concat([Buffer.alloc(100_000, 0x6b)])
  const cases: Uint8Array[] = [
    Buffer.of(0x0a),
    Buffer.of(0x0a, 0x05, 0x12),
    Buffer.of(0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01),
    Buffer.of(0x00, 0x00),
    Buffer.of(0x04),
    Buffer.of(0x07),
    Buffer.from('{"resourceLogs":[]}'),
    groups,
    Buffer.alloc(1_000, 0xff),
    requestOf(record(), Buffer.of(0x12, 0x7f)),
    requestOf(record(), record(Buffer.of(0x09, 1, 2, 3))),
    requestOf(record(), record(Buffer.of(0x10, 0x80))),
    requestOf(record(), record(body(Buffer.of(0x18, 0x80)))),
    requestOf(record(), record(body(Buffer.of(0x21, 0)))),
    requestOf(record(), record(body(Buffer.of(0x18, ...Buffer.alloc(10, 0xff), 1)))),
  ]
  for (const bytes of cases) {
    const { result, events } = decode(bytes)
    assert.equal(result.fatal?.code, 'malformed', Buffer.from(bytes).toString('hex').slice(0, 60))
    assert.deepEqual([events.length, result.accepted], [0, 0])
  }
})

test('a record between others is not read past: varints of a record end in it', () => {
  const cut = Buffer.concat([lengthDelimited(2, Buffer.of(0x10, 0x80)), Buffer.of(0x12, 0x00)])
  assert.equal(decode(request(scopeLogs(cut))).result.fatal?.code, 'malformed')
  assert.equal(varint(300).length, 2)
})
