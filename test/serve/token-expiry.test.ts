/** Goal: an expiry comes back as it was, to the millisecond, up to the last that can be written. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { tokenRoutes } from '../../src/serve/tokens.ts'
import { RestHarness, startDatabase, type TestDatabase } from './rest-harness.ts'

let database: TestDatabase
let rest: RestHarness

before(async () => {
  database = await startDatabase()
  rest = await RestHarness.start(database.postgres, (harness) => tokenRoutes(harness))
})

after(async () => {
  await rest?.close().finally(() => database.close())
})

test('an expiry at the end of what can be written comes back as it was, to the ms', async () => {
  const cases = [
    ['9999-12-31T23:59:59.999999999Z', '9999-12-31T23:59:59.999Z'],
    ['9999-12-31T23:59:60Z', '9999-12-31T23:59:59.999Z'],
    ['9999-12-31T23:59:59-23:59', '9999-12-31T23:59:59.999Z'],
    ['2100-01-01T00:00:00.123456Z', '2100-01-01T00:00:00.123Z'],
  ] as const
  for (const [expires_at, shown] of cases) {
    const body = { scopes: ['streams:read'], expires_at }
    const { status, json } = await rest.call('POST', '/v1/tokens', { body })
    assert.deepEqual([status, json.expires_at], [201, shown])
  }
  const { json } = await rest.call('GET', '/v1/tokens')
  const listed = json.tokens.filter((token: { expires_at: string }) => {
    return token.expires_at === '9999-12-31T23:59:59.999Z'
  })
  assert.equal(listed.length, 3)
})
