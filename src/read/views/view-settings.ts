/** What may be saved as a view, and the members of the reads that it stands for. */
import type { ObjectSchema, Schema } from '../../api/schema.ts'
import { IngestError } from '../../errors.ts'
import { VIEW_BYTES_MAX, VIEW_COLUMNS_MAX, VIEW_TAGS_MAX } from '../../limits.ts'
import type { ChartType, ViewRange, ViewSettings } from '../../store/control/view.ts'
import { AGGREGATE_PROPERTIES, readAggregateRequest } from '../aggregate/aggregate-request.ts'
import { type ReadMembers, readQueryText } from '../read-request.ts'
import { READ_PROPERTIES, TIME_ZONE } from '../schemas.ts'

const CHART_TYPES: readonly ChartType[] = ['lines', 'bars', 'top']
const TEXT_CHARS_MAX = 2_000
const PATH_CHARS_MAX = 1_024
const WIDTH_MAX = 10_000
const LAST = '^[1-9][0-9]{0,8}[smhdw]$'
const LAST_WORDS = 'how long up to now, such as "15m" or "7d" (s, m, h, d, w)'

const RANGE: Schema = {
  anyOf: [
    {
      type: 'object',
      properties: { last: { type: 'string', pattern: LAST, must: LAST_WORDS } },
      required: ['last'],
    },
    {
      type: 'object',
      properties: { from: READ_PROPERTIES.from, to: READ_PROPERTIES.to },
      required: ['from', 'to'],
    },
    { type: 'null' },
  ],
  must: '{"last": "1h"}, {"from", "to"}, or null for the range of who looks',
}

const CHART: Schema = {
  anyOf: [
    {
      type: 'object',
      properties: {
        aggregates: AGGREGATE_PROPERTIES.aggregates,
        group_by: { type: 'array', items: { type: 'string' }, description: 'Dotted paths' },
        bucket: { type: 'string', description: '`auto` or a step; left out: not over time' },
        time_zone: TIME_ZONE,
        type: { type: 'string', enum: CHART_TYPES },
      },
      required: ['type'],
    },
    { type: 'null' },
  ],
  must: 'what a query aggregates, with a "type", or null',
}

/** What a person sets of a view. */
export const VIEW_PROPERTIES = {
  name: { type: 'string', description: "Unique among the stream's views" },
  description: { type: 'string', maxLength: TEXT_CHARS_MAX, default: '' },
  query: READ_PROPERTIES.query,
  time_basis: READ_PROPERTIES.time_basis,
  range: { ...RANGE, default: null },
  columns: {
    type: 'array',
    maxItems: VIEW_COLUMNS_MAX,
    items: {
      type: 'object',
      properties: {
        path: { type: 'string', minLength: 1, maxLength: PATH_CHARS_MAX },
        width: { type: 'integer', minimum: 1, maximum: WIDTH_MAX },
      },
      required: ['path'],
    },
    default: [],
  },
  order: { type: 'string', enum: ['newest', 'oldest'], default: 'newest' },
  chart: { ...CHART, default: null },
  shared: {
    type: 'boolean',
    default: true,
    description: 'False: only for who made it, and for admins',
  },
  tags: {
    type: 'array',
    maxItems: VIEW_TAGS_MAX,
    items: { type: 'string', minLength: 1, maxLength: 64 },
    default: [],
  },
} as const satisfies Readonly<Record<string, Schema>>

export const NEW_VIEW: ObjectSchema = {
  type: 'object',
  properties: VIEW_PROPERTIES,
  required: ['name'],
}
export const VIEW_CHANGES: ObjectSchema = { type: 'object', properties: VIEW_PROPERTIES }

const DEFAULTS: Omit<ViewSettings, 'name'> = {
  description: '',
  query: '',
  time_basis: 'ingested_at',
  range: null,
  columns: [],
  order: 'newest',
  chart: null,
  shared: true,
  tags: [],
}

/**
 * The settings that result from applying `members` (they match `VIEW_CHANGES`, the name is read) to
 * `before`. Throws `malformed` for settings that could not be run.
 */
export function readViewSettings(
  members: ReadMembers & { readonly name?: string },
  before: ViewSettings | undefined,
): ViewSettings {
  const settings = { ...DEFAULTS, ...before, ...members } as ViewSettings
  const bytes = Buffer.byteLength(JSON.stringify(settings))
  if (bytes > VIEW_BYTES_MAX) {
    const limit = `VIEW_BYTES_MAX (${VIEW_BYTES_MAX})`
    throw new IngestError('malformed', `the view is ${bytes} bytes of JSON, over ${limit}`)
  }
  assertRuns(settings)
  return settings
}

/** Why a view cannot be run (any more); undefined when it can. */
export function problemOf(settings: ViewSettings): string | undefined {
  try {
    assertRuns(settings)
    return undefined
  } catch (cause) {
    if (cause instanceof IngestError) return cause.message
    throw cause
  }
}

function assertRuns(settings: ViewSettings): void {
  readQueryText('query', settings.query)
  readAggregateRequest(aggregateMembers(settings, {}), Date.now(), 'chart.')
}

/** Of the aggregating query that the view is; `changes` are the caller's own. */
export function aggregateMembers(settings: ViewSettings, changes: ReadMembers): ReadMembers {
  const { chart } = settings
  const { group_by: paths = [], bucket, aggregates, time_zone: timeZone } = chart ?? {}
  const groupBy = [...paths, ...(bucket === undefined ? [] : [{ bucket }])]
  return {
    ...rangeMembers(settings, changes),
    ...(aggregates !== undefined && { aggregates }),
    ...(groupBy.length > 0 && { group_by: groupBy }),
    ...(timeZone !== undefined && { time_zone: timeZone }),
    ...changes,
  }
}

/** Of the search that the view is. */
export function searchMembers(settings: ViewSettings, changes: ReadMembers): ReadMembers {
  return { ...rangeMembers(settings, changes), order: settings.order, ...changes }
}

/** The caller's range as a whole, or the view's as a whole: never half of each. */
function rangeMembers(settings: ViewSettings, changes: ReadMembers): ReadMembers {
  const { query, time_basis: timeBasis, range } = settings
  const isOwn = changes.from !== undefined || changes.to !== undefined
  return { query, time_basis: timeBasis, ...(!isOwn && range !== null && timesOf(range)) }
}

function timesOf(range: ViewRange): ReadMembers {
  return 'last' in range ? { from: `-${range.last}`, to: 'now' } : range
}
