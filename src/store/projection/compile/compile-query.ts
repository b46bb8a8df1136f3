/**
 * A query as a condition of SQL on rows of the projection. Every value is a parameter, every path
 * goes through `quoteFieldPath`.
 *
 * The condition is true for exactly the rows that docs/language.md says; for others it is false or
 * NULL. It is left NULL because anything that wraps a column, even `ifNull`, hides it from indexes.
 * Code that needs true or false, such as a negation, wraps the whole condition: `isTrue`.
 */
import { QueryError } from '../../../language/query-error.ts'
import type {
  AnyField,
  BelowField,
  FieldClause,
  Query,
  Span,
  SystemFieldName,
  Test,
  TextClause,
} from '../../../language/query-tree.ts'
import { isTraceField, TRACE_PATHS, traceTests } from '../../../language/trace-fields.ts'
import { QUERY_CONDITIONS_MAX, QUERY_PATHS_MAX, SERVICE_BYTES_MAX } from '../../../limits.ts'
import { catalogPath, type PathParts } from '../../../model/field-catalog.ts'
import { isFieldPath } from '../../../model/field-path.ts'
import { CONTEXT_SERVICE_AT } from '../../../model/projection.ts'
import type { BranchFields } from './branch-fields.ts'
import { compileSystemTest } from './compile-system.ts'
import { compileTest } from './compile-test.ts'
import { ElementScope, eventScope, type Scope } from './scope.ts'
import type { SqlParams } from './sql-params.ts'
import type { Column, TypedColumn } from './typed-column.ts'

/**
 * Throws `QueryError` for a query that asks for too much: more paths or conditions than may be.
 * Adds to `params`.
 */
export function compileQuery(query: Query, fields: BranchFields, params: SqlParams): string {
  return new Compiler(params).compile(query, eventScope(fields))
}

/** The condition as 0 or 1, never NULL, for use outside a WHERE. */
export function isTrue(condition: string): string {
  return condition === 'true' || condition === 'false' ? condition : `ifNull(${condition}, false)`
}

/** So many columns in one cost as much as a condition. */
const STRINGS_A_CONDITION = 8

class Compiler {
  readonly #params: SqlParams
  #levels = 0

  constructor(params: SqlParams) {
    this.#params = params
  }

  compile(query: Query, scope: Scope): string {
    switch (query.kind) {
      case 'all':
        return 'true'
      case 'and':
        return allOf(query.clauses.map((clause) => this.compile(clause, scope)))
      case 'or':
        return anyOf(query.clauses.map((clause) => this.compile(clause, scope)))
      case 'not':
        return negated(this.compile(query.clause, scope))
      case 'text':
        return this.#compileText(query, scope)
      case 'field':
        return this.#compileField(query, scope)
      case 'element': {
        const array = query.field.parts.slice(0, -1)
        const element = new ElementScope(scope, array, this.#levels++)
        return element.wrap(this.compile(query.query, element))
      }
    }
  }

  /** In the text fields; in events that have no string there, in all strings. */
  #compileText(clause: TextClause, scope: Scope): string {
    const { test } = clause
    const inText = scope.textPaths.map((path) => this.#test(clause, test, [path], true, scope))
    const { textless } = scope
    const columns = textless.paths.flatMap((path) => scope.typed(path)).filter(isOfStrings)
    const inStrings = this.#testStrings(clause, columns)
    if (inStrings === 'false') return anyOf(inText)
    const hasNone = textless.doubtful.map((path) => {
      const { sql } = scope.dynamic([path])!
      return this.#counted(clause, `isNull(${sql}.:String)`)
    })
    if (textless.shapes !== undefined) {
      hasNone.push(`shape IN (${this.#params.add('Array(UInt64)', textless.shapes)})`)
    }
    return anyOf([...inText, allOf([...hasNone, inStrings])])
  }

  /** One condition, whatever the number of columns: the engine plans it twenty times as fast. */
  #testStrings({ test, ...at }: TextClause, columns: readonly TypedColumn[]): string {
    const condition = compileTest(test, { sql: 'x', type: 'String' }, true, this.#params)
    if (columns.length === 0 || condition === undefined) return 'false'
    this.#params.conditions += Math.ceil(columns.length / STRINGS_A_CONDITION)
    const scalars = columns.filter(({ arrays }) => arrays === 0).map(({ sql }) => sql)
    const arrays = columns.filter((column) => column.arrays > 0).map(flatArray)
    const all = scalars.length === 0 ? arrays : [`[${scalars.join(', ')}]`, ...arrays]
    const strings = all.length === 1 ? all[0] : `arrayConcat(${all.join(', ')})`
    return this.#counted(at, `arrayExists(x -> ${condition}, ${strings})`)
  }

  #compileField(clause: FieldClause, scope: Scope): string {
    const { field, test } = clause
    const { textNames } = scope
    switch (field.kind) {
      case 'system':
        return this.#system(clause, field.name, scope)
      case 'path':
        return this.#test(clause, test, field.parts, textNames.hasParts(field.parts), scope)
      case 'below':
      case 'any': {
        const paths = findPaths(field, scope)
        assertFewPaths(clause, paths)
        return anyOf(
          paths.map((path) => this.#test(clause, test, path, textNames.hasParts(path), scope)),
        )
      }
    }
  }

  #system(clause: FieldClause, name: SystemFieldName, scope: Scope): string {
    const own = compileSystemTest(name, clause.test, this.#params)
    if (!isTraceField(name)) return own
    const inPayload = traceTests(clause.test).flatMap((test) => {
      return TRACE_PATHS[name].map((path) => this.#test(clause, test, [path], false, scope))
    })
    return anyOf([this.#counted(clause, own), ...inPayload])
  }

  /** What `test` asks of the values at one path. */
  #test(at: Span, test: Test, path: PathParts, isText: boolean, scope: Scope): string {
    const isElement = path.length > 1 && path.at(-1) === ''
    if (isElement) {
      const columns = scope.typed(path.slice(0, -1))
      const elements = columns.filter(({ arrays }) => arrays > path.length - 2)
      return anyOf(elements.map((column) => this.#testColumn(at, test, column, isText)))
    }
    if (test.kind === 'exists') {
      const column = scope.mayHave(path) ? scope.dynamic(path) : undefined
      return this.#counted(at, column && exists(column))
    }
    const isLabel = !isText && isServiceName(test) && scope.isService(path)
    return anyOf(
      scope.typed(path).map((column) => {
        if (isLabel && isPlainString(column)) return this.#testService(at, test, column)
        return this.#testColumn(at, test, column, isText)
      }),
    )
  }

  /**
   * The service that the event's fields say: that of a record counts before them, and then they are
   * in the context.
   */
  #testService(at: Span, test: Test, column: TypedColumn): string {
    const label = this.#testColumn(at, test, { ...column, sql: 'service' }, false)
    const own = this.#testColumn(at, test, { ...column, sql: CONTEXT_SERVICE }, false)
    return `((context = '' AND ${label}) OR ${own})`
  }

  #testColumn(at: Span, test: Test, column: TypedColumn, isText: boolean): string {
    const { arrays, type } = column
    if (test.kind === 'exists') return this.#counted(at, exists(column))
    if (arrays === 0) return this.#counted(at, compileTest(test, column, isText, this.#params))
    const sql = flatArray(column)
    const condition = compileTest(test, { sql: 'x', type }, isText, this.#params)
    if (this.#counted(at, condition) === 'false') return 'false'
    const [, parameter] = /^x = (\{p[0-9]+:String\})$/.exec(condition ?? '') ?? []
    if (parameter !== undefined) return `has(${sql}, ${parameter})`
    return `arrayExists(x -> ${condition}, ${sql})`
  }

  #counted(at: Span, condition: string | undefined): string {
    if (condition === undefined) return 'false'
    if (++this.#params.conditions <= QUERY_CONDITIONS_MAX) return condition
    throw new QueryError(
      at,
      `the query becomes over ${QUERY_CONDITIONS_MAX} conditions (QUERY_CONDITIONS_MAX)`,
      'name the fields that are meant, ask for fewer values, or fewer streams at a time',
    )
  }
}

function exists({ sql, arrays }: Column): string {
  if (arrays === 0) return `isNotNull(${sql})`
  return `arrayExists(x -> isNotNull(x), ${flatArray({ sql, arrays })})`
}

/** Precondition: it is in an array. */
function flatArray({ sql, arrays }: Column): string {
  return arrays === 1 ? sql : `arrayFlatten(${sql})`
}

function isOfStrings({ type }: TypedColumn): boolean {
  return type === 'String'
}

const CONTEXT_SERVICE = `substring(context, ${CONTEXT_SERVICE_AT + 1})`

/** Texts that the column `service` has as they are; it is cheaper to read than the payload's. */
function isServiceName(test: Test): boolean {
  if (test.kind !== 'value') return false
  const bytes = Buffer.byteLength(test.value.text)
  return bytes > 0 && bytes <= SERVICE_BYTES_MAX
}

function isPlainString({ type, arrays }: TypedColumn): boolean {
  return type === 'String' && arrays === 0
}

/** The paths that `http.*` and `*` stand for, including those within arrays. */
function findPaths(field: BelowField | AnyField, scope: Scope): PathParts[] {
  const parts = field.kind === 'any' ? [''] : field.parts
  const around = parts.slice(0, -1)
  const last = parts.at(-1)!
  const prefix = last === '' ? '' : `${last}.`
  return scope.paths.filter((path) => {
    if (!around.every((part, at) => path[at] === part)) return false
    const name = path[around.length]
    return name?.startsWith(prefix) && path.every(isFieldPath)
  })
}

function assertFewPaths(at: Span, paths: readonly PathParts[]): void {
  if (paths.length <= QUERY_PATHS_MAX) return
  const shown = paths.slice(0, QUERY_PATHS_MAX).map(catalogPath).join(', ')
  throw new QueryError(
    at,
    `this stands for ${paths.length} fields, over ${QUERY_PATHS_MAX} (QUERY_PATHS_MAX)`,
    `name a narrower one: ${shown}, …`,
  )
}

function allOf(conditions: readonly string[]): string {
  if (conditions.includes('false')) return 'false'
  const kept = [...new Set(conditions)].filter((condition) => condition !== 'true')
  if (kept.length === 0) return 'true'
  return kept.length === 1 ? kept[0]! : `(${kept.join(' AND ')})`
}

function anyOf(conditions: readonly string[]): string {
  if (conditions.includes('true')) return 'true'
  const kept = [...new Set(conditions)].filter((condition) => condition !== 'false')
  if (kept.length === 0) return 'false'
  return kept.length === 1 ? kept[0]! : `(${kept.join(' OR ')})`
}

function negated(condition: string): string {
  if (condition === 'true') return 'false'
  return condition === 'false' ? 'true' : `(NOT ${isTrue(condition)})`
}
