/**
 * Goal: no call can leave an instance without an admin token that works, also when two take away
 * the last two at once.
 * Method: a real server.
 */
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
  await rest?.close()
  await database?.close()
})

const revoke = (id: string) => rest.call('DELETE', `/v1/tokens/${id}`)

async function newToken(scopes: readonly string[], expiresAt?: string): Promise<string> {
  const body = { name: 'more', scopes, ...(expiresAt && { expires_at: expiresAt }) }
  const created = await rest.call('POST', '/v1/tokens', { body })
  assert.equal(created.status, 201)
  return created.json.id
}

test('the last admin token cannot be revoked, whoever asks; others can', async () => {
  const reader = await newToken(['streams:read'])
  const refused = await revoke('1')
  assert.equal(refused.status, 409)
  assert.match(refused.json.detail, /last admin token.*make another one/)
  assert.equal((await revoke(reader)).status, 204)
  const second = await newToken(['admin'])
  assert.equal((await revoke(second)).status, 204)
  assert.equal((await revoke(second)).status, 204, 'again changes nothing')
  assert.equal((await revoke('1')).status, 409)
})

test('one that has expired is no other token', async () => {
  const expiring = await newToken(['admin'], new Date(Date.now() + 60_000).toISOString())
  await database.postgres.query(
    `UPDATE access_tokens SET expires_at = now() - interval '1 second' WHERE token_id = $1`,
    [expiring],
  )
  assert.equal((await revoke('1')).status, 409)
  assert.equal((await revoke(expiring)).status, 204)
})

test('of two revocations at once of the last two, one is refused', async () => {
  for (let i = 0; i < 5; i++) {
    const second = await newToken(['admin'])
    const ids = [1, Number(second)]
    const both = await Promise.allSettled(ids.map((id) => rest.control.revokeToken(id)))
    assert.deepEqual(both.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
    await database.postgres.query('UPDATE access_tokens SET revoked_at = NULL WHERE token_id = 1')
    await database.postgres.query('DELETE FROM access_tokens WHERE token_id > 1')
    rest.cache.invalidate()
  }
})
