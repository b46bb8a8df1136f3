/**
 * Goal: names that nobody wrote the rules for are known, and few that look alike are taken for
 * them.
 * Method: the fourth set of `npm run bench:redaction`. The rules were written by one half of it;
 * the bound is for the other half.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../../bench/random.ts'
import { measureLeaks, measurePlain } from '../../../bench/redaction/measure-events.ts'
import { drawManualLeaks, HELD_OUT, manualPlain } from '../../../bench/redaction/sets.ts'

test('names of headers, properties, settings and platforms: recall on those held out', (t) => {
  let samples = 0
  let missed = 0
  for (const report of measureLeaks(drawManualLeaks(new Random(1)))) {
    if (!report.kind.endsWith(HELD_OUT)) continue
    const misses = report.samples - report.found
    t.diagnostic(`${report.kind}: missed ${misses} of ${report.samples}`)
    assert(misses <= report.samples * 0.08, `${report.kind}: ${misses}`)
    samples += report.samples
    missed += misses
  }
  assert(samples >= 450, `${samples} names`)
  assert(1 - missed / samples >= 0.93, `recall ${1 - missed / samples}`)
})

test('names that hold the word of a secret and no secret stay', () => {
  const { samples, hits } = measurePlain(manualPlain())[0]!
  assert(samples >= 1_500, `${samples} names with their values`)
  assert(hits.length <= 10, hits.join('\n'))
})
