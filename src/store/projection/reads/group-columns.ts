/**
 * What events are grouped by, on one branch of the rows (`compile/row-source.ts`): typed
 * subcolumns, because ClickHouse refuses GROUP BY on a value of any type, and because grouping by
 * a typed one costs a quarter. Each group then becomes a kind and a text, which are the same on all
 * branches, whatever types each branch knows. That conversion runs once per group, not once per
 * row.
 */

import { type FieldRef, GROUP_KINDS, type KeyChanges } from '../../../model/aggregates.ts'
import { LEVELS } from '../../../model/event-labels.ts'
import type { ScalarType } from '../../../model/field-catalog.ts'
import type { UnionBranch } from '../compile/row-source.ts'
import type { SqlParams } from '../compile/sql-params.ts'
import { dynamicColumn } from '../compile/typed-column.ts'
import { numberSql } from './parts.ts'

/** Numbers of the kinds: their index in `GROUP_KINDS`. */
const NULL = 0
const STRING = 1
const NUMBER = 2
const BOOLEAN = 3
const OTHER = 4

export interface LegKey {
  /** What the branch groups by, each with its alias; none where all rows are of one group. */
  readonly groupBy: readonly string[]
  /** A UInt8 of the groups. */
  readonly kind: string
  /** A String of the groups. */
  readonly text: string
}

export interface KeyOptions {
  /** Begins the aliases: no two keys have the same. */
  readonly alias: string
  /** There are other keys beside it. */
  readonly isOneOfMany: boolean
  readonly params: SqlParams
}

export function legKey(
  field: FieldRef & KeyChanges,
  branch: UnionBranch,
  options: KeyOptions,
): LegKey {
  const { steps, missing, isText } = field
  const own =
    steps === undefined ? plainKey(field, branch, options) : stepKey(field, branch, options)
  const ofText = `toUInt8(if(${own.kind} = ${NULL}, ${NULL}, ${STRING}))`
  const key = isText === true ? { ...own, kind: ofText } : own
  if (missing === undefined) return key
  const { kind, text } = key
  const instead = options.params.add('String', missing.text)
  const missingKind = isText === true ? STRING : GROUP_KINDS.indexOf(missing.kind)
  return {
    ...key,
    kind: `toUInt8(if(${kind} = ${NULL}, ${missingKind}, ${kind}))`,
    text: `if(${kind} = ${NULL}, ${instead}, ${text})`,
  }
}

function plainKey(field: FieldRef, branch: UnionBranch, options: KeyOptions): LegKey {
  return field.kind === 'path'
    ? pathKey(field.path, branch, options.alias)
    : labelKey(field.label, branch, options)
}

/** The number of the step that a number is in. */
function stepKey(
  field: FieldRef & KeyChanges,
  branch: UnionBranch,
  { alias, params }: KeyOptions,
): LegKey {
  const { size = 1, offset = 0 } = field.steps ?? {}
  const value = numberSql(field, branch)
  if (value === 'NULL') return { groupBy: [], kind: `toUInt8(${NULL})`, text: "''" }
  const name = `${alias}_step`
  const [start, step] = [offset, size].map((of) => params.add('Float64', of))
  return {
    // What is added makes 0 of -0.
    groupBy: [`floor((${value} - ${start}) / ${step}) + 0 AS ${name}`],
    kind: `toUInt8(if(isNull(${name}), ${NULL}, ${NUMBER}))`,
    text: `ifNull(toString(${name}), '')`,
  }
}

function pathKey(path: string, branch: UnionBranch, alias: string): LegKey {
  const { scalars, elements, hasObjects } = branch.fields.typesOf([path])
  const column = dynamicColumn([path])!.sql
  const keys = scalars.map((type) => ({ sql: `${column}.:${type}`, ...textOf(type, alias), type }))
  const groupBy = keys.map(({ sql, name }) => `${sql} AS ${name}`)
  const kinds = keys.map(({ name, type }) => `isNotNull(${name}), ${kindOf(type)}`)
  const texts = keys.map(({ text }) => text)
  if (elements.length > 0 || hasObjects) {
    const name = `${alias}_other`
    const isArray = `startsWith(dynamicType(${column}), 'Array')`
    // As JSON: `ARRAY_SETTINGS` says how. Of two streams or branches, equal arrays have one text.
    groupBy.push(`if(${isArray}, toJSONString(${column}), NULL) AS ${name}`)
    kinds.push(`isNotNull(${name}), ${OTHER}`)
    texts.push(name)
  }
  if (groupBy.length === 0) return { groupBy, kind: `toUInt8(${NULL})`, text: "''" }
  return {
    groupBy,
    kind: `toUInt8(multiIf(${kinds.join(', ')}, ${NULL}))`,
    text: `coalesce(${texts.join(', ')}, '')`,
  }
}

function kindOf(type: ScalarType): number {
  if (type === 'String') return STRING
  return type === 'Bool' ? BOOLEAN : NUMBER
}

/** Equal numbers have one text, whichever type they are of. */
function textOf(type: ScalarType, alias: string): { readonly name: string; readonly text: string } {
  const name = `${alias}_${type}`
  if (type === 'String') return { name, text: name }
  if (type !== 'Float64') return { name, text: `toString(${name})` }
  const integer = `toString(toInt128(if(abs(${name}) < 1.8446744073709552e19, ${name}, 0)))`
  const text =
    `multiIf(isNull(${name}), NULL, ` +
    `${name} = trunc(${name}) AND abs(${name}) < 1.8446744073709552e19, ${integer}, ` +
    `toString(${name}))`
  return { name, text }
}

function labelKey(
  label: (FieldRef & { kind: 'system' })['label'],
  branch: UnionBranch,
  { alias, isOneOfMany }: KeyOptions,
): LegKey {
  const name = `${alias}_${label}`
  switch (label) {
    case '_stream': {
      const kind = `toUInt8(${STRING})`
      const isConstant = branch.stream.startsWith('{')
      if (isConstant) return { groupBy: [], kind, text: `toString(${branch.stream})` }
      return { groupBy: [`${branch.stream} AS ${name}`], kind, text: `toString(${name})` }
    }
    case '_shape':
      return {
        groupBy: [`shape AS ${name}`],
        kind: `toUInt8(${STRING})`,
        text: `leftPad(lower(hex(${name})), 16, '0')`,
      }
    case '_pattern':
      return {
        groupBy: [`pattern AS ${name}`],
        kind: `toUInt8(if(${name} = 0, ${NULL}, ${STRING}))`,
        text: `if(${name} = 0, '', leftPad(lower(hex(${name})), 16, '0'))`,
      }
    case '_level':
      if (isOneOfMany) return codedLevel(name)
      return textLabel('level', name)
    case '_service':
      return textLabel('service', name)
  }
}

function textLabel(column: string, name: string): LegKey {
  return {
    groupBy: [`${column} AS ${name}`],
    kind: `toUInt8(if(${name} = '', ${NULL}, ${STRING}))`,
    text: `CAST(${name}, 'String')`,
  }
}

/** Beside another key, grouping by a number is a third faster than by a text. */
function codedLevel(name: string): LegKey {
  const codes = LEVELS.map((level, index) => `level = '${level}', ${index + 1}`)
  const texts = LEVELS.map((level) => `'${level}'`)
  return {
    groupBy: [`toUInt8(multiIf(${codes.join(', ')}, 0)) AS ${name}`],
    kind: `toUInt8(if(${name} = 0, ${NULL}, ${STRING}))`,
    text: `['', ${texts.join(', ')}][${name} + 1]`,
  }
}
