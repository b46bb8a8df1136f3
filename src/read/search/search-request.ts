/** What a search asks for, beyond what every request to read does. */
import { nullable, type ObjectSchema, type Schema } from '../../api/schema.ts'
import { IngestError, malformed } from '../../errors.ts'
import { readFieldName } from '../../language/field-text.ts'
import {
  EVENTS_PAGE_DEFAULT,
  EVENTS_PAGE_MAX,
  FIELD_PATH_BYTES_MAX,
  SEARCH_FIELDS_MAX,
} from '../../limits.ts'
import {
  type EventId,
  type TimedId,
  tryParseEventId,
  tryParseTimedId,
} from '../../model/event-id.ts'
import { isFieldPath, mayBeInArray, splitNames } from '../../model/field-path.ts'
import { ceilMs } from '../../model/rfc3339.ts'
import { SEGMENT_ID_MAX, SEGMENT_MS_MAX, segmentIdAt } from '../../model/segment-id.ts'
import type { IdRange } from '../../model/segment-place.ts'
import type { TimeRange } from '../answer-coverage.ts'
import { type ReadMembers, type ReadRequest, readRequest } from '../read-request.ts'
import { HONEST_PROPERTIES, READ_PROPERTIES } from '../schemas.ts'

export const ORDERS = ['newest', 'oldest'] as const
export type Order = (typeof ORDERS)[number]

export interface SearchRequest extends ReadRequest {
  readonly queryText: string
  readonly order: Order
  readonly limit: number
  /** Exclusive cursors, at most one of them; by event time they have theirs. */
  readonly before: EventId | TimedId | undefined
  readonly after: EventId | TimedId | undefined
  /** Paths that records are limited to. */
  readonly fields: readonly string[] | undefined
  /** Nothing was said of its end: what came a moment ago by any node's clock is in it. */
  readonly isOpen: boolean
  /** CSV has no text that a spreadsheet would take for a formula. */
  readonly isCsvSafe: boolean
}

const FIELDS_ABOUT =
  'Paths that records have, as `fields`, in place of the payload, with the values as they were ' +
  'sent; one that an event lacks is left out; in backquotes any name'

const CURSOR_ABOUT = "A cursor of a page (by receipt an event's id is one)"

/** In a body; `SEARCH_QUERY` is the same in a URL. */
export const SEARCH_PROPERTIES = {
  ...READ_PROPERTIES,
  order: {
    type: 'string',
    enum: ORDERS,
    description:
      'Which come first, by the time of `time_basis`, then by their ids; ' +
      '`newest` when left out, of an export `oldest`',
  },
  limit: {
    type: 'integer',
    minimum: 1,
    maximum: EVENTS_PAGE_MAX,
    default: EVENTS_PAGE_DEFAULT,
    description: 'Events of a page; of an export all that match, when left out',
  },
  before: {
    type: 'string',
    description: `${CURSOR_ABOUT}: only older events; not with \`after\``,
  },
  after: {
    type: 'string',
    description: `${CURSOR_ABOUT}: only newer events; not with \`before\``,
  },
  fields: {
    type: 'array',
    items: { type: 'string' },
    minItems: 1,
    maxItems: SEARCH_FIELDS_MAX,
    description: FIELDS_ABOUT,
  },
  csv_safe: {
    type: 'boolean',
    default: false,
    description: "CSV: text that a spreadsheet would take for a formula gets a `'` before it",
  },
} as const satisfies Readonly<Record<string, Schema>>

export const SEARCH_QUERY = {
  properties: {
    ...SEARCH_PROPERTIES,
    fields: { type: 'string', description: `${FIELDS_ABOUT}; commas between them` },
  },
} as const

const DAMAGED: ObjectSchema = {
  type: 'object',
  properties: { segment_id: { type: 'string' }, events: { type: 'integer' } },
}

/** `record` is that of the event list. */
export function searchAnswer(record: ObjectSchema): ObjectSchema {
  const fields: ObjectSchema = { type: 'object', properties: {}, additionalProperties: {} }
  const properties = {
    ...record.properties,
    fields: { ...fields, description: 'With `fields` in the request, in place of the payload' },
    _stream: { type: 'string', description: 'Of searches over several streams' },
  } as const
  return {
    type: 'object',
    properties: {
      events: { type: 'array', items: { type: 'object', properties } },
      next: nullable({ type: 'string' }, { description: 'Where the next page goes on' }),
      previous: nullable({ type: 'string' }, { description: 'Where the page before goes on' }),
      damaged: { type: 'array', items: DAMAGED, description: 'Segments that cannot be read' },
      ...HONEST_PROPERTIES,
    },
  }
}

/** Of members that are as `SEARCH_PROPERTIES` or `SEARCH_QUERY` says. Throws `malformed`. */
export function readSearchRequest(
  members: ReadMembers,
  nowMs: number,
  order: Order = 'newest',
): SearchRequest {
  const read = readRequest(members, nowMs)
  const before = readCursor('before', members.before, read)
  const after = readCursor('after', members.after, read)
  if (before !== undefined && after !== undefined) {
    throw new IngestError('malformed', '"before" and "after" exclude each other')
  }
  const { to } = members
  return {
    ...read,
    queryText: (members.query as string | undefined) ?? '',
    order: (members.order as Order | undefined) ?? order,
    limit: Number(members.limit ?? EVENTS_PAGE_DEFAULT),
    before,
    after,
    fields: readPaths(members.fields),
    isOpen: to === undefined || to === 'now',
    isCsvSafe: members.csv_safe === true,
  }
}

/** Segments that the request can be about. */
export function idRange({ fromNs, toNs, timeBasis, isOpen }: SearchRequest): IdRange {
  if (timeBasis === 'event_time') return { start: 0n, end: SEGMENT_ID_MAX }
  return { start: idBound(fromNs), end: isOpen ? SEGMENT_ID_MAX : idBound(toNs) }
}

/** By the producer's clock, if that is what counts. */
export function eventTimeOf({ fromNs, toNs, timeBasis }: SearchRequest): TimeRange | undefined {
  return timeBasis === 'event_time' ? { fromNs, toNs } : undefined
}

/** The first segment id at or after a time: an id's milliseconds are its upper bits. */
function idBound(ns: bigint): bigint {
  const ms = ceilMs(ns)
  return ms > SEGMENT_MS_MAX ? SEGMENT_ID_MAX : segmentIdAt(Number(ms))
}

function readCursor(
  name: string,
  value: unknown,
  { timeBasis }: ReadRequest,
): EventId | TimedId | undefined {
  if (value === undefined) return undefined
  const isTimed = timeBasis === 'event_time'
  const text = typeof value === 'string' ? value : ''
  const id = isTimed ? tryParseTimedId(text) : tryParseEventId(text)
  if (id !== undefined) return id
  const rule = isTimed ? '"next" or "previous" of a page by event time' : 'the id of an event'
  throw new IngestError('malformed', `"${name}" must be ${rule}`)
}

function readPaths(value: unknown): readonly string[] | undefined {
  if (value === undefined) return undefined
  const names = typeof value === 'string' ? splitNames(value) : (value as readonly string[])
  if (names.length > SEARCH_FIELDS_MAX) {
    throw malformed(`"fields" has over ${SEARCH_FIELDS_MAX} paths (SEARCH_FIELDS_MAX)`)
  }
  const paths = names.map((name, index) => {
    const { path, isQuoted } = readFieldName(name)
    if (!isFieldPath(path) || path.startsWith('.') || path.endsWith('.')) {
      throw malformed(
        `"fields" must be dotted paths such as "http.status"; number ${index + 1} is none`,
      )
    }
    if (Buffer.byteLength(path) > FIELD_PATH_BYTES_MAX) {
      throw malformed(
        `"fields" has a path over ${FIELD_PATH_BYTES_MAX} bytes (FIELD_PATH_BYTES_MAX)`,
      )
    }
    if (!isQuoted && mayBeInArray(path)) {
      throw malformed('"fields" takes an array as a whole: name it without "[]"')
    }
    return path
  })
  if (new Set(paths).size < paths.length) throw malformed('"fields" names a path twice')
  return paths
}
