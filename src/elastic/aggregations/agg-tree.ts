/** What a request's aggregations are, as they are run: `read-aggs.ts` reads them. */
import type { Query } from '../../language/query-tree.ts'
import type { Buckets, FieldRef, GroupValue } from '../../model/aggregates.ts'
import type { Aggregate } from '../../store/projection/reads/parts.ts'
import type { Json } from '../raw-json.ts'
import type { ClockRange } from '../read-query.ts'

/** What aggregations know of the search around them. */
export interface AggsAbout {
  readonly nowMs: number
  readonly range: ClockRange | undefined
}

/** Names are unique among all three. */
export interface AggTree {
  readonly metrics: readonly Metric[]
  readonly buckets: readonly BucketAgg[]
  readonly pipelines: readonly Pipeline[]
}

export interface Metric {
  readonly name: string
  /** What it is made of. */
  readonly aggregates: readonly Aggregate[]
  /** Its answer of the JSON texts of these. */
  readonly finish: (texts: readonly string[], about: MetricPlace) => Json
  /** Which aggregate groups are ordered by; undefined where they cannot be. */
  readonly orderBy: (property: string | undefined) => number | undefined
}

/** Where a metric is computed. */
export interface MetricPlace {
  /** How long the bucket of time is, where there is one. */
  readonly bucketMs: number | undefined
  readonly docCount: number
}

interface Named {
  readonly name: string
  readonly children: AggTree
}

export interface TermsAgg extends Named {
  readonly kind: 'terms'
  readonly field: FieldRef
  readonly size: number
  readonly order: TermsOrder
  readonly eventsMin: number
  readonly missing: GroupValue | undefined
  /** Of streams, which answers name. */
  readonly isIndex: boolean
}

export interface TermsOrder {
  /** The name of a metric below, with what of it. */
  readonly by:
    | '_key'
    | '_count'
    | { readonly metric: string; readonly property: string | undefined }
  readonly isDescending: boolean
}

/** Ends of what is filled with empty buckets, in the units of keys. */
export interface Bounds {
  readonly min: number | undefined
  readonly max: number | undefined
}

export interface DateHistogramAgg extends Named {
  readonly kind: 'date_histogram'
  readonly buckets: Buckets
  readonly eventsMin: number
  readonly bounds: Bounds
  readonly isDescending: boolean
  readonly keyText: (ms: number) => string
}

export interface HistogramAgg extends Named {
  readonly kind: 'histogram'
  readonly field: FieldRef
  readonly step: number
  readonly offset: number
  readonly eventsMin: number
  readonly bounds: Bounds
}

export interface FiltersAgg extends Named {
  readonly kind: 'filters'
  readonly filters: readonly { readonly name: string; readonly query: Query }[]
  /** `filter`: one, which is the answer itself. `list`: without names. */
  readonly form: 'filter' | 'named' | 'list'
}

export type BucketAgg = TermsAgg | DateHistogramAgg | HistogramAgg | FiltersAgg

/** The answer's members for a bucket, or for the whole. */
export type Answers = Record<string, Json>

export interface Pipeline {
  readonly name: string
  /** Of each bucket around it; of a sibling, from its buckets. */
  readonly isSibling: boolean
  /** Adds its member to `around`, of which `siblings` are the members beside it. */
  readonly run: (series: readonly SeriesBucket[], siblings: Answers) => void
  /** Names of the metrics and pipelines beside it that it needs. */
  readonly needs: readonly string[]
}

/** A bucket of a list, for what is computed along it. */
export interface SeriesBucket {
  readonly key: number | string
  readonly docCount: number
  readonly answers: Answers
}
