/**
 * Goal: what `JSON.parse` costs is known while something else runs.
 * Method: the sampler runs for three of its intervals.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { JsonParseSampler } from '../../bench/baseline.ts'

test('samples give microseconds of CPU an event, and none give nothing', async () => {
  const lines = Array.from({ length: 3_000 }, (_, i) =>
    JSON.stringify({ i, text: 'x'.repeat(500) }),
  )
  const sampler = new JsonParseSampler(lines)
  assert.equal(sampler.microsPerEvent, undefined)
  sampler.start()
  await sleep(1_600)
  sampler.stop()
  const micros = sampler.microsPerEvent
  assert(micros !== undefined && micros > 0.05 && micros < 100, `${micros} µs`)
})
