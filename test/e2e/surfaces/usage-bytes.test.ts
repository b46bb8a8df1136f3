/**
 * Goal: `raw_bytes` of usage are the bytes of the events as sent, on every surface, compressed or
 * not, whatever is stored in their place; rejected events and what was removed do not count.
 * Method: one running service; each body goes to a stream of its own whose transforms are on.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { SEGMENT_EVENTS_MAX } from '../../../src/limits.ts'
import { encodePush, encodePushed } from '../../decode/loki/decode-loki.ts'
import { eventually } from '../../store/temporary.ts'
import { Api, call, NDJSON_TYPE, type Stream } from '../../support/api.ts'
import { type SharedService, shareService } from '../../support/service.ts'
import { encodeLogsRequest } from './otlp-encoder.ts'

const TRANSFORMS = { redact_sensitive: true, parse_user_agents: true }
const EVENT = '{ "password": "opensesame", "user_agent": "curl/8.5.0", "n": 1 }'
const DOCUMENTS = [`{"a":"\\u0061"}`, EVENT]
const PROTOBUF = encodeLogsRequest([{ body: 'plain', severityNumber: 9 }, { body: { a: 'map' } }])
const OTLP_JSON = JSON.stringify({
  resourceLogs: [
    {
      resource: { attributes: [{ key: 'host', value: { stringValue: 'web-1' } }] },
      scopeLogs: [{ logRecords: [{ body: { stringValue: 'one' } }, { severityText: 'INFO' }] }],
    },
  ],
})
const LOKI_PATH = '/loki/api/v1/push'
const LOKI_JSON = JSON.stringify({
  streams: [
    {
      stream: { app: 'a' },
      values: [
        ['1', EVENT],
        ['2', 'line'],
      ],
    },
  ],
})
const LOKI_STREAMS = [{ labels: '{app="a"}', entries: [{ line: EVENT.repeat(50) }, { line: 'x' }] }]
const OTLP_PATH = '/v1/otlp/v1/logs'
/** Too many for one segment. */
const TINY = '{}\n'.repeat(2 * SEGMENT_EVENTS_MAX + 5)

interface Sent {
  readonly path?: string
  readonly type?: string
  readonly body: string | Buffer
  readonly bytes: number
}

const lengthOf = (body: string | Buffer) => Buffer.byteLength(body)
const whole = (sent: Omit<Sent, 'bytes'>): Sent => ({ ...sent, bytes: lengthOf(sent.body) })

const CASES: readonly (readonly [what: string, sent: Sent])[] = [
  ['a document', whole({ body: EVENT })],
  ['lines', whole({ type: NDJSON_TYPE, body: `${DOCUMENTS.join('\r\n')}\n` })],
  ['lines, the last one without an end', whole({ type: NDJSON_TYPE, body: DOCUMENTS.join('\n') })],
  ['lines of several segments', whole({ type: NDJSON_TYPE, body: TINY })],
  [
    'an array',
    { body: `[ ${DOCUMENTS.join(' , ')} ]`, bytes: DOCUMENTS.reduce((n, d) => n + d.length, 0) },
  ],
  [
    'lines with bad ones among them',
    { type: NDJSON_TYPE, body: `${EVENT}\n{"broken\n[]\n${EVENT}\n`, bytes: 2 * EVENT.length + 2 },
  ],
  ['text', whole({ path: '/v1/ingest/text', type: 'text/plain', body: 'one\r\ntwo "2"\nthree' })],
  [
    'bulk',
    {
      path: '/_bulk',
      type: NDJSON_TYPE,
      body: DOCUMENTS.map((document) => `{"index":{}}\n${document}\n`).join(''),
      bytes: DOCUMENTS.reduce((n, document) => n + document.length + 1, 0),
    },
  ],
  ['OTLP', whole({ path: OTLP_PATH, type: 'application/x-protobuf', body: PROTOBUF })],
  ['OTLP in JSON', whole({ path: OTLP_PATH, body: OTLP_JSON })],
  ['Loki', whole({ path: LOKI_PATH, body: LOKI_JSON })],
  [
    'Loki in protobuf, decompressed',
    {
      path: LOKI_PATH,
      type: 'application/x-protobuf',
      body: encodePushed(LOKI_STREAMS),
      bytes: encodePush(LOKI_STREAMS).length,
    },
  ],
]

let service: SharedService
let api: Api

before(async () => {
  service = await shareService()
  api = new Api(service)
})

after(async () => {
  await service?.close()
})

async function send(stream: Stream, sent: Sent, isGzip: boolean): Promise<void> {
  const { path = '/v1/ingest', type = 'application/json', body } = sent
  const password = Buffer.from(`any:${stream.key}`).toString('base64')
  const key = path === '/_bulk' ? { authorization: `Basic ${password}` } : undefined
  const { status, text } = await call(`${service.url}${path}`, {
    method: 'POST',
    headers: {
      ...(key ?? { 'x-api-key': stream.key }),
      'content-type': type,
      ...(isGzip && { 'content-encoding': 'gzip' }),
    },
    body: isGzip ? gzipSync(body) : body,
  })
  assert.ok(status === 200 || status === 204, text)
}

for (const [what, sent] of CASES) {
  test(`counts ${what} as sent, gzipped or not`, async () => {
    const stream = await api.createStream(TRANSFORMS)
    await send(stream, sent, false)
    assert.equal((await api.usage(stream.id)).raw_bytes, sent.bytes)
    await send(stream, sent, true)
    assert.equal((await api.usage(stream.id)).raw_bytes, 2 * sent.bytes)
  })
}

test('what retention removed does not count any more', async () => {
  const stream = await api.createStream(TRANSFORMS)
  await send(stream, whole({ body: EVENT }), false)
  await api.rest(`/v1/streams/${stream.id}`, 'PATCH', { retention: '1s' })
  const usage = () => api.usage(stream.id)
  await eventually('removed', async () => (await usage()).events === 0, 30_000)
  assert.equal((await usage()).raw_bytes, 0)
})
