/**
 * Goal: what `JSON.parse` costs is known, while nothing else runs and while something does.
 * Method: it is timed for a moment, by CPU; the sampler runs for three of its intervals.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { JsonParseSampler, measureJsonParse } from '../../bench/baseline.ts'

const lines = Array.from({ length: 3_000 }, (_, i) => JSON.stringify({ i, text: 'x'.repeat(500) }))

test('it is timed for as long as asked, and the mean is of all of that', () => {
  const started = performance.now()
  const cpu = process.cpuUsage()
  const { mean, quick } = measureJsonParse(lines, 300)
  const used = process.cpuUsage(cpu)
  assert(performance.now() - started >= 300)
  assert(quick > 0.05 && quick <= mean * 1.5, `${quick} and ${mean} µs`)
  // Not more events than there was CPU for.
  assert((used.user + used.system) / mean >= lines.length)
  const once = measureJsonParse(lines, 0)
  assert(once.mean > 0 && once.mean === once.quick)
  assert.throws(() => measureJsonParse(['1'], 0), /more than objects/)
})

test('samples give microseconds of CPU an event, and none give nothing', async () => {
  const sampler = new JsonParseSampler(lines)
  assert.equal(sampler.microsPerEvent, undefined)
  sampler.start()
  await sleep(1_600)
  sampler.stop()
  const micros = sampler.microsPerEvent
  assert(micros !== undefined && micros > 0.05 && micros < 100, `${micros} µs`)
})
