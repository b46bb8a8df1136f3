/**
 * Goal: native ingest takes what docs/api.md says and answers as it says, seen from outside.
 * Method: one running service; each test has a stream of its own and reads it back.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  Api,
  type IngestAnswer,
  NDJSON_TYPE,
  readIngestAnswer,
  readProblem,
  type Stream,
} from '../../support/api.ts'
import { type SharedService, shareService } from '../../support/service.ts'

let service: SharedService
let api: Api

before(async () => {
  service = await shareService()
  api = new Api(service)
})

after(async () => {
  await service?.close()
})

/** Payloads of the stream, oldest first. */
async function payloads(stream: Stream): Promise<unknown[]> {
  const events = await api.events(stream.id)
  return events.map((event) => event.payload).reverse()
}

async function accepted(answer: ReturnType<Api['ingest']>): Promise<IngestAnswer> {
  const got = await answer
  assert.equal(got.status, 200, got.text)
  assert.equal(got.headers['content-type'], 'application/json')
  return readIngestAnswer(got)
}

const A = { a: 1 }
const B = { b: [2, { c: 'x' }] }

const FORMS: readonly (readonly [what: string, type: string, body: string, events: unknown[]])[] = [
  ['a single object', 'application/json', '{"a":1}', [A]],
  ['an object in white space', 'application/json', ' \r\n\t{"a":1}\r\n ', [A]],
  ['an array', 'application/json', '[{"a":1},{"b":[2,{"c":"x"}]}]', [A, B]],
  ['a spread out array', 'application/json', '\n[\n {"a":1}\n,\n {"a":1}\n]\n', [A, A]],
  ['an object over several lines', 'application/json', '{\n  "a":\r\n 1\n}\n', [A]],
  ['lines as application/json', 'application/json', '{"a":1}\n{"b":[2,{"c":"x"}]}\n', [A, B]],
  ['a type with parameters', 'Application/JSON; charset=utf-8', '{"a":1}', [A]],
  ['application/x-ndjson', 'application/x-ndjson', '{"a":1}\n{"a":1}\n', [A, A]],
  ['application/jsonl', 'application/jsonl', '{"a":1}\n{"a":1}\n', [A, A]],
  ['application/stream+json', 'application/stream+json', '{"a":1}\n{"a":1}\n', [A, A]],
  ['no last line feed', 'application/x-ndjson', '{"a":1}\n{"a":1}', [A, A]],
  ['CRLF', 'application/x-ndjson', '{"a":1}\r\n{"a":1}\r\n', [A, A]],
  ['blank lines', 'application/x-ndjson', '\n\n{"a":1}\n \t\n\r\n{"a":1}\n\n', [A, A]],
  ['equal events, each kept', 'application/x-ndjson', '{"a":1}\n{"a":1}\n{"a":1}', [A, A, A]],
  ['an empty object', 'application/json', '{}', [{}]],
]

for (const [what, type, body, events] of FORMS) {
  test(`takes ${what}`, async () => {
    for (const chunked of [false, true]) {
      const stream = await api.createStream()
      const headers = { 'content-type': type }
      const answer = await accepted(api.ingest(stream.key, body, headers, { chunked }))
      assert.deepEqual(answer, { accepted: events.length, rejected: 0, errors: [] })
      assert.deepEqual(await payloads(stream), events)
    }
  })
}

test('text: an event a non-empty line', async () => {
  const stream = await api.createStream()
  const body = 'first\r\n\n  "quoted" \\ \u0001 tab\t\r\nlast: ünï'
  const headers = { 'content-type': 'text/plain; charset=utf-8' }
  assert.equal((await accepted(api.ingestText(stream.key, body, headers))).accepted, 3)
  assert.deepEqual(await payloads(stream), [
    { message: 'first' },
    { message: '  "quoted" \\ \u0001 tab\t' },
    { message: 'last: ünï' },
  ])
})

test('another media type is 415, and counted as plain text that was not accepted', async () => {
  const stream = await api.createStream()
  const types = ['text/plain', 'application/xml', 'application/x-www-form-urlencoded', '']
  for (const type of types) {
    const answer = await api.ingest(stream.key, '{"a":1}', { 'content-type': type })
    assert.equal(answer.status, 415, type)
    assert.equal(answer.headers['content-type'], 'application/problem+json')
    assert.equal(readProblem(answer).code, 'unsupported_media_type')
  }
  const asJson = await api.ingestText(stream.key, 'x', { 'content-type': 'application/json' })
  assert.equal(asJson.status, 415)
  assert.deepEqual(await payloads(stream), [])
  const counts = await untilRefusals(stream, 2)
  assert.deepEqual(counts, { plain_text_not_accepted: 4, unsupported_media_type: 1 })
})

/** Refusals are written about once a second. */
async function untilRefusals(stream: Stream, reasons: number): Promise<Record<string, number>> {
  const deadline = performance.now() + 10_000
  for (;;) {
    const { refusals } = await api.usage(stream.id)
    if (refusals.length >= reasons || performance.now() > deadline) {
      return Object.fromEntries(refusals.map(({ reason, count }) => [reason, count]))
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

test('a bad line is rejected alone, and reported by index, line and code', async () => {
  const stream = await api.createStream()
  const deep = `${'{"d":'.repeat(300)}1${'}'.repeat(300)}`
  const body = `{"a":1}\n\n{"a":\n"text"\n[1]\n{"b":2}\r\n${deep}\n{"c":3} {"d":4}\n{"e":5}`
  const answer = await accepted(api.ingest(stream.key, body, { 'content-type': NDJSON_TYPE }))
  assert.deepEqual([answer.accepted, answer.rejected], [3, 5])
  assert.deepEqual(
    answer.errors.map(({ index, line, code }) => [index, line, code]),
    [
      [1, 3, 'malformed'],
      [2, 4, 'not_an_object'],
      [3, 5, 'not_an_object'],
      [5, 7, 'too_deep'],
      [6, 8, 'malformed'],
    ],
  )
  for (const { message } of answer.errors) assert.doesNotMatch(message, /text/, 'no contents')
  assert.deepEqual(await payloads(stream), [{ a: 1 }, { b: 2 }, { e: 5 }])
})

test('an element of an array that is no object is rejected alone', async () => {
  const stream = await api.createStream()
  const answer = await accepted(api.ingest(stream.key, '[{"a":1},\n2,\n[{"x":1}],"s",{"b":2}]'))
  assert.deepEqual([answer.accepted, answer.rejected], [2, 3])
  assert.deepEqual(
    answer.errors.map(({ index, line, code }) => [index, line, code]),
    [
      [1, 2, 'not_an_object'],
      [2, 3, 'not_an_object'],
      [3, 3, 'not_an_object'],
    ],
  )
  assert.deepEqual(await payloads(stream), [{ a: 1 }, { b: 2 }])
})

test('a syntax error in an array is reported by its line in the body', async () => {
  const stream = await api.createStream()
  const answer = await api.ingest(stream.key, '\n[\n{"a":1},\n{"b":\n2},\n{"c" 3}\n]')
  const { errors = [] } = readProblem(answer)
  assert.deepEqual([answer.status, errors[0]?.index, errors[0]?.line], [400, 2, 6])
})

test('the first 20 errors are reported, all are counted', async () => {
  const stream = await api.createStream()
  const body = `${'x\n'.repeat(500)}{"a":1}\n`
  const answer = await accepted(api.ingest(stream.key, body, { 'content-type': NDJSON_TYPE }))
  assert.deepEqual([answer.accepted, answer.rejected, answer.errors.length], [1, 500, 20])
  assert.deepEqual(
    answer.errors.map(({ line }) => line),
    Array.from({ length: 20 }, (_, i) => i + 1),
  )
})

test('line numbers hold over several batches', async () => {
  const stream = await api.createStream()
  const good = `${JSON.stringify({ filler: 'x'.repeat(1_000) })}\n`
  const body = `${good.repeat(2_000)}bad\n${good.repeat(1_000)}\nbad`
  const answer = await accepted(api.ingest(stream.key, body, { 'content-type': NDJSON_TYPE }))
  assert.deepEqual([answer.accepted, answer.rejected], [3_000, 2])
  assert.deepEqual(
    answer.errors.map(({ index, line }) => [index, line]),
    [
      [2_000, 2_001],
      [3_001, 3_003],
    ],
  )
})

const NOTHING = [
  ['an empty body', ''],
  ['white space', ' \n\r\n\t'],
  ['an empty array', '[]'],
  ['an empty array in white space', '\n [ \n ] \n'],
  ['no JSON', 'hello'],
  ['a number', '1'],
  ['an array of numbers', '[1,2]'],
  ['a cut object', '{"a":1'],
  ['a cut array', '[{"a":1}'],
  ['an array with a comma too many', '[{"a":1},]'],
  ['an array with an error behind good events', '[{"a":1},{"a":2},{"a":}]'],
  ['an array and something behind it', '[{"a":1}] x'],
  ['two arrays', '[{"a":1}][{"a":2}]'],
  ['an object over lines with an error', '{\n"a": 1,\n}'],
  ['an object over lines and another behind it', '{\n"a":1\n}\n{"b":2}\n'],
] as const

test('nothing acceptable: 400, nothing stored', async () => {
  for (const [what, body] of NOTHING) {
    const stream = await api.createStream()
    const answer = await api.ingest(stream.key, body)
    assert.equal(answer.status, 400, what)
    assert.equal(answer.headers['content-type'], 'application/problem+json')
    const problem = readProblem(answer)
    assert.equal(problem.code, 'malformed', what)
    assert.equal(problem.accepted ?? 0, 0, what)
    assert.deepEqual(await payloads(stream), [], what)
  }
})

test('a syntax error late in a large array: nothing of it is stored', async () => {
  const stream = await api.createStream()
  const good = JSON.stringify({ filler: 'x'.repeat(1_000) })
  const body = `[${`${good},`.repeat(4_000)}{"a":}]`
  const answer = await api.ingest(stream.key, body)
  assert.equal(answer.status, 400)
  const [error] = readProblem(answer).errors ?? []
  assert.deepEqual([error?.index, error?.line, error?.code], [4_000, 1, 'malformed'])
  assert.deepEqual(await payloads(stream), [])
})

test('invalid UTF-8 is repaired with U+FFFD and counted', async () => {
  const stream = await api.createStream()
  const metric = 'ingest_utf8_repaired_events_total'
  const before = await api.metric(metric)
  const line = (...bytes: number[]) =>
    Buffer.concat([Buffer.from('{"m":"<'), Buffer.from(bytes), Buffer.from('>"}\n')])
  const lines = [line(0xff), line(0xc3, 0xa4), line(0xc3), line(0xed, 0xa0, 0x80), line(0xf0, 0x9f)]
  assert.equal((await accepted(api.ingest(stream.key, Buffer.concat(lines)))).accepted, 5)
  const text = Buffer.from([0x61, 0xfe, 0x0a])
  assert.equal((await accepted(api.ingestText(stream.key, text))).accepted, 1)
  const messages = (await payloads(stream)).map((payload) => JSON.stringify(payload))
  assert.deepEqual(messages, [
    '{"m":"<\ufffd>"}',
    '{"m":"<ä>"}',
    '{"m":"<\ufffd>"}',
    '{"m":"<\ufffd\ufffd\ufffd>"}',
    '{"m":"<\ufffd>"}',
    '{"message":"a\ufffd"}',
  ])
  assert.equal(await api.metric(metric), before + 5)
})

test('payloads are kept verbatim: large integers, duplicate keys, order, escapes', async () => {
  const stream = await api.createStream()
  const numbers = '"z":18446744073709551615,"n":-0.0,"e":1E400'
  const event = `{${numbers},"a":1,"a":"\\u00e4\\/","s":"\\ud800","d.o":{"t":[]}}`
  await accepted(api.ingest(stream.key, event))
  await accepted(api.ingest(stream.key, `[ ${event} ]`))
  const text = await api.rest(`/v1/streams/${stream.id}/events`)
  assert.equal(text.split(`"payload":${event}`).length, 3, text)
})
