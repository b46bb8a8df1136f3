/** A query's tree as closures over the tape. */

import type { Field, FieldClause, Query, SystemFieldName } from '../../src/language/query-tree.ts'
import { isTraceField, TRACE_PATHS, traceTests } from '../../src/language/trace-fields.ts'
import type { TextPaths } from '../../src/language/words.ts'
import { isFieldPath } from '../../src/model/field-path.ts'
import { ARRAY_JSON, BOOL, NO_TYPE, nativeTypeOf, STRING_TYPE } from '../block/native-types.ts'
import { NO_COLUMN } from '../tape/column-names.ts'
import { ENTRY, nextEntry } from '../tape/tape-types.ts'
import { costRank } from './cost-rank.ts'
import type { EventCursor } from './event-cursor.ts'
import { testElements, testLeaf } from './leaf-test.ts'
import { columnTypeOf, findInElement, NO_ENTRY, PathFinder } from './path-finder.ts'
import { makeSystemTest } from './system-test.ts'
import { makeValueTest, type Parts, type ValueTest } from './value-test.ts'

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
  /** To be begun before the events of a batch. */
  readonly finder: PathFinder
}

export function compileQuery(query: Query, text: TextPaths, parts: Parts): CompiledQuery {
  const compiler = new QueryCompiler(text, parts)
  const test = compiler.compileFor(query)
  return { test, finder: compiler.finish() }
}

class QueryCompiler {
  readonly #parts: Parts
  readonly #textFields: readonly string[]
  readonly #isNew: boolean
  #isAllText: boolean
  /** Paths of the event by their number; the text fields come first. */
  readonly #paths: string[]
  /** Made when all paths are known; closures ask for it later. */
  #finder: PathFinder | undefined
  /** By column, which of a scope's entries counts. */
  #lastEntry = new Int32Array(0)

  constructor({ textFields, isAllText, isNew = false }: TextPaths, parts: Parts) {
    this.#parts = parts
    this.#textFields = textFields
    this.#isAllText = isAllText
    this.#isNew = isNew
    this.#paths = [...textFields]
  }

  finish(): PathFinder {
    this.#finder = new PathFinder(this.#paths)
    return this.#finder
  }

  /** Of events. */
  compileFor(query: Query): ScopeTest {
    const all = this.compile(query, true)
    if (!this.#isNew || !this.#isAllText || this.#textFields.length === 0) return all
    this.#isAllText = false
    const named = this.compile(query, true)
    const isThere = this.#leafTest(
      makeValueTest({ kind: 'exists', start: 0, end: 0 }, true, this.#parts),
    )
    const hasText = joined(
      'or',
      this.#textFields.map((path) => this.#atPath([path], true, isThere)),
    )
    return (event, from, to, depth) => {
      const test = hasText(event, from, to, depth) ? named : all
      return test(event, from, to, depth)
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
      case 'text': {
        const value = makeValueTest(query.test, true, this.#parts)
        const test = this.#leafTest(value)
        const tests = this.#textFields.map((path) => this.#atPath([path], isEvent, test))
        if (isEvent && this.#isAllText) tests.push(this.#anyString(value))
        return joined('or', tests)
      }
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
        return this.#below('', test, isEvent)
      case 'below': {
        const last = field.parts.at(-1)!
        const prefix = last === '' ? '' : `${last}.`
        if (field.parts.length === 1) return this.#below(prefix, test, isEvent)
        const below = this.#below(prefix, test, false)
        return this.#atPath(field.parts.slice(0, -1), isEvent, (event, at, depth) =>
          this.#someObject(event, at, depth, below),
        )
      }
      case 'path': {
        const last = field.parts.at(-1)!
        const isElement = last === '' && field.parts.length > 1
        if (isElement) {
          const value = makeValueTest(test, false, parts)
          return this.#atPath(field.parts.slice(0, -1), isEvent, this.#elementTest(value))
        }
        const isText = isEvent && field.parts.length === 1 && this.#textFields.includes(last)
        const value = makeValueTest(test, isText, parts)
        const isWord = isEvent && field.parts.length === 1 && this.#isAllText
        const string = isWord ? makeValueTest(test, true, parts).string : value.string
        const ofString = isWord ? { ...value, string } : value
        return this.#atPath(field.parts, isEvent, this.#leafTest(value, ofString))
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

  /** `ofString`: the test where the value is a string, and no array. */
  #leafTest(test: ValueTest, ofString = test): EntryTest {
    const { work } = this.#parts
    return (event, at, depth) => {
      const native = columnTypeOf(event.entries, at, depth)
      return testLeaf(event, at, native, native === STRING_TYPE ? ofString : test, work)
    }
  }

  /** Of some string of the event outside of arrays. */
  #anyString(test: ValueTest): ScopeTest {
    const { work } = this.#parts
    return (event, from, to) => {
      this.#findLast(event, from, to)
      const { entries, trie } = event
      for (let at = from; at < to; at = nextEntry(entries, at)) {
        const column = trie.column[entries[at]!]!
        if (column === NO_COLUMN || this.#lastEntry[column] !== at) continue
        if (columnTypeOf(entries, at, 0) !== STRING_TYPE) continue
        if (testLeaf(event, at, STRING_TYPE, test, work) && isNameable(event, column)) return true
      }
      return false
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
  #below(prefix: string, test: FieldClause['test'], isEvent: boolean): ScopeTest {
    const plain = makeValueTest(test, false, this.#parts)
    const isOfWords =
      isEvent && (test.kind === 'value' || test.kind === 'wildcard') && !test.isWhole
    const texts = isOfWords ? this.#textFields.length : 0
    const isAllText = isOfWords && this.#isAllText
    const text = texts > 0 || isAllText ? makeValueTest(test, true, this.#parts) : plain
    const start = Buffer.from(prefix)
    const some = (event: EventCursor, from: number, to: number, depth: number, begin: Buffer) => {
      this.#findLast(event, from, to)
      const { entries, trie } = event
      for (let at = from; at < to; at = nextEntry(entries, at)) {
        const column = trie.column[entries[at]!]!
        if (column === NO_COLUMN || this.#lastEntry[column] !== at) continue
        const native = columnTypeOf(entries, at, depth)
        if (native === NO_TYPE || !trie.columns.startsWith(column, begin)) continue
        const isText =
          depth === 0 &&
          ((isAllText && native === STRING_TYPE) ||
            (texts > 0 && this.#finder!.indexOf(column) < texts))
        const value = isText ? text : plain
        const isFound =
          testLeaf(event, at, native, value, this.#parts.work) ||
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
