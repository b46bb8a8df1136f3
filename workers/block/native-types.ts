/**
 * Which ClickHouse type a tape entry gets in the projection. The numbers sort as their names do,
 * because a Dynamic column lists its types by name.
 *
 * Scalars keep their own type: an integer never becomes a float because a neighbour is one. Arrays
 * of one kind are typed arrays; integers beside floats become floats; any other mix becomes an
 * array of the elements' texts, so that nothing is lost and `has()` still works.
 */
import {
  ARRAY,
  ELEMENT,
  ESCAPED,
  FALSE,
  FLOAT,
  INT,
  NULL,
  STRING,
  TRUE,
  UINT,
} from '../tape/tape-types.ts'

export const ARRAY_JSON = 0
export const ARRAY_BOOL = 1
export const ARRAY_FLOAT64 = 2
export const ARRAY_INT64 = 3
export const ARRAY_STRING = 4
export const ARRAY_UINT64 = 5
export const BOOL = 6
export const FLOAT64 = 7
export const INT64 = 8
export const STRING_TYPE = 9
export const UINT64 = 10
export const NATIVE_TYPES = 11

/** Not stored: null and objects without leaves are absence in ClickHouse's JSON. */
export const NO_TYPE = -1

const NAMES = [
  '',
  'Array(Nullable(Bool))',
  'Array(Nullable(Float64))',
  'Array(Nullable(Int64))',
  'Array(Nullable(String))',
  'Array(Nullable(UInt64))',
  'Bool',
  'Float64',
  'Int64',
  'String',
  'UInt64',
].map((name) => Buffer.from(name))

/** The names ClickHouse itself gives to nested objects, by nesting: a quarter of the paths each. */
const NESTED_JSON_NAMES = [
  'Array(JSON(max_dynamic_types=16, max_dynamic_paths=256))',
  'Array(JSON(max_dynamic_types=8, max_dynamic_paths=64))',
  'Array(JSON(max_dynamic_types=4, max_dynamic_paths=16))',
].map((name) => Buffer.from(name))

/** The name of `nativeType` in a JSON column at nesting `depth` (0 is the event). */
export function nativeTypeName(nativeType: number, depth: number): Uint8Array {
  return nativeType === ARRAY_JSON ? NESTED_JSON_NAMES[depth]! : NAMES[nativeType]!
}

const SCALAR_TYPES = new Int8Array(16).fill(NO_TYPE)
SCALAR_TYPES[FALSE] = BOOL
SCALAR_TYPES[TRUE] = BOOL
SCALAR_TYPES[INT] = INT64
SCALAR_TYPES[UINT] = UINT64
SCALAR_TYPES[FLOAT] = FLOAT64
SCALAR_TYPES[STRING] = STRING_TYPE
SCALAR_TYPES[ESCAPED] = STRING_TYPE

const STRINGS = (1 << STRING) | (1 << ESCAPED)
const BOOLS = (1 << TRUE) | (1 << FALSE)
const FLOATS = (1 << FLOAT) | (1 << INT)

/** The type of an array's elements, by the array's type; of an array of objects none. */
export const ELEMENT_TYPES: readonly number[] = [NO_TYPE, BOOL, FLOAT64, INT64, STRING_TYPE, UINT64]

/** An array of one-digit integers takes nine bytes for every two of its text. */
export const ARRAY_BYTES_FACTOR = 9

/** The type of the entry at `at`; `nestedAllowed` is false where arrays of objects become text. */
export function nativeTypeOf(entries: Int32Array, at: number, nestedAllowed: boolean): number {
  const type = entries[at + 1]!
  if (type !== ARRAY) return SCALAR_TYPES[type]!
  const all = entries[at + 4]!
  if (all === 1 << ELEMENT) return nestedAllowed ? ARRAY_JSON : ARRAY_STRING
  const kinds = all & ~(1 << NULL)
  if ((kinds & ~STRINGS) === 0) return ARRAY_STRING
  if (kinds === 1 << INT) return ARRAY_INT64
  if ((kinds & ~BOOLS) === 0) return ARRAY_BOOL
  if ((kinds & ~FLOATS) === 0) return ARRAY_FLOAT64
  return kinds === 1 << UINT ? ARRAY_UINT64 : ARRAY_STRING
}
