/** What is known about the fields of the rows that one SELECT reads. */
import { QUERY_PATHS_MAX } from '../../../limits.ts'
import {
  ANY_TYPES,
  type FieldCatalog,
  type PathParts,
  type PathTypes,
  type Textless,
} from '../../../model/field-catalog.ts'
import { isFieldPath } from '../../../model/field-path.ts'
import type { TextNames } from '../../../model/text-fields.ts'

export interface BranchFields {
  typesOf(path: PathParts): PathTypes
  readonly textNames: TextNames
  /** Where words without a field are searched. */
  readonly textPaths: readonly string[]
  /** Of which rows they are searched in all strings. */
  readonly textless: Textless
  /** All that the catalog knows. */
  readonly paths: readonly PathParts[]
}

/** For rows that the catalog has learned from. */
export function learnedFields({ typesOf, ...catalog }: FieldCatalog): BranchFields {
  const { textNames, textPaths, textless, paths } = catalog
  return { typesOf, textNames, textPaths, textless, paths }
}

/** For other rows: a path may have any type. */
export function anyFields({ textNames, textPaths, paths, isPartial }: FieldCatalog): BranchFields {
  const named = paths.filter((path) => path.every(isFieldPath))
  // Of a stream past its caps all rows are such, and answers say that they are not complete.
  const strings = isPartial ? named.slice(0, QUERY_PATHS_MAX) : named
  const textless = { shapes: undefined, doubtful: textPaths, paths: strings }
  return { typesOf: () => ANY_TYPES, textNames, textPaths, textless, paths }
}
