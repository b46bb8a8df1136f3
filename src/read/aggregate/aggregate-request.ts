/** What an aggregating query asks for, read from a body's members. */
import type { ObjectSchema, Schema } from '../../api/schema.ts'
import { malformed } from '../../errors.ts'
import { readFieldName } from '../../language/field-text.ts'
import {
  QUERY_AGGREGATES_MAX,
  QUERY_CELLS_MAX,
  QUERY_GROUP_KEYS_MAX,
  QUERY_GROUPS_MAX,
} from '../../limits.ts'
import {
  AGGREGATE_FUNCTIONS,
  type AggregateFunction,
  type Buckets,
  type GroupKey,
  type Order,
} from '../../model/aggregates.ts'
import type { Aggregate } from '../../store/projection/reads/parts.ts'
import { type ReadMembers, type ReadRequest, readQueryText, readRequest } from '../read-request.ts'
import { QUERY_TEXT, READ_PROPERTIES, TIME_ZONE } from '../schemas.ts'
import { planBuckets } from './buckets.ts'
import { readFieldRef } from './field-ref.ts'

export interface AggregateRequest extends ReadRequest {
  readonly aggregates: readonly Aggregate[]
  /** At most one of them is of time. */
  readonly keys: readonly GroupKey[]
  readonly order: Order
  /** How many groups, those of a bucket counted once. */
  readonly limit: number
  /** One more group, of all events whose group is past the limit. */
  readonly hasOthers: boolean
}

export const GROUPS_DEFAULT = 100
/** The member of a row for values that are no numbers. */
export const LEFT_OUT = '_left_out'
const NAME_CHARS_MAX = 64

const AGGREGATE: ObjectSchema = {
  type: 'object',
  properties: {
    fn: { type: 'string', enum: AGGREGATE_FUNCTIONS },
    field: { type: 'string', description: 'A dotted path; `count` and `rate` do without' },
    as: {
      type: 'string',
      minLength: 1,
      maxLength: NAME_CHARS_MAX,
      pattern: '^[^_]',
      must: `a name of 1 to ${NAME_CHARS_MAX} characters that does not begin with "_"`,
      description: 'What it is called in the answer; `fn`, or `fn(field)`, when left out',
    },
    query: { ...QUERY_TEXT, description: 'Only of events that this means as well' },
  },
  required: ['fn'],
}

const GROUP_KEY: Schema = {
  anyOf: [
    { type: 'string' },
    {
      type: 'object',
      properties: {
        bucket: { type: 'string', description: '`auto` or a step such as `5m`', default: 'auto' },
      },
      required: ['bucket'],
    },
  ],
  must:
    'a dotted path, "_stream", "_level", "_service", "_shape", "_pattern", ' +
    'or {"bucket": "auto"}',
}

/** Of a query's body, beside `READ_PROPERTIES`. */
export const AGGREGATE_PROPERTIES = {
  ...READ_PROPERTIES,
  aggregates: {
    type: 'array',
    items: AGGREGATE,
    minItems: 1,
    maxItems: QUERY_AGGREGATES_MAX,
    description: 'What is told of each group; the count of its events when left out. See below',
  },
  group_by: {
    anyOf: [
      { type: 'array', items: GROUP_KEY, maxItems: QUERY_GROUP_KEYS_MAX },
      ...GROUP_KEY.anyOf,
    ],
    must: 'a list of dotted paths and {"bucket": "auto"}, or one of them',
    description:
      'Events of one group have equal values in all of these: fields, `_stream`, `_level`, ' +
      '`_service`, `_shape`, `_pattern`, and a bucket of time',
  },
  order_by: {
    anyOf: [
      { type: 'string' },
      {
        type: 'object',
        properties: {
          by: { type: 'string' },
          order: { type: 'string', enum: ['asc', 'desc'], default: 'desc' },
        },
        required: ['by'],
      },
    ],
    must: 'the name of an aggregate or a group, or {"by": name, "order": "asc"}',
    description:
      'An aggregate or a field, by its name; the first aggregate, most first, when left out',
  },
  time_zone: TIME_ZONE,
  limit: {
    type: 'integer',
    minimum: 1,
    maximum: QUERY_GROUPS_MAX,
    default: GROUPS_DEFAULT,
    description: 'Groups in the answer',
  },
  others: {
    type: 'boolean',
    default: false,
    description: '`others` tells what all groups past `limit` are together',
  },
} as const satisfies Readonly<Record<string, Schema>>

/**
 * `members` are as `AGGREGATE_PROPERTIES` say; `within` is what leads to them in the body, for
 * messages. Throws `malformed`.
 */
export function readAggregateRequest(
  members: ReadMembers,
  nowMs: number,
  within = '',
): AggregateRequest {
  const read = readRequest(members, nowMs)
  const { group_by: groupBy = [], limit = GROUPS_DEFAULT, others = false } = members
  const zone = members.time_zone as string | undefined
  const listed = members.aggregates as readonly AggregateMembers[] | undefined
  const aggregates = (listed ?? [{ fn: 'count' as const }]).map((one, index) => {
    return readAggregate(one, `${within}aggregates[${index}]`)
  })
  const keys = (Array.isArray(groupBy) ? groupBy : [groupBy]).map((key, index) => {
    return readKey(`${within}group_by[${index}]`, key, read, zone)
  })
  assertOneBucket(keys)
  assertNamesDiffer([LEFT_OUT, ...[...keys, ...aggregates].map(({ name }) => name)])
  const order = readOrder(members.order_by, aggregates, keys)
  const request = { ...read, aggregates, keys, order, limit: limit as number }
  assertCells(request)
  return { ...request, hasOthers: others as boolean }
}

interface AggregateMembers {
  readonly fn: AggregateFunction
  readonly field?: string
  readonly as?: string
  readonly query?: string
}

function readAggregate({ fn, field, as, query }: AggregateMembers, where: string): Aggregate {
  const isOfEvents = fn === 'count' || fn === 'rate'
  if (field === undefined && !isOfEvents) {
    throw malformed(`"${where}.field" is required: "${fn}" is of the values of a field`)
  }
  const ref = field === undefined ? undefined : readFieldRef(`${where}.field`, field)
  if (ref?.kind === 'system' && !isOfEvents && fn !== 'uniq') {
    throw malformed(`"${where}.field": "${fn}" is of numbers, and "${field}" has none`)
  }
  return {
    fn,
    field: ref,
    query: query === undefined ? undefined : readQueryText(`${where}.query`, query),
    name: as ?? (field === undefined ? fn : `${fn}(${field})`),
  }
}

function readKey(
  where: string,
  key: unknown,
  range: ReadRequest,
  zone: string | undefined,
): GroupKey {
  if (typeof key === 'string') return { ...readFieldRef(where, key), name: key }
  const { bucket } = key as { readonly bucket: string }
  const buckets = planBuckets(`${where}.bucket`, bucket, range, zone)
  return { kind: 'bucket', name: '_bucket', buckets }
}

/** What the request's buckets of time are, if it has any. */
export function bucketsOf({ keys }: Pick<AggregateRequest, 'keys'>): Buckets | undefined {
  for (const key of keys) if (key.kind === 'bucket') return key.buckets
  return undefined
}

function assertOneBucket(keys: readonly GroupKey[]): void {
  if (keys.filter(({ kind }) => kind === 'bucket').length < 2) return
  throw malformed('"group_by" has two buckets: one is enough')
}

function assertNamesDiffer(names: readonly string[]): void {
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice === undefined) return
  const shown = JSON.stringify(twice.slice(0, NAME_CHARS_MAX))
  throw malformed(`two members of a row are called ${shown}: give an aggregate another "as"`)
}

/** A row for each group and bucket: that many must fit an answer. */
function assertCells(request: Pick<AggregateRequest, 'keys' | 'limit' | 'aggregates'>): void {
  const buckets = bucketsOf(request)
  const isSeries = buckets !== undefined && request.keys.length > 1
  const rows = isSeries ? (buckets?.count ?? 1) * request.limit : 0
  if (rows * request.aggregates.length <= QUERY_CELLS_MAX) return
  const limit = `${QUERY_CELLS_MAX} (QUERY_CELLS_MAX)`
  throw malformed(
    `${request.limit} groups of ${buckets?.count} buckets are over ${limit} values; ` +
      'lower "limit" or take a longer bucket',
  )
}

function readOrder(
  value: unknown,
  aggregates: readonly Aggregate[],
  keys: readonly GroupKey[],
): Order {
  if (value === undefined) return { of: 'aggregate', index: 0, isDescending: true }
  const { by, order } = (typeof value === 'string' ? { by: value } : value) as {
    readonly by: string
    readonly order?: 'asc' | 'desc'
  }
  const index = aggregates.findIndex(({ name }) => name === by)
  if (index >= 0) return { of: 'aggregate', index, isDescending: order !== 'asc' }
  const fields = keys.filter(({ kind }) => kind !== 'bucket')
  const path = readFieldName(by).path
  const named = fields.findIndex(({ name }) => name === by)
  const key = named >= 0 ? named : fields.findIndex((field) => pathOf(field) === path)
  if (key >= 0) return { of: 'key', index: key, isDescending: order === 'desc' }
  const names = [...aggregates, ...fields].map(({ name }) => name)
  throw malformed(`"order_by" must be one of ${names.join(', ')}`)
}

function pathOf(key: GroupKey): string | undefined {
  return key.kind === 'path' ? key.path : undefined
}
