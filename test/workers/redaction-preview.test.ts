/**
 * Goal: a preview shows what ingest stores, whatever form the sample has.
 * Method: a table of samples, previewed and sent through the pipeline: events as they are, strings
 * as a line of text and as a value within an event.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EVENT_BYTES_MAX } from '../../src/limits.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import { previewEvent, previewString } from '../../workers/redaction-preview.ts'
import { decodeSegment } from '../../workers/segment/segment.ts'
import { batchOf } from './batch-of.ts'

const REDACTION = { parseUserAgents: false, redactSensitive: true, redactFields: ['user.mail'] }
const TOKEN = `gh${'p_'}a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8`

/** What ingest stores of a body of one event. */
function stored(body: string, framing: string, redactSensitive = true): string {
  const settings = { ...REDACTION, redactSensitive }
  const { segments } = new IngestPipeline().run({ ...batchOf(body, framing), settings })
  return segments.map(({ payload }) => decodeSegment(payload).text.toString()).join('')
}

const STRINGS: Readonly<Record<string, string>> = {
  plain: 'GET /orders 200 in 12 ms',
  'JSON object': '{"password":"hunter2x","user":"bob"}',
  'JSON object, spaced': ' { "password" : "hunter2x" } ',
  'JSON behind words': 'body={"password":"hunter2x","user":"bob"} took 3 ms',
  'JSON in JSON': JSON.stringify({ body: JSON.stringify({ api_key: 'k9' }), a: 1 }),
  'JSON cut off': '{"user":"bob","password":"hunter2',
  'JSON array': '[{"password":"hunter2x"},{"a":1}]',
  'array of words': '["username","password"]',
  Python: "{'password': 'hunter2x', 'user': 'bob'}",
  'a number under a name': '{"pin":1234,"a":2}',
  'name and value': '{"name":"Authorization","value":"hunter2x"}',
  'token in words': `uses ${TOKEN} now`,
  'token in JSON': JSON.stringify({ note: `uses ${TOKEN} now`, a: 1 }),
  'token beside JSON': `{"a":1} ${TOKEN}`,
  URL: `see ftp://u:${'pw9'}@h`,
  header: `Authorization: Bearer ${'9f86d081884c7d659a2feaa0c55ad015'}`,
  'JSON of log': '{"log":"{\\"password\\":\\"x\\"}"}',
  number: '17',
  'quotes and controls': 'a "b" \\ \u0001 ü',
  nginx: '{\\x22password\\x22:\\x22hunter2x\\x22}',
}

for (const [name, sample] of Object.entries(STRINGS)) {
  test(`a string: ${name}`, () => {
    const { redacted, changes } = previewString(sample)
    const inEvent = JSON.parse(stored(JSON.stringify({ message: sample }), 'document'))
    assert.equal(JSON.parse(redacted), inEvent.message)
    assert.equal(JSON.parse(redacted), JSON.parse(stored(`${sample}\n`, 'text')).message)
    assert.equal(changes.length > 0, JSON.parse(redacted) !== sample)
    for (const { path } of changes) assert.equal(path, '')
  })
}

const EVENTS: Readonly<Record<string, string>> = {
  plain: '{"a":1,"message":"GET / 200"}',
  spaced: ' { "password" : "x" ,\n "a": [1, 2] } ',
  'by name': '{"user":{"Password":"x","mail":"m"},"tokens":{"access":"a9B8c7D6"}}',
  'by path': '{"user":{"mail":{"a":1}},"list":[{"user":{"mail":"stays"}}]}',
  'log is JSON': '{"log":"{\\"password\\":\\"x\\",\\"a\\":1}"}',
  'log is text': '{"log":"password reset for bob"}',
  'log twice': '{"log":"{\\"password\\":\\"x\\"}","log":"text"}',
  'log cut off': '{"log":"{\\"password\\":\\"x"}',
  'JSON in a string': JSON.stringify({ body: STRINGS['JSON object'], _raw: 'password=x' }),
  'JSON in JSON': JSON.stringify({ body: STRINGS['JSON in JSON'] }),
  'raw beside': '{"a":{"_raw":"x","password":"y"},"_raw":"z"}',
  'duplicate keys': '{"password":"x","password":1,"a":{"b":1},"a":{"token":"t"}}',
  pairs: '{"headers":[{"name":"Authorization","value":"x"},["Cookie","y"]]}',
  arguments: '{"args":["--password","x","DB_PASSWORD=y"]}',
  numbers: '{"id":9007199254740993,"pin":7,"f":1.0,"x":1e400}',
  'drawn at random': '{"session":"kT9vQ2mX7bR4nL8w","SESSION":"default"}',
  token: JSON.stringify({ deep: [[{ note: TOKEN }]] }),
}

for (const [name, sample] of Object.entries(EVENTS)) {
  test(`an event: ${name}`, () => {
    const preview = previewEvent(Buffer.from(sample), REDACTION.redactFields)
    const text = stored(sample, 'document')
    assert.equal(`${preview?.redacted}\n`, text)
    assert.equal(preview!.changes.length > 0, /REDACTED|null/.test(text))
    const off = previewEvent(Buffer.from(sample), false)
    assert.equal(`${off?.redacted}\n`, stored(sample, 'document', false))
    assert.deepEqual(off?.changes, [])
  })
}

test('what ingest does not take is not previewed', () => {
  for (const sample of ['[1]', '{"a":', '7', '', '{} {}', '{"a":1}x', '{"a":'.repeat(300)]) {
    assert.equal(previewEvent(Buffer.from(sample), []), undefined, sample)
    assert.equal(previewEvent(Buffer.from(sample), false), undefined, sample)
  }
})

test('EVENT_BYTES_MAX: a string may be as long as a line, whatever its spelling takes', () => {
  const long = '\u0001'.repeat(EVENT_BYTES_MAX - 40)
  const { redacted } = previewString(`${long}{"password":"hunter2x"}`)
  assert.equal(JSON.parse(redacted), `${long}{"password":"[REDACTED]"}`)
})

test('a preview leaves nothing for the next one', () => {
  const secret = previewString('{"password":"hunter2x"}').redacted
  assert.equal(previewString('a line').redacted, '"a line"')
  assert.equal(previewString('{"password":"hunter2x"}').redacted, secret)
  assert.equal(previewEvent(Buffer.from('{"user":{"mail":"m"}}'), [])?.changes.length, 0)
})
