/**
 * Runs aggregations: each level of buckets is a query, of the keys that lead to it.
 *
 *   terms(a) ─▶ keys [a] ─▶ the largest ─▶ terms(b) below ─▶ keys [a, b] of these, the largest of
 *   each a ─▶ date_histogram below ─▶ keys [a, b, time] of these
 *
 * Metrics of a level are aggregates of its query. `filters` add a condition to all below them.
 */
import { mainTurns } from '../../api/main-turns.ts'
import type { Query } from '../../language/query-tree.ts'
import { ELASTIC_BUCKETS_MAX } from '../../limits.ts'
import type { GroupKey, GroupValue } from '../../model/aggregates.ts'
import { bucketStartMs } from '../../read/aggregate/buckets.ts'
import type {
  AggregateResult,
  AggregateRow,
  AggregateTask,
} from '../../store/projection/reads/aggregate-store.ts'
import { allOf } from '../join-queries.ts'
import type { Json } from '../raw-json.ts'
import type {
  AggTree,
  Answers,
  BucketAgg,
  DateHistogramAgg,
  FiltersAgg,
  HistogramAgg,
  SeriesBucket,
  TermsAgg,
} from './agg-tree.ts'
import { fillSteps, fillTimes, tooManyBuckets } from './fill-buckets.ts'
import {
  aggregatesOf,
  byParents,
  COUNT_EVENTS,
  type Found,
  FoundMixed,
  filtersAnswer,
  foundOf,
  type Level,
  metricAnswers,
  metricsOf,
  NO_ROW,
  ROWS_A_TURN,
  runAll,
  runPipelines,
  termKey,
} from './found-buckets.ts'
import { keyOf, narrowed, orderIndex, type Scope } from './level-scope.ts'
import { textsOfNothing } from './metrics.ts'

/** A search's part of each task. */
export type SearchPart = Pick<
  AggregateTask,
  'streams' | 'fromNs' | 'toNs' | 'timeBasis' | 'timeoutMs' | 'observed'
>

export interface AggsRun {
  readonly run: (task: AggregateTask) => Promise<AggregateResult>
  readonly part: () => SearchPart
  readonly query: Query
  /** Of streams, by their ids. */
  readonly nameOf: (streamId: string) => string
}

export interface AggsAnswer {
  readonly answers: Answers
  /** How many events match, as far as that is known from the buckets. */
  readonly total: { readonly value: number; readonly isExact: boolean }
}

/** Aggregates of a scan for several filters. */
const FILTERED_MAX = 40
const BY_COUNT = { of: 'aggregate', index: 0, isDescending: true } as const
const ROOT = ''

/** Throws what the store throws, and `malformed` for too many buckets. */
export async function runAggs(tree: AggTree, run: AggsRun): Promise<AggsAnswer> {
  return await new AggsRunner(run).root(tree)
}

class AggsRunner {
  readonly #run: AggsRun
  #buckets = 0
  /** Whose values are of several kinds. */
  readonly #mixed = new Set<TermsAgg>()
  /** Kinds that lists of them have shown. */
  readonly #kinds = new Map<TermsAgg, Set<GroupValue['kind']>>()
  #total = { value: 0, isExact: false }

  constructor(run: AggsRun) {
    this.#run = run
  }

  /** Again, where values turn out to be of several kinds: all lists of them are alike then. */
  async root(tree: AggTree): Promise<AggsAnswer> {
    for (;;) {
      try {
        return await this.#root(tree)
      } catch (cause) {
        if (!(cause instanceof FoundMixed)) throw cause
        this.#buckets = 0
        this.#kinds.clear()
      }
    }
  }

  async #root(tree: AggTree): Promise<AggsAnswer> {
    const scope: Scope = { query: this.#run.query, keys: [], groups: undefined }
    const metrics = tree.metrics.length === 0 ? {} : await this.#rootMetrics(tree, scope)
    const below = await this.#below(tree, scope, [ROOT])
    const answers = { ...metrics, ...below.get(ROOT) }
    runPipelines(tree.pipelines, [], answers, true)
    return { answers, total: this.#total }
  }

  async #rootMetrics(tree: AggTree, scope: Scope): Promise<Answers> {
    const { rows, total } = await this.#ask(scope, { aggregates: aggregatesOf(tree.metrics) })
    this.#total = { value: Number(total), isExact: true }
    const texts = rows[0]?.values ?? tree.metrics.flatMap(textsOfNothing)
    return metricAnswers(tree.metrics, texts, { bucketMs: undefined, docCount: Number(total) })
  }

  #ask(scope: Scope, changes: Partial<AggregateTask>): Promise<AggregateResult> {
    const { keys, query, groups } = scope
    return this.#run.run({
      ...this.#run.part(),
      query,
      keys,
      aggregates: [COUNT_EVENTS],
      order: BY_COUNT,
      limit: ELASTIC_BUCKETS_MAX + 1,
      hasOthers: false,
      ...(groups && { groups }),
      ...changes,
    })
  }

  /** The answers of the buckets of `tree`, by the ids of `parents`. */
  async #below(
    tree: AggTree,
    scope: Scope,
    parents: readonly string[],
  ): Promise<Map<string, Answers>> {
    const all = new Map<string, Answers>(parents.map((id) => [id, {}]))
    if (parents.length === 0) return all
    for (const agg of tree.buckets) {
      const answers = await this.#answersOf(agg, scope, parents)
      for (const [id, members] of all) members[agg.name] = answers.get(id)
    }
    return all
  }

  async #answersOf(
    agg: BucketAgg,
    scope: Scope,
    parents: readonly string[],
  ): Promise<Map<string, Json>> {
    if (agg.kind === 'filters') return await this.#filters(agg, scope, parents)
    const level = await this.#level(agg, scope, parents)
    const answers = new Map<string, Json>()
    const all = [...level.values()].flatMap(({ found }) => found)
    this.#spend(all.length)
    const some = all.filter(({ docCount }) => docCount > 0)
    const isCut = [...level.values()].some(({ about }) => about.sum_other_doc_count !== 0)
    const inner = narrowed(
      scope,
      agg,
      this.#keyOf(agg),
      isCut ? some.map((one) => one.group) : undefined,
    )
    const ids = all.map(({ id }) => id)
    const below = await this.#below(agg.children, inner, ids)
    let done = 0
    for (const parent of parents) {
      const { found, about } = level.get(parent) ?? { found: [], about: {} }
      const series: SeriesBucket[] = []
      for (const one of found) {
        if (++done % ROWS_A_TURN === 0) await mainTurns.next()
        const members = { ...metricsOf(agg.children, one), ...below.get(one.id) }
        series.push({ key: one.key, docCount: one.docCount, answers: members })
      }
      runAll(agg.children.pipelines, series)
      const buckets = series.map(({ docCount, answers: members }, index): Json => {
        return { ...found[index]!.keyMembers, doc_count: docCount, ...members }
      })
      answers.set(parent, { ...about, buckets })
    }
    return answers
  }

  #spend(count: number): void {
    this.#buckets += count
    if (this.#buckets <= ELASTIC_BUCKETS_MAX) return
    throw tooManyBuckets(this.#buckets)
  }

  async #level(
    agg: Exclude<BucketAgg, FiltersAgg>,
    scope: Scope,
    parents: readonly string[],
  ): Promise<Map<string, Level>> {
    switch (agg.kind) {
      case 'terms':
        return await this.#terms(agg, scope, parents)
      case 'date_histogram':
        return await this.#times(agg, scope, parents)
      case 'histogram':
        return await this.#steps(agg, scope, parents)
    }
  }

  async #terms(
    agg: TermsAgg,
    scope: Scope,
    parents: readonly string[],
  ): Promise<Map<string, Level>> {
    if (agg.size * parents.length > ELASTIC_BUCKETS_MAX && parents.length > 1) {
      throw tooManyBuckets(agg.size * parents.length)
    }
    const fields = scope.keys.filter(({ kind }) => kind !== 'bucket').length
    const ofBuckets = scope.keys.length > fields
    const { by, isDescending } = agg.order
    const aggregates = [COUNT_EVENTS, ...aggregatesOf(agg.children.metrics)]
    // As Elasticsearch has it: the sum of no values is 0.
    const noneIsZero = aggregates[orderIndex(agg)]?.fn === 'sum'
    const order =
      by === '_key'
        ? ({ of: 'key', index: fields, isDescending } as const)
        : ({ of: 'aggregate', index: orderIndex(agg), isDescending, noneIsZero } as const)
    const { query } = narrowed(scope, agg, this.#keyOf(agg), undefined)
    const result = await this.#ask(scope, {
      query,
      keys: [...scope.keys, this.#keyOf(agg)],
      aggregates,
      order,
      limit: agg.size,
      ...(scope.keys.length > 0 && { within: { keys: fields, ofBuckets } }),
      ...(agg.eventsMin > 1 && { eventsMin: agg.eventsMin }),
    })
    const rows = result.rows.filter(({ group }) => group[fields]?.kind !== 'null')
    const levels = await byParents(rows, fields, parents)
    const kinds = this.#kinds.get(agg) ?? new Set()
    this.#kinds.set(agg, kinds)
    for (const row of [...levels.values()].flat()) kinds.add(row.group[fields]!.kind)
    if (kinds.size > 1 && !this.#mixed.has(agg)) {
      // Grafana gives a column the kind of its first value: all are texts, and 1 and "1" are one.
      this.#mixed.add(agg)
      throw new FoundMixed()
    }
    const error = result.missedMax ?? 0
    const all = new Map<string, Level>()
    for (const [parent, some] of levels) {
      const found = some.map((row) => {
        const value = this.#shownValue(agg, row.group[fields]!)
        return { ...foundOf(row, parent, fields + 1), ...termKey(value) }
      })
      const shown = found.reduce((sum, { docCount }) => sum + docCount, 0)
      const others = Math.max(0, (some[0]?.siblings ?? shown) - shown)
      const about = { doc_count_error_upper_bound: error, sum_other_doc_count: others }
      all.set(parent, { found, about })
      if (parents.length === 1 && parent === ROOT) this.#heard(shown + others, false)
    }
    return all
  }

  #keyOf(agg: Exclude<BucketAgg, FiltersAgg>): GroupKey {
    const key = keyOf(agg)
    const isText = agg.kind === 'terms' && this.#mixed.has(agg)
    return isText && key.kind !== 'bucket' ? { ...key, isText } : key
  }

  /** An index is told by its name. */
  #shownValue({ isIndex }: TermsAgg, value: GroupValue): GroupValue {
    return isIndex ? { ...value, text: this.#run.nameOf(value.text) } : value
  }

  #heard(value: number, isExact: boolean): void {
    if (this.#total.isExact || value < this.#total.value) return
    this.#total = { value, isExact }
  }

  async #times(
    agg: DateHistogramAgg,
    scope: Scope,
    parents: readonly string[],
  ): Promise<Map<string, Level>> {
    const { buckets } = agg
    const most = buckets.count * Math.max(1, parents.length)
    if (most > ELASTIC_BUCKETS_MAX) throw tooManyBuckets(most)
    const fields = scope.keys.length
    const result = await this.#ask(scope, {
      keys: [...scope.keys, this.#keyOf(agg)],
      aggregates: [COUNT_EVENTS, ...aggregatesOf(agg.children.metrics)],
      isUnordered: true,
    })
    if (parents.length === 1 && parents[0] === ROOT) this.#heard(Number(result.total), true)
    let done = 0
    const all = new Map<string, Level>()
    for (const [parent, rows] of await byParents(result.rows, fields, parents)) {
      const byIndex = new Map(rows.map((row) => [row.bucket ?? 0, row]))
      const indexes = fillTimes(agg, byIndex)
      done += indexes.length
      if (done > ROWS_A_TURN) {
        await mainTurns.next()
        done = 0
      }
      const found = indexes.map((index): Found => {
        const ms = bucketStartMs(buckets, index)
        const row = byIndex.get(index)
        return {
          ...foundOf(row ?? NO_ROW, parent, fields),
          id: `${parent}@${index}`,
          key: ms,
          keyMembers: { key_as_string: agg.keyText(ms), key: ms },
          bucketMs: bucketStartMs(buckets, index + 1) - ms,
        }
      })
      all.set(parent, { found: agg.isDescending ? found.reverse() : found, about: {} })
    }
    return all
  }

  async #steps(
    agg: HistogramAgg,
    scope: Scope,
    parents: readonly string[],
  ): Promise<Map<string, Level>> {
    const fields = scope.keys.filter(({ kind }) => kind !== 'bucket').length
    const ofBuckets = scope.keys.length > fields
    const { rows } = await this.#ask(scope, {
      keys: [...scope.keys, this.#keyOf(agg)],
      aggregates: [COUNT_EVENTS, ...aggregatesOf(agg.children.metrics)],
      order: { of: 'key', index: fields, isDescending: false },
      within: { keys: fields, ofBuckets },
    })
    if (rows.length > ELASTIC_BUCKETS_MAX) throw tooManyBuckets(rows.length)
    const known = rows.filter(({ group: values }) => values[fields]?.kind === 'number')
    const all = new Map<string, Level>()
    for (const [parent, some] of await byParents(known, fields, parents)) {
      const byIndex = new Map(some.map((row) => [Number(row.group[fields]!.text), row]))
      const found = fillSteps(agg, byIndex).map((index): Found => {
        const key = index * agg.step + agg.offset
        const row = byIndex.get(index)
        const one = foundOf(row ?? NO_ROW, parent, fields + 1)
        return {
          ...one,
          id: row === undefined ? `${parent}#${index}` : one.id,
          key,
          keyMembers: { key },
        }
      })
      all.set(parent, { found, about: {} })
    }
    return all
  }

  /** The rows of each filter: as many as fit one scan are conditions of its aggregates. */
  async #countFilters({ filters, children }: FiltersAgg, scope: Scope) {
    const own = [COUNT_EVENTS, ...aggregatesOf(children.metrics)]
    const atOnce = Math.max(1, Math.floor(FILTERED_MAX / own.length))
    const all: AggregateRow[][] = []
    for (let start = 0; start < filters.length; start += atOnce) {
      const some = filters.slice(start, start + atOnce)
      const aggregates = some.flatMap(({ query }) => {
        return own.map((one) => (query.kind === 'all' ? one : { ...one, query }))
      })
      const isUnordered = scope.keys.length > 0
      const { rows } = await this.#ask(scope, { aggregates, ...(isUnordered && { isUnordered }) })
      for (const at of some.keys()) {
        const [from, to] = [at * own.length, (at + 1) * own.length]
        all.push(rows.map((row) => ({ ...row, values: row.values.slice(from, to) })))
      }
    }
    return all
  }

  async #filters(
    agg: FiltersAgg,
    scope: Scope,
    parents: readonly string[],
  ): Promise<Map<string, Json>> {
    const fields = scope.keys.filter(({ kind }) => kind !== 'bucket').length
    const lists = new Map<string, SeriesBucket[]>(parents.map((id) => [id, []]))
    this.#spend(agg.filters.length * parents.length)
    const counted = await this.#countFilters(agg, scope)
    for (const [index, { name, query }] of agg.filters.entries()) {
      const narrow = { ...scope, query: allOf([scope.query, query]) }
      const below = await this.#below(agg.children, narrow, parents)
      const rows = await byParents(counted[index]!, fields, parents)
      for (const parent of parents) {
        const one = foundOf(rows.get(parent)?.[0] ?? NO_ROW, parent, fields)
        const answers = { ...metricsOf(agg.children, one), ...below.get(parent) }
        lists.get(parent)!.push({ key: name, docCount: one.docCount, answers })
      }
    }
    const answers = new Map<string, Json>()
    for (const [parent, series] of lists) {
      runAll(agg.children.pipelines, series)
      answers.set(parent, filtersAnswer(agg, series))
    }
    return answers
  }
}
