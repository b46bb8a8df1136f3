/**
 * Elasticsearch's queries as queries of our language: the tree, and the range of time that
 * surrounds all of it.
 *
 *   bool, term, range, query_string, … ─▶ tree ─▶ its canonical text ─▶ the tree of that text
 *
 * The last step holds what was sent to all bounds of the language, and gives workers the text.
 */
import { format } from '../language/format.ts'
import { parse } from '../language/parse.ts'
import { QueryError } from '../language/query-error.ts'
import type { Bound, Query } from '../language/query-tree.ts'
import { makeRange } from '../language/scalar.ts'
import { QUERY_CLAUSES_MAX, QUERY_LEVELS_MAX } from '../limits.ts'
import type { TimeBasis } from '../model/aggregates.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import { ALL, allOf, anyOf, NONE, noneOf } from './join-queries.ts'
import { clauseOf, clockOf, meantField, meantScalar, NOWHERE } from './meant-fields.ts'
import {
  asList,
  isEmpty,
  type Members,
  readFlag,
  readInteger,
  readMembers,
  readOnly,
  readScalar,
  readText,
  refused,
  shown,
  unknownMember,
} from './members.ts'
import {
  readMatch,
  readPhrase,
  readPrefix,
  readQueryString,
  readRegexp,
  readTerm,
  readTerms,
  readWildcard,
  valueClause,
} from './read-clauses.ts'
import { readMomentMs } from './read-moments.ts'

/** Of one clock; ends are whole milliseconds, the second one exclusive. */
export interface ClockRange {
  readonly clock: TimeBasis
  readonly fromMs: number | undefined
  readonly untilMs: number | undefined
}

export interface MeantQuery {
  readonly query: Query
  readonly text: string
  readonly range: ClockRange | undefined
}

/** `value`: the member `query`; undefined is all events. */
export function readQuery(value: unknown, nowMs: number): MeantQuery {
  const reader = new QueryReader(nowMs)
  const tree = value === undefined ? ALL : reader.read(value, 'query', { level: 0, isAround: true })
  return { ...boundedQuery(tree), range: reader.range }
}

/** A condition within a search: a range of time in it is one like any other. */
export function readCondition(value: unknown, where: string, nowMs: number): Query {
  const tree = new QueryReader(nowMs).read(value, where, { level: 0, isAround: false })
  return boundedQuery(tree).query
}

/** Held to the bounds of the language. */
function boundedQuery(tree: Query): Pick<MeantQuery, 'query' | 'text'> {
  const text = tree.kind === 'all' ? '' : format(tree)
  try {
    return { query: parse(text), text }
  } catch (cause) {
    if (!(cause instanceof QueryError)) throw cause
    throw refused(`query: as a query of ours it would be past a bound: ${cause.message}`)
  }
}

interface Place {
  readonly level: number
  /** Every event of the answer must satisfy what is here. */
  readonly isAround: boolean
}

type ReadClause = (value: unknown, where: string, place: Place) => Query

class QueryReader {
  readonly #nowMs: number
  #count = 0
  range: ClockRange | undefined

  constructor(nowMs: number) {
    this.#nowMs = nowMs
  }

  readonly #kinds: Readonly<Record<string, ReadClause>> = {
    match_all: () => ALL,
    match_none: () => NONE,
    bool: (value, where, place) => this.#bool(value, where, place),
    constant_score: (value, where, place) => {
      const { filter } = readMembers(value, where, ['filter', 'boost'])
      return this.read(filter, `${where}.filter`, place)
    },
    range: (value, where, place) => this.#range(value, where, place),
    query_string: (value, where) => readQueryString(value, where),
    term: (value, where) => readTerm(value, where),
    terms: (value, where) => readTerms(value, where),
    match: (value, where) => readMatch(value, where),
    match_phrase: (value, where) => readPhrase(value, where),
    exists: (value, where) => {
      const { field } = readMembers(value, where, ['field', 'boost'])
      const name = readText(field, `${where}.field`)
      if (clockOf(name) !== undefined) return ALL
      return clauseOf(meantField(name, where), { kind: 'exists', ...NOWHERE }, where)
    },
    wildcard: (value, where) => readWildcard(value, where),
    prefix: (value, where) => readPrefix(value, where),
    regexp: (value, where) => readRegexp(value, where),
    ids: (value, where) => {
      const { values } = readMembers(value, where, ['values', 'boost'])
      return anyOf(asList(values).map((id) => valueClause('_id', id, `${where}.values`, true)))
    },
  }

  read(value: unknown, where: string, place: Place): Query {
    if (place.level > QUERY_LEVELS_MAX) {
      throw refused(`${where}: over ${QUERY_LEVELS_MAX} levels (QUERY_LEVELS_MAX)`)
    }
    if (++this.#count > 4 * QUERY_CLAUSES_MAX) {
      throw refused(`query: over ${4 * QUERY_CLAUSES_MAX} clauses`, 'too_many_nested_clauses')
    }
    const [kind, body] = readOnly(value, where)
    const read = Object.hasOwn(this.#kinds, kind) ? this.#kinds[kind] : undefined
    if (read === undefined) throw unknownMember(where, kind)
    return read(body, `${where}.${kind}`, place)
  }

  #bool(value: unknown, where: string, { level, isAround }: Place): Query {
    const members = readMembers(value, where, BOOL_MEMBERS)
    const clausesOf = (name: string) => {
      const given = members[name]
      const clauses = given === undefined ? [] : asList(given)
      // As Grafana sends it where there is no text.
      return clauses.filter((one) => !isEmpty(one))
    }
    const list = (name: string, around: boolean) =>
      clausesOf(name).map((one) => {
        return this.read(one, `${where}.${name}`, { level: level + 1, isAround: around })
      })
    const count = clausesOf('should').length
    const isAlone = clausesOf('must').length + clausesOf('filter').length === 0
    const least = readLeast(members.minimum_should_match, `${where}.minimum_should_match`, {
      count,
      isAlone,
    })
    const all = [...list('must', isAround), ...list('filter', isAround)]
    const none = list('must_not', false)
    // One that must hold is around all as well: the range of an annotation.
    const should = list('should', isAround && count === 1 && least === 1)
    const some = least === 0 ? [] : least === 1 ? [anyOf(should)] : [allOf(should)]
    return allOf([...all, ...none.map(noneOf), ...some])
  }

  #range(value: unknown, where: string, { isAround }: Place): Query {
    const [name, body] = readOnly(value, where)
    const at = `${where}.${shown(name)}`
    const members = readMembers(body, at, RANGE_MEMBERS)
    const clock = clockOf(name)
    if (clock === undefined) return rangeClause(name, members, at)
    const range = clockRange(clock, members, at, this.#nowMs)
    if (isAround && (this.range === undefined || this.range.clock === clock)) {
      this.range = this.range === undefined ? range : within(this.range, range)
      return ALL
    }
    return momentClause(name, range, at)
  }
}

const BOOL_MEMBERS = [
  'must',
  'filter',
  'should',
  'must_not',
  'minimum_should_match',
  'boost',
  'adjust_pure_negative',
]
const RANGE_MEMBERS = [
  'gte',
  'gt',
  'lte',
  'lt',
  'from',
  'to',
  'include_lower',
  'include_upper',
  'format',
  'time_zone',
  'boost',
]

/** 0, 1, or all of them: what our language can say. */
function readLeast(
  value: unknown,
  where: string,
  { count, isAlone }: { readonly count: number; readonly isAlone: boolean },
): number {
  if (count === 0) return 0
  if (value === undefined) return isAlone ? 1 : 0
  const least = readInteger(value, where, { min: 0, max: count })
  if (least <= 1 || least === count) return least
  throw refused(`${where} can be 0, 1 or the number of clauses`)
}

/** Ends as their own names, and as older clients send them. */
function readEnds(members: Members, where: string) {
  const { from, to } = members
  const lower = members.include_lower ?? true
  const upper = members.include_upper ?? true
  const gte = members.gte ?? (readFlag(lower, `${where}.include_lower`) ? from : undefined)
  const gt = members.gt ?? (gte === undefined ? from : undefined)
  const lte = members.lte ?? (readFlag(upper, `${where}.include_upper`) ? to : undefined)
  const lt = members.lt ?? (lte === undefined ? to : undefined)
  return { gte, gt, lte, lt }
}

function clockRange(clock: TimeBasis, members: Members, where: string, nowMs: number): ClockRange {
  const { gte, gt, lte, lt } = readEnds(members, where)
  const zone = members.time_zone
  if (zone !== undefined && zone !== 'UTC' && zone !== 'Z' && zone !== '+00:00') {
    throw refused(`${where}.time_zone: send times in UTC, or with their zone`)
  }
  const given = members.format
  const timeFormat = given === undefined ? undefined : readText(given, `${where}.format`)
  const read = (value: unknown, name: string, roundsUp: boolean) =>
    readMomentMs(value, `${where}.${name}`, { nowMs, format: timeFormat, roundsUp })
  const froms = [
    ...(gte === undefined ? [] : [read(gte, 'gte', false)]),
    ...(gt === undefined ? [] : [read(gt, 'gt', true) + 1]),
  ]
  const untils = [
    ...(lte === undefined ? [] : [read(lte, 'lte', true) + 1]),
    ...(lt === undefined ? [] : [read(lt, 'lt', false)]),
  ]
  return {
    clock,
    fromMs: froms.length === 0 ? undefined : Math.max(...froms),
    untilMs: untils.length === 0 ? undefined : Math.min(...untils),
  }
}

function within(a: ClockRange, b: ClockRange): ClockRange {
  const froms = [a.fromMs, b.fromMs].filter((ms) => ms !== undefined)
  const untils = [a.untilMs, b.untilMs].filter((ms) => ms !== undefined)
  return {
    clock: a.clock,
    fromMs: froms.length === 0 ? undefined : Math.max(...froms),
    untilMs: untils.length === 0 ? undefined : Math.min(...untils),
  }
}

function momentClause(name: string, { fromMs, untilMs }: ClockRange, where: string): Query {
  const bound = (ms: number | undefined, isInclusive: boolean): Bound | undefined => {
    return ms === undefined ? undefined : { value: meantScalar(formatTimeMs(ms)), isInclusive }
  }
  return rangeOf(name, bound(fromMs, true), bound(untilMs, false), where)
}

function rangeClause(name: string, members: Members, where: string): Query {
  const { gte, gt, lte, lt } = readEnds(members, where)
  const bound = (value: unknown, isInclusive: boolean): Bound | undefined => {
    if (value === undefined) return undefined
    return { value: meantScalar(readScalar(value, where)), isInclusive }
  }
  const low = bound(gte, true) ?? bound(gt, false)
  const high = bound(lte, true) ?? bound(lt, false)
  return rangeOf(name, low, high, where)
}

function rangeOf(
  name: string,
  low: Bound | undefined,
  high: Bound | undefined,
  where: string,
): Query {
  const field = meantField(name, where)
  if (low === undefined && high === undefined) {
    return clauseOf(field, { kind: 'exists', ...NOWHERE }, where)
  }
  try {
    return clauseOf(field, makeRange(NOWHERE, low, high), where)
  } catch (cause) {
    if (cause instanceof QueryError) throw refused(`${where}: ${cause.message}`)
    throw cause
  }
}
