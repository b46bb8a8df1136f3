/**
 * Goal: the scanner finds every format wherever it is met, and nothing else.
 * Method: the reports of `npm run bench:redaction` over fewer samples, from a fixed seed.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadCorpus } from '../../../bench/corpus.ts'
import { Random } from '../../../bench/random.ts'
import { measureLeaks, measurePlain, recallOf } from '../../../bench/redaction/measure-events.ts'
import { measureReport } from '../../../bench/redaction/measure-values.ts'
import { drawFieldLeaks, drawFieldPlain } from '../../../bench/redaction/sets.ts'

const lines = [
  ...loadCorpus({ kind: 'json', count: 1_000 }),
  ...loadCorpus({ kind: 'text', count: 1_000 }),
]

test('secrets of every format are found in every surrounding, look-alikes stay', () => {
  const report = measureReport(4, lines)
  for (const { name, samples, found, missedIn } of report.formats) {
    assert(found >= samples * 0.98, `${name}: ${found} of ${samples}, missed in ${missedIn}`)
  }
  assert(report.recall >= 0.995, `recall ${report.recall}`)
  assert.deepEqual(report.falseHits, [])
})

test('events as services send them: nothing of a secret is left, ordinary ones stay', () => {
  const random = new Random(1)
  const report = measureLeaks(drawFieldLeaks(random, 1))
  for (const { kind, samples, found, missed } of report) {
    assert(found >= samples * 0.98, `${kind}: ${found} of ${samples}, missed in ${missed}`)
  }
  assert(recallOf(report) >= 0.998, `recall ${recallOf(report)}`)
  assert.deepEqual(measurePlain(drawFieldPlain(random, 1))[0]!.hits, [])
})
