/**
 * Goal: a field is found by any part of its path, the best first, over streams together.
 * Method: a table, and a differential test against sorting all of them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { StreamId } from '../../src/model/stream.ts'
import { type FieldWish, findFields } from '../../src/read/find-fields.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'
import { indexOf, type SomeField } from './field-indexes.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const ONE = [{ streamId: 1 as StreamId }]
const TWO = [...ONE, { streamId: 2 as StreamId }]
const ALL: FieldWish = { contains: '', limit: 20, inArrays: true, objects: false }

const FIELDS: readonly SomeField[] = [
  ['status', 'integer', 2],
  ['http.status', 'integer', 90],
  ['http.Status_code', 'string', 40],
  ['exit_status', 'integer', 95],
  ['http', 'object', 90],
  ['items', 'array', 10],
  ['items[]', 'object', 10],
  ['items[].status', 'string', 10],
  ['took', 'float', 80],
  ['nothing', 'null', 80],
]

const find = async (wish: Partial<FieldWish>) => {
  return await findFields(indexOf(FIELDS), ONE, { ...ALL, ...wish })
}
const names = ({ fields }: Awaited<ReturnType<typeof find>>) => fields.map(({ name }) => name)

test('the path itself, its last name, the beginning of a name, then anywhere', async () => {
  assert.deepEqual(names(await find({ contains: 'STATUS' })), [
    'status',
    'http.status',
    'items[].status',
    'http.Status_code',
    'exit_status',
  ])
  assert.deepEqual(names(await find({ contains: 'p.st' })), ['http.status', 'http.Status_code'])
})

test('without a part, what most events have; objects and arrays as they are wanted', async () => {
  assert.deepEqual(names(await find({ limit: 2 })), ['exit_status', 'http.status'])
  assert.equal((await find({ limit: 2 })).total, 7)
  assert.ok(names(await find({ objects: true })).includes('http'))
  assert.ok(!names(await find({ inArrays: false })).includes('items[].status'))
  assert.deepEqual(names(await find({ type: 'number', contains: 't' })).sort(), [
    'exit_status',
    'http.status',
    'status',
    'took',
  ])
})

test('what fits nothing has those near it, by the whole path or the last name', async () => {
  const { fields, total, nearest } = await find({ contains: 'htpt.status' })
  assert.deepEqual([fields, total], [[], 0])
  assert.equal(nearest[0]?.name, 'http.status')
  const far = await find({ contains: 'response.exit_statu' })
  assert.ok(far.nearest.some(({ name }) => name === 'exit_status'))
  assert.deepEqual((await find({ contains: 'zzzzzzzzzzzzzzzzz' })).nearest, [])
})

test('streams together: types of all, the share of all events, in how many', async () => {
  const index = indexOf([['a.b', 'integer', 50]], [['a.b', 'string', 10]])
  const { fields, complete } = await findFields(index, TWO, ALL)
  assert.deepEqual(fields, [
    { path: 'a.b', name: 'a.b', types: ['integer', 'string'], share: 0.3, streams: 2 },
  ])
  assert.equal(complete, true)
})

/** All that have it, sorted by what the answer promises, in the plainest way. */
function naive(fields: readonly SomeField[], part: string, limit: number): string[] {
  const typed = part.toLowerCase()
  const rankOf = (path: string) => {
    const text = path.toLowerCase()
    const segments = text.split('.')
    if (text === typed) return 0
    const tails = segments.map((_, at) => segments.slice(at).join('.'))
    if (tails.includes(typed)) return 1
    return tails.some((tail) => tail.startsWith(typed)) ? 2 : 3
  }
  return fields
    .filter(([path]) => path.toLowerCase().includes(typed))
    .toSorted(([a, , m], [b, , n]) => {
      return rankOf(a) - rankOf(b) || n - m || a.length - b.length || (a < b ? -1 : 1)
    })
    .slice(0, limit)
    .map(([path]) => path)
}

test('whatever the fields and the part, as sorting all of them', async () => {
  const word = fc.stringMatching(/^[abAB_]{1,3}$/)
  const path = fc.array(word, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('.'))
  const field = fc.tuple(path, fc.constant('string' as const), fc.nat(3))
  await fc.assert(
    fc.asyncProperty(
      fc.uniqueArray(field, { selector: ([name]) => name, maxLength: 60 }),
      fc.stringMatching(/^[abAB._]{0,3}$/),
      fc.integer({ min: 1, max: 12 }),
      async (fields, contains, limit) => {
        const found = await findFields(indexOf(fields), ONE, { ...ALL, contains, limit })
        assert.deepEqual(names(found), naive(fields, contains, limit))
      },
    ),
    fuzzed(seed, 300, 200),
  )
})
