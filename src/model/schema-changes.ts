/** What observe has learned and hands to the store, and what the store returns about a stream. */
import type { FieldType, SchemaCaps } from './schema.ts'
import type { SegmentId } from './segment-id.ts'
import type { StreamId } from './stream.ts'

export interface FieldChange {
  readonly path: string
  readonly firstSeenMs: number
  readonly lastSeenMs: number
  /** By the type's number in FIELD_TYPES: when it was last seen; 0 for never. */
  readonly typeSeenMs: readonly number[]
  /** JSON values, the newest first. */
  readonly samples: readonly string[]
}

export interface ShapeChange {
  readonly shape: string
  readonly count: number
  readonly firstSeenMs: number
  readonly lastSeenMs: number
  readonly exampleSegmentId: SegmentId
  readonly exampleOrdinal: number
  /** Set if the shape was described in these segments. */
  readonly paths: readonly (readonly [path: string, type: FieldType])[] | undefined
}

/** What one node learned of one stream from its segments after `after` up to `through`. */
export interface SchemaChange {
  readonly streamId: StreamId
  readonly after: SegmentId
  readonly through: SegmentId
  readonly fields: readonly FieldChange[]
  readonly shapes: readonly ShapeChange[]
  /** Fields with integers that fit 64 bits only without a sign; some may be known. */
  readonly largePaths: readonly string[]
  /** Something in these segments was left out because of a bound: the catalog lacks it. */
  readonly isPartial: boolean
}

/** A stream's counts in the store after a write. */
export interface SchemaCounts {
  readonly streamId: StreamId
  readonly caps: SchemaCaps
  readonly generation: bigint
  readonly fields: number
  readonly shapes: number
}

/** All that observe keeps in memory for a stream. */
export interface KnownSchema extends SchemaCounts {
  /** The last of this node's segments that is counted. */
  readonly mark: SegmentId
  /** Bits by the type's number in FIELD_TYPES. */
  readonly typesByPath: ReadonlyMap<string, number>
  /** By shape: whether its paths are known. */
  readonly describedByShape: ReadonlyMap<string, boolean>
}
