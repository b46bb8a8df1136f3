/**
 * Goal: an event is redacted the same by every surface, wherever the network and the framer cut it
 * and however it is spelled; and what was redacted once is left alone the second time.
 * Method: random events with secrets, denylisted keys and JSON in `log`, as NDJSON, array,
 * document, bulk and OTLP in random chunks and tiny batches, against the event transformed alone;
 * random lines as text against the same as a JSON event.
 */
import '../kernel/checked-kernels.ts'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Random } from '../../bench/random.ts'
import { spellEscaped } from '../../bench/redaction/measure-values.ts'
import { drawSecret } from '../../bench/redaction/sets.ts'
import type { FramedPart } from '../../src/accept/framing/body-framer.ts'
import { OtlpFramer } from '../../src/accept/surfaces/otlp/otlp-framer.ts'
import { BatchBuffers, padBatch } from '../../src/bytes/batch-buffers.ts'
import { BATCH_BYTES_TARGET } from '../../src/limits.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import { decodeSegment } from '../../workers/segment/segment.ts'
import { batchOfPart, cutAt, FORMATS, type FormatName } from '../accept/framing/frame-body.ts'
import { encodePushed } from '../decode/loki/decode-loki.ts'
import { otlpMessages } from '../decode/otlp/otlp-oracle.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'
import { REDACT, transformed } from './transform-harness.ts'

const seed = testSeed()
const random = new Random(seed)
const settings = { ...REDACT, redactFields: ['user.email', 'rows.ip'] }
const pipeline = new IngestPipeline()

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }
type Event = { [key: string]: Json }

const key = fc.constantFrom('a', 'user', 'email', 'rows', 'ip', 'Api-Key', 'x.token', '_raw', 'é')
const secrets = ['github', 'jwt', 'url-password', 'pem', 'bearer'].map((name) =>
  drawSecret(random, name),
)
const around = fc.constantFrom(['', ''], ['see ', ' there'], ['{"x":"', '"}'], ['\\n', '\n'])
const secret = fc
  .tuple(fc.constantFrom(...secrets), around)
  .map(([each, [before, after]]) => `${before}${each}${after}`)
const text = fc.oneof({ weight: 3, arbitrary: fc.string() }, { weight: 1, arbitrary: secret })
const { object } = fc.letrec<{ value: Json; object: Event }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.oneof(text, fc.integer(), fc.boolean(), fc.constant(null)),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
}))
const log = fc.oneof(
  text.map((log): Event => ({ log })),
  object.map((inner): Event => ({ log: JSON.stringify(inner) })),
  fc.constant<Event>({}),
)
const event = fc.tuple(object, log).map(([members, logged]) => ({ ...members, ...logged }))
const events = fc.array(event, { minLength: 1, maxLength: 5 })
const cuts = fc.array(fc.nat(4_000), { maxLength: 12 })

/** The stored events of parts, each a batch of its own. No secret is in them. */
function store(parts: readonly FramedPart[]): string[] {
  const stored = storeParts(parts)
  for (const each of secrets) {
    const spelled = JSON.stringify(each).slice(1, -1)
    assert(!stored.some((line) => line.includes(spelled)), 'no secret is left')
  }
  return stored
}

function storeParts(parts: readonly FramedPart[]): string[] {
  return parts.flatMap(({ buffer, framing, start, end, options }) => {
    padBatch(buffer, end)
    const part = { framing, start, end, options }
    const batch = { ...batchOfPart(buffer, { framing, start, end }), settings, parts: [part] }
    return pipeline
      .run(batch)
      .segments.flatMap(({ payload }) => decodeSegment(payload).text.toString().split('\n'))
      .filter((line) => line !== '')
  })
}

function throughFramer(kind: FormatName, body: string, offsets: readonly number[]): string[] {
  const parts: FramedPart[] = []
  const fail = (error: Error) => assert.fail(error)
  const sink = { part: (part: FramedPart) => parts.push(part), fail }
  // A small Content-Length makes small batches.
  const framer = FORMATS[kind].createFramer(64, new BatchBuffers(BATCH_BYTES_TARGET), sink)
  for (const chunk of cutAt(Buffer.from(body), offsets)) framer.push(chunk)
  framer.end()
  return store(parts)
}

function throughOtlpFramer(body: Uint8Array, offsets: readonly number[]): string[] {
  const parts: FramedPart[] = []
  const fail = (error: Error) => assert.fail(error)
  const sink = { part: (part: FramedPart) => parts.push(part), fail }
  const framer = new OtlpFramer(0, new BatchBuffers(BATCH_BYTES_TARGET), sink, 64)
  for (const chunk of cutAt(body, offsets)) framer.push(chunk)
  framer.end()
  return store(parts)
}

function anyValue(value: Json): object {
  if (value === null) return {}
  if (typeof value === 'string') return { stringValue: value }
  if (typeof value === 'boolean') return { boolValue: value }
  if (typeof value === 'number') return { intValue: String(value) }
  if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } }
  const values = Object.entries(value).map(([name, each]) => ({ key: name, value: anyValue(each) }))
  return { kvlistValue: { values } }
}

test('native and bulk: the bytes of an event are what it makes alone, wherever it is cut', (t) => {
  t.diagnostic(`seed ${seed}`)
  fc.assert(
    fc.property(events, cuts, fc.boolean(), (all, offsets, isEscaped) => {
      const spell = (each: Event) => {
        const json = JSON.stringify(each)
        // Escapes in every string, keys included; `log` then holds other bytes, not another text.
        return isEscaped ? json.replace(/"(?:[^"\\]|\\.)*"/g, spellAgain) : json
      }
      const lines = all.map(spell)
      const alone = lines.map((line) => transformed(line, settings))
      assert.deepEqual(throughFramer('ndjson', lines.join('\n'), offsets), alone)
      assert.deepEqual(throughFramer('json', `[${lines.join(',')}]`, offsets), alone)
      assert.deepEqual(throughFramer('json', lines[0]!, offsets), alone.slice(0, 1))
      const bulk = lines.map((line) => `{"index":{}}\n${line}\n`).join('')
      assert.deepEqual(throughFramer('bulk', bulk, offsets), alone)
      // Redacted events stay as they are.
      assert.deepEqual(throughFramer('ndjson', alone.join('\n'), offsets), alone)
    }),
    fuzzed(seed, 200, 1_500),
  )
})

function spellAgain(string: string): string {
  return `"${spellEscaped(JSON.parse(string))}"`
}

test('however an event is spelled, the same values are redacted', () => {
  fc.assert(
    fc.property(event, (each) => {
      const plain = JSON.stringify(each)
      const escaped = plain.replace(/"(?:[^"\\]|\\.)*"/g, spellAgain)
      const [first, second] = [plain, escaped].map((line) => transformed(line, settings))
      assert.deepEqual(JSON.parse(second!), JSON.parse(first!))
    }),
    fuzzed(seed, 300, 700),
  )
})

test('OTLP, both encodings: a kvlist body is redacted as the same object would be', () => {
  const type = otlpMessages.lookupType('sluice.otlp.ExportLogsServiceRequest')
  fc.assert(
    fc.property(events, cuts, (all, offsets) => {
      const logRecords = all.map((each) => ({ body: anyValue(each) }))
      const request = { resourceLogs: [{ scopeLogs: [{ logRecords }] }] }
      const alone = all.map((each) => JSON.parse(transformed(JSON.stringify(each), settings)))
      const parsed = (lines: readonly string[]) => lines.map((line) => JSON.parse(line))
      const binary = type.encode(type.fromObject(request)).finish()
      assert.deepEqual(parsed(throughOtlpFramer(binary, offsets)), alone)
      const json = Buffer.from(JSON.stringify(request))
      const buffer = Buffer.concat([json, Buffer.alloc(64)])
      const part = { buffer, framing: 'otlp-json', start: 0, end: json.length, linesBefore: 0 }
      assert.deepEqual(parsed(store([part as FramedPart])), alone)
    }),
    fuzzed(seed, 150, 1_000),
  )
})

test('Loki, both encodings: an object in a line is redacted as one in `log` would be', () => {
  fc.assert(
    fc.property(fc.array(object, { minLength: 1, maxLength: 5 }), (all) => {
      const lines = all.map((each) => JSON.stringify(each))
      const alone = lines.map((line) => transformed(JSON.stringify({ log: line }), settings))
      const values = lines.map((line) => ['1', line])
      const json = Buffer.from(JSON.stringify({ streams: [{ values }] }))
      const protobuf = encodePushed([{ entries: lines.map((line) => ({ line })) }])
      for (const [framing, body] of [
        ['loki-json', json],
        ['loki-protobuf', protobuf],
      ] as const) {
        const buffer = Buffer.concat([body, Buffer.alloc(64)])
        const part = { buffer, framing, start: 0, end: body.length, linesBefore: 0 }
        assert.deepEqual(store([part]), alone)
      }
    }),
    fuzzed(seed, 100, 500),
  )
})

test('text: a line is redacted as the message of a JSON event would be', () => {
  // What ends a line, and what is none, is another test's business.
  const line = text.map((each) => `x ${each.replaceAll(/[\r\n]+/g, ' ')} x`)
  fc.assert(
    fc.property(fc.array(line, { minLength: 1, maxLength: 5 }), cuts, (lines, offsets) => {
      const alone = lines.map((message) => transformed(JSON.stringify({ message }), settings))
      const stored = throughFramer('text', lines.join('\n'), offsets)
      const messages = stored.map((each) => JSON.parse(each))
      assert.deepEqual(
        messages,
        alone.map((each) => JSON.parse(each)),
      )
    }),
    fuzzed(seed, 200, 700),
  )
})
