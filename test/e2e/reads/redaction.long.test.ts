/**
 * Goal: with redaction on, nothing of a secret is left: not in events, queries, the catalog or an
 * answer, and not as bytes in any file of the data directory or line of the log.
 * Method: secrets made at run time, each with a random part of its own, go in by every surface and
 * in every disguise, well-formed and not; then everything that can be read is searched for them.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import protobuf from 'protobufjs'
import { Api, call, type Stream } from '../../support/api.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const dataDir = makeDataDir()
let service: Service
let api: Api
let stream: Stream

before(async () => {
  service = await Service.start({ dataDir })
  api = new Api(service)
  stream = await api.createStream({
    redact_sensitive: true,
    redact_fields: ['headers.x-internal', 'people[].badge', 'codes[]'],
    parse_user_agents: true,
  })
})

after(async () => {
  await service?.kill()
  await removeDataDir(dataDir)
})

/** The part of every secret that is looked for afterwards; long enough not to occur by chance. */
const markers: string[] = []

function marker(): string {
  const made = `Zq7${randomBytes(9).toString('hex')}`
  markers.push(made)
  return made
}

const base64url = (text: string) => Buffer.from(text).toString('base64url')

/** Values that look like secrets, each with a marker inside. */
const SECRETS: Readonly<Record<string, () => string>> = {
  github: () => `gh${'p_'}${marker()}${'a1B2c3D4e5F6g7H8i9J0'.slice(0, 15)}`,
  ours: () => `la${'x_'}abcd1234_${marker()}${'k'.repeat(11)}9Ab`,
  jwt: () =>
    `${base64url('{"alg":"HS256","typ":"JWT"}')}.${base64url('{"sub":"1234567890"}')}.${marker()}`,
  bearer: () => `Authorization: Bearer ${marker()}`,
  url: () => `postgres://app:${marker()}@db.internal:5432/shop`,
  pem: () =>
    `-----BEGIN RSA PRIV${'ATE KEY-----'}\n${marker()}\n-----END RSA PRIV${'ATE KEY-----'}`,
}

/** The same JSON with every letter of string values that can be escaped spelled so. */
function escapeAll(json: string): string {
  return json.replace(/[A-Za-z]/g, (letter) => {
    return `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`
  })
}

function events(): string[] {
  const made: string[] = []
  for (const [kind, secret] of Object.entries(SECRETS)) {
    made.push(JSON.stringify({ kind, message: `before ${secret()} after` }))
    made.push(JSON.stringify({ kind, deep: [{ list: ['x', [secret()]] }] }))
    made.push(JSON.stringify({ kind, log: JSON.stringify({ level: 'info', value: secret() }) }))
    made.push(`{"kind":"${kind}","escaped":"${escapeAll(secret()).replaceAll('\n', '\\n')}"}`)
    made.push(JSON.stringify({ kind, log: `plain text ${secret()}` }))
  }
  made.push(
    JSON.stringify({ password: marker(), user: { apiKey: marker(), name: 'ann' } }),
    JSON.stringify({ Authorization: { scheme: marker() }, token: [marker(), 1] }),
    JSON.stringify({ 'db.password': marker(), _raw: marker(), _svc_raw: marker() }),
    JSON.stringify({ headers: { 'x-internal': marker() }, people: [{ badge: marker() }] }),
    JSON.stringify({ codes: [marker(), { in: marker() }, [marker()]] }),
    `{"pass\\u0077ord":"${marker()}","password":"${marker()}"}`,
    JSON.stringify({ log: JSON.stringify({ secret: marker(), _raw: marker() }) }),
    JSON.stringify({ user_agent: `Mozilla/5.0 ${SECRETS.github!()}` }),
  )
  return made
}

async function post(path: string, headers: Record<string, string>, body: string | Uint8Array) {
  const answer = await call(`${service.url}${path}`, { method: 'POST', headers, body })
  assertNothingOf(answer.text, `the answer of ${path}`)
  return answer
}

const NDJSON = { 'content-type': 'application/x-ndjson' }
const keyHeader = () => ({ 'x-api-key': stream.key })

/** Sends secrets by every surface; returns how many events that makes. */
async function sendEverywhere(): Promise<number> {
  return (await sendNative()) + (await sendBulk()) + (await sendText()) + (await sendOtlp())
}

async function sendNative(): Promise<number> {
  const lines = events()
  const native = await post('/v1/ingest', { ...keyHeader(), ...NDJSON }, lines.join('\n'))
  assert.equal(native.status, 200)
  return lines.length
}

async function sendBulk(): Promise<number> {
  const documents = events()
  const authorization = `Basic ${Buffer.from(`x:${stream.key}`).toString('base64')}`
  const bulk = documents.map((each) => `{"index":{}}\n${each}\n`).join('')
  const bulked = await post('/_bulk', { authorization, ...NDJSON }, bulk)
  assert.match(bulked.text, /"errors":false/)
  return documents.length
}

async function sendText(): Promise<number> {
  const text = Object.values(SECRETS).map((secret) => `GET /?q=1 ${secret().replaceAll('\n', ' ')}`)
  const headers = { ...keyHeader(), 'content-type': 'text/plain' }
  const asText = await post('/v1/ingest/text', headers, text.join('\n'))
  assert.equal(asText.status, 200)
  return text.length
}

/** The same records as JSON and as protobuf. */
async function sendOtlp(): Promise<number> {
  const records = Object.values(SECRETS).map((secret, i) => ({
    timeUnixNano: `${1_700_000_000_000_000_000n + BigInt(i)}`,
    body: i % 2 === 0 ? { stringValue: secret() } : kvlist({ note: secret(), password: marker() }),
    attributes: [
      { key: 'http.token', value: { stringValue: marker() } },
      attribute('note', secret()),
    ],
  }))
  const otlp = {
    resourceLogs: [
      {
        resource: { attributes: [attribute('api_key', marker())] },
        scopeLogs: [{ logRecords: records }],
      },
    ],
  }
  const asJson = await post(
    '/v1/otlp/v1/logs',
    { ...keyHeader(), 'content-type': 'application/json' },
    JSON.stringify(otlp),
  )
  assert.deepEqual([asJson.status, asJson.text], [200, '{}'])
  const root = await protobuf.load(
    new URL('../../../../proto/otlp-logs.proto', import.meta.url).pathname,
  )
  const message = root.lookupType('ExportLogsServiceRequest')
  const bytes = message.encode(message.fromObject(otlp)).finish()
  const asProtobuf = await post(
    '/v1/logs',
    { ...keyHeader(), 'content-type': 'application/x-protobuf' },
    bytes,
  )
  assert.equal(asProtobuf.status, 200)
  return 2 * records.length
}

const attribute = (key: string, value: string) => ({ key, value: { stringValue: value } })
const kvlist = (object: Record<string, string>) => ({
  kvlistValue: { values: Object.entries(object).map(([key, value]) => attribute(key, value)) },
})

/** What is refused or rejected is not stored; its errors must not tell it either. */
async function sendBroken(): Promise<void> {
  const secret = () => SECRETS.github!()
  const headers = { 'content-type': 'application/x-ndjson' }
  const bodies = [`{"password":"${secret()}"`, `{"a":${secret()}}`, `["${secret()}"]`, secret()]
  for (const body of bodies) {
    const answer = await api.ingest(stream.key, `{"ok":1}\n${body}\n`, headers)
    assertNothingOf(answer.text, 'the answer to a bad line')
  }
  const whole = await api.ingest(stream.key, `[{"a":"${secret()}"`)
  assert.equal(whole.status, 400)
  assertNothingOf(whole.text, 'the answer to half an array')
  const type = await api.ingest(stream.key, secret(), { 'content-type': 'text/plain' })
  assert.equal(type.status, 415)
  const notFound = await call(`${service.url}/v1/ingest/${secret()}`, {
    method: 'POST',
    body: '{}',
  })
  assert.equal(notFound.status, 404)
}

function assertNothingOf(text: string | Buffer, where: string): void {
  for (const each of markers) assert(!text.includes(each), `a secret is in ${where}`)
}

function filesUnder(path: string): string[] {
  return readdirSync(path, { withFileTypes: true }).flatMap((entry) => {
    const child = join(path, entry.name)
    if (entry.isDirectory()) return filesUnder(child)
    return entry.isFile() ? [child] : []
  })
}

test('the search would find a secret: it does where redaction is off', async () => {
  const open = await api.createStream()
  const made = marker()
  markers.pop()
  await api.ingest(open.key, JSON.stringify({ password: made }))
  assert(JSON.stringify(await api.events(open.id)).includes(made))
  await api.untilCounted(open.id, 1)
  const found = filesUnder(dataDir).some((path) => holds(path, made))
  assert(found, 'the bytes of what is stored are found in the files')
})

/** Whether a file holds the text as it is: short payloads and parts keep literals so. */
function holds(path: string, text: string): boolean {
  if (statSync(path).size > 256 * 1024 * 1024) return false
  return readFileSync(path).includes(text)
}

test('nothing of a secret is left anywhere', async () => {
  const sent = await sendEverywhere()
  await sendBroken()
  const broken = 4 // `{"ok":1}` beside each bad line.
  const stored = await api.events(stream.id)
  assert.equal(stored.length, sent + broken)
  assertNothingOf(JSON.stringify(stored), 'the event list')
  assert(JSON.stringify(stored).includes('[REDACTED]'))
  await api.untilCounted(stream.id, sent + broken)
  for (const field of ['message', 'password', 'escaped', 'note', 'log.value', 'kind']) {
    assertNothingOf(JSON.stringify(await api.count(stream.id, { group_by: field })), 'a query')
  }
  // The catalog is written every second or so.
  for (let i = 0; i < 100; i++) {
    const fields = await api.rest(`/v1/streams/${stream.id}/fields?limit=1000`)
    assertNothingOf(fields, 'the field catalog')
    if (fields.includes('escaped')) break
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  assertNothingOf(await api.rest(`/v1/streams/${stream.id}/shapes`), 'the shapes')
  assertNothingOf(await api.rest(`/v1/streams/${stream.id}/usage`), 'the usage')
  assertNothingOf((await call(`${service.url}/metrics`)).text, 'the metrics')
  await service.stop()
  assertNothingOf(service.output, 'the log')
  for (const path of filesUnder(dataDir)) assertNothingOf(readFileSync(path), path)
})
