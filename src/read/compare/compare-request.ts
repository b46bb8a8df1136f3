/** What a comparison asks for, read from a body's members. */
import type { ObjectSchema, Schema } from '../../api/schema.ts'
import { malformed } from '../../errors.ts'
import type { Query } from '../../language/query-tree.ts'
import { COMPARE_FIELDS_MAX, COMPARE_FINDINGS_DEFAULT, COMPARE_FINDINGS_MAX } from '../../limits.ts'
import type { FieldRef } from '../../model/aggregates.ts'
import { readFieldRef } from '../aggregate/field-ref.ts'
import type { TimeRange } from '../answer-coverage.ts'
import { type ReadMembers, type ReadRequest, readQueryText, readRequest } from '../read-request.ts'
import { MOMENT_NS_MIN, readMoment } from '../read-time.ts'
import { QUERY_TEXT, READ_PROPERTIES } from '../schemas.ts'

const NAMED = ['before', 'yesterday'] as const
type NamedBaseline = (typeof NAMED)[number]

const { from, to, query, time_basis, timeout_ms } = READ_PROPERTIES
const WINDOW: ObjectSchema = {
  type: 'object',
  properties: { from, to },
  description: 'The range to explain, `from` and `to`: the last hour when left out',
}

export const COMPARE_PROPERTIES = {
  query,
  window: WINDOW,
  baseline: {
    anyOf: [
      { type: 'string', enum: NAMED },
      {
        type: 'object',
        properties: {
          from,
          to,
          query: { ...QUERY_TEXT, description: 'Other events, in place of those of `query`' },
        },
      },
    ],
    must: '"before", "yesterday", or an object with "from" and "to", or with "query"',
    default: 'before',
    description:
      'What it is compared to: `before`, as long a range before it; `yesterday`, the same ' +
      'range a day earlier; another range; or other events, `{"query": …}`, of the window',
  },
  fields: {
    type: 'array',
    items: { type: 'string' },
    minItems: 1,
    maxItems: COMPARE_FIELDS_MAX,
    description:
      'Dotted paths and `_stream`, `_level`, `_service`, `_shape`; when left out, the labels and ' +
      `those ${COMPARE_FIELDS_MAX} fields of few values or of numbers that most events have`,
  },
  limit: {
    type: 'integer',
    minimum: 1,
    maximum: COMPARE_FINDINGS_MAX,
    default: COMPARE_FINDINGS_DEFAULT,
    description: 'How many findings',
  },
  time_basis,
  timeout_ms,
} as const satisfies Readonly<Record<string, Schema>>

/** Events of a range that a query means. */
export interface ComparedEvents extends TimeRange {
  readonly query: Query
}

/** Its range and query are the window's. */
export interface CompareRequest extends ReadRequest {
  readonly baseline: ComparedEvents
  /** The baseline has other events of the window: shares are compared, not rates. */
  readonly isByQuery: boolean
  /** Undefined: they are chosen. */
  readonly fields: readonly FieldRef[] | undefined
  readonly limit: number
}

/** `members` are as `COMPARE_PROPERTIES` say. Throws `malformed`. */
export function readCompareRequest(members: ReadMembers, nowMs: number): CompareRequest {
  const { window = {}, baseline = 'before', fields, limit = COMPARE_FINDINGS_DEFAULT } = members
  const range = readRange('window', window as ReadMembers, nowMs)
  const read = { ...readRequest(members, nowMs), ...range }
  const names = fields as readonly string[] | undefined
  return {
    ...read,
    ...readBaseline(baseline as NamedBaseline | ReadMembers, read, nowMs),
    fields: names?.map((name, at) => readFieldRef(`fields[${at}]`, name)),
    limit: limit as number,
  }
}

const MS_NS = 1_000_000n
const HOUR_NS = 3_600_000_000_000n
const DAY_NS = 24n * HOUR_NS

function readBaseline(
  asked: NamedBaseline | ReadMembers,
  { fromNs, toNs, query: same }: ReadRequest,
  nowMs: number,
): Pick<CompareRequest, 'baseline' | 'isByQuery'> {
  if (typeof asked === 'string') {
    const earlierNs = asked === 'before' ? toNs - fromNs : DAY_NS
    const range = { fromNs: fromNs - earlierNs, toNs: toNs - earlierNs }
    if (range.fromNs < MOMENT_NS_MIN) throw malformed('"baseline" would begin before the year 0000')
    return { baseline: { ...range, query: same }, isByQuery: false }
  }
  const text = asked.query as string | undefined
  const other = text === undefined ? same : readQueryText('baseline.query', text)
  const isRange = asked.from !== undefined || asked.to !== undefined
  if (!isRange && text === undefined) {
    throw malformed('"baseline" needs "from" and "to", or "query"')
  }
  if (!isRange) return { baseline: { fromNs, toNs, query: other }, isByQuery: true }
  const range = readRange('baseline', asked, nowMs)
  return { baseline: { ...range, query: other }, isByQuery: text !== undefined }
}

function readRange(name: string, { from: start, to: end = 'now' }: ReadMembers, nowMs: number) {
  // One past now, so that what was received in this very millisecond is in.
  const toNs = end === 'now' ? BigInt(nowMs + 1) * MS_NS : readMoment(`${name}.to`, end, nowMs)
  const fromNs = start === undefined ? toNs - HOUR_NS : readMoment(`${name}.from`, start, nowMs)
  if (fromNs >= toNs) throw malformed(`"${name}.from" must be before "${name}.to"`)
  return { fromNs, toNs }
}
