/** Goal: the caps of a stream's schema are settings: defaults, bounds, soft never over hard. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { SCHEMA_CAP_MAX } from '../../src/limits.ts'
import { streamRoutes } from '../../src/serve/streams.ts'
import { RestHarness, startDatabase, type TestDatabase } from './rest-harness.ts'

let database: TestDatabase
let rest: RestHarness

before(async () => {
  database = await startDatabase()
  rest = await RestHarness.start(database.postgres, (harness) => streamRoutes(harness))
})

after(async () => {
  await rest?.close().finally(() => database.close())
})

const DEFAULTS = {
  field_soft_cap: 800,
  field_hard_cap: 1_000,
  shape_soft_cap: 500,
  shape_hard_cap: 1_000,
}

test('caps have the documented defaults and change one by one', async () => {
  const { json } = await rest.call('POST', '/v1/streams', { body: { name: 'a' } })
  assert.deepEqual({ ...json, ...DEFAULTS }, json)
  const path = `/v1/streams/${json.id}`
  const patch = async (body: object) => (await rest.call('PATCH', path, { body })).json
  assert.deepEqual(await patch({ field_hard_cap: 2_000 }), { ...json, field_hard_cap: 2_000 })
  const shapes = { shape_soft_cap: 1, shape_hard_cap: 1 }
  assert.deepEqual(await patch(shapes), { ...json, field_hard_cap: 2_000, ...shapes })
})

test('caps out of bounds, or a soft one over its hard one, are refused', async () => {
  const { json } = await rest.call('POST', '/v1/streams', { body: { name: 'b' } })
  const cases = [
    [{ field_soft_cap: 0 }, /"field_soft_cap" must be an integer from 1/],
    [{ field_hard_cap: SCHEMA_CAP_MAX + 1 }, /"field_hard_cap" .*SCHEMA_CAP_MAX/],
    [{ shape_soft_cap: null }, /"shape_soft_cap"/],
    [{ shape_hard_cap: 1.5 }, /"shape_hard_cap"/],
    [{ field_hard_cap: 799 }, /"field_soft_cap" \(800\) must not be over "field_hard_cap" \(799\)/],
    [{ shape_soft_cap: 1_001 }, /"shape_soft_cap" \(1001\) must not be over/],
  ] as const
  for (const [body, message] of cases) {
    const patched = await rest.call('PATCH', `/v1/streams/${json.id}`, { body })
    assert.equal(patched.status, 400)
    assert.match(patched.json.detail, message)
    const created = await rest.call('POST', '/v1/streams', { body: { name: 'c', ...body } })
    assert.equal(created.status, 400)
  }
  assert.deepEqual((await rest.call('GET', `/v1/streams/${json.id}`)).json, json)
})
