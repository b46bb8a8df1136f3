/**
 * One search: its hits, its aggregations, and what they do not cover.
 *
 * An answer that is not whole says `timed_out`, which Grafana shows beside the panel. Its alerting
 * does not look at that: there it is an error.
 */
import { IngestError } from '../errors.ts'
import type { Query } from '../language/query-tree.ts'
import { ELASTIC_LAG_MS_MAX } from '../limits.ts'
import type { SourceStream } from '../model/field-catalog.ts'
import type { NodeMarks } from '../model/segment-place.ts'
import type { Stream } from '../model/stream.ts'
import { countedFor, missesPaths } from '../read/depends-on-catalog.ts'
import type { OpenStreams } from '../read/read-deps.ts'
import type { SearchDeps } from '../read/search/search.ts'
import { UNLEARNED_FIELDS } from '../read/search/search.ts'
import type { AggTree, BucketAgg } from './aggregations/agg-tree.ts'
import { COUNT_EVENTS } from './aggregations/found-buckets.ts'
import { runAggs, type SearchPart } from './aggregations/run-aggs.ts'
import { findHits } from './find-hits.ts'
import { wordsOf } from './highlight.ts'
import { hitJson } from './hit-json.ts'
import { type Json, LazyJson } from './raw-json.ts'
import type { SearchBody } from './read-search.ts'
import { type RunAggregate, SharedScans } from './shared-scans.ts'

export interface ElasticDeps {
  readonly openStreams: OpenStreams
  readonly runAggregate: RunAggregate
  readonly search: SearchDeps
  readonly shouldYieldToIngest: () => boolean
  readonly nowMs: () => number
}

/** What the searches of one request share. */
export interface SearchRun {
  readonly deps: ElasticDeps
  /** All of them ask at the same moment. */
  readonly nowMs: number
  readonly scans: SharedScans
  /** What is known of streams, by their ids. */
  readonly opened: Map<string, ReturnType<OpenStreams>>
  readonly signal: AbortSignal
  /** An answer that is not whole is an error. */
  readonly mustBeWhole: boolean
}

export function newRun(deps: ElasticDeps, signal: AbortSignal, mustBeWhole: boolean): SearchRun {
  const scans = new SharedScans(deps.runAggregate, signal, deps.shouldYieldToIngest)
  return { deps, nowMs: deps.nowMs(), scans, opened: new Map(), signal, mustBeWhole }
}

const NS_PER_MS = 1_000_000n

/** The answer as JSON. Throws `IngestError`. */
export async function runSearch(
  run: SearchRun,
  body: SearchBody,
  streams: readonly Stream[],
): Promise<{ readonly [name: string]: Json }> {
  const { deps, signal, mustBeWhole } = run
  const startMs = performance.now()
  const counting = await openCounting(run, body, streams)
  const names = new Map(streams.map(({ streamId, name }) => [String(streamId), name]))
  const nameOf = (streamId: string) => names.get(streamId) ?? streamId
  const [hits, aggs] = await Promise.all([
    findHits(deps.search, body, streams, signal),
    runAggs(body.aggs, {
      run: (task) => run.scans.run(task),
      part: counting.part,
      query: body.query,
      nameOf,
    }),
  ])
  const total = await totalOf(run, body, counting, { hits, aggs: aggs.total })
  const isCounted = body.hasAggs || total?.wasCounted === true
  const reasons = [
    ...(hits.shortfall === undefined ? [] : [hits.shortfall]),
    ...(isCounted && counting.shortfall !== undefined ? [counting.shortfall] : []),
  ]
  if (reasons.length > 0 && mustBeWhole) {
    throw new IngestError('unavailable', `the answer is not whole: ${reasons.join('; ')}`)
  }
  const about = { body, nameOf, words: body.highlight === undefined ? [] : wordsOf(body.query) }
  const shown = hits.records.map((record) => new LazyJson(() => hitJson(record, about)))
  return {
    took: Math.round(performance.now() - startMs),
    timed_out: reasons.length > 0,
    _shards: shardsOf(reasons),
    hits: {
      ...(total !== undefined && { total: { value: total.value, relation: total.relation } }),
      max_score: null,
      hits: shown,
    },
    ...(body.hasAggs && { aggregations: aggs.answers }),
    status: 200,
  }
}

/** Why an answer is not whole is told as the failure of a part. */
function shardsOf(reasons: readonly string[]): Json {
  const failures = reasons.map((reason) => ({
    shard: 0,
    index: null,
    reason: { type: 'incomplete', reason },
  }))
  const failed = failures.length === 0 ? 0 : 1
  const counts = { total: 1, successful: 1 - failed, skipped: 0, failed }
  return failed === 0 ? counts : { ...counts, failures }
}

/** How many events match, exactly. */
export async function runCount(
  run: SearchRun,
  body: SearchBody,
  streams: readonly Stream[],
): Promise<number> {
  const counting = await openCounting(run, body, streams)
  if (run.mustBeWhole && counting.shortfall !== undefined) {
    throw new IngestError('unavailable', `the answer is not whole: ${counting.shortfall}`)
  }
  return await countAll(run, body, counting)
}

interface Counting {
  readonly part: () => SearchPart
  /** Why what is counted is less than what was asked for. */
  readonly shortfall: string | undefined
}

/** What is counted, and what of it is missing. */
async function openCounting(
  run: SearchRun,
  body: SearchBody,
  streams: readonly Stream[],
): Promise<Counting> {
  const { nowMs } = run
  const { range, clock } = body
  const endMs = performance.now() + body.timeoutMs
  const untilMs = range?.untilMs ?? nowMs + 1
  const opened =
    streams.length === 0 ? { sources: [], asOfMs: nowMs } : await openOnce(run, streams)
  const queries = [body.query, ...queriesIn(body.aggs)]
  const { asOfMs, observed } = countedFor(queries, opened)
  const part = (): SearchPart => ({
    streams: opened.sources as readonly SourceStream[],
    fromNs: BigInt(range?.fromMs ?? 0) * NS_PER_MS,
    toNs: BigInt(Math.max(untilMs, range?.fromMs ?? 0)) * NS_PER_MS,
    timeBasis: clock,
    timeoutMs: Math.max(1, Math.round(endMs - performance.now())),
    ...(observed !== undefined && { observed: observed as NodeMarks }),
  })
  const missingMs = Math.min(nowMs, untilMs) - asOfMs
  const reasons = [
    ...(missesPaths(queries, opened.sources) ? [UNLEARNED_FIELDS] : []),
    ...(missingMs > ELASTIC_LAG_MS_MAX
      ? [`the newest ${Math.round(missingMs / 1_000)} s are not projected yet`]
      : []),
  ]
  return { part, shortfall: reasons.length === 0 ? undefined : reasons.join('; ') }
}

/** So that the searches of a request go on together, and can share their scans. */
function openOnce({ deps, opened }: SearchRun, streams: readonly Stream[]) {
  const key = streams.map(({ streamId }) => streamId).join()
  const known = opened.get(key) ?? deps.openStreams(streams)
  opened.set(key, known)
  return known
}

function queriesIn({ buckets }: AggTree): Query[] {
  return buckets.flatMap((agg: BucketAgg) => [
    ...(agg.kind === 'filters' ? agg.filters.map(({ query }) => query) : []),
    ...queriesIn(agg.children),
  ])
}

async function countAll(run: SearchRun, { query }: SearchBody, counting: Counting) {
  const { total } = await run.scans.run({
    ...counting.part(),
    query,
    aggregates: [COUNT_EVENTS],
    keys: [],
    order: { of: 'aggregate', index: 0, isDescending: true },
    limit: 1,
    hasOthers: false,
  })
  return Number(total)
}

interface Total {
  readonly value: number
  readonly relation: 'eq' | 'gte'
  readonly wasCounted: boolean
}

/** Undefined where nobody wants to know. A bound where it is known and enough. */
async function totalOf(
  run: SearchRun,
  body: SearchBody,
  counting: Counting,
  known: {
    readonly hits: {
      readonly records: readonly unknown[]
      readonly hasMore: boolean
      readonly shortfall: string | undefined
    }
    readonly aggs: { readonly value: number; readonly isExact: boolean }
  },
): Promise<Total | undefined> {
  const { hits, aggs } = known
  if (body.countsAll === false) return undefined
  if (aggs.isExact) return { value: aggs.value, relation: 'eq', wasCounted: true }
  const isFirst = body.searchAfter === undefined && body.from === 0
  const isAll = isFirst && body.size > 0 && !hits.hasMore && hits.shortfall === undefined
  if (isAll) return { value: hits.records.length, relation: 'eq', wasCounted: false }
  if (body.hasAggs && body.size === 0 && body.countsAll !== true) {
    return { value: aggs.value, relation: 'gte', wasCounted: true }
  }
  // Who pages has counted before.
  const isPage = body.searchAfter !== undefined && body.countsAll === undefined
  if (isPage) return { value: hits.records.length, relation: 'gte', wasCounted: false }
  return { value: await countAll(run, body, counting), relation: 'eq', wasCounted: true }
}
