/** Saved views: a named query of a stream and how its answer is shown. */
import type { StreamId } from '../../model/stream.ts'

export type ChartType = 'lines' | 'bars' | 'top'

export interface ViewColumn {
  readonly path: string
  /** Pixels, as the person left it. */
  readonly width?: number
}

/** As of an aggregating query; `group_by` without the bucket of time. */
export interface ViewChart {
  readonly aggregates?: readonly object[]
  readonly group_by?: readonly string[]
  /** `auto` or a step; absent: not over time. */
  readonly bucket?: string
  /** By whose clocks buckets begin. */
  readonly time_zone?: string
  readonly type: ChartType
}

/** A range up to now, one between two times, or none: the reader's own. */
export type ViewRange = { readonly last: string } | { readonly from: string; readonly to: string }

/** What a person sets. */
export interface ViewSettings {
  readonly name: string
  readonly description: string
  readonly query: string
  readonly time_basis: 'ingested_at' | 'event_time'
  readonly range: ViewRange | null
  readonly columns: readonly ViewColumn[]
  readonly order: 'newest' | 'oldest'
  readonly chart: ViewChart | null
  /** Whether others who see the stream see the view. */
  readonly shared: boolean
  readonly tags: readonly string[]
}

export interface View {
  readonly viewId: number
  readonly streamId: StreamId
  readonly settings: ViewSettings
  /** The owner of the token that made it. */
  readonly createdBy: string
  readonly createdAtMs: number
  readonly updatedAtMs: number
  /** Rises with every change. */
  readonly version: number
}
