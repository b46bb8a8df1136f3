/**
 * Goal: OTLP JSON makes the same events as the same request in protobuf, however it is spelled,
 * and is judged as `JSON.parse` judges it.
 * Method: random requests from protobuf, written as JSON with every freedom that the format leaves;
 * documents cut and changed at random against JSON.parse; literal cases.
 */
import '../../kernel/checked-kernels.ts'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../../bench/random.ts'
import { DEPTH_MAX, OTLP_GENERATED_PER_BYTE_MAX } from '../../../src/limits.ts'
import { forMilliseconds, testSeed } from '../../support/fuzzing.ts'
import { decodeOtlp } from './decode-otlp.ts'
import { type AnyValue, decodeRequest, type KeyValue, type Request } from './otlp-oracle.ts'
import { mutate, WireMaker } from './otlp-wire.ts'

const seed = testSeed()
console.log(`SLUICE_TEST_SEED=${seed}`)

/** Spells a decoded request as OTLP JSON in one of many ways. */
class JsonSpeller {
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
  }

  request({ resourceLogs }: Request): string {
    const all = resourceLogs.map(({ resource, scopeLogs }) =>
      this.#object({
        resource: resource && this.#object({ attributes: this.#attributes(resource.attributes) }),
        scopeLogs: this.#array(
          scopeLogs.map(({ scope, logRecords }) =>
            this.#object({
              scope:
                scope &&
                this.#object({
                  name: this.#string(scope.name),
                  version: this.#string(scope.version),
                  attributes: this.#attributes(scope.attributes),
                }),
              logRecords: this.#array(logRecords.map((record) => this.#record(record))),
            }),
          ),
        ),
      }),
    )
    return this.#object({ resourceLogs: this.#array(all) })
  }

  #record(record: Request['resourceLogs'][0]['scopeLogs'][0]['logRecords'][0]): string {
    const { severityNumber } = record
    const isNamed = severityNumber === 9 && this.#random.chance(0.5)
    return this.#object({
      timeUnixNano: this.#integer(record.timeUnixNano.toString()),
      observedTimeUnixNano: this.#integer(record.observedTimeUnixNano.toString()),
      severityNumber: isNamed ? '"SEVERITY_NUMBER_INFO"' : String(severityNumber),
      severityText: this.#string(record.severityText),
      body: record.body && this.#any(record.body),
      attributes: this.#attributes(record.attributes),
      flags: this.#integer(String(record.flags)),
      droppedAttributesCount: this.#integer(String(record.droppedAttributesCount)),
      traceId: this.#hex(record.traceId),
      spanId: this.#hex(record.spanId),
      eventName: this.#string(record.eventName),
    })
  }

  #any(any: AnyValue | null): string {
    switch (any?.value) {
      case undefined:
        return this.#random.chance(0.5) ? '{}' : 'null'
      case 'stringValue':
        return this.#object({ stringValue: this.#string(any.stringValue) })
      case 'boolValue':
        return this.#object({ boolValue: String(any.boolValue) })
      case 'intValue':
        return this.#object({ intValue: this.#integer(any.intValue.toString()) })
      case 'doubleValue':
        return this.#object({ doubleValue: this.#double(any.doubleValue) })
      case 'arrayValue': {
        const values = any.arrayValue.values.map((value) => this.#any(value))
        return this.#object({ arrayValue: this.#object({ values: this.#array(values) }) })
      }
      case 'kvlistValue': {
        const values = this.#attributes(any.kvlistValue.values)
        return this.#object({ kvlistValue: this.#object({ values }) })
      }
      default: {
        const base64 = Buffer.from(any!.bytesValue).toString(
          this.#random.chance(0.5) ? 'base64' : 'base64url',
        )
        return this.#object({ bytesValue: this.#string(Buffer.from(base64)) })
      }
    }
  }

  #attributes(members: readonly KeyValue[]): string {
    return this.#array(
      members.map(({ key, value }) =>
        this.#object({ key: this.#string(key), value: value && this.#any(value) }),
      ),
    )
  }

  #double(value: number): string {
    if (!Number.isFinite(value)) return `"${value}"`
    const text = Object.is(value, -0) ? '-0' : String(value)
    return this.#random.chance(0.3) ? `"${text}"` : text
  }

  #integer(digits: string): string {
    return this.#random.chance(0.5) ? `"${digits}"` : digits
  }

  /** An id; one that is a text already stays it. */
  #hex(bytes: Uint8Array): string {
    if (bytes.length > 8 && bytes.every((byte) => byte > 0x20 && byte < 0x7f)) {
      return this.#string(bytes)
    }
    const text = Buffer.from(bytes).toString('hex')
    return `"${this.#random.chance(0.5) ? text.toUpperCase() : text}"`
  }

  #string(bytes: Uint8Array): string {
    const text = JSON.stringify(Buffer.from(bytes).toString())
    if (this.#random.chance(0.8)) return text
    // Every character as an escape: the same string.
    const units = [...JSON.parse(text)].join('').split('')
    const escapes = units.map((unit) => unit.charCodeAt(0).toString(16).padStart(4, '0'))
    return `"${escapes.map((digits) => `\\u${digits}`).join('')}"`
  }

  #object(members: Record<string, string | null>): string {
    const spelled = Object.entries(members)
      .filter(([, value]) => value !== null || this.#random.chance(0.5))
      .map(([key, value]) => `${this.#key(key)}:${this.#space()}${value}`)
    if (this.#random.chance(0.1)) spelled.push('"unknown":[1,{"a":[{},"\\"]"]},null,-1.5e3]')
    if (this.#random.chance(0.1)) spelled.sort(() => this.#random.unit() - 0.5)
    return `{${this.#space()}${spelled.join(`${this.#space()},`)}}`
  }

  #array(items: readonly string[]): string {
    return `[${this.#space()}${items.join(`,${this.#space()}`)}${this.#space()}]`
  }

  #key(key: string): string {
    if (this.#random.chance(0.7)) return `"${key}"`
    if (this.#random.chance(0.2)) return this.#string(Buffer.from(key))
    return `"${key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)}"`
  }

  #space(): string {
    return this.#random.chance(0.9) ? '' : this.#random.pick([' ', '\n', '\t\r\n '])
  }
}

test('a request in JSON makes the events that it makes in protobuf', () => {
  const random = new Random(seed)
  const maker = new WireMaker(() => random.unit(), false)
  const speller = new JsonSpeller(random)
  forMilliseconds(1_000, () => {
    const wire = maker.request()
    const text = speller.request(decodeRequest(wire))
    JSON.parse(text)
    const fromJson = decodeOtlp('otlp-json', Buffer.from(text))
    const fromWire = decodeOtlp('otlp-protobuf', wire)
    assert.equal(fromJson.result.fatal, undefined, fromJson.result.fatal?.message)
    assert.deepEqual(fromJson.events, fromWire.events, text)
    assert.deepEqual(fromJson.times, fromWire.times)
  })
})

test('what JSON.parse refuses fails, and never anything else is thrown', () => {
  const random = new Random(seed ^ 2)
  const maker = new WireMaker(() => random.unit(), false)
  const speller = new JsonSpeller(random)
  let refused = 0
  forMilliseconds(1_000, () => {
    const text = Buffer.from(speller.request(decodeRequest(maker.request())))
    const broken = Buffer.from(mutate(text, () => random.unit()).toString())
    const { result } = decodeOtlp('otlp-json', broken)
    if (result.fatal !== undefined) {
      assert.match(result.fatal.message, /^invalid OTLP JSON at byte \d+: /)
      refused++
    } else JSON.parse(broken.toString())
  })
  assert(refused > 0)
})

const requestOf = (...records: string[]) =>
  `{"resourceLogs":[{"scopeLogs":[{"logRecords":[${records.join(',')}]}]}]}`
const bodyOf = (value: string) => requestOf(`{"body":${value}}`)

function decode(text: string) {
  return decodeOtlp('otlp-json', Buffer.from(text))
}

function decodedBody(text: string): string {
  const { events, result } = decode(bodyOf(text))
  assert.equal(result.fatal, undefined, `${text}: ${result.fatal?.message}`)
  return /^\{"body":(.*),"attributes"/.exec(events[0]!)![1]!
}

test('values as JSON spells them', () => {
  const cases: [string, string][] = [
    ['{"intValue":9223372036854775807}', '9223372036854775807'],
    ['{"intValue":"-9223372036854775808"}', '-9223372036854775808'],
    ['{"intValue":1e3}', '1000'],
    ['{"intValue":"12.0"}', '12'],
    ['{"intValue":-0}', '0'],
    ['{"int_value":"7"}', '7'],
    ['{"doubleValue":"NaN"}', '"NaN"'],
    ['{"doubleValue":"-Infinity"}', '"-Infinity"'],
    ['{"doubleValue":1e400}', '"Infinity"'],
    ['{"doubleValue":0.1}', '0.1'],
    ['{"bytesValue":"_-8="}', '"/+8="'],
    ['{"bytesValue":"\\/+8"}', '"/+8="'],
    ['{"bytesValue":""}', '""'],
    ['{"stringValue":"\\ud83d\\ude00\\ud800"}', '"😀�"'],
    ['{"stringValue":"a","stringValue":"b"}', '"b"'],
    ['{"stringValue":"a","intValue":1,"intValue":null}', '"a"'],
    ['{"intValue":1,"stringValue":"a"}', '"a"'],
    ['{"arrayValue":{"values":[{"intValue":1}],"values":[{"intValue":2}]}}', '[2]'],
    ['{"arrayValue":{"values":[{"intValue":1},{}],"values":null}}', '[]'],
    ['{"array_value":{}}', '[]'],
    ['{"arrayValue":{"values":[null,{"stringValue":null}]}}', '[null,null]'],
    ['null', 'null'],
    ['{}', 'null'],
  ]
  for (const [text, expected] of cases) assert.equal(decodedBody(text), expected, text)
})

test('a body that comes again replaces the first, and so do records', () => {
  const list = (key: string) =>
    `{"kvlistValue":{"values":[{"key":"${key}","value":{"intValue":"1"}}]}}`
  assert.deepEqual(decode(requestOf(`{"body":${list('a')},"body":${list('b')}}`)).events, [
    '{"b":1}',
  ])
  const records = `"logRecords":[{"body":${list('a')}}],"logRecords":[{"body":${list('b')}}]`
  const { events } = decode(`{"resourceLogs":[{"scopeLogs":[{${records}}]}]}`)
  assert.deepEqual(events, ['{"b":1}'])
  const many = `{${'"body":{"stringValue":"x"},'.repeat(50_000)}"body":{"stringValue":"y"}}`
  assert.match(decode(requestOf(many)).events[0]!, /^\{"body":"y"/)
})

const TRACE = '5b8efff798038103d269b633813fc60c'
const UUID = '5B8EFFF7-9803-8103-D269-b633813fc60c'
const SPAN = 'eee19b7ec3c1b174'
const base64 = (hex: string) => Buffer.from(hex, 'hex').toString('base64')
const textBase64 = (text: string) => Buffer.from(text).toString('base64')

test('ids are read from digits, UUIDs and base64', () => {
  const traces = [
    TRACE,
    TRACE.toUpperCase(),
    UUID,
    base64(TRACE),
    base64(TRACE).replace(/=+$/, ''),
    textBase64(TRACE),
    textBase64(UUID),
  ]
  for (const traceId of traces) {
    const { events, result } = decode(requestOf(JSON.stringify({ traceId })))
    assert.equal((JSON.parse(events[0]!) as { trace_id?: string }).trace_id, TRACE, traceId)
    assert.equal(result.warnings, 0)
  }
  for (const spanId of [SPAN, base64(SPAN), textBase64(SPAN)]) {
    const { events } = decode(requestOf(JSON.stringify({ spanId })))
    assert.equal((JSON.parse(events[0]!) as { span_id?: string }).span_id, SPAN, spanId)
  }
})

test('ids that are none are left out, and the sender is told which', () => {
  const texts = ['ab', 'x'.repeat(32), `${'a'.repeat(31)}`, 'exactly 16 bytes', UUID.slice(1), SPAN]
  for (const id of texts) {
    const { events, result } = decode(requestOf(`{},{"traceId":"${id}"}`))
    assert.equal(result.accepted, 2)
    assert.doesNotMatch(events[1]!, /trace_id/, id)
    assert.equal(result.warnings, 1, id)
    assert.equal(result.firstWarning?.index, 1)
    assert.match(result.firstWarning.message, /^a trace or span id is left out/)
  }
  const spans = ['8 chars.', TRACE, UUID]
  for (const spanId of spans) {
    assert.equal(decode(requestOf(JSON.stringify({ spanId }))).result.warnings, 1, spanId)
  }
  for (const none of ['', '0'.repeat(32), '0'.repeat(16), 'A'.repeat(22)]) {
    const { events, result } = decode(requestOf(JSON.stringify({ traceId: none })))
    assert.doesNotMatch(events[0]!, /trace_id/)
    assert.equal(result.warnings, 0, none)
  }
})

test('values that a field cannot have fail the document', () => {
  const bad = [
    '[]',
    '1',
    '',
    '{}x',
    '{"resourceLogs":{}}',
    requestOf('1'),
    requestOf('{"timeUnixNano":-1}'),
    requestOf('{"timeUnixNano":"18446744073709551616"}'),
    requestOf('{"timeUnixNano":"x"}'),
    requestOf('{"timeUnixNano":1.5}'),
    requestOf('{"flags":-1}'),
    requestOf('{"flags":4294967296}'),
    requestOf('{"severityNumber":"SEVERITY_NUMBER_INFO5"}'),
    requestOf('{"severityNumber":2147483648}'),
    requestOf('{"severityText":1}'),
    requestOf('{"traceId":1}'),
    bodyOf('{"intValue":9223372036854775808}'),
    bodyOf('{"intValue":""}'),
    bodyOf('{"intValue":true}'),
    bodyOf('{"doubleValue":"1x"}'),
    bodyOf('{"doubleValue":"0x10"}'),
    bodyOf('{"boolValue":"true"}'),
    bodyOf('{"bytesValue":"a"}'),
    bodyOf('{"bytesValue":"a b="}'),
    bodyOf('{"stringValue":"\n"}'),
    bodyOf('"text"'),
    bodyOf(`{"intValue":${'9'.repeat(100_000)}}`),
  ]
  for (const text of bad) {
    const { result, events } = decode(text)
    assert.equal(result.fatal?.code, 'malformed', text.slice(0, 80))
    assert.equal(events.length, 0)
  }
})

test('a record deeper than DEPTH_MAX is rejected alone; nothing is too deep to be skipped', () => {
  const nested = (depth: number) =>
    `${'{"arrayValue":{"values":['.repeat(depth)}${']}}'.repeat(depth)}`
  const deep = `{"x":${'['.repeat(200_000)}${']'.repeat(200_000)}}`
  const { result } = decode(
    requestOf(
      `{"body":${nested(DEPTH_MAX - 1)}}`,
      `{"body":${nested(DEPTH_MAX)}}`,
      `{"body":${nested(DEPTH_MAX + 1)}}`,
      `{"body":${nested(20_000)}}`,
      deep,
    ),
  )
  assert.deepEqual([result.fatal, result.accepted], [undefined, 2])
  assert.deepEqual(result.rejectedByCode, { too_deep: 3 })
})

test('a resource makes at most OTLP_GENERATED_PER_BYTE_MAX bytes of one of the request', () => {
  const of = (records: number) => {
    const value = `{"stringValue":"${'x'.repeat(10_000)}"}`
    const resource = `"resource":{"attributes":[{"key":"a","value":${value}}]}`
    const logs = `"scopeLogs":[{"logRecords":[${Array(records).fill('{}')}]}]`
    return `{"resourceLogs":[{${resource},${logs}}]}`
  }
  assert.equal(decode(of(OTLP_GENERATED_PER_BYTE_MAX - 5)).result.accepted, 35)
  const { fatal } = decode(of(OTLP_GENERATED_PER_BYTE_MAX + 5)).result
  assert.equal(fatal?.code, 'too_large')
})
