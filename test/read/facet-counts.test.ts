/**
 * Goal: values are counted exactly while that takes little enough, and estimates say that they are.
 * Method: stores in memory that answer, run out of time, or must not be asked.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IngestError } from '../../src/errors.ts'
import { format } from '../../src/language/format.ts'
import { parse } from '../../src/language/parse.ts'
import { FACET_EVENTS_MAX, FACET_EXACT_EVENTS_MAX, FACET_EXACT_MS } from '../../src/limits.ts'
import type { FieldRef } from '../../src/model/aggregates.ts'
import { countFacets } from '../../src/read/aggregate/facet-counts.ts'
import type {
  AggregateResult,
  AggregateTask,
} from '../../src/store/projection/reads/aggregate-store.ts'
import type { FacetsTask } from '../../src/store/projection/reads/facets-store.ts'

const LEVEL: FieldRef = { kind: 'system', label: '_level' }
const PATH: FieldRef = { kind: 'path', path: 'http.status' }
const OTHER: FieldRef = { kind: 'path', path: 'user' }
const VALUE = { kind: 'string', text: 'x' } as const
const NEVER = new AbortController().signal

const TASK: FacetsTask = {
  streams: [],
  query: parse('a:b'),
  timeBasis: 'ingested_at',
  fromNs: 0n,
  toNs: 1n,
  fields: [PATH, LEVEL, OTHER],
  limit: 5,
  timeoutMs: 30_000,
}

const timeout = () => new IngestError('unavailable', 'x', { members: { reason: 'timeout' } })

/** What was asked, and the answer over so many events. */
async function count(total: number, fails: (task: AggregateTask) => Error | undefined) {
  const asked: AggregateTask[] = []
  const sampled: FieldRef[] = []
  const answer = await countFacets(
    {
      countFacet: async (task): Promise<AggregateResult> => {
        asked.push(task)
        const failure = fails(task)
        if (failure !== undefined) throw failure
        const isTotal = task.keys.length === 0
        const row = { group: isTotal ? [] : [VALUE], isOthers: false, bucket: undefined }
        return {
          rows: [{ ...row, values: ['7'], leftOut: [0] }],
          total: BigInt(isTotal ? total : 9),
          groups: 3,
          isEstimated: false,
          stats: { rowsRead: 0, engineMs: 0 },
        }
      },
      runFacets: async ({ fields }) => {
        sampled.push(...fields)
        const isAll = total <= FACET_EVENTS_MAX
        return {
          facets: fields.map(() => {
            return { values: [{ value: VALUE, count: 10 }], present: 50, distinct: 2 }
          }),
          events: isAll ? total : FACET_EVENTS_MAX,
          oldestNs: isAll ? undefined : 5n,
        }
      },
    },
    TASK,
    NEVER,
  )
  return { asked, sampled, answer }
}

const EXACT = { values: [{ value: VALUE, count: 7 }], present: 9, distinct: 3, isEstimated: false }

test('few events are looked at all, by one statement', async () => {
  const { asked, sampled, answer } = await count(FACET_EVENTS_MAX, () => undefined)
  assert.equal(asked.length, 1)
  assert.deepEqual(sampled, TASK.fields)
  assert.deepEqual([answer.events, answer.oldestNs], [FACET_EVENTS_MAX, undefined])
  assert.ok(answer.facets.every(({ isEstimated }) => !isEstimated))
})

test('more are counted exactly, of each field those that have a value', async () => {
  const { asked, sampled, answer } = await count(FACET_EXACT_EVENTS_MAX, () => undefined)
  assert.deepEqual(sampled, [])
  assert.deepEqual(answer.facets, [EXACT, EXACT, EXACT])
  assert.equal(answer.events, FACET_EXACT_EVENTS_MAX)
  const queries = asked.map(({ query }) => format(query))
  assert.deepEqual(queries, ['a:b', 'a:b AND http.status:*', 'a:b AND _level:*', 'a:b AND user:*'])
  assert.ok(asked.every(({ timeoutMs }) => timeoutMs <= FACET_EXACT_MS))
})

test('past that only labels are; the other counts are multiplied and say so', async () => {
  const total = FACET_EXACT_EVENTS_MAX * 2
  const { asked, sampled, answer } = await count(total, () => undefined)
  assert.equal(asked.length, 2)
  assert.deepEqual(sampled, [PATH, OTHER])
  const times = total / FACET_EVENTS_MAX
  const values = [{ value: VALUE, count: 10 * times }]
  const estimated = { values, present: 50 * times, distinct: 2, isEstimated: true }
  assert.deepEqual(answer, { facets: [estimated, EXACT, estimated], events: total, oldestNs: 5n })
})

test('a field that takes too long or too much is sampled, the others are not', async () => {
  const tooMuch = new IngestError('malformed', 'more groups than may be')
  for (const failure of [timeout(), tooMuch]) {
    const { sampled, answer } = await count(1_000_000, ({ keys: [key] }) => {
      return key?.kind === 'path' && key.path === 'user' ? failure : undefined
    })
    assert.deepEqual(sampled, [OTHER])
    assert.deepEqual(
      answer.facets.map(({ isEstimated }) => isEstimated),
      [false, false, true],
    )
    assert.equal(answer.facets[2]!.present, 50 * 10)
  }
})

test('without time to count all events, the newest are told as they are', async () => {
  const { asked, sampled, answer } = await count(1_000_000, () => timeout())
  assert.equal(asked.length, 1)
  assert.deepEqual(sampled, TASK.fields)
  assert.deepEqual([answer.events, answer.oldestNs], [FACET_EVENTS_MAX, 5n])
  assert.deepEqual(answer.facets[0], {
    ...{ values: [{ value: VALUE, count: 10 }], present: 50, distinct: 2, isEstimated: true },
  })
})

test('what the query is told to be wrong in is not hidden by a sample', async () => {
  const wrong = new IngestError('malformed', 'x', { members: { field: 'query' } })
  await assert.rejects(
    count(1, () => wrong),
    wrong,
  )
})
