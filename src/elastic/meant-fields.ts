/**
 * Fields as clients of Elasticsearch name them, in a query of ours: `@timestamp` is the time of the
 * event, quoted numbers are numbers too, and what has no meaning here is refused.
 */

import { tryReadField } from '../language/field-text.ts'
import { isQueryablePath } from '../language/parse-field.ts'
import { QueryError } from '../language/query-error.ts'
import {
  type Field,
  type FieldClause,
  type Query,
  type Scalar,
  SYSTEM_FIELDS,
  type SystemFieldName,
  type Test,
} from '../language/query-tree.ts'
import { makeScalar } from '../language/scalar.ts'
import { readSystemTest } from '../language/system-fields.ts'
import type { TimeBasis } from '../model/aggregates.ts'
import { refused, shown } from './members.ts'

/** What of a query has no place in a text. */
export const NOWHERE = { start: 0, end: 0 } as const

/** The field of the time of an event, or of its receipt where it has none. */
export const TIMESTAMP = '@timestamp'

const CLOCKS: Readonly<Record<string, TimeBasis>> = {
  [TIMESTAMP]: 'event_time',
  _event_time: 'event_time',
  _ingested_at: 'ingested_at',
}

/** The clock that a field's name means. */
export function clockOf(name: string): TimeBasis | undefined {
  return Object.hasOwn(CLOCKS, name) ? CLOCKS[name] : undefined
}

/** Fields of Elasticsearch that nothing of ours is like. */
const FOREIGN = ['_index', '_source', '_type', '_routing', '_ignored', '_tier']

/** The field of a name that stands alone. */
export function meantField(name: string, where: string): Field {
  if (FOREIGN.includes(name)) throw foreign(name, where)
  if (name === '*') return { kind: 'any', ...NOWHERE }
  const clock = clockOf(name)
  if (clock !== undefined)
    return systemField(clock === 'event_time' ? '_event_time' : '_ingested_at')
  const system = SYSTEM_FIELDS.find((one) => one === name)
  if (system !== undefined) return systemField(system)
  const read = name.includes('[]') ? tryReadField(name) : undefined
  if (read?.kind === 'path') return { ...read, ...NOWHERE }
  if (isQueryablePath([name])) return { kind: 'path', parts: [name], ...NOWHERE }
  throw refused(`${where}: ${shown(name)} is not the name of a field`)
}

function systemField(name: SystemFieldName): Field {
  return { kind: 'system', name, ...NOWHERE }
}

function foreign(name: string, where: string): Error {
  const repair = name === '_index' ? ': name the streams as the index' : ''
  return refused(`${where}: there is no field ${shown(name)}${repair}`)
}

/** A value that is compared: what looks like a number or a boolean may be one. */
export function meantScalar(text: string): Scalar {
  const plain = makeScalar(NOWHERE, text, false)
  return plain.kind === 'string' ? makeScalar(NOWHERE, text, true) : plain
}

/** Throws `malformed`, for a test that the field does not allow. */
export function clauseOf(field: Field, test: Test, where: string): FieldClause {
  if (field.kind !== 'system') return { kind: 'field', field, test, ...NOWHERE }
  try {
    return { kind: 'field', field, test: readSystemTest(field, test), ...NOWHERE }
  } catch (cause) {
    if (cause instanceof QueryError) throw refused(`${where}: ${cause.message}`)
    throw cause
  }
}

/** What a text in Lucene's form means, which was read as one of ours. */
export function meantQuery(query: Query, where: string): Query {
  switch (query.kind) {
    case 'all':
    case 'text':
      return query
    case 'and':
    case 'or':
      return { ...query, clauses: query.clauses.map((clause) => meantQuery(clause, where)) }
    case 'not':
      return { ...query, clause: meantQuery(query.clause, where) as FieldClause }
    case 'element':
      return { ...query, query: meantQuery(query.query, where) }
    case 'field': {
      const { field, test } = query
      const name = field.kind === 'path' && field.parts.length === 1 ? field.parts[0] : undefined
      if (name !== undefined && (FOREIGN.includes(name) || clockOf(name) !== undefined)) {
        return {
          ...clauseOf(meantField(name, where), test, where),
          start: query.start,
          end: query.end,
        }
      }
      return field.kind === 'system' ? query : { ...query, test: meantTest(test) }
    }
  }
}

function meantTest(test: Test): Test {
  if (test.kind !== 'value' || !test.value.isQuoted) return test
  return { ...test, value: { ...meantScalar(test.value.text), start: test.start, end: test.end } }
}
