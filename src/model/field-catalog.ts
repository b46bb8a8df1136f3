/**
 * What is known of a stream's fields when it is queried: which types of the projection
 * (docs/decisions/0002-projection-types.md) each path may have, so that a query reads those and no
 * others. It may know too much, never too little: what is said of a path holds for every row within
 * `learned`; rows outside of it, those of the last seconds, are read with all types.
 */
import type { NodeMarks } from './segment-place.ts'
import type { StreamId } from './stream.ts'

export const SCALAR_TYPES = ['Bool', 'Int64', 'UInt64', 'Float64', 'String'] as const
export type ScalarType = (typeof SCALAR_TYPES)[number]

/** What may be at a path. Without any of it, no row has a value there. */
export interface PathTypes {
  readonly scalars: readonly ScalarType[]
  /** Of the elements of an array of scalars. */
  readonly elements: readonly ScalarType[]
  /** An array of objects. */
  readonly hasObjects: boolean
}

export const ANY_TYPES: PathTypes = {
  scalars: SCALAR_TYPES,
  elements: SCALAR_TYPES,
  hasObjects: true,
}
export const NO_TYPES: PathTypes = { scalars: [], elements: [], hasObjects: false }

/**
 * Rows of which the types hold: received before `untilMs`, in milliseconds since 1970; of some
 * nodes before an earlier time.
 */
export interface LearnedRows {
  readonly untilMs: number
  /** Nodes that are behind the others. */
  readonly behind: readonly { readonly nodeId: number; readonly untilMs: number }[]
  /** The same to the segment; empty where that is not known. */
  readonly upTo: NodeMarks
}

/** Nothing is known of any row. */
export const NOTHING_LEARNED: LearnedRows = { untilMs: 0, behind: [], upTo: new Map() }

/**
 * A path with values, as `PathField` has it: dotted paths, an array's elements between each two.
 * `['items', 'price']` is `items[].price`.
 */
export type PathParts = readonly string[]

export interface FieldCatalog {
  readonly streamId: StreamId
  readonly learned: LearnedRows
  /**
   * The last segments whose paths were learned, as far as caps let them. Those of later ones may be
   * missing in `paths` and, with `isAllText`, in `textFields`.
   */
  readonly observed: NodeMarks
  /** Paths that words without a field are looked for in, and that are searched by words. */
  readonly textFields: readonly string[]
  /** None of the setting's has been seen: all paths of strings are text fields. */
  readonly isAllText: boolean
  /** Events have paths that were skipped and never will be learned: the stream was past a cap. */
  readonly isPartial: boolean
  /** Of rows in `learned`. Precondition: `isFieldPath` of each part. */
  typesOf(path: PathParts): PathTypes
  /** All paths that are known to have had values, in the order of their names. */
  readonly paths: readonly PathParts[]
}

/** `items[].price`, as people write it and the catalog's tables have it. */
export function catalogPath(path: PathParts): string {
  return path.join('[].')
}
