/**
 * Goal: where an HEC body is cut, by the network or into batches, never shows in its events.
 * Method: bodies good and bad, whole and in random chunks, with batches of a few bytes.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { HEC_BODY } from '../../../../src/accept/surfaces/hec/hec-formats.ts'
import { BATCH_PADDING } from '../../../../src/bytes/batch-buffers.ts'
import { BATCH_BYTES_TARGET, EVENT_BYTES_MAX } from '../../../../src/limits.ts'
import { IngestPipeline } from '../../../../workers/ingest.ts'
import { decodeSegment } from '../../../../workers/segment/segment.ts'
import { fuzzed, testSeed } from '../../../support/fuzzing.ts'
import {
  batchOfPart,
  cutAt,
  type FormatName,
  frameBody,
  type Outcome,
} from '../../framing/frame-body.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const good = fc.constantFrom(
  '{"event":1}',
  '{"event":"}{\\"","host":"h"}',
  '{"fields":{"a":["x","]"]},"event":{"b":{"c":[{"d":1},{}]}},"time":1.5}',
  '{\n"event" : {"é":"✓"}\r\n}',
)
const bad = fc.constantFrom('{"event":""}', '{"host":"h"}', '{', '}', '"', '[', ',', '{}', 'x', ']')
const piece = fc.oneof({ arbitrary: good, weight: 12 }, { arbitrary: bad, weight: 1 })
const gap = fc.constantFrom('', '', '\n', ' ', '\r\n\n')
const rows = fc.array(fc.tuple(piece, gap), { maxLength: 10 }).map((all) => all.flat().join(''))
const array = fc
  .tuple(
    gap,
    fc.array(fc.tuple(gap, piece), { maxLength: 8 }),
    fc.constantFrom(']', ']', ']\n', ''),
  )
  .map(([before, all, end]) => `${before}[${all.map((one) => one.join('')).join(',')}${end}`)
const lines = fc
  .array(fc.constantFrom('a', '', '{"a":1}', '"\r', '\r', '✓'), { maxLength: 12 })
  .map((all) => all.join('\n'))

/** The outcome without the number of parts and the words of a refusal. */
function seen({ parts: _parts, fatal, ...rest }: Outcome): object {
  return { ...rest, isFatal: fatal !== undefined }
}

function assertCutsDoNotShow(kind: FormatName, body: fc.Arbitrary<string>): void {
  const cuts = fc.array(fc.nat(400), { maxLength: 12 })
  const declared = fc.integer({ min: 1, max: 60 })
  const property = fc.property(body, cuts, declared, (text, offsets, declaredBytes) => {
    const bytes = Buffer.from(text)
    const whole = seen(frameBody(kind, [bytes]))
    const chunks = cutAt(bytes, offsets)
    assert.deepEqual(seen(frameBody(kind, chunks)), whole, 'cut by the network')
    assert.deepEqual(seen(frameBody(kind, chunks, { declaredBytes })), whole, 'cut into batches')
    const singles = Array.from(bytes, (byte) => Uint8Array.of(byte))
    assert.deepEqual(seen(frameBody(kind, singles, { declaredBytes })), whole, 'byte by byte')
  })
  fc.assert(property, fuzzed(seed, 1_500, 900))
}

test('envelopes one after another', () => assertCutsDoNotShow('hec', rows))

test('envelopes in an array', () => assertCutsDoNotShow('hec', array))

test('raw lines', () => assertCutsDoNotShow('hec-raw', lines))

test('a large body becomes batches of about the target, without any separator too', () => {
  const envelope = JSON.stringify({ event: { text: '}{'.repeat(1_000) } })
  const count = Math.ceil((3.2 * BATCH_BYTES_TARGET) / envelope.length)
  for (const body of [envelope.repeat(count), `[${Array(count).fill(envelope).join(',')}]`]) {
    const { parts, accepted, fatal } = frameBody('hec', [Buffer.from(body)])
    assert.deepEqual([accepted, fatal], [count, undefined])
    assert.ok(parts === 3 || parts === 4, `${parts} parts`)
  }
})

test('an envelope that is too large is no reason to refuse its neighbours', () => {
  const large = JSON.stringify({ event: 'x'.repeat(2 * EVENT_BYTES_MAX) })
  const { accepted, errors } = frameBody('hec', [Buffer.from(`{"event":1}${large}{"event":2}`)])
  assert.deepEqual([accepted, errors], [2, ['1 1 too_large']])
})

test('what the URL says counts where small requests share a batch', () => {
  const body = Buffer.from('{"event":1}')
  const alone = HEC_BODY.whole(body, {})
  const named = HEC_BODY.whole(body, { host: 'h'.repeat(500) })
  assert.ok(!('code' in alone) && !('code' in named))
  assert.equal(alone.eventBytes, body.length)
  assert.ok(named.eventBytes! > 500)
})

test('parts of other senders in the same batch stay apart', () => {
  const text = 'x'.repeat(40_000) // Makes the buffer of events grow between the parts.
  const parts = [
    ['text', text],
    ['hec', '{"event":{"a":1},"host":"h"}'],
    ['text', text],
    ['hec-raw', 'line'],
    ['hec', '{"event":'],
    ['hec-array', '{"event":"b"},{"event":{"c":2},"time":5}'],
    ['otlp-json', '{"resourceLogs":[]}'],
  ] as const
  let start = 0
  const batch = {
    ...batchOfPart(new Uint8Array(BATCH_PADDING), { framing: 'hec', start: 0, end: 0 }),
    bytes: Buffer.concat([
      ...parts.map(([, body]) => Buffer.from(`${body}\n`)),
      Buffer.alloc(BATCH_PADDING),
    ]),
    parts: parts.map(([framing, body]) => {
      const end = start + Buffer.byteLength(body)
      const part = { framing, start, end, options: framing === 'hec-raw' ? { host: 'u' } : {} }
      start = end + 1
      return part
    }),
  }
  const { segments, parts: results } = new IngestPipeline().run(batch)
  assert.deepEqual(
    results.map(({ accepted, fatal }) => [accepted, fatal?.index]),
    [
      [1, undefined],
      [1, undefined],
      [1, undefined],
      [1, undefined],
      [0, 0],
      [2, undefined],
    ].concat([[0, undefined]]),
  )
  const stored = segments.flatMap(({ payload }) => decodeSegment(payload).text.toString())
  assert.deepEqual(stored.join('').trimEnd().split('\n'), [
    `{"message":"${text}"}`,
    '{"a":1,"host":"h"}',
    `{"message":"${text}"}`,
    '{"message":"line","host":"u"}',
    '{"message":"b"}',
    '{"c":2}',
  ])
})

test('what is not UTF-8 is repaired, and counted', () => {
  const good = Buffer.from('{"event":"a"}\n{"event":{"b":"')
  const body = Buffer.concat([good, Buffer.from([0xff, 0xc3]), Buffer.from('"},"host":"h"}')])
  const { events, fatal } = frameBody('hec', [body])
  assert.equal(fatal, undefined)
  assert.deepEqual(events, ['{"message":"a"}', '{"b":"\ufffd\ufffd","host":"h"}'])
  const lines = frameBody('hec-raw', [Buffer.from([0x61, 0xff, 0x0a, 0x62])])
  assert.deepEqual(lines.events, ['{"message":"a\ufffd"}', '{"message":"b"}'])
})
