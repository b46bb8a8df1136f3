/**
 * A plain implementation of docs/language.md, with which the compiler to SQL and the evaluator over
 * the tape are compared. It shares the tree with them, and for values only what that page names by
 * its file: the reading of times, the folding of case.
 *
 * Slow on purpose: an event is parsed into a tree, then into its paths, for each query.
 */

import type {
  Field,
  FieldClause,
  Query,
  SystemFieldName,
  TextClause,
} from '../../src/language/query-tree.ts'
import { FIELD_PATH_BYTES_MAX, NESTED_COLUMNS_DEPTH_MAX } from '../../src/limits.ts'
import { isFieldPath } from '../../src/model/field-path.ts'
import { tryReadTemplate } from '../../src/model/patterns/pattern-template.ts'
import { type Json, type JsonObject, parseJson } from './naive-json.ts'
import { type NaiveValue, testsValue } from './naive-test.ts'

export interface NaiveEvent {
  /** The payload's exact text. */
  readonly json: string
  /** As in the API, `segment-ordinal`. */
  readonly id: string
  readonly ingestedAtNs: bigint
  readonly eventTimeNs: bigint
  /** 16 hex digits. */
  readonly shape: string
  readonly level: string | undefined
  readonly service: string | undefined
  /** That came with the protocol. */
  readonly traceId?: string | undefined
  readonly spanId?: string | undefined
  /** The setting that it was stored under, where that is another than the query's. */
  readonly storedTextFields?: readonly string[]
}

/** What a path has in the projection (docs/decisions/0002-projection-types.md). */
type Leaf =
  | { readonly kind: 'scalar'; readonly value: NaiveValue }
  | { readonly kind: 'scalars'; readonly elements: readonly (NaiveValue | null)[] }
  | { readonly kind: 'objects'; readonly elements: readonly Paths[] }

type Paths = ReadonlyMap<string, Leaf>

/** Where fields are looked up: the event, or one element of an array. */
interface Scope {
  readonly paths: Paths
  readonly event: NaiveEvent
  /** The setting's names. */
  readonly textFields: readonly string[]
  /** Not an element of an array. */
  readonly isEvent: boolean
}

/** Whether the query is true for the event. */
export function naiveMatches(
  query: Query,
  event: NaiveEvent,
  textFields: readonly string[],
): boolean {
  const json = parseJson(event.json)
  if (json.kind !== 'object') throw new Error('an event is an object')
  return matches(query, { paths: pathsOf(json, 0), event, textFields, isEvent: true })
}

function matches(query: Query, scope: Scope): boolean {
  switch (query.kind) {
    case 'all':
      return true
    case 'and':
      return query.clauses.every((clause) => matches(clause, scope))
    case 'or':
      return query.clauses.some((clause) => matches(clause, scope))
    case 'not':
      return !matches(query.clause, scope)
    case 'text':
      return scope.isEvent && matchesText(query, scope)
    case 'field':
      return matchesField(query, query.field, scope)
    case 'element':
      return elementsAt(scope.paths, query.field.parts.slice(0, -1)).some((paths) =>
        matches(query.query, { ...scope, paths, isEvent: false }),
      )
  }
}

/** In the text fields; in an event without a string in one of them, in all of its strings. */
function matchesText(query: TextClause, { paths, textFields }: Scope): boolean {
  const texts = [...paths].filter(([path]) => isTextField(path, textFields) && isFieldPath(path))
  if (texts.some(([, leaf]) => testsLeaf(query, leaf, true))) return true
  const hasString = texts.some(([, leaf]) => leaf.kind === 'scalar' && leaf.value.kind === 'string')
  return !hasString && matchesSomeString(query, paths)
}

/** Also in arrays, and in the objects in them. */
function matchesSomeString(query: TextClause, paths: Paths): boolean {
  return [...paths].some(([path, leaf]) => {
    if (!isFieldPath(path)) return false
    if (leaf.kind === 'objects') {
      return leaf.elements.some((element) => matchesSomeString(query, element))
    }
    const values = leaf.kind === 'scalar' ? [leaf.value] : leaf.elements
    return values.some((value) => value?.kind === 'string' && testsValue(query.test, value, true))
  })
}

/** By its name alone, at any depth, in any case. */
function isTextField(path: string, textFields: readonly string[]): boolean {
  const folded = path.toLowerCase()
  return textFields.some((name) => {
    return folded === name.toLowerCase() || folded.endsWith(`.${name.toLowerCase()}`)
  })
}

function matchesField(clause: FieldClause, field: Field, scope: Scope): boolean {
  const { paths, textFields } = scope
  switch (field.kind) {
    case 'system': {
      if (field.name === '_trace_id') return matchesId(clause, 'trace', scope)
      if (field.name === '_span_id') return matchesId(clause, 'span', scope)
      const value = systemValue(field.name, scope)
      return value !== undefined && testsValue(clause.test, value, false)
    }
    case 'path': {
      const { parts } = field
      const last = parts.at(-1)!
      const isElement = last === '' && parts.length > 1
      const isText = isTextField(isElement ? parts.at(-2)! : last, textFields)
      if (isElement) {
        return leavesAt(paths, parts.slice(0, -1)).some(
          (leaf) =>
            leaf.kind === 'scalars' &&
            leaf.elements.some((value) => value !== null && testsValue(clause.test, value, isText)),
        )
      }
      return leavesAt(paths, parts).some((leaf) => testsLeaf(clause, leaf, isText))
    }
    case 'below': {
      const last = field.parts.at(-1)!
      const prefix = last === '' ? '' : `${last}.`
      if (field.parts.length === 1) return matchesBelow(clause, prefix, paths, textFields)
      return elementsAt(paths, field.parts.slice(0, -1)).some((element) =>
        matchesBelow(clause, prefix, element, textFields),
      )
    }
    case 'any':
      return matchesBelow(clause, '', paths, textFields)
  }
}

/** The names that docs/language.md lists, with `trace` or `span` in them. */
const ID_NAMES = ['#_id', '#Id', '#.id', '#id', '#ID', 'otel@ID', 'dd.#_id', '@Id']

/** That of the record, or any string under the usual names; not the empty one. */
function matchesId({ test }: FieldClause, of: 'trace' | 'span', scope: Scope): boolean {
  const given = of === 'trace' ? scope.event.traceId : scope.event.spanId
  const capital = of === 'trace' ? 'Trace' : 'Span'
  const values = ID_NAMES.map((name) => name.replace('#', of).replace('@', capital)).flatMap(
    (name): readonly (NaiveValue | null)[] => {
      const leaf = scope.paths.get(name)
      if (leaf?.kind === 'scalar') return [leaf.value]
      return leaf?.kind === 'scalars' ? leaf.elements : []
    },
  )
  const strings = values.flatMap((value) => (value?.kind === 'string' ? [value.text] : []))
  if (test.kind === 'exists') return given !== undefined || strings.some((text) => text !== '')
  if (test.kind !== 'value') {
    const all = given === undefined ? strings : [given, ...strings]
    return all.some((text) => testsValue(test, { kind: 'string', text }, false))
  }
  const asked = test.value.text
  const isUuid = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i.test(asked)
  const digits = (isUuid ? asked.split('-').join('') : asked).toLowerCase()
  return given === digits || strings.includes(asked) || strings.includes(digits)
}

/** Any path with this beginning, or one within its elements. */
function matchesBelow(
  clause: FieldClause,
  prefix: string,
  paths: Paths,
  textFields: readonly string[],
): boolean {
  return [...paths].some(([path, leaf]) => {
    if (!path.startsWith(prefix) || !isFieldPath(path)) return false
    if (testsLeaf(clause, leaf, isTextField(path, textFields))) return true
    if (leaf.kind !== 'objects') return false
    return leaf.elements.some((element) => matchesBelow(clause, '', element, textFields))
  })
}

function testsLeaf({ test }: Pick<FieldClause, 'test'>, leaf: Leaf, isText: boolean): boolean {
  if (test.kind === 'exists') return true
  if (leaf.kind === 'objects') return false
  const values = leaf.kind === 'scalar' ? [leaf.value] : leaf.elements
  return values.some((value) => value !== null && testsValue(test, value, isText))
}

/** What the path has; `parts` as in `PathField`, but not of an element itself. */
function leavesAt(paths: Paths, parts: readonly string[]): Leaf[] {
  // Arrays in arrays are texts, so they have no elements.
  if (parts.slice(1).includes('')) return []
  const scopes = parts.length === 1 ? [paths] : elementsAt(paths, parts.slice(0, -1))
  return scopes.flatMap((scope) => scope.get(parts.at(-1)!) ?? [])
}

/** The objects in the arrays at that path. */
function elementsAt(paths: Paths, parts: readonly string[]): Paths[] {
  return leavesAt(paths, parts).flatMap((leaf) => (leaf.kind === 'objects' ? leaf.elements : []))
}

function systemValue(
  name: SystemFieldName,
  { event, textFields, paths }: Scope,
): NaiveValue | undefined {
  const string = (text: string): NaiveValue => ({ kind: 'string', text })
  switch (name) {
    case '_id':
      return string(event.id)
    case '_ingested_at':
      return { kind: 'time', ns: event.ingestedAtNs }
    case '_event_time':
      return { kind: 'time', ns: event.eventTimeNs }
    case '_shape':
      return string(event.shape)
    case '_pattern': {
      const pattern = patternOf(paths, event.storedTextFields ?? textFields)
      return pattern === undefined ? undefined : string(pattern)
    }
    case '_level':
      return event.level === undefined ? undefined : { kind: 'level', text: event.level }
    case '_service':
      return event.service === undefined ? undefined : string(event.service)
    case '_trace_id':
    case '_span_id':
      throw new Error('has several values')
  }
}

/** Of the first text field by the setting that has a string which is not blank. */
function patternOf(paths: Paths, textFields: readonly string[]): string | undefined {
  const rankOf = (path: string) => textFields.findIndex((name) => isTextField(path, [name]))
  const texts = [...paths].flatMap(([path, leaf]) => {
    if (leaf.kind !== 'scalar' || leaf.value.kind !== 'string') return []
    if (!isTextField(path, textFields) || !isFieldPath(path)) return []
    return [{ text: leaf.value.text, rank: rankOf(path), depth: path.split('.').length }]
  })
  const best = texts.toSorted((a, b) => a.rank - b.rank || a.depth - b.depth)
  return best.map(({ text }) => tryReadTemplate(text)?.id).find((id) => id !== undefined)
}

/** The paths of an object at that nesting of arrays; 0 is the event. */
function pathsOf(object: JsonObject, depth: number): Paths {
  const paths = new Map<string, Leaf>()
  addPaths(object, '', depth, paths)
  return paths
}

function addPaths(
  object: JsonObject,
  prefix: string,
  depth: number,
  into: Map<string, Leaf>,
): void {
  for (const [index, [key, value]] of object.members.entries()) {
    // The last of duplicate keys counts.
    if (object.members.slice(index + 1).some(([later]) => later === key)) continue
    const path = `${prefix}${key}`
    if (Buffer.byteLength(path) > FIELD_PATH_BYTES_MAX) continue
    if (value.kind === 'object') addPaths(value, `${path}.`, depth, into)
    else if (value.kind === 'array') into.set(path, arrayLeaf(value.items, depth))
    else if (value.kind !== 'null') into.set(path, { kind: 'scalar', value: scalarOf(value) })
  }
}

function scalarOf(json: Json): NaiveValue {
  switch (json.kind) {
    case 'boolean':
      return { kind: 'boolean', value: json.source === 'true' }
    case 'string':
      return { kind: 'string', text: json.text }
    case 'number':
      return { kind: 'number', value: keptNumber(json.source) }
    default:
      return { kind: 'string', text: json.source }
  }
}

/** A 64-bit integer, signed or not, or a double. */
function keptNumber(source: string): bigint | number {
  if (!/^-?[0-9]+$/.test(source)) return Number(source)
  const value = BigInt(source)
  return value >= -(2n ** 63n) && value < 2n ** 64n ? value : Number(source)
}

function arrayLeaf(items: readonly Json[], depth: number): Leaf {
  const objects = items.filter((item) => item.kind === 'object')
  const isObjects = items.length > 0 && objects.length === items.length
  if (isObjects && depth < NESTED_COLUMNS_DEPTH_MAX) {
    return { kind: 'objects', elements: objects.map((object) => pathsOf(object, depth + 1)) }
  }
  const elementKinds = new Set(
    items.filter((item) => item.kind !== 'null').map((item) => elementKind(item)),
  )
  const kinds = [...elementKinds].sort().join()
  const toElement = (item: Json): NaiveValue | null => {
    if (item.kind === 'null') return null
    if (kinds === 'double,int64') return { kind: 'number', value: Number(item.source) }
    const isTexts = elementKinds.size > 1 || kinds === 'text'
    if (!isTexts || item.kind === 'string') return scalarOf(item)
    return { kind: 'string', text: item.source }
  }
  return { kind: 'scalars', elements: items.map(toElement) }
}

function elementKind(json: Json): string {
  if (json.kind === 'object' || json.kind === 'array') return 'text'
  if (json.kind !== 'number') return json.kind
  const kept = keptNumber(json.source)
  if (typeof kept === 'number') return 'double'
  return kept < 2n ** 63n ? 'int64' : 'uint64'
}
