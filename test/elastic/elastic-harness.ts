/** What clients of Elasticsearch read, over real stores, with one stream whose table tests fill. */
import assert from 'node:assert/strict'
import { elasticReadRoutes } from '../../src/elastic/elastic-read-routes.ts'
import { createLanes } from '../../src/read/lanes.ts'
import { SchemaStore } from '../../src/store/catalog/schema-store.ts'
import { useQueryHarness } from '../serve/query-harness.ts'
import { readingDeps } from '../serve/reading-deps.ts'
import { type NaiveEvent, naiveAggs } from './naive-aggs.ts'
import { QUERIES, type RandomAggs } from './random-aggs.ts'

/** What reads can do, as the service would know. */
export const health: { reads: 'yes' | 'partly' | 'no' } = { reads: 'yes' }

/** So many fields in place of those that were learned. */
export const learned: { fields: number | undefined } = { fields: undefined }

function* learnedFields(count: number): Generator<{ path: string; types: readonly string[] }> {
  for (let n = 0; n < count; n++) {
    yield { path: `f${String(n).padStart(6, '0')}`, types: ['string'] }
  }
}

/** Aggregating queries so far. */
export const scans = { count: 0 }

export function useElasticHarness() {
  return useQueryHarness((harness, postgres, clickhouse) => {
    const { runAggregate, ...reading } = readingDeps(postgres, clickhouse)
    return elasticReadRoutes({
      ...harness,
      ...reading,
      runAggregate: (task, signal) => {
        scans.count++
        return runAggregate(task, signal)
      },
      streams: harness.control,
      resolveKey: (text) => harness.cache.resolveKey(text),
      lanes: createLanes(() => 0, true),
      listFields: async (streamId, page) => {
        if (learned.fields === undefined) {
          return await new SchemaStore(postgres).listFields(streamId, page)
        }
        const all = [...learnedFields(learned.fields)]
        const begin = page.after === undefined ? 0 : Number(page.after.slice(1)) + 1
        return all.slice(begin, begin + page.limit) as never
      },
      canRead: () => health.reads,
      shouldYieldToIngest: () => false,
      // Searches for events are tested with the whole service.
      search: {} as never,
    })
  })
}

/** Sends `count` random requests in `_msearch` of a few; each answer must be as the naive one. */
export async function compareRandom(
  harness: ReturnType<ReturnType<typeof useElasticHarness>>,
  random: RandomAggs,
  { count, events }: { readonly count: number; readonly events: number },
): Promise<void> {
  const all = random.events(events)
  const payloads = all.map(({ payload }) => JSON.stringify(payload))
  await harness.fill(
    payloads,
    all.map(({ ms }) => ms),
  )
  for (let done = 0; done < count; ) {
    const asked = Array.from({ length: Math.min(5, count - done) }, () => random.request())
    done += asked.length
    const text = asked.map(({ body }) => `{"index":"web"}\n${JSON.stringify(body)}\n`).join('')
    const {
      status,
      json,
      text: answered,
    } = await harness.rest.call('POST', '/_msearch', { body: text })
    assert.equal(status, 200, answered)
    for (const [index, { body, fromMs, toMs, query }] of asked.entries()) {
      const answer = json.responses[index]
      const shown = JSON.stringify(body)
      assert.equal(answer.status, 200, `${JSON.stringify(answer)} to ${shown}`)
      const some = all.filter((event: NaiveEvent) => {
        return event.ms >= fromMs && event.ms <= toMs && QUERIES[query]!(event)
      })
      // What JSON has no number for is null.
      const expected = JSON.parse(JSON.stringify(naiveAggs(body.aggs, some, QUERIES)))
      const wrong = firstDifference(expected, answer.aggregations, 'aggregations')
      assert.equal(wrong, undefined, `${wrong}\n${shown}`)
    }
  }
}

/** What the naive answer says and this one does not; more may be in it. */
function firstDifference(expected: unknown, actual: unknown, path: string): string | undefined {
  if (typeof expected === 'number' && typeof actual === 'number') {
    const isClose = Math.abs(expected - actual) <= 1e-6 * Math.max(1, Math.abs(expected))
    return isClose ? undefined : `${path}: ${actual}, not ${expected}`
  }
  if (typeof expected !== 'object' || expected === null) {
    return expected === actual ? undefined : `${path}: ${JSON.stringify(actual)}, not ${expected}`
  }
  if (typeof actual !== 'object' || actual === null) return `${path}: ${JSON.stringify(actual)}`
  const [wanted, found] = [expected, actual] as Record<string, unknown>[]
  if (Array.isArray(expected) && expected.length !== (actual as unknown[]).length) {
    return `${path}: ${(actual as unknown[]).length} elements, not ${expected.length}`
  }
  // What a bucket has beside its metrics: nothing that nobody expects.
  const more = Object.keys(found!).filter((name) => /^[pmb]\d/.test(name) && !(name in wanted!))
  if (more.length > 0) return `${path} has ${more.join()}: ${JSON.stringify(found)}`
  for (const [name, value] of Object.entries(wanted!)) {
    const wrong = firstDifference(value, found![name], `${path}.${name}`)
    if (wrong !== undefined) return wrong
  }
  return undefined
}
