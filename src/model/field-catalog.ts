/**
 * What is known of a stream's fields when it is queried: which types of the projection
 * (docs/decisions/0002-projection-types.md) each path may have, so that a query reads only those.
 * It may list too many types, never too few, for every row within `learned`. Rows outside of it,
 * those of the last seconds, are read with all types.
 */

import type { SegmentId } from './segment-id.ts'
import type { NodeMarks } from './segment-place.ts'
import type { StreamId } from './stream.ts'
import type { TextNames } from './text-fields.ts'

export const SCALAR_TYPES = ['Bool', 'Int64', 'UInt64', 'Float64', 'String'] as const
export type ScalarType = (typeof SCALAR_TYPES)[number]

/** What may be at a path. If all are empty, no row has a value there. */
export interface PathTypes {
  readonly scalars: readonly ScalarType[]
  /** Types of the elements of an array of scalars. */
  readonly elements: readonly ScalarType[]
  /** Whether there may be an array of objects. */
  readonly hasObjects: boolean
}

export const ANY_TYPES: PathTypes = {
  scalars: SCALAR_TYPES,
  elements: SCALAR_TYPES,
  hasObjects: true,
}
export const NO_TYPES: PathTypes = { scalars: [], elements: [], hasObjects: false }

/**
 * The rows that the types cover: received before `untilMs`, in milliseconds since 1970, or on some
 * nodes before an earlier time.
 */
export interface LearnedRows {
  readonly untilMs: number
  /** Nodes that are behind the others. */
  readonly behind: readonly { readonly nodeId: number; readonly untilMs: number }[]
  /** The same, exact to the segment; empty if unknown. */
  readonly upTo: NodeMarks
}

/** Nothing is known of any row. */
export const NOTHING_LEARNED: LearnedRows = { untilMs: 0, behind: [], upTo: new Map() }

/**
 * A path with values, as in `PathField`: dotted paths, with an array's elements between two parts.
 * `['items', 'price']` is `items[].price`.
 */
export type PathParts = readonly string[]

/** Events without a string in any text field: words are searched in all of their strings. */
export interface Textless {
  /** Shapes whose events may be such; undefined: any event that has no string in `doubtful`. */
  readonly shapes: readonly bigint[] | undefined
  /** Text fields at which some events of these shapes have a string after all. */
  readonly doubtful: readonly string[]
  /** Where they may have strings. */
  readonly paths: readonly PathParts[]
}

/** Every event has a string in a text field. */
export const NO_TEXTLESS: Textless = { shapes: [], doubtful: [], paths: [] }

export interface FieldCatalog {
  readonly streamId: StreamId
  readonly learned: LearnedRows
  /**
   * The last segments whose paths were learned, as far as the caps allow. Paths of later ones may
   * be missing in `paths` and `textPaths`.
   */
  readonly observed: NodeMarks
  /** The stream's setting: which paths are text fields follows from their names. */
  readonly textFields: readonly string[]
  readonly textNames: TextNames
  /** Text fields outside of arrays of objects that are known to have had values. */
  readonly textPaths: readonly string[]
  /** Of rows of `learned`. */
  readonly textless: Textless
  /** Some paths of events were skipped and will never be learned: the stream was past a cap. */
  readonly isPartial: boolean
  /** The types in rows of `learned`. Precondition: `isFieldPath` of each part. */
  typesOf(path: PathParts): PathTypes
  /** All paths known to have had values, in the order of their names. */
  readonly paths: readonly PathParts[]
}

/** `items[].price`, as in queries and in the catalog's tables. */
export function catalogPath(path: PathParts): string {
  return path.join('[].')
}

/** A stream as the projection is read: what is known of it when a request begins. */
export interface SourceStream {
  readonly streamId: StreamId
  readonly catalog: FieldCatalog
  /** Segments below it are removed, though their rows may still be there. */
  readonly removedBefore: SegmentId
  /** Rows beyond it need not be counted; without it, all rows of the tables are. */
  readonly projected?: NodeMarks
}
