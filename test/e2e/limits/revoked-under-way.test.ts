/**
 * Goal: a request whose key is revoked, or whose stream is deleted, while its body comes is refused
 * as if it had begun after that, on each surface, and nothing of it is stored.
 * Method: bodies in two halves; what is in between happens on this node and, by the database alone,
 * as if on another.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { RawClient } from '../../http/raw-client.ts'
import { Api, type Stream } from '../../support/api.ts'
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

const LINES = '{"n":1}\n{"n":2}\n'
const BULK = '{"create":{}}\n{"n":1}\n{"create":{}}\n{"n":2}\n'
const OTLP = '{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"body":{"stringValue":"x"}}]}]}]}'
const LOKI = '{"streams":[{"values":[["1","x"]]}]}'
const SURFACES = [
  ['native', '/v1/ingest', 'application/x-ndjson', LINES, /"code":"unauthenticated"/],
  ['bulk', '/logs/_bulk', 'application/x-ndjson', BULK, /security_exception/],
  ['otlp', '/v1/logs', 'application/json', OTLP, /"code":16/],
  ['loki', '/loki/api/v1/push', 'application/json', LOKI, /text\/plain/],
] as const

interface HalfSent {
  readonly end: () => Promise<string>
}

/** `isWhole`: no byte of the body before `end`, then all of it at once. */
async function begin(
  stream: Stream,
  [name, path, type, body]: (typeof SURFACES)[number],
  options: { readonly isWhole?: boolean; readonly head?: string } = {},
): Promise<HalfSent> {
  const client = await RawClient.connect(Number(new URL(service.url).port))
  const key = name === 'bulk' ? 'Authorization: ApiKey' : 'X-Api-Key:'
  const half = options.isWhole === true ? 0 : Math.floor(body.length / 2)
  client.write(
    `POST ${path} HTTP/1.1\r\nHost: x\r\n${key} ${stream.key}\r\nContent-Type: ${type}\r\n` +
      `${options.head ?? ''}Content-Length: ${body.length}\r\n\r\n${body.slice(0, half)}`,
  )
  await sleep(50)
  const end = async () => {
    client.write(body.slice(half))
    const text = await client.until(/^HTTP\/1\.1 (?:204 .*\r\n\r\n|\d+ .*\r\n\r\n.+)/s)
    client.destroy()
    return text
  }
  return { end }
}

test('a body that took its time is taken while its key is live', async () => {
  const stream = await api.createStream()
  const sent = await Promise.all(SURFACES.map((surface) => begin(stream, surface)))
  await api.rest(`/v1/streams/${stream.id}`, 'PATCH', { name: 'changed meanwhile' })
  for (const { end } of sent) assert.match(await end(), /^HTTP\/1\.1 20[04] /)
  assert.equal((await api.events(stream.id)).length, 6)
})

test('its key was revoked meanwhile: 401 in the dialect, and nothing is stored', async () => {
  for (const surface of SURFACES) {
    for (const isWhole of [false, true]) {
      const stream = await api.createStream()
      const { end } = await begin(stream, surface, { isWhole })
      await api.rest(`/v1/streams/${stream.id}/keys/${stream.keyId}`, 'DELETE')
      const answer = await end()
      assert.match(answer, /^HTTP\/1\.1 401 .*while the request came/s, surface[0])
      assert.match(answer, surface[4])
      assert.deepEqual(await api.events(stream.id), [])
    }
  }
})

test('its stream was deleted meanwhile: likewise, and neighbours are stored', async () => {
  const stream = await api.createStream()
  const other = await api.createStream()
  for (const isWhole of [false, true]) {
    const doomed = isWhole ? await api.createStream() : stream
    const mine = await begin(doomed, SURFACES[0], { isWhole })
    const neighbours = await Promise.all(
      [1, 2, 3].map(() => begin(other, SURFACES[0], { isWhole })),
    )
    await api.rest(`/v1/streams/${doomed.id}`, 'DELETE')
    const [answer, ...others] = await Promise.all([mine, ...neighbours].map(({ end }) => end()))
    assert.match(answer!, /^HTTP\/1\.1 401 .*deleted/s)
    for (const each of others) assert.match(each, /^HTTP\/1\.1 200 /)
  }
  assert.equal((await api.events(other.id)).length, 12)
})

test('an Idempotency-Key of such a request is free again', async () => {
  const stream = await api.createStream()
  const head = 'Idempotency-Key: once\r\n'
  const { end } = await begin(stream, SURFACES[0], { head })
  await api.rest(`/v1/streams/${stream.id}/keys/${stream.keyId}`, 'DELETE')
  assert.match(await end(), /^HTTP\/1\.1 401 /)
  const key = await api.createKey(stream.id)
  const again = await begin({ ...stream, key: key.key }, SURFACES[0], { head })
  assert.match(await again.end(), /^HTTP\/1\.1 200 /)
  assert.equal((await api.events(stream.id)).length, 2)
})
