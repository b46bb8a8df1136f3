/** Elasticsearch's queries of one field, or of all of them, as clauses of our language. */
import { parse } from '../language/parse.ts'
import { QueryError } from '../language/query-error.ts'
import type { Pattern, Query, Test } from '../language/query-tree.ts'
import { QUERY_CLAUSES_MAX } from '../limits.ts'
import { allOf, anyOf } from './join-queries.ts'
import { clauseOf, meantField, meantQuery, meantScalar, NOWHERE } from './meant-fields.ts'
import {
  asList,
  type Members,
  readFlag,
  readMembers,
  readObject,
  readOnly,
  readScalar,
  readText,
  refused,
  shown,
} from './members.ts'

/** The query of a text in Lucene's form. */
function readLucene(text: string, where: string): Query {
  try {
    return meantQuery(parse(text), where)
  } catch (cause) {
    if (!(cause instanceof QueryError)) throw cause
    throw refused(`${where}: ${cause.message}`, 'query_shard_exception')
  }
}

const QUERY_STRING_MEMBERS = [
  'query',
  'analyze_wildcard',
  'default_operator',
  'default_field',
  'fields',
  'lenient',
  'boost',
  'allow_leading_wildcard',
  'time_zone',
]

/** A text in Lucene's form, over all text fields. */
export function readQueryString(value: unknown, where: string): Query {
  const members = readMembers(value, where, QUERY_STRING_MEMBERS)
  const { default_field: field, fields, default_operator: operator } = members
  const isAny = (name: unknown) => name === '*' || name === '_all'
  const isEverywhere = fields === undefined || asList(fields).every(isAny)
  if ((field !== undefined && !isAny(field)) || !isEverywhere) {
    throw refused(`${where}: name the field in the query: field:word`)
  }
  const query = readLucene(readText(members.query, `${where}.query`), `${where}.query`)
  if (typeof operator === 'string' && operator.toLowerCase() === 'or' && query.kind === 'and') {
    throw refused(`${where}.default_operator: words side by side are AND here: write OR between`)
  }
  return query
}

/** `{field: value}`, or `{field: {[inner]: value, …}}`. */
function readNamed(value: unknown, where: string, inner: string, more: readonly string[]) {
  const [name, body] = readOnly(value, where)
  const at = `${where}.${shown(name)}`
  if (typeof body !== 'object' || body === null) return { name, at, value: body, members: {} }
  const members: Members = readMembers(body, at, [inner, 'boost', ...more])
  return { name, at, value: members[inner], members }
}

/** That a field has a value, or with `isWhole` false its words. */
export function valueClause(name: string, value: unknown, where: string, isWhole: boolean): Query {
  const scalar = meantScalar(readScalar(value, where))
  return clauseOf(
    meantField(name, where),
    { kind: 'value', value: scalar, isWhole, ...NOWHERE },
    where,
  )
}

/** The whole value. */
export function readTerm(value: unknown, where: string): Query {
  const { name, at, value: wanted, members } = readNamed(value, where, 'value', CASE)
  refuseCase(members, at)
  return valueClause(name, wanted, at, true)
}

/** One of these values. */
export function readTerms(value: unknown, where: string): Query {
  const { boost: _, ...rest } = readObject(value, where)
  const [name, values] = readOnly(rest, where)
  if (!Array.isArray(values)) throw refused(`${where}.${shown(name)} must be a list of values`)
  if (values.length > QUERY_CLAUSES_MAX) {
    throw refused(`${where}: over ${QUERY_CLAUSES_MAX} values (QUERY_CLAUSES_MAX)`)
  }
  return anyOf(values.map((one) => valueClause(name, one, `${where}.${shown(name)}`, true)))
}

/** Words in a row. */
export function readPhrase(value: unknown, where: string): Query {
  const named = readNamed(value, where, 'query', ['slop', 'zero_terms_query'])
  if (Number(named.members.slop ?? 0) !== 0) throw refused(`${named.at}.slop is not supported`)
  return valueClause(named.name, named.value, named.at, false)
}

/** Any of the words, or all of them. */
export function readMatch(value: unknown, where: string): Query {
  const named = readNamed(value, where, 'query', ['operator', 'lenient', 'zero_terms_query'])
  const text = readScalar(named.value, named.at)
  const words = text.split(/\s+/).filter((word) => word !== '')
  if (words.length < 2) return valueClause(named.name, text, named.at, false)
  const clauses = words.map((word) => valueClause(named.name, word, named.at, false))
  const operator = String(named.members.operator ?? 'or').toLowerCase()
  return operator === 'and' ? allOf(clauses) : anyOf(clauses)
}

const CASE = ['case_insensitive', 'rewrite']

function refuseCase(members: Members, where: string): void {
  const { case_insensitive: given } = members
  if (given === undefined || !readFlag(given, `${where}.case_insensitive`)) return
  throw refused(`${where}.case_insensitive: write a regular expression: /…/i`)
}

/** The whole value, with `*` and `?`. */
export function readWildcard(value: unknown, where: string): Query {
  const isByValue = JSON.stringify(value).includes('"wildcard"')
  const named = readNamed(value, where, isByValue ? 'wildcard' : 'value', CASE)
  refuseCase(named.members, named.at)
  const text = readText(named.value, named.at)
  const tokens: Pattern[number][] = []
  for (let at = 0; at < text.length; at++) {
    const char = text[at]!
    const last = tokens.at(-1)
    const literal = (more: string) => {
      if (last?.kind === 'literal')
        tokens[tokens.length - 1] = { kind: 'literal', text: last.text + more }
      else tokens.push({ kind: 'literal', text: more })
    }
    if (char === '\\' && at + 1 < text.length) literal(text[++at]!)
    else if (char === '?') tokens.push({ kind: 'one' })
    else if (char !== '*') literal(char)
    else if (last?.kind !== 'many') tokens.push({ kind: 'many' })
  }
  return patternClause(named.name, tokens, named.at)
}

/** A value that begins so. */
export function readPrefix(value: unknown, where: string): Query {
  const named = readNamed(value, where, 'value', CASE)
  refuseCase(named.members, named.at)
  const text = readText(named.value, named.at)
  const start = text === '' ? [] : [{ kind: 'literal', text } as const]
  return patternClause(named.name, [...start, { kind: 'many' }], named.at)
}

function patternClause(name: string, pattern: Pattern, where: string): Query {
  const field = meantField(name, where)
  const [first] = pattern
  const isPlain = pattern.every(({ kind }) => kind === 'literal')
  if (isPlain) return valueClause(name, first?.kind === 'literal' ? first.text : '', where, true)
  const test: Test =
    pattern.length === 1 && first?.kind === 'many'
      ? { kind: 'exists', ...NOWHERE }
      : { kind: 'wildcard', pattern, isWhole: true, ...NOWHERE }
  return clauseOf(field, test, where)
}

/** Lucene's expressions match the whole value. */
export function readRegexp(value: unknown, where: string): Query {
  const named = readNamed(value, where, 'value', [...CASE, 'flags', 'max_determinized_states'])
  const { case_insensitive: anyCase } = named.members
  const source = `^(?:${readText(named.value, named.at)})$`
  const ignoreCase = anyCase !== undefined && readFlag(anyCase, `${named.at}.case_insensitive`)
  const test: Test = { kind: 'regex', source, ignoreCase, ...NOWHERE }
  return clauseOf(meantField(named.name, named.at), test, named.at)
}
