/**
 * JSON documents as trees that keep spelling: number texts, escapes, duplicate keys. And what a
 * tree is in the projection, written from the documentation of `native-types.ts`, not its code.
 */
import fc from 'fast-check'
import { NESTED_COLUMNS_DEPTH_MAX } from '../../src/limits.ts'

export type Tree =
  | { readonly kind: 'literal'; readonly text: 'null' | 'true' | 'false' }
  | { readonly kind: 'number'; readonly text: string }
  /** `text` is what stands between the quotes. */
  | { readonly kind: 'string'; readonly text: string }
  | { readonly kind: 'array'; readonly items: readonly Tree[] }
  | { readonly kind: 'object'; readonly entries: readonly (readonly [string, Tree])[] }

export type ObjectTree = Extract<Tree, { kind: 'object' }>

/** The document's JSON, without white space. */
export function render(tree: Tree): string {
  switch (tree.kind) {
    case 'literal':
    case 'number':
      return tree.text
    case 'string':
      return `"${tree.text}"`
    case 'array':
      return `[${tree.items.map(render).join(',')}]`
    case 'object':
      return `{${tree.entries.map(([key, value]) => `"${key}":${render(value)}`).join(',')}}`
  }
}

/** One stored path: ClickHouse's type, and its value as the engine prints it in JSON. */
export interface Leaf {
  readonly type: string
  readonly value: unknown
}

const NESTED_NAMES = [
  'Array(JSON(max_dynamic_types=16, max_dynamic_paths=256))',
  'Array(JSON(max_dynamic_types=8, max_dynamic_paths=64))',
  'Array(JSON(max_dynamic_types=4, max_dynamic_paths=16))',
]

/** Decoded text of a JSON string's inside; lone surrogates as UTF-8 has them. */
export function decoded(text: string): string {
  return Buffer.from(JSON.parse(`"${text}"`) as string).toString()
}

/** The paths of a document, by dotted name. */
export function leavesOf(tree: ObjectTree, depth = 0): Map<string, Leaf> {
  const leaves = new Map<string, Leaf>()
  addLeaves(tree, '', depth, leaves)
  return leaves
}

function addLeaves(tree: ObjectTree, prefix: string, depth: number, into: Map<string, Leaf>): void {
  const last = new Map<string, Tree>()
  for (const [key, value] of tree.entries) {
    last.delete(decoded(key)) // The last duplicate wins, and stands where it stands.
    last.set(decoded(key), value)
  }
  for (const [key, value] of last) {
    if (value.kind === 'object') {
      addLeaves(value, `${prefix}${key}.`, depth, into)
    } else {
      const leaf = leafOf(value, depth)
      if (leaf !== undefined) into.set(prefix + key, leaf)
    }
  }
}

function leafOf(tree: Exclude<Tree, ObjectTree>, depth: number): Leaf | undefined {
  switch (tree.kind) {
    case 'literal':
      return tree.text === 'null' ? undefined : { type: 'Bool', value: tree.text === 'true' }
    case 'number':
      return numberLeaf(tree.text)
    case 'string':
      return { type: 'String', value: decoded(tree.text) }
    case 'array':
      return arrayLeaf(tree.items, depth)
  }
}

function numberLeaf(text: string): Leaf {
  if (/^-?[0-9]+$/.test(text)) {
    const value = BigInt(text)
    if (BigInt.asIntN(64, value) === value) return { type: 'Int64', value: String(value) }
    if (BigInt.asUintN(64, value) === value) return { type: 'UInt64', value: String(value) }
  }
  return { type: 'Float64', value: floatValue(text) }
}

function floatValue(text: string): unknown {
  const value = Number(text)
  return Number.isFinite(value) ? value : value > 0 ? 'inf' : '-inf'
}

function arrayLeaf(items: readonly Tree[], depth: number): Leaf {
  const objects = items.filter((item) => item.kind === 'object')
  if (items.length > 0 && objects.length === items.length && depth < NESTED_COLUMNS_DEPTH_MAX) {
    const value = objects.map((item) => toObject(leavesOf(item, depth + 1)))
    return { type: NESTED_NAMES[depth]!, value }
  }
  const elements = items.map((item) => elementLeaf(item, depth))
  const types = new Set(elements.filter((leaf) => leaf !== undefined).map((leaf) => leaf.type))
  const isNumber = [...types].every((type) => type === 'Int64' || type === 'Float64')
  const [only] = types
  if (types.size === 1 && only !== 'Text') {
    const value = elements.map((leaf) => leaf?.value ?? null)
    return { type: `Array(Nullable(${only}))`, value }
  }
  if (types.size === 2 && isNumber) {
    const value = items.map((item) => (item.kind === 'number' ? floatValue(item.text) : null))
    return { type: 'Array(Nullable(Float64))', value }
  }
  return { type: 'Array(Nullable(String))', value: items.map(textOf) }
}

function elementLeaf(item: Tree, depth: number): Leaf | undefined {
  const isText = item.kind === 'array' || item.kind === 'object'
  return isText ? { type: 'Text', value: undefined } : leafOf(item, depth)
}

/** An element of a mixed array. */
function textOf(item: Tree): string | null {
  if (item.kind === 'string') return decoded(item.text)
  return item.kind === 'literal' && item.text === 'null' ? null : render(item)
}

/** Leaves as the nested object that the engine prints. */
export function toObject(leaves: ReadonlyMap<string, Leaf>): Record<string, unknown> {
  const root: Record<string, unknown> = {}
  for (const [path, { value }] of leaves) {
    const keys = path.split('.')
    let level = root
    for (const key of keys.slice(0, -1)) {
      level = (level[key] ??= {}) as Record<string, unknown>
    }
    level[keys.at(-1)!] = value
  }
  return root
}

export const KEYS = ['a', 'b', 'c', 'key', 'é', '日本', 'x y', 'q\\"', 'u\\u0041', '@t', 'a-b', 'T']
const STRINGS = [
  '',
  'x',
  'é',
  '\\u0000',
  '\\n\\t',
  '\\"\\\\',
  '\\ud83d\\ude00',
  '\\ud83d',
  '日本',
  '/',
]
const NUMBERS = [
  '0',
  '-0',
  '1',
  '-1',
  '9007199254740993',
  '9223372036854775807',
  '-9223372036854775808',
  '9223372036854775808',
  '18446744073709551615',
  '18446744073709551616',
  '-9223372036854775809',
  '1.5',
  '-0.0',
  '1e400',
  '-1e400',
  '5e-324',
  '0.1',
  '1e22',
  '1e23',
  '123456789012345.678',
  '2.2250738585072011e-308',
]

const numberText = fc.oneof(
  fc.constantFrom(...NUMBERS),
  fc.integer().map(String),
  fc.bigInt({ min: -(1n << 64n), max: 1n << 65n }).map(String),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.tuple(fc.nat(999_999), fc.nat(999_999)).map(([a, b]) => `${a}.${b}`),
)
const anyString = fc.oneof(
  fc.constantFrom(...STRINGS),
  fc.string({ unit: 'binary', maxLength: 60 }).map((text) => JSON.stringify(text).slice(1, -1)),
)

const { tree: anyTree } = fc.letrec<{ tree: Tree; object: Tree }>((tie) => {
  const literal = fc
    .constantFrom('null', 'true', 'false')
    .map((text) => ({ kind: 'literal', text }))
  const number = numberText.map((text) => ({ kind: 'number', text }))
  const string = anyString.map((text) => ({ kind: 'string', text }))
  const array = (item: fc.Arbitrary<unknown>) =>
    fc.array(item, { maxLength: 4 }).map((items) => ({ kind: 'array', items }))
  const scalar = fc.oneof(literal, number, string)
  const object = fc
    .array(fc.tuple(fc.constantFrom(...KEYS), tie('tree')), { maxLength: 5 })
    .map((entries) => ({ kind: 'object', entries }))
  const arrays = fc.oneof(array(number), array(string), array(tie('object')), array(tie('tree')))
  return {
    object: object as fc.Arbitrary<Tree>,
    tree: fc.oneof(
      { maxDepth: 5, depthSize: 'small' },
      { arbitrary: scalar, weight: 3 },
      { arbitrary: object, weight: 2 },
      { arbitrary: arrays, weight: 2 },
    ) as fc.Arbitrary<Tree>,
  }
})

/** A random scalar. */
export const scalarTree = fc.oneof(
  fc.constantFrom('null', 'true', 'false').map((text) => ({ kind: 'literal', text })),
  numberText.map((text) => ({ kind: 'number', text })),
  anyString.map((text) => ({ kind: 'string', text })),
) as fc.Arbitrary<Tree>

/** A random document. */
export const documentTree: fc.Arbitrary<ObjectTree> = fc
  .array(fc.tuple(fc.constantFrom(...KEYS), anyTree), { maxLength: 6 })
  .map((entries) => ({ kind: 'object', entries }))
