/**
 * The typed subcolumns of a path. Each is NULL, or an empty array, in rows whose value has another
 * type; reading one costs a fraction of reading the Dynamic with all its types.
 */
import type { PathParts, ScalarType } from '../../../model/field-catalog.ts'
import { quoteFieldPath } from '../../../model/field-path.ts'
import type { BranchFields } from './branch-fields.ts'

/** A column, or within an element's condition a variable that stands for an element of one. */
export interface Column {
  readonly sql: string
  /** How many arrays are around each value. */
  readonly arrays: number
}

/** Of values that are `Nullable(type)`. */
export interface TypedColumn extends Column {
  readonly type: ScalarType
}

/** The names of arrays of objects by nesting: `workers/block/native-types.ts`. */
const OBJECTS = [
  'Array(JSON(max_dynamic_types=16, max_dynamic_paths=256))',
  'Array(JSON(max_dynamic_types=8, max_dynamic_paths=64))',
  'Array(JSON(max_dynamic_types=4, max_dynamic_paths=16))',
] as const

/**
 * The Dynamic column of a path in rows of the projection. Undefined for a path that has none:
 * arrays in arrays, and anything nested deeper in arrays than columns are.
 */
export function dynamicColumn(path: PathParts): Column | undefined {
  const [first = '', ...rest] = path
  if (rest.includes('') || rest.length > OBJECTS.length) return undefined
  let sql = `payload.${quoteFieldPath(first)}`
  for (const [depth, part] of rest.entries()) {
    sql += `.:\`${OBJECTS[depth]}\`.${quoteFieldPath(part)}`
  }
  return { sql, arrays: rest.length }
}

/** The columns of all scalars that the path may have, those in arrays of scalars last. */
export function typedColumns(path: PathParts, fields: BranchFields): readonly TypedColumn[] {
  const column = dynamicColumn(path)
  if (column === undefined) return []
  const { sql, arrays } = column
  const { scalars, elements } = fields.typesOf(path)
  return [
    ...scalars.map((type) => ({ sql: `${sql}.:${type}`, type, arrays })),
    ...elements.map((type) => {
      return { sql: `${sql}.:\`Array(Nullable(${type}))\``, type, arrays: arrays + 1 }
    }),
  ]
}

/** Arrays of objects at the path; undefined where there are none. */
export function objectsColumn(path: PathParts, fields: BranchFields): Column | undefined {
  const column = dynamicColumn(path)
  const name = OBJECTS[path.length - 1]
  if (column === undefined || name === undefined) return undefined
  if (!fields.typesOf(path).hasObjects) return undefined
  return { sql: `${column.sql}.:\`${name}\``, arrays: column.arrays + 1 }
}
