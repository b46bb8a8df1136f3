/** What is known about the fields of the rows that one SELECT reads. */
import {
  ANY_TYPES,
  type FieldCatalog,
  type PathParts,
  type PathTypes,
} from '../../../model/field-catalog.ts'

export interface LegFields {
  typesOf(path: PathParts): PathTypes
  readonly textFields: readonly string[]
  /** All that the catalog knows. */
  readonly paths: readonly PathParts[]
}

/** For rows that the catalog has learned from. */
export function learnedFields(catalog: FieldCatalog): LegFields {
  return catalog
}

/** For other rows: a path may have any type. */
export function anyFields({ textFields, paths }: FieldCatalog): LegFields {
  return { typesOf: () => ANY_TYPES, textFields, paths }
}
