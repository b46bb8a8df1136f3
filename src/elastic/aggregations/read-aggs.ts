/** The aggregations of a request: what each is of, how deep, and how much it may make. */
import type { Query } from '../../language/query-tree.ts'
import { ELASTIC_AGGS_MAX, ELASTIC_BUCKETS_MAX, ELASTIC_LEVELS_MAX } from '../../limits.ts'
import type { FieldRef, GroupValue } from '../../model/aggregates.ts'
import { meantScalar } from '../meant-fields.ts'
import {
  asList,
  type Members,
  readInteger,
  readMembers,
  readNumber,
  readObject,
  readOnly,
  readScalar,
  refused,
  shown,
} from '../members.ts'
import { readCondition } from '../read-query.ts'
import type {
  AggsAbout,
  AggTree,
  Bounds,
  BucketAgg,
  FiltersAgg,
  HistogramAgg,
  Metric,
  Pipeline,
  TermsAgg,
  TermsOrder,
} from './agg-tree.ts'
import { readDateHistogram } from './date-histogram.ts'
import { METRICS, readCountedField } from './metrics.ts'
import { PIPELINES, splitPath } from './pipelines.ts'

const TERMS_DEFAULT = 10
/** What Grafana means by a size of 0. */
const TERMS_ALL = 500
const NAME_CHARS_MAX = 256
const NO_TREE: AggTree = { metrics: [], buckets: [], pipelines: [] }

/** `value`: the member `aggs`. */
export function readAggs(value: unknown, about: AggsAbout): AggTree {
  if (value === undefined) return NO_TREE
  return new AggReader(about).tree(value, 'aggs', { level: 0, isInTime: false })
}

interface Place {
  readonly level: number
  /** Within a date_histogram. */
  readonly isInTime: boolean
}

class AggReader {
  readonly #about: AggsAbout
  #count = 0

  constructor(about: AggsAbout) {
    this.#about = about
  }

  tree(value: unknown, where: string, place: Place): AggTree {
    if (value === undefined) return NO_TREE
    if (place.level > ELASTIC_LEVELS_MAX) {
      throw refused(`${where}: over ${ELASTIC_LEVELS_MAX} levels (ELASTIC_LEVELS_MAX)`)
    }
    const metrics: Metric[] = []
    const buckets: BucketAgg[] = []
    const pipelines: Pipeline[] = []
    for (const [name, body] of Object.entries(readObject(value, where))) {
      if (++this.#count > ELASTIC_AGGS_MAX) {
        throw refused(`aggs: over ${ELASTIC_AGGS_MAX} aggregations (ELASTIC_AGGS_MAX)`)
      }
      if (name === '' || name.length > NAME_CHARS_MAX || /[[\]>]|^__proto__$/.test(name)) {
        const rule = `has 1 to ${NAME_CHARS_MAX} characters, and none of [ ] >`
        throw refused(`${where}: the name of an aggregation ${rule}`)
      }
      const at = `${where}.${shown(name)}`
      const { aggs, aggregations, meta: _, ...kinds } = readObject(body, at)
      const [kind, of] = readOnly(kinds, at)
      const below = aggs ?? aggregations ?? undefined
      const metric = own(METRICS, kind)
      const pipeline = own(PIPELINES, kind)
      const known = { name, of, where: `${at}.${kind}`, below, place }
      if (metric !== undefined || pipeline !== undefined) {
        if (below !== undefined) throw refused(`${at}: ${kind} has no aggregations below it`)
        if (kind === 'rate' && !place.isInTime) {
          throw refused(`${at}: a rate is within a date_histogram`)
        }
        if (pipeline !== undefined && place.level === 0 && !isOfSiblings(kind)) {
          throw refused(`${at}: ${kind} is within buckets`)
        }
        if (metric !== undefined) metrics.push(metric(name, of, known.where))
        if (pipeline !== undefined) pipelines.push(pipeline(name, of, known.where))
      } else {
        buckets.push(this.#bucket(kind, known))
      }
    }
    assertNeeds(metrics, pipelines, where)
    return { metrics, buckets, pipelines }
  }

  #bucket(
    kind: string,
    {
      name,
      of,
      where,
      below,
      place,
    }: {
      readonly name: string
      readonly of: unknown
      readonly where: string
      readonly below: unknown
      readonly place: Place
    },
  ): BucketAgg {
    const isTime = kind === 'date_histogram'
    if (isTime && place.isInTime) throw refused(`${where}: one date_histogram is enough`)
    const next = { level: place.level + 1, isInTime: place.isInTime || isTime }
    const children = this.tree(below, `${where}.aggs`, next)
    const named = { name, children }
    switch (kind) {
      case 'terms':
        return { ...named, ...readTerms(of, where, children) }
      case 'date_histogram':
        return { ...named, ...readDateHistogram(of, where, this.#about) }
      case 'histogram':
        return { ...named, ...readHistogram(of, where) }
      case 'filters':
        return { ...named, ...this.#filters(of, where) }
      case 'filter': {
        const filters = [{ name: 'filter', query: this.#condition(of, where) }]
        return { ...named, kind: 'filters', form: 'filter', filters }
      }
      case 'missing': {
        const { field } = readMembers(of, where, ['field'])
        const exists = { bool: { must_not: { exists: { field } } } }
        const filters = [{ name: 'missing', query: this.#condition(exists, where) }]
        return { ...named, kind: 'filters', form: 'filter', filters }
      }
      default:
        throw refused(`${where}: this aggregation is not supported`, 'parsing_exception')
    }
  }

  #condition(value: unknown, where: string): Query {
    return readCondition(value, where, this.#about.nowMs)
  }

  #filters(value: unknown, where: string): Omit<FiltersAgg, 'name' | 'children'> {
    const { filters } = readMembers(value, where, ['filters'])
    const list = Array.isArray(filters)
    const entries = list
      ? filters.map((one, index) => [String(index), one] as const)
      : Object.entries(readObject(filters, `${where}.filters`))
    this.#count += entries.length
    if (this.#count > ELASTIC_AGGS_MAX) {
      throw refused(`aggs: over ${ELASTIC_AGGS_MAX} filters (ELASTIC_AGGS_MAX)`)
    }
    const read = entries.map(([name, one]) => {
      return { name, query: this.#condition(one, `${where}.filters.${shown(name)}`) }
    })
    return { kind: 'filters', form: list ? 'list' : 'named', filters: read }
  }
}

function isOfSiblings(kind: string): boolean {
  return kind.endsWith('_bucket')
}

function own<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}

/** What is computed of others names them, and not in a circle. */
function assertNeeds(
  metrics: readonly Metric[],
  pipelines: readonly Pipeline[],
  where: string,
): void {
  const known = new Set(metrics.map(({ name }) => name))
  let waiting = pipelines.filter(({ isSibling }) => !isSibling)
  while (waiting.length > 0) {
    const ready = waiting.filter(({ needs }) => needs.every((name) => known.has(name)))
    if (ready.length === 0) {
      const [first] = waiting
      const missing = first!.needs.find((name) => !known.has(name)) ?? ''
      throw refused(`${where}.${shown(first!.name)}: there is no ${shown(missing)} beside it`)
    }
    for (const { name } of ready) known.add(name)
    waiting = waiting.filter((one) => !ready.includes(one))
  }
}

const TERMS_MEMBERS = [
  'field',
  'size',
  'shard_size',
  'order',
  'min_doc_count',
  'shard_min_doc_count',
  'missing',
  'show_term_doc_count_error',
  'execution_hint',
  'collect_mode',
  'format',
  'value_type',
]

function readTerms(
  value: unknown,
  where: string,
  children: AggTree,
): Omit<TermsAgg, 'name' | 'children'> {
  const members = readMembers(value, where, TERMS_MEMBERS)
  const max = ELASTIC_BUCKETS_MAX
  const limit = 'ELASTIC_BUCKETS_MAX'
  const size = readInteger(members.size ?? TERMS_DEFAULT, `${where}.size`, { min: 0, max, limit })
  return {
    kind: 'terms',
    field: readCountedField(members.field, where),
    size: size === 0 ? TERMS_ALL : size,
    order: readOrder(members.order, `${where}.order`, children),
    eventsMin: readLeastCount(members, where, 1),
    missing: readMissing(members, where),
    isIndex: members.field === '_index',
  }
}

/** Groups without events are not known: the least is one. */
function readLeastCount(members: Members, where: string, instead: number): number {
  const given = members.min_doc_count
  if (given === undefined) return instead
  return readInteger(given, `${where}.min_doc_count`, { min: 0, max: Number.MAX_SAFE_INTEGER })
}

function readMissing({ missing }: Members, where: string): GroupValue | undefined {
  if (missing === undefined) return undefined
  const { kind, text } = meantScalar(readScalar(missing, `${where}.missing`))
  // What is written as a string stays one.
  return typeof missing === 'string' ? { kind: 'string', text: missing } : { kind, text }
}

function readOrder(value: unknown, where: string, children: AggTree): TermsOrder {
  if (value === undefined) return { by: '_count', isDescending: true }
  const [first] = asList(value)
  const entries = Object.entries(readObject(first, where))
  // A second one only says what is done with equal ones.
  const [name, direction] = entries[0] ?? []
  if (name === undefined || (direction !== 'asc' && direction !== 'desc')) {
    throw refused(`${where} must be such as {"_count": "desc"}`)
  }
  const isDescending = direction === 'desc'
  if (name === '_key' || name === '_term') return { by: '_key', isDescending }
  if (name === '_count' || name === '_doc_count') return { by: '_count', isDescending }
  const [metric, property] = splitPath(name)
  const found = children.metrics.find((one) => one.name === metric)
  if (found === undefined) throw refused(`${where}: there is no metric ${shown(metric)} below`)
  if (found.orderBy(property) === undefined) {
    throw refused(`${where}: groups are not ordered by ${shown(name)}`)
  }
  return { by: { metric, property }, isDescending }
}

const HISTOGRAM_MEMBERS = [
  'field',
  'interval',
  'offset',
  'min_doc_count',
  'extended_bounds',
  'order',
  'keyed',
  'format',
]

function readHistogram(value: unknown, where: string): Omit<HistogramAgg, 'name' | 'children'> {
  const members = readMembers(value, where, HISTOGRAM_MEMBERS)
  const step = readNumber(members.interval, `${where}.interval`)
  if (!(step > 0)) throw refused(`${where}.interval must be over 0`)
  const field: FieldRef = readCountedField(members.field, where)
  if (field.kind !== 'path') throw refused(`${where}: a histogram is of numbers`)
  if (members.keyed === true) throw refused(`${where}.keyed is not supported`)
  assertAscending(members.order, `${where}.order`)
  return {
    kind: 'histogram',
    field,
    step,
    offset: members.offset === undefined ? 0 : readNumber(members.offset, `${where}.offset`),
    eventsMin: readLeastCount(members, where, 0),
    bounds: readBounds(members.extended_bounds, `${where}.extended_bounds`, readNumber),
  }
}

function readBounds(
  value: unknown,
  where: string,
  read: (value: unknown, where: string) => number,
): Bounds {
  if (value === undefined) return { min: undefined, max: undefined }
  const { min, max } = readMembers(value, where, ['min', 'max'])
  const bounds = {
    min: min === undefined || min === '' ? undefined : read(min, `${where}.min`),
    max: max === undefined || max === '' ? undefined : read(max, `${where}.max`),
  }
  if ((bounds.min ?? 0) > (bounds.max ?? Number.POSITIVE_INFINITY) && bounds.min !== undefined) {
    throw refused(`${where}: min is over max`)
  }
  return bounds
}

function assertAscending(value: unknown, where: string): void {
  if (value === undefined) return
  const [name, direction] = readOnly(Array.isArray(value) ? value[0] : value, where)
  if (name === '_key' && direction === 'asc') return
  throw refused(`${where} can be {"_key": "asc"}`)
}
