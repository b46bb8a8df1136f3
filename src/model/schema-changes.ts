/** What observe has learned and hands to the store, and what the store tells it of a stream. */
import type { FieldType, SchemaCaps } from './schema.ts'
import type { SegmentId } from './segment-id.ts'
import type { StreamId } from './stream.ts'

export interface FieldChange {
  readonly path: string
  readonly firstSeenMs: number
  readonly lastSeenMs: number
  /** By the type's number in FIELD_TYPES: when it was seen last, 0 for not. */
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
  /** Where it was described just now. */
  readonly paths: readonly (readonly [path: string, type: FieldType])[] | undefined
}

/** What one node learned of one stream from its segments after `after` up to `through`. */
export interface SchemaChange {
  readonly streamId: StreamId
  readonly after: SegmentId
  readonly through: SegmentId
  readonly fields: readonly FieldChange[]
  readonly shapes: readonly ShapeChange[]
  /** Something in these segments is not in it, for a bound: the catalog does not have it. */
  readonly isPartial: boolean
}

/** A stream as the store has it after a write. */
export interface SchemaCounts {
  readonly streamId: StreamId
  readonly caps: SchemaCaps
  readonly generation: bigint
  readonly fields: number
  readonly shapes: number
}

/** All that observe keeps in memory of a stream. */
export interface KnownSchema extends SchemaCounts {
  /** Up to where this node's segments are counted. */
  readonly mark: SegmentId
  /** Bits by the type's number in FIELD_TYPES. */
  readonly typesByPath: ReadonlyMap<string, number>
  /** By shape: whether its paths are known. */
  readonly describedByShape: ReadonlyMap<string, boolean>
}
