/** What is known about the fields of the rows that one SELECT reads. */
import {
  ANY_TYPES,
  type FieldCatalog,
  type PathParts,
  type PathTypes,
  type ScalarType,
} from '../../../model/field-catalog.ts'

export interface LegFields {
  typesOf(path: PathParts): PathTypes
  readonly textFields: readonly string[]
  /** All that the catalog knows. */
  readonly paths: readonly PathParts[]
  /**
   * Whether a condition does not read the path's values of this type, which are no elements of
   * arrays. Asked only where it would; absent: it reads all.
   */
  omits?(path: PathParts, type: ScalarType): boolean
}

/** For rows that the catalog has learned from. */
export function learnedFields(catalog: FieldCatalog): LegFields {
  return catalog
}

/** For other rows: a path may have any type. */
export function anyFields({ textFields, paths }: FieldCatalog): LegFields {
  return { typesOf: () => ANY_TYPES, textFields, paths }
}
