/**
 * Translates the catalog's types into the projection's: which columns a path may have when observe
 * has seen these types there. The catalog knows fewer types than the projection: an integer may be
 * an `Int64` or a `UInt64`, and outside of arrays it knows which fields have the latter. For an
 * array it knows the types of the elements one by one.
 */
import { NESTED_COLUMNS_DEPTH_MAX } from '../../limits.ts'
import {
  ANY_TYPES,
  catalogPath,
  NO_TYPES,
  type PathParts,
  type PathTypes,
  SCALAR_TYPES,
  type ScalarType,
} from '../../model/field-catalog.ts'
import type { FieldType } from '../../model/schema.ts'

/** A field as the catalog has it. */
export interface KnownField {
  /** Dotted, `[]` after an array: `items[].price`, and `items[]` for the elements themselves. */
  readonly path: string
  /** Empty for a field that was resolved: some of its types were forgotten, so it may have any. */
  readonly types: readonly FieldType[]
}

const COLUMN_TYPES: Readonly<Record<FieldType, readonly ScalarType[]>> = {
  null: [],
  boolean: ['Bool'],
  integer: ['Int64', 'UInt64'],
  float: ['Float64'],
  string: ['String'],
  array: [],
  object: [],
}

export class KnownFields {
  readonly #types: ReadonlyMap<string, readonly FieldType[]>
  readonly #large: ReadonlySet<string>
  /** Paths with objects in arrays: `items[]`. */
  readonly #objects = new Set<string>()
  #paths: readonly PathParts[] | undefined

  /** `large`: fields with integers past 64 bits with a sign. */
  constructor(fields: readonly KnownField[], large: ReadonlySet<string> = new Set()) {
    this.#large = large
    this.#types = new Map(fields.map(({ path, types }) => [path, types]))
    for (const { path, types } of fields) {
      if (path.endsWith('[]') && (types.includes('object') || types.length === 0)) {
        this.#objects.add(path)
      }
    }
  }

  typesOf(parts: PathParts): PathTypes {
    // As the catalog's text holds it: lone surrogates are replaced.
    const path = Buffer.from(catalogPath(parts)).toString()
    // The catalog cannot hold U+0000.
    if (path.includes('\0')) return ANY_TYPES
    const types = this.#types.get(path)
    if (types === undefined) return NO_TYPES
    if (types.length === 0) return ANY_TYPES
    const scalars = new Set(types.flatMap((type) => COLUMN_TYPES[type]))
    if (parts.length === 1 && !this.#large.has(path)) scalars.delete('UInt64')
    return {
      scalars: SCALAR_TYPES.filter((type) => scalars.has(type)),
      elements: types.includes('array') ? this.#elementsOf(`${path}[]`) : [],
      hasObjects: types.includes('array') && this.#objects.has(`${path}[]`),
    }
  }

  /** Empty and mixed arrays are stored as arrays of strings. */
  #elementsOf(path: string): readonly ScalarType[] {
    const types = this.#types.get(path) ?? []
    if (this.#types.has(path) && types.length === 0) return SCALAR_TYPES
    const elements = new Set(types.flatMap((type) => COLUMN_TYPES[type]))
    elements.add('String')
    return SCALAR_TYPES.filter((type) => elements.has(type))
  }

  /** All paths that may have values, sorted by name. */
  get paths(): readonly PathParts[] {
    this.#paths ??= this.#readPaths()
    return this.#paths
  }

  #readPaths(): readonly PathParts[] {
    const withValues = [...this.#types].filter(([, types]) => hasValues(types))
    const sorted = withValues.sort(([a], [b]) => (a < b ? -1 : 1))
    return sorted.flatMap(([path]) => {
      const parts = this.partsOf(path)
      return parts === undefined ? [] : [parts]
    })
  }

  get count(): number {
    return this.#types.size
  }

  /**
   * What a path of the catalog means: `[]` is an array's elements where an array was seen, else
   * part of a key. Undefined for an array's scalars, which are found by the array's own path, and
   * for anything nested deeper in arrays than columns are.
   */
  partsOf(path: string): PathParts | undefined {
    const parts: string[] = []
    let start = 0
    for (let at = path.indexOf('[]'); at >= 0; at = path.indexOf('[]', at + 2)) {
      const isEnd = at + 2 === path.length
      const types = this.#types.get(path.slice(0, at))
      const isArray = types !== undefined && (types.length === 0 || types.includes('array'))
      if (!isArray || (!isEnd && path[at + 2] !== '.')) continue
      if (isEnd) return undefined
      parts.push(path.slice(start, at))
      start = at + 3
    }
    parts.push(path.slice(start))
    return parts.length > NESTED_COLUMNS_DEPTH_MAX + 1 ? undefined : parts
  }
}

function hasValues(types: readonly FieldType[] | undefined): boolean {
  if (types === undefined) return false
  return types.length === 0 || types.some((type) => type !== 'null' && type !== 'object')
}
