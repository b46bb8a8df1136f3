/**
 * Goal: a preview shows what redaction would do, by the worker code of ingest, and stores nothing.
 * Method: the route on a real control store, with the worker's functions in the pool's place.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { EVENT_BYTES_MAX } from '../../src/limits.ts'
import { redactPreviewRoutes } from '../../src/serve/redact-routes.ts'
import { streamRoutes } from '../../src/serve/streams.ts'
import { previewEvent, previewString } from '../../workers/redaction-preview.ts'
import { RestHarness, startDatabase, type TestDatabase } from './rest-harness.ts'

let database: TestDatabase
let harness: RestHarness
let path = ''

before(async () => {
  database = await startDatabase()
  harness = await RestHarness.start(database.postgres, ({ resolveToken, control }) => [
    ...streamRoutes({ resolveToken, control }),
    ...redactPreviewRoutes({
      resolveToken,
      streams: control,
      preview: async ({ kind, text }, redactFields) => {
        if (kind === 'string') return previewString(text)
        return previewEvent(Buffer.from(text), redactFields)
      },
    }),
  ])
  const body = { name: 'previewed', redact_fields: ['headers.cookies'] }
  const stream = await harness.call('POST', '/v1/streams', { body })
  path = `/v1/streams/${stream.json.id}/redact/preview`
})

after(async () => {
  await harness?.close()
  await database?.close()
})

const preview = (body: unknown, token?: string) =>
  harness.call('POST', path, { body, ...(token !== undefined && { token }) })

/** Made here, so that no live-looking token is in the repository. */
const AWS_KEY = `AK${'IA'}${'Q3ZBW5XN'}${'7KDM2RTV'}`

test('an event: keys, listed fields and secret values, each with its reason', async () => {
  const sample = {
    user: 'x',
    password: 'p',
    note: `key ${AWS_KEY}`,
    headers: { cookies: 'c', a: 1 },
  }
  const answer = await preview({ sample })
  assert.equal(answer.status, 200)
  assert.deepEqual(answer.json.redacted, {
    user: 'x',
    password: '[REDACTED]',
    note: '[REDACTED]',
    headers: { cookies: '[REDACTED]', a: 1 },
  })
  const reasons = answer.json.changes.map((change: { path: string; reason: string }) => [
    change.path,
    change.reason.replace(/:.*/, ''),
  ])
  assert.deepEqual(reasons, [
    ['password', 'denylisted_key'],
    ['note', 'secret_value'],
    ['headers.cookies', 'redact_field'],
  ])
  assert(!answer.text.includes(AWS_KEY))
})

test('settings of the request take the place of the stream’s', async () => {
  const sample = { headers: { cookies: 'c' }, other: 'o', password: 'p' }
  const listed = await preview({ sample, redact_fields: ['other'] })
  assert.deepEqual(listed.json.redacted, { ...sample, other: '[REDACTED]', password: '[REDACTED]' })
  const off = await preview({ sample, redact_sensitive: false })
  assert.deepEqual(off.json, { redacted: sample, changes: [] })
})

test('a string', async () => {
  const secret = await preview({ sample: `line with ${AWS_KEY} in it` })
  assert.equal(secret.json.redacted, '[REDACTED]')
  assert.equal(secret.json.changes.length, 1)
  const plain = await preview({ sample: 'just a line' })
  assert.deepEqual(plain.json, { redacted: 'just a line', changes: [] })
})

test('what cannot be previewed is told, without the sample', async () => {
  for (const body of [{}, { sample: 7 }, { sample: [1] }, { sample: null }, [], 'x', { a: 1 }]) {
    assert.equal((await preview(body)).status, 400, JSON.stringify(body))
  }
  assert.equal((await preview({ sample: {}, redact_fields: 'x' })).status, 400)
  const unknown = await preview({ sample: {}, other: AWS_KEY })
  assert.equal(unknown.status, 400)
  assert(!unknown.text.includes(AWS_KEY))
  const large = await preview({ sample: { a: 'x'.repeat(EVENT_BYTES_MAX - 20) } })
  assert.equal(large.status, 200)
  let deep: unknown = 1
  for (let i = 0; i < 300; i++) deep = { deep }
  assert.equal((await preview({ sample: deep })).status, 400)
})

test('whoever may not see the stream does not see it here', async () => {
  const stranger = await harness.token('somebody', ['streams:read'])
  assert.equal((await preview({ sample: {} }, stranger)).status, 404)
  assert.equal((await preview({ sample: {} }, '')).status, 401)
})

test('what is not redacted comes back as it was sent', async () => {
  const sample = '{"id":9007199254740993,"f":1.0,"d":1,"d":2,"x":1e400,"password":"p"}'
  const answer = await harness.call('POST', path, { body: `{"sample":${sample}}` })
  assert.equal(answer.status, 200)
  assert(answer.text.includes('{"id":9007199254740993,"f":1.0,"d":1,"d":2,"x":1e400,"password":"['))
})
