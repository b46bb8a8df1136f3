/**
 * Where a condition looks up its fields: the event, or one element of an array of objects.
 *
 * An element's fields are columns too: parallel arrays. Its condition becomes a lambda over the
 * columns that it reads, `arrayExists((e0, e1) -> e0 = 1 AND e1 = 'x', column0, column1)`: so both
 * tests are of the same element, and no object is ever put together.
 */
import { isServiceField, SERVICE_FIELDS } from '../../../model/event-labels.ts'
import { NO_TEXTLESS, type PathParts, type Textless } from '../../../model/field-catalog.ts'
import type { TextNames } from '../../../model/text-fields.ts'
import type { BranchFields } from './branch-fields.ts'
import {
  type Column,
  dynamicColumn,
  objectsColumn,
  type TypedColumn,
  typedColumns,
} from './typed-column.ts'

export interface Scope {
  readonly textNames: TextNames
  /** Where words without a field are searched; none within an element. */
  readonly textPaths: readonly string[]
  /** Of which rows they are searched in all strings. */
  readonly textless: Textless
  /** Paths with values, from here. */
  readonly paths: readonly PathParts[]
  typed(path: PathParts): readonly TypedColumn[]
  dynamic(path: PathParts): Column | undefined
  objects(path: PathParts): Column | undefined
  /** May it have any value there? */
  mayHave(path: PathParts): boolean
  /** Is the column `service` what the event has there, as far as that is a string? */
  isService(path: PathParts): boolean
}

export function eventScope(fields: BranchFields): Scope {
  let named: readonly string[] | undefined
  return {
    textNames: fields.textNames,
    textPaths: fields.textPaths,
    textless: fields.textless,
    paths: fields.paths,
    typed: keepColumns((path) => typedColumns(path, fields)),
    dynamic: dynamicColumn,
    objects: (path) => objectsColumn(path, fields),
    mayHave: (path) => {
      const { scalars, elements, hasObjects } = fields.typesOf(path)
      return scalars.length > 0 || elements.length > 0 || hasObjects
    },
    isService: ([name, ...deeper]) => {
      if (deeper.length > 0 || name === undefined || !isServiceField(name)) return false
      named ??= serviceFields(fields)
      return named.length === 1 && named[0] === name
    },
  }
}

/** The fields that may name the service, as the rows have them: in any case of letters. */
function serviceFields({ typesOf, paths }: BranchFields): readonly string[] {
  const seen = paths.flatMap(([name = '', ...deeper]) => {
    return deeper.length === 0 && isServiceField(name) ? [name] : []
  })
  return [...new Set<string>([...SERVICE_FIELDS, ...seen])].filter((name) => {
    return typesOf([name]).scalars.includes('String')
  })
}

/** A query of many words asks for the same paths again and again. */
function keepColumns(typed: Scope['typed']): Scope['typed'] {
  const known = new Map<string, readonly TypedColumn[]>()
  return (path) => {
    const key = path.join('\0')
    const columns = known.get(key) ?? typed(path)
    known.set(key, columns)
    return columns
  }
}

/** One element of the arrays at `array`; `wrap` makes its condition one of the whole event. */
export class ElementScope implements Scope {
  readonly textNames: TextNames
  readonly textPaths = []
  readonly textless = NO_TEXTLESS
  readonly paths: readonly PathParts[]
  readonly #parent: Scope
  readonly #array: PathParts
  readonly #level: number
  /** Variables by their columns. */
  readonly #variables = new Map<string, string>()

  /** `level` tells variables of nested elements apart. */
  constructor(parent: Scope, array: PathParts, level: number) {
    this.#parent = parent
    this.#array = array
    this.#level = level
    this.textNames = parent.textNames
    this.paths = parent.paths
      .filter((path) => array.every((part, at) => path[at] === part))
      .map((path) => path.slice(array.length))
      .filter((path) => path.length > 0 && path[0] !== '')
  }

  typed(path: PathParts): readonly TypedColumn[] {
    const columns = this.#parent.typed([...this.#array, ...path])
    return columns.map((column) => ({ ...column, ...this.#variable(column) }))
  }

  dynamic(path: PathParts): Column | undefined {
    const column = this.#parent.dynamic([...this.#array, ...path])
    return column && this.#variable(column)
  }

  objects(path: PathParts): Column | undefined {
    const column = this.#parent.objects([...this.#array, ...path])
    return column && this.#variable(column)
  }

  mayHave(path: PathParts): boolean {
    return this.#parent.mayHave([...this.#array, ...path])
  }

  isService(): boolean {
    return false
  }

  /** The condition that some element meets `condition`, which was compiled in this scope. */
  wrap(condition: string): string {
    if (condition === 'false') return 'false'
    const depthMax = this.#array.length
    const used = [...this.#variables].filter(([, name]) => {
      return condition.includes(variable(name, depthMax))
    })
    if (used.length === 0) {
      const objects = this.#parent.objects(this.#array)
      if (objects === undefined) return 'false'
      return condition === 'true' ? notEmpty(objects) : `(${notEmpty(objects)} AND ${condition})`
    }
    // Each array of a field of the elements has as many entries as there are elements.
    let wrapped = condition
    for (let depth = depthMax; depth > 0; depth--) {
      const inner = used.map(([, name]) => variable(name, depth))
      const outer = used.map(([sql, name]) => (depth === 1 ? sql : variable(name, depth - 1)))
      const head = inner.length === 1 ? inner[0] : `(${inner.join(', ')})`
      wrapped = `arrayExists(${head} -> ${wrapped}, ${outer.join(', ')})`
    }
    return wrapped
  }

  #variable({ sql, arrays }: Column): Column {
    let name = this.#variables.get(sql)
    if (name === undefined) {
      name = `e${this.#level}_${this.#variables.size}`
      this.#variables.set(sql, name)
    }
    const depth = this.#array.length
    return { sql: variable(name, depth), arrays: arrays - depth }
  }
}

function variable(name: string, depth: number): string {
  return `${name}_${depth}`
}

function notEmpty({ sql, arrays }: Column): string {
  return arrays === 1 ? `notEmpty(${sql})` : `arrayExists(x -> notEmpty(x), arrayFlatten(${sql}))`
}
