/**
 * The query that finds just the events that a window counted of one group: the rule's own, and the
 * group's values, built as a tree and written by the language's printer, so that all is quoted
 * right.
 */
import { readElementTexts } from '../api/json-text.ts'
import { conjoin } from '../language/combine.ts'
import { readFieldName } from '../language/field-text.ts'
import { format } from '../language/format.ts'
import { parse } from '../language/parse.ts'
import { QueryError } from '../language/query-error.ts'
import {
  type FieldClause,
  type Query,
  SYSTEM_FIELDS,
  type SystemFieldName,
} from '../language/query-tree.ts'
import { GROUP_VALUE_CHARS_MAX } from '../model/alerts/alert-rule.ts'
import { valueClause } from '../read/value-clause.ts'
import type { RuleSettings } from '../store/alerts/rule.ts'

const NOWHERE = { start: 0, end: 0 }
/** Of which stream an event is: the API groups by it, queries do not know it. */
const STREAM = '_stream'

type Asked = Pick<RuleSettings, 'query' | 'aggregate' | 'group_by'>

/**
 * `groupJson`: the values as a JSON array; undefined: the rule as a whole. Undefined where no query
 * finds exactly these, as for groups of arrays.
 */
export function countedEventsQuery(
  asked: Asked,
  groupJson: string | undefined,
): string | undefined {
  const own = [asked.query, asked.aggregate.query ?? ''].map(tryParse)
  const values = groupJson === undefined ? [] : readElementTexts(groupJson)
  const clauses = values.map((value, at) => {
    const name = asked.group_by[at]!
    return name === STREAM ? ({ kind: 'all', ...NOWHERE } as const) : clauseOf(name, value)
  })
  const known = [...own, ...clauses].filter((clause) => clause !== undefined)
  if (known.length < own.length + clauses.length) return undefined
  const told = known.filter(({ kind }) => kind !== 'all')
  return told.length === 0 ? '' : format(conjoin('and', told))
}

/** Undefined for what this version cannot read. */
function tryParse(text: string): Query | undefined {
  try {
    return parse(text)
  } catch (cause) {
    if (cause instanceof QueryError) return undefined
    throw cause
  }
}

/** The id of the stream that the group is of, where the rule is grouped by it. */
export function countedStream({ group_by: names }: Asked, groupJson: string): string | undefined {
  const at = names.indexOf(STREAM)
  const value = at < 0 ? undefined : readElementTexts(groupJson)[at]
  return value === undefined ? undefined : String(JSON.parse(value))
}

function clauseOf(name: string, json: string): Query | undefined {
  if (/^[[{]/.test(json)) return undefined
  const field = fieldOf(name)
  if (json === 'null') return valueClause(field, { kind: 'null', text: '' })
  if (!json.startsWith('"')) {
    const kind = json === 'true' || json === 'false' ? 'boolean' : 'number'
    return valueClause(field, { kind, text: json })
  }
  if (json.length >= GROUP_VALUE_CHARS_MAX) return undefined
  return valueClause(field, { kind: 'string', text: JSON.parse(json) as string })
}

function fieldOf(name: string): FieldClause['field'] {
  if ((SYSTEM_FIELDS as readonly string[]).includes(name)) {
    return { kind: 'system', name: name as SystemFieldName, ...NOWHERE }
  }
  return { kind: 'path', parts: [readFieldName(name).path], ...NOWHERE }
}
