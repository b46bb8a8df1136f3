/** A query's tree as closures over the tape. */

import type { Field, FieldClause, Query, SystemFieldName } from '../../src/language/query-tree.ts'
import { isTraceField, TRACE_PATHS, traceTests } from '../../src/language/trace-fields.ts'
import { isFieldPath } from '../../src/model/field-path.ts'
import { TextNames } from '../../src/model/text-fields.ts'
import { ARRAY_JSON, BOOL, NO_TYPE, nativeTypeOf } from '../block/native-types.ts'
import { NO_COLUMN } from '../tape/column-names.ts'
import { ENTRY, nextEntry } from '../tape/tape-types.ts'
import { costRank } from './cost-rank.ts'
import type { EventCursor } from './event-cursor.ts'
import { testElements, testLeaf } from './leaf-test.ts'
import { columnTypeOf, findInElement, NO_ENTRY, PathFinder } from './path-finder.ts'
import { makeSystemTest } from './system-test.ts'
import { TextFinder } from './text-finder.ts'
import { makeValueTest, NOTHING, type Parts, type ValueTest } from './value-test.ts'

/**
 * Whether it is true in a scope: of the event whose entries are `from`..`to` at depth 0, or of an
 * array's element; the depth counts the arrays around it.
 */
export type ScopeTest = (event: EventCursor, from: number, to: number, depth: number) => boolean

/** What is done with an entry that a path has. */
type EntryTest = (event: EventCursor, at: number, depth: number) => boolean

/** Of an element of an array, and of each integer of a scope all of whose paths are looked at. */
const ELEMENT_STEPS = 40
const PATH_STEPS = 15

export interface CompiledQuery {
  readonly test: ScopeTest
  /** Before the events of a batch. */
  begin(event: EventCursor): void
}

/** `textFields`: the stream's setting. */
export function compileQuery(
  query: Query,
  textFields: readonly string[],
  parts: Parts,
): CompiledQuery {
  const compiler = new QueryCompiler(textFields, parts)
  const test = compiler.compile(query, true)
  return { test, begin: compiler.finish() }
}

class QueryCompiler {
  readonly #parts: Parts
  readonly #names: TextNames
  readonly #texts: TextFinder
  /** Paths of the event by their number. */
  readonly #paths: string[] = []
  /** Made when all paths are known; closures ask for it later. */
  #finder: PathFinder | undefined
  /** By column, which of a scope's entries counts. */
  #lastEntry = new Int32Array(0)

  constructor(textFields: readonly string[], parts: Parts) {
    this.#parts = parts
    this.#names = new TextNames(textFields)
    this.#texts = new TextFinder(this.#names)
  }

  finish(): (event: EventCursor) => void {
    const finder = new PathFinder(this.#paths)
    this.#finder = finder
    return (event) => {
      finder.begin(event)
      this.#texts.begin(event)
    }
  }

  /** `isEvent`: not within an element of an array. */
  compile(query: Query, isEvent: boolean): ScopeTest {
    switch (query.kind) {
      case 'all':
        return () => true
      case 'and':
      case 'or': {
        const cheapFirst = query.clauses.toSorted((a, b) => costRank(a) - costRank(b))
        return joined(
          query.kind,
          cheapFirst.map((clause) => this.compile(clause, isEvent)),
        )
      }
      case 'not': {
        const test = this.compile(query.clause, isEvent)
        return (event, from, to, depth) => !test(event, from, to, depth)
      }
      case 'text':
        return isEvent ? this.#text(makeValueTest(query.test, true, this.#parts)) : () => false
      case 'element': {
        const test = this.compile(query.query, false)
        const array = query.field.parts.slice(0, -1)
        return this.#atPath(array, isEvent, (event, at, depth) =>
          this.#someObject(event, at, depth, test),
        )
      }
      case 'field':
        return this.#field(query, query.field, isEvent)
    }
  }

  #field({ test }: FieldClause, field: Field, isEvent: boolean): ScopeTest {
    const parts = this.#parts
    switch (field.kind) {
      case 'system':
        return this.#system(field.name, test)
      case 'any':
        return this.#below('', test)
      case 'below': {
        const last = field.parts.at(-1)!
        const prefix = last === '' ? '' : `${last}.`
        const below = this.#below(prefix, test)
        if (field.parts.length === 1) return below
        return this.#atPath(field.parts.slice(0, -1), isEvent, (event, at, depth) =>
          this.#someObject(event, at, depth, below),
        )
      }
      case 'path': {
        const last = field.parts.at(-1)!
        const isElement = last === '' && field.parts.length > 1
        if (isElement) {
          const value = makeValueTest(test, this.#names.hasParts(field.parts), parts)
          return this.#atPath(field.parts.slice(0, -1), isEvent, this.#elementTest(value))
        }
        const value = makeValueTest(test, this.#names.hasParts(field.parts), parts)
        return this.#atPath(field.parts, isEvent, this.#leafTest(value))
      }
    }
  }

  #system(name: SystemFieldName, test: FieldClause['test']): ScopeTest {
    const own = makeSystemTest(name, test, this.#parts)
    if (!isTraceField(name)) return own
    const inPayload = traceTests(test).flatMap((one) => {
      const value = this.#leafTest(makeValueTest(one, false, this.#parts))
      return TRACE_PATHS[name].map((path) => this.#atPath([path], true, value))
    })
    return joined('or', [own, ...inPayload])
  }

  #leafTest(test: ValueTest): EntryTest {
    const { work } = this.#parts
    return (event, at, depth) => {
      return testLeaf(event, at, columnTypeOf(event.entries, at, depth), test, work)
    }
  }

  /** Some text field of the event, or any of its strings where it has no string in one. */
  #text(value: ValueTest): ScopeTest {
    const texts = this.#texts
    const test = this.#leafTest(value)
    const ofString = { ...NOTHING, string: value.string }
    const anyString = this.#somePath('', () => ofString)
    return (event, from, to, depth) => {
      texts.find(event)
      const { from: first, to: end, hasString } = texts
      for (let index = first; index < end; index++) {
        if (test(event, event.start + texts.entryAt(index), 0)) return true
      }
      return !hasString && anyString(event, from, to, depth)
    }
  }

  /** Of an element of an array of scalars. */
  #elementTest(test: ValueTest): EntryTest {
    const { work } = this.#parts
    return (event, at, depth) => {
      const native = columnTypeOf(event.entries, at, depth)
      if (native === ARRAY_JSON || native >= BOOL) return false
      return testElements(event, at, native, test, work)
    }
  }

  /** What the path of `parts` has; see `PathField`. None but the first of them is empty. */
  #atPath(parts: readonly string[], isEvent: boolean, test: EntryTest): ScopeTest {
    // Arrays in arrays are stored as texts and have no elements.
    if (parts.slice(1).includes('')) return () => false
    const [path, ...inner] = parts
    if (inner.length > 0) {
      const rest = this.#atPath(inner, false, test)
      return this.#atPath([path!], isEvent, (event, at, depth) =>
        this.#someObject(event, at, depth, rest),
      )
    }
    if (!isEvent) {
      const name = Buffer.from(path!)
      const { work } = this.#parts
      return (event, from, to, depth) => {
        work.spend(ELEMENT_STEPS + 2 * (to - from))
        const at = findInElement(event, from, to, name)
        return at !== NO_ENTRY && test(event, at, depth)
      }
    }
    const index = this.#pathIndex(path!)
    return (event, _from, _to, depth) => {
      const at = this.#finder!.find(event, index)
      return at !== NO_ENTRY && test(event, at, depth)
    }
  }

  #pathIndex(path: string): number {
    const known = this.#paths.indexOf(path)
    return known >= 0 ? known : this.#paths.push(path) - 1
  }

  /** Some element of the array at `at`, if that is one of objects. */
  #someObject(event: EventCursor, at: number, depth: number, test: ScopeTest): boolean {
    const { entries } = event
    if (columnTypeOf(entries, at, depth) !== ARRAY_JSON) return false
    const end = entries[at + 7]!
    this.#parts.work.spend(end - at)
    for (let element = at + 2 * ENTRY; element < end; element = entries[element + 7]!) {
      if (test(event, element + 2 * ENTRY, entries[element + 7]!, depth + 1)) return true
    }
    return false
  }

  /** Some path that begins so, or one in its elements. */
  #below(prefix: string, test: FieldClause['test']): ScopeTest {
    const plain = makeValueTest(test, false, this.#parts)
    const text = makeValueTest(test, true, this.#parts)
    return this.#somePath(prefix, (column) => (this.#texts.isText(column) ? text : plain))
  }

  #somePath(prefix: string, valueAt: (column: number) => ValueTest): ScopeTest {
    const start = Buffer.from(prefix)
    const some = (event: EventCursor, from: number, to: number, depth: number, begin: Buffer) => {
      this.#findLast(event, from, to)
      const { entries, trie } = event
      for (let at = from; at < to; at = nextEntry(entries, at)) {
        const column = trie.column[entries[at]!]!
        if (column === NO_COLUMN || this.#lastEntry[column] !== at) continue
        const native = columnTypeOf(entries, at, depth)
        if (native === NO_TYPE || !trie.columns.startsWith(column, begin)) continue
        const isFound =
          testLeaf(event, at, native, valueAt(column), this.#parts.work) ||
          (native === ARRAY_JSON && this.#someObject(event, at, depth, anywhere))
        if (isFound && isNameable(event, column)) return true
      }
      return false
    }
    const anywhere: ScopeTest = (event, from, to, depth) => some(event, from, to, depth, NO_PREFIX)
    return (event, from, to, depth) => some(event, from, to, depth, start)
  }

  /** Notes which entry of each column of a scope counts; scopes share no columns. */
  #findLast({ entries, trie }: EventCursor, from: number, to: number): void {
    this.#parts.work.spend(ELEMENT_STEPS + PATH_STEPS * (to - from))
    if (this.#lastEntry.length < trie.columns.count) {
      this.#lastEntry = new Int32Array(2 * trie.columns.count)
    }
    for (let at = from; at < to; at = nextEntry(entries, at)) {
      const column = trie.column[entries[at]!]!
      if (column === NO_COLUMN || nativeTypeOf(entries, at, true) === NO_TYPE) continue
      this.#lastEntry[column] = at
    }
  }
}

const NO_PREFIX = Buffer.alloc(0)

/** ClickHouse can be asked for the path; see `isFieldPath`. */
function isNameable({ trie }: EventCursor, column: number): boolean {
  return isFieldPath(Buffer.from(trie.columns.nameOf(column)).toString())
}

function joined(kind: 'and' | 'or', tests: readonly ScopeTest[]): ScopeTest {
  const [first, second] = tests
  const isAnd = kind === 'and'
  if (first === undefined) return () => isAnd
  if (second === undefined) return first
  if (tests.length === 2) {
    return isAnd
      ? (event, from, to, depth) => first(event, from, to, depth) && second(event, from, to, depth)
      : (event, from, to, depth) => first(event, from, to, depth) || second(event, from, to, depth)
  }
  return (event, from, to, depth) => {
    for (const test of tests) if (test(event, from, to, depth) !== isAnd) return !isAnd
    return isAnd
  }
}
