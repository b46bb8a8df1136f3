/**
 * Goal: redaction does with events that nobody wrote it for what it does with those it was written
 * for.
 * Method: the third set of `npm run bench:redaction`, each name and format once in each of its
 * places, from a fixed seed. What holds today is the bound; beside it stands what is to be reached.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadCorpus } from '../../../bench/corpus.ts'
import { Random } from '../../../bench/random.ts'
import { measureLeaks, measurePlain } from '../../../bench/redaction/measure-events.ts'
import {
  drawThirdLeaks,
  drawThirdPlain,
  PLAIN_NAMES,
  PLAIN_TEXTS,
  SCENES,
  SECRET_NAMES,
  VENDORS,
} from '../../../bench/redaction/sets.ts'

/** Of each class the recall that holds, the share of intact surroundings, and the goals. */
const RECALL = [
  { name: 'vendors, well known', recall: 0.68, recallGoal: 0.97, kept: 1, keptGoal: 1 },
  { name: 'vendors, others', recall: 0.39, recallGoal: 0.9, kept: 1, keptGoal: 1 },
  { name: 'secret names', recall: 0.95, recallGoal: 0.9, kept: 1, keptGoal: 1 },
  { name: 'secret names, JSON in strings', recall: 0.95, recallGoal: 0.9, kept: 1, keptGoal: 1 },
  { name: 'dumps in text', recall: 0.65, recallGoal: 0.8, kept: 1, keptGoal: 1 },
  { name: 'names in events', recall: 0.95, recallGoal: 0.9, kept: 1, keptGoal: 1 },
  { name: 'cookies', recall: 0.05, recallGoal: 0.9, kept: 1, keptGoal: 1 },
  { name: 'headers in text', recall: 0.44, recallGoal: 0.9, kept: 1, keptGoal: 1 },
  { name: 'JSON in strings', recall: 0.9, recallGoal: 0.9, kept: 1, keptGoal: 1 },
  { name: 'URLs and forms', recall: 0.25, recallGoal: 0.9, kept: 1, keptGoal: 1 },
  { name: 'connection strings', recall: 0.54, recallGoal: 0.9, kept: 1, keptGoal: 1 },
  { name: 'pairs in text', recall: 0.45, recallGoal: 0.8, kept: 1, keptGoal: 1 },
  { name: 'name and value pairs', recall: 0.9, recallGoal: 0.9, kept: 1, keptGoal: 1 },
  { name: 'command lines', recall: 0.03, recallGoal: 0.8, kept: 1, keptGoal: 1 },
  { name: 'keys and JWTs', recall: 0.81, recallGoal: 0.97, kept: 1, keptGoal: 1 },
] as const

/** Of names, values and events that must stay, how many may be changed today, and the goals. */
const HITS = [
  { name: 'look-alike names', hits: 2, goal: PLAIN_NAMES.length / 60 },
  { name: 'look-alike values and lines', hits: 3, goal: PLAIN_TEXTS.length / 60 },
  { name: 'whole ordinary events', hits: 1, goal: 0 },
  { name: 'log lines', hits: 0, goal: 0 },
] as const

test('the set is as wide as it says', () => {
  const distinct = (names: readonly string[]) => new Set(names).size
  const plain = PLAIN_NAMES.map(([name]) => name)
  assert(distinct(SECRET_NAMES.map(({ name }) => name)) >= 380)
  assert.equal(distinct(plain), plain.length)
  assert(plain.length >= 350)
  assert(distinct(VENDORS.map(([, name]) => name)) >= 200)
  assert(distinct(PLAIN_TEXTS) >= 390)
  assert(distinct(SCENES.map(([, name]) => name)) >= 280)
  const secret = new Set(SECRET_NAMES.map(({ name }) => name))
  assert.deepEqual(
    plain.filter((name) => secret.has(name)),
    [],
  )
})

test('secrets are found in events of many services, and what must stay stays', () => {
  const random = new Random(1)
  const leaks = measureLeaks(drawThirdLeaks(random, 1))
  assert.deepEqual(
    leaks.map(({ kind }) => kind),
    RECALL.map(({ name }) => name),
  )
  for (const [i, { kind, samples, found, kept, missed, lost }] of leaks.entries()) {
    const bound = RECALL[i]!
    const recall = found / samples
    assert(recall >= bound.recall, `${kind}: recall ${recall}, missed ${missed.join(' | ')}`)
    assert(kept >= samples * bound.kept, `${kind}: surroundings lost: ${lost.join(' | ')}`)
  }
  const lines = [
    ...loadCorpus({ kind: 'json', count: 500 }),
    ...loadCorpus({ kind: 'text', count: 500 }),
  ]
  const stayed = measurePlain(drawThirdPlain(random, lines))
  assert.deepEqual(
    stayed.map(({ kind }) => kind),
    HITS.map(({ name }) => name),
  )
  for (const [i, { kind, hits }] of stayed.entries()) {
    assert(hits.length <= HITS[i]!.hits, `${kind}: ${hits.join(' | ')}`)
  }
})
