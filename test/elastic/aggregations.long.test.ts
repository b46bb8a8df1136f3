/** Goal and method of `aggregations.test.ts`, for 5,000 requests. */
import { test } from 'node:test'
import { createRandom } from '../support/random.ts'
import { compareRandom, useElasticHarness } from './elastic-harness.ts'
import { RandomAggs } from './random-aggs.ts'

const harness = useElasticHarness()

test('5,000 random aggregations are as a naive evaluation has them', async (t) => {
  const { seed, next } = createRandom()
  t.diagnostic(`TEST_SEED=${seed}`)
  const random = new RandomAggs(next)
  for (let round = 0; round < 25; round++) {
    await compareRandom(harness(), random, { count: 200, events: 20 + round * 10 })
  }
})
