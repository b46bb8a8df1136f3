/**
 * Goal: what the load tests send is what they say, on every surface, and answers are counted
 * right: an event lost by the load test itself would be one that the service is blamed for.
 * Method: bodies against the lines they are made of, protobuf against the same in JSON.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadCorpus } from '../../bench/corpus.ts'
import { otlpMessages } from '../decode/otlp/otlp-oracle.ts'
import { loadBodies, loadMakeBodies, loadSurfaces } from './modules.ts'

const { encodeBodies, MAKERS } = await loadMakeBodies()
const { takeBodies } = await loadBodies()
const { SURFACES, tryReadRejected } = await loadSurfaces()

const requestType = otlpMessages.lookupType('sluice.otlp.ExportLogsServiceRequest')
const responseType = otlpMessages.lookupType('sluice.otlp.ExportLogsServiceResponse')
const corpus = loadCorpus({ kind: 'json', count: 300 })

const makeBody = (surface: string, lines: readonly string[]) => MAKERS[surface]!(lines)
const textOf = (bytes: Uint8Array | ArrayBuffer) => new TextDecoder().decode(bytes)

/** As protobufjs reads it, with the fields that were there, ids as JSON has them. */
function decodeProtobuf(bytes: Uint8Array): unknown {
  const object = requestType.toObject(requestType.decode(Uint8Array.from(bytes)), { longs: String })
  const toHex = (_: string, value: unknown) =>
    value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value
  return withoutEmptyLists(JSON.parse(JSON.stringify(object, toHex)))
}

function encodeAsJson(lines: readonly string[]): unknown {
  return withoutEmptyLists(JSON.parse(textOf(makeBody('otlp-json', lines))))
}

/** Protobuf does not tell an empty list from none. */
function withoutEmptyLists(object: unknown): unknown {
  return JSON.parse(JSON.stringify(object), (_, value) =>
    Array.isArray(value) && value.length === 0 ? undefined : value,
  )
}

test('native is a line an event', () => {
  assert.equal(textOf(makeBody('native', corpus)), `${corpus.join('\n')}\n`)
})

test('bulk is an action and a line an event', () => {
  const lines = textOf(makeBody('bulk', corpus)).split('\n')
  assert.equal(lines.pop(), '')
  const isAction = (_: string, index: number) => index % 2 === 0
  const actions = new Set(lines.filter(isAction))
  assert.deepEqual([...actions], ['{"create":{"_index":"load"}}'])
  assert.deepEqual(
    lines.filter((line, index) => !isAction(line, index)),
    corpus,
  )
})

test('Loki is a line an entry, HEC an envelope an event', () => {
  const [stream] = JSON.parse(textOf(makeBody('loki', corpus))).streams
  assert.deepEqual(
    stream.values.map(([, line]: readonly string[]) => line),
    corpus,
  )
  const envelopes = textOf(makeBody('hec', corpus)).split(/(?<=\})(?=\{"time":)/)
  assert.deepEqual(
    envelopes.map((one) => one.replace(/^\{"time":\d+\.\d{3},"event":|\}$/g, '')),
    corpus,
  )
})

test('every surface has its bodies', () => {
  assert.deepEqual(Object.keys(MAKERS), Object.keys(SURFACES))
})

test('OTLP in protobuf says what OTLP in JSON says', () => {
  const decoded = decodeProtobuf(makeBody('otlp', corpus))
  assert.deepEqual(decoded, encodeAsJson(corpus))
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

for (const surface of Object.keys(MAKERS)) {
  test(`files of ${surface} bodies come apart as they were put together`, () => {
    for (const eventCount of [7, 4_000]) {
      const file = encodeBodies(corpus, surface, eventCount)
      const first = makeBody(surface, linesFrom(0, eventCount))
      const second = makeBody(surface, linesFrom(eventCount, eventCount))
      const buffer = Uint8Array.from(file).buffer
      const bodies = takeBodies(buffer, eventCount, 0)
      assert.ok(bodies.length >= 1)
      assert.deepEqual(Buffer.from(bodies[0]!), Buffer.from(first))
      const next = bodies[1] ?? takeBodies(buffer, eventCount, 1)[0]!
      assert.deepEqual(Buffer.from(next), Buffer.from(second))
    }
  })
}

test('users begin at different bodies', () => {
  const file = Uint8Array.from(encodeBodies(corpus, 'native', 7)).buffer
  const firsts = [0, 1].map((user) => textOf(takeBodies(file, 7, user)[0]!))
  assert.notEqual(firsts[0], firsts[1])
})

function linesFrom(start: number, count: number): string[] {
  return Array.from({ length: count }, (_, i) => corpus[(start + i) % corpus.length]!)
}
