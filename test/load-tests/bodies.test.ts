/**
 * Goal: what the load tests send is what they say, on every surface, and answers are counted
 * right: an event lost by the load test itself would be one that the service is blamed for.
 * Method: bodies against the lines they are made of; protobuf against what protobufjs reads of it
 * with `proto/otlp-logs.proto`, for the corpus and for random events.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { loadCorpus } from '../../bench/corpus.ts'
import { otlpMessages } from '../decode/otlp/otlp-oracle.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'
import {
  loadBodies,
  loadOptions,
  loadProtobuf,
  loadScenarios,
  loadSurfaces,
  type Surface,
} from './modules.ts'

const { SURFACES, makeBody } = await loadSurfaces()
const { encodeBodies, takeBodies, fileOf } = await loadBodies()
const { readOptions, bodiesOf } = await loadOptions()
const { SCENARIOS } = await loadScenarios()
const { tryReadRejected } = await loadProtobuf()

const seed = testSeed()
const requestType = otlpMessages.lookupType('sluice.otlp.ExportLogsServiceRequest')
const responseType = otlpMessages.lookupType('sluice.otlp.ExportLogsServiceResponse')
const corpus = loadCorpus({ kind: 'json', count: 300 })
const protobufOptions = readOptions({}, 'otlp')
const jsonOptions = readOptions({ OTLP_ENCODING: 'json' }, 'otlp')

const textOf = (bytes: Uint8Array | ArrayBuffer) => new TextDecoder().decode(bytes)

/** As protobufjs reads it, with the fields that were there, ids as JSON has them. */
function decodeProtobuf(bytes: Uint8Array): unknown {
  const object = requestType.toObject(requestType.decode(bytes), { longs: String })
  const toHex = (_: string, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value
  return withoutEmptyLists(JSON.parse(JSON.stringify(object, toHex)))
}

/** The same request in JSON; halves of surrogate pairs are not UTF-8, which protobuf needs. */
function encodeAsJson(lines: readonly string[]): unknown {
  const repair = (text: string) => text.replace(/\p{Surrogate}/gu, '\ufffd')
  const request = JSON.parse(textOf(makeBody('otlp', lines, jsonOptions)), (_, value) =>
    typeof value === 'string' ? repair(value) : value,
  )
  return withoutEmptyLists(request)
}

/** Protobuf does not tell an empty list from none. */
function withoutEmptyLists(object: unknown): unknown {
  return JSON.parse(JSON.stringify(object), (_, value) =>
    Array.isArray(value) && value.length === 0 ? undefined : value,
  )
}

test('native is a line an event', () => {
  assert.equal(textOf(makeBody('native', corpus, protobufOptions)), `${corpus.join('\n')}\n`)
})

test('bulk is an action and a line an event', () => {
  const lines = textOf(makeBody('bulk', corpus, protobufOptions)).split('\n')
  assert.equal(lines.pop(), '')
  const isAction = (_: string, index: number) => index % 2 === 0
  const actions = new Set(lines.filter(isAction))
  assert.deepEqual([...actions], ['{"create":{"_index":"load"}}'])
  assert.deepEqual(
    lines.filter((line, index) => !isAction(line, index)),
    corpus,
  )
})

test('OTLP in protobuf says what OTLP in JSON says: the corpus', () => {
  const decoded = decodeProtobuf(makeBody('otlp', corpus, protobufOptions))
  assert.deepEqual(decoded, encodeAsJson(corpus))
})

test(`OTLP in protobuf says what OTLP in JSON says: any event (seed ${seed})`, () => {
  // Lengths of one, two and three bytes.
  const long = fc.constantFrom(63, 64, 8_191, 8_192).map((length) => 'é'.repeat(length))
  const value = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.string({ unit: fc.constantFrom('a', '\ud800', '\udc00', '😀') }),
    long,
    fc.boolean(),
    fc.integer(),
    fc.maxSafeInteger(),
    fc.double({ noDefaultInfinity: true, noNaN: true }),
    fc.array(fc.oneof(fc.string(), fc.integer())),
    fc.dictionary(fc.string(), fc.integer()),
    fc.constant(null),
  )
  const event = fc.record(
    {
      timestamp: fc.constantFrom('2026-01-02T03:04:05.678Z', '1999-12-31T23:59:59Z'),
      level: fc.constantFrom('info', 'fatal', 'odd'),
      message: value,
      service: value,
      trace: fc.oneof(
        fc.record({ trace_id: fc.constant('0af7651916cd43dd8448eb211c80319c') }),
        value,
      ),
      other: value,
    },
    { requiredKeys: ['timestamp'] },
  )
  const property = fc.property(fc.array(event, { minLength: 1, maxLength: 5 }), (events) => {
    const lines = events.map((one) => JSON.stringify(one))
    const decoded = decodeProtobuf(makeBody('otlp', lines, protobufOptions))
    assert.deepEqual(decoded, encodeAsJson(lines))
  })
  fc.assert(property, fuzzed(seed, 100, 500))
})

test('every member of an event is in its OTLP record', () => {
  const event = {
    timestamp: '2026-01-02T03:04:05.678Z',
    level: 'warn',
    service: 'checkout',
    message: 'text',
    trace: { trace_id: '0AF7', span_id: 'b7ad6b7169203331', sampled: true },
    http: { status: 200, ms: 0.5 },
    tags: ['a'],
  }
  const request = encodeAsJson([JSON.stringify(event)]) as { resourceLogs: object[] }
  const attribute = (key: string, value: object) => ({ key, value })
  const logRecord = {
    timeUnixNano: '1767323045678000000',
    observedTimeUnixNano: '1767323045678000000',
    severityNumber: 13,
    severityText: 'warn',
    body: { stringValue: 'text' },
    attributes: [
      // No id, so an attribute as any other.
      attribute('trace.trace_id', { stringValue: '0AF7' }),
      attribute('trace.sampled', { boolValue: true }),
      attribute('http.status', { intValue: '200' }),
      attribute('http.ms', { doubleValue: 0.5 }),
      attribute('tags', { arrayValue: { values: [{ stringValue: 'a' }] } }),
    ],
    spanId: 'b7ad6b7169203331',
  }
  assert.deepEqual(request.resourceLogs, [
    {
      resource: { attributes: [attribute('service.name', { stringValue: 'checkout' })] },
      scopeLogs: [{ scope: { name: 'load-tests' }, logRecords: [logRecord] }],
    },
  ])
})

test('the rejected records of an answer are read as protobufjs writes them', () => {
  for (const rejectedLogRecords of [0, 1, 127, 128, 300, 1_000_000]) {
    for (const errorMessage of ['', 'x', 'm'.repeat(200), 'm'.repeat(70_000)]) {
      const message = { partialSuccess: { rejectedLogRecords, errorMessage } }
      const bytes = Uint8Array.from(responseType.encode(message).finish())
      assert.equal(tryReadRejected(bytes), rejectedLogRecords)
      assert.equal(tryReadRejected(bytes.subarray(0, -1)), -1, 'cut off')
    }
  }
  assert.equal(tryReadRejected(new Uint8Array(0)), 0)
  assert.equal(tryReadRejected(new TextEncoder().encode('<html>')), -1)
})

for (const surface of SURFACES) {
  test(`files of ${surface} bodies come apart as they were put together`, () => {
    for (const eventCount of [7, 4_000]) {
      const file = encodeBodies(corpus, surface, protobufOptions, eventCount)
      const first = makeBody(surface, linesFrom(0, eventCount), protobufOptions)
      const second = makeBody(surface, linesFrom(eventCount, eventCount), protobufOptions)
      const buffer = Uint8Array.from(file).buffer
      const bodies = takeBodies(buffer, eventCount, 0)
      assert.ok(bodies.length >= 1)
      assert.deepEqual(new Uint8Array(bodies[0]!), first)
      const next = bodies[1] ?? takeBodies(buffer, eventCount, 1)[0]!
      assert.deepEqual(new Uint8Array(next), second)
    }
  })
}

test('users begin at different bodies', () => {
  const file = Uint8Array.from(encodeBodies(corpus, 'native', protobufOptions, 7)).buffer
  const firsts = [0, 1].map((user) => textOf(takeBodies(file, 7, user)[0]!))
  assert.notEqual(firsts[0], firsts[1])
})

test('two bodies of a scenario never share a file', () => {
  for (const name of Object.keys(SCENARIOS)) {
    const bodies = bodiesOf(name, readOptions({}, name))
    const files = bodies.map(({ surface, eventCount }: { surface: Surface; eventCount: number }) =>
      fileOf(surface, eventCount),
    )
    assert.equal(new Set(files).size, files.length, name)
  }
})

function linesFrom(start: number, count: number): string[] {
  return Array.from({ length: count }, (_, i) => corpus[(start + i) % corpus.length]!)
}
