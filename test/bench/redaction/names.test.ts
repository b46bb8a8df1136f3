/**
 * Goal: names that nobody wrote the rules for are known, and few that look alike are taken for
 * them.
 * Method: the fourth set of `npm run bench:redaction`. The rules were written by one half of it;
 * the bound is for the other half.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { measureNames } from '../../../bench/redaction/names/measure.ts'

const { kinds, plain, hits } = measureNames()

test('names of headers, properties, settings and platforms: recall on those held out', (t) => {
  let samples = 0
  let missed = 0
  for (const kind of kinds.filter(({ isHeldOut }) => isHeldOut)) {
    t.diagnostic(`${kind.name}: missed ${kind.missed.length} of ${kind.samples}`)
    assert(kind.missed.length <= kind.samples * 0.08, `${kind.name}: ${kind.missed.length}`)
    samples += kind.samples
    missed += kind.missed.length
  }
  assert(samples >= 450, `${samples} names`)
  assert(1 - missed / samples >= 0.93, `recall ${1 - missed / samples}`)
})

test('names that hold the word of a secret and no secret stay', () => {
  assert(plain >= 1_500, `${plain} names with their values`)
  assert(hits.length <= 10, hits.join('\n'))
})
