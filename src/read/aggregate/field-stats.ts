/** Statistics of one field: how often, how many different values, which ones, how large. */
import type { Schema } from '../../api/schema.ts'
import { malformed } from '../../errors.ts'
import { conjoin } from '../../language/combine.ts'
import { readFieldName } from '../../language/field-text.ts'
import type { Query } from '../../language/query-tree.ts'
import { FIELD_PATH_BYTES_MAX, STATS_TOP_DEFAULT, STATS_TOP_MAX } from '../../limits.ts'
import type { AggregateFunction, FieldRef, Order } from '../../model/aggregates.ts'
import { isFieldPath, mayBeInArray } from '../../model/field-path.ts'
import type { Stream } from '../../model/stream.ts'
import type { Aggregate } from '../../store/projection/reads/parts.ts'
import { honestMembers, UNLEARNED } from '../answer-coverage.ts'
import { countedFor, missesPaths } from '../depends-on-catalog.ts'
import { type ReadMembers, type ReadRequest, readRequest } from '../read-request.ts'
import { READ_PROPERTIES } from '../schemas.ts'
import type { AggregateDeps } from './aggregate.ts'
import { groupJson } from './group-json.ts'

export const FIELD_STATS_PROPERTIES = {
  ...READ_PROPERTIES,
  limit: {
    type: 'integer',
    minimum: 1,
    maximum: STATS_TOP_MAX,
    default: STATS_TOP_DEFAULT,
    description: 'How many of the most frequent values',
  },
} as const satisfies Readonly<Record<string, Schema>>

export interface FieldStatsRequest extends ReadRequest {
  readonly path: string
  /** It may mean values inside of an array. */
  readonly mayBeArray: boolean
  readonly limit: number
}

const IN_ARRAY = 'values inside arrays ("[]" in the path) have no statistics: ask for the array'

/** `name`: a path, or as queries write it; `members` as `FIELD_STATS_PROPERTIES`. */
export function readFieldStatsRequest(
  name: string,
  members: ReadMembers,
  nowMs: number,
): FieldStatsRequest {
  const { path, isQuoted } = readFieldName(name)
  if (Buffer.byteLength(path) > FIELD_PATH_BYTES_MAX) {
    const limit = `${FIELD_PATH_BYTES_MAX} bytes (FIELD_PATH_BYTES_MAX)`
    throw malformed(`the path is over ${limit}: such a field is not in the analytics store`)
  }
  if (!isFieldPath(path)) throw malformed('this path cannot be asked for in the analytics store')
  const { limit = STATS_TOP_DEFAULT } = members
  const shared = readRequest(members, nowMs)
  return { ...shared, path, mayBeArray: !isQuoted && mayBeInArray(path), limit: limit as number }
}

/** Characters of a value's text; of a longer one the beginning is shown and counted. */
const VALUE_CHARS_MAX = 1_024
const QUANTILES = ['p50', 'p90', 'p95', 'p99'] as const
const BY_COUNT: Order = { of: 'aggregate', index: 0, isDescending: true }

/** The answer as JSON. `signal` ends it. Throws `malformed`, `unavailable`. */
export async function fieldStats(
  { openStreams, runAggregate, nowMs }: AggregateDeps,
  request: FieldStatsRequest,
  stream: Stream,
  signal: AbortSignal,
): Promise<string> {
  const { path, limit } = request
  const opened = await openStreams([stream])
  const { sources } = opened
  const counted = countedFor([request.query], opened)
  const field: FieldRef = { kind: 'path', path }
  const of = (fn: AggregateFunction): Aggregate => ({ fn, field, query: undefined, name: fn })
  const task = {
    ...request,
    streams: sources,
    ...counted,
    order: BY_COUNT,
    limit,
    hasOthers: false,
  }
  const functions = ['count', 'uniq', 'numbers', 'min', 'max', 'avg', ...QUANTILES] as const
  const [all, top] = await Promise.all([
    runAggregate({ ...task, keys: [], aggregates: functions.map(of) }, signal),
    runAggregate(
      {
        ...task,
        query: conjoin('and', [request.query, exists(path)]),
        keys: [{ ...field, name: path }],
        aggregates: [{ ...of('count'), field: undefined }],
        textCharsMax: VALUE_CHARS_MAX,
        keepsFirstGroups: true,
      },
      signal,
    ),
  ])
  const [count = '0', distinct = '0', numbers = '0', min, max, average, ...quantiles] =
    all.rows[0]?.values ?? []
  // A name may end in brackets, too: only where nothing is, it can be no such field.
  if (count === '0' && request.mayBeArray) throw malformed(IN_ARRAY)
  const named = QUANTILES.map((name, index) => `"${name}":${quantiles[index]}`)
  const ends = `"min":${min},"max":${max},"average":${average}`
  const shown = numbers === '0' ? 'null' : `{"count":${numbers},${ends},${named.join(',')}}`
  const values = top.rows.map(({ group, values: [events] }) => {
    return `{"value":${groupJson(group[0]!)},"count":${events}}`
  })
  const head = `"path":${JSON.stringify(path)},"events":${all.total},"count":${count}`
  const body = `${head},"distinct":${distinct},"numbers":${shown},"top":[${values.join(',')}]`
  const shortfall = missesPaths([request.query], sources) ? UNLEARNED : undefined
  const honesty = { asOfMs: counted.asOfMs, nowMs: nowMs(), ...(shortfall && { shortfall }) }
  const honest = { estimated: all.isEstimated, ...honestMembers(honesty) }
  return `{${body},${JSON.stringify(honest).slice(1)}`
}

/** That the field has a value. */
function exists(path: string): Query {
  const span = { start: 0, end: 0 }
  return {
    kind: 'field',
    field: { kind: 'path', parts: [path], ...span },
    test: { kind: 'exists', ...span },
    ...span,
  }
}
