/** Events as the page keeps them: the record's text, and what each row shows of it. */

import type { SystemFieldName } from '../../src/language/query-tree.ts'
import { TRACE_PATHS, type TraceFieldName } from '../../src/language/trace-fields.ts'
import { rankTextPaths, type TextNames } from '../../src/model/text-fields.ts'
import type { Clock } from '../base/clock.ts'
import {
  type JsonSpan,
  jsonAt,
  jsonElements,
  jsonKind,
  jsonMembers,
  jsonObject,
  jsonString,
  jsonText,
  wholeJson,
} from '../base/exact-json.ts'
import type { EventField } from '../base/field.ts'
import { levelOf } from './level.ts'
import { serviceIn } from './service-in.ts'

export interface EventRecord {
  readonly id: string
  readonly streamId: string | undefined
  readonly ingestedAt: string
  readonly eventTime: string
  readonly shape: string
  /** Where an OTLP record says it beside the payload. */
  readonly level?: string
  readonly service?: string
  readonly traceId?: string
  readonly spanId?: string
  readonly payload: JsonSpan
}

export interface EventAnswer {
  readonly events: readonly EventRecord[]
  /** All members but the events. */
  readonly rest: Readonly<Record<string, unknown>>
}

/** Reads the text of a list or search. */
export function readEvents(text: string): EventAnswer {
  const events: EventRecord[] = []
  const rest: Record<string, unknown> = {}
  for (const { key, value } of jsonMembers(wholeJson(text))) {
    if (key !== 'events') rest[key] = JSON.parse(jsonText(value))
    else for (const element of jsonElements(value)) events.push(readEvent(element))
  }
  return { events, rest }
}

export function readEvent(record: JsonSpan): EventRecord {
  const members = jsonObject(record)
  const stream = members.get('_stream')
  const textOf = (name: string) => {
    const value = members.get(name)
    return value === undefined ? '' : jsonString(value)
  }
  return {
    id: textOf('id'),
    streamId: stream && jsonText(stream).replaceAll('"', ''),
    ingestedAt: textOf('ingested_at'),
    eventTime: textOf('event_time') || textOf('ingested_at'),
    shape: textOf('shape'),
    level: textOf('level'),
    service: textOf('service'),
    traceId: textOf('trace_id'),
    spanId: textOf('span_id'),
    payload: members.get('payload') ?? wholeJson('{}'),
  }
}

/** Milliseconds since 1970. */
export function timeOf({ eventTime, ingestedAt }: EventRecord, clock: Clock): number {
  return Date.parse(clock === 'event_time' ? eventTime : ingestedAt)
}

const CELL_CHARS_MAX = 512

/** The beginning of a value, for one line. */
export interface Beginning {
  /** As it was sent: a string's own text, or JSON. */
  readonly text: string
  readonly isString: boolean
  readonly isCut: boolean
}

/** What a cell shows of a field; undefined for nothing. */
export function beginningAt(event: EventRecord, field: EventField): Beginning | undefined {
  if (field.kind === 'stream') return ofString(event.streamId)
  if (field.kind === 'system') return ofString(systemText(event, field.name))
  const [path] = field.parts
  // What is in arrays is no column.
  const value =
    path === undefined || field.parts.length > 1 ? undefined : jsonAt(event.payload, path)
  return value && beginningOf(value)
}

function ofString(text: string | undefined): Beginning | undefined {
  return text === undefined || text === '' ? undefined : { text, isString: true, isCut: false }
}

/** Its first `CELL_CHARS_MAX` characters. */
export function beginningOf(value: JsonSpan): Beginning {
  const isCut = value.end - value.start > CELL_CHARS_MAX
  const json = jsonText({ ...value, end: Math.min(value.end, value.start + CELL_CHARS_MAX) })
  if (jsonKind(value) !== 'string') return { text: json, isString: false, isCut }
  return { text: isCut ? cutString(json) : jsonString(value), isString: true, isCut }
}

function systemText(event: EventRecord, name: SystemFieldName): string | undefined {
  switch (name) {
    case '_id':
      return event.id
    case '_ingested_at':
      return event.ingestedAt
    case '_event_time':
      return event.eventTime
    case '_shape':
      return event.shape
    case '_pattern':
      return undefined
    case '_level':
      return levelOf(event)
    case '_service':
      return serviceOf(event)
    case '_trace_id':
    case '_span_id':
      return traceOf(event, name)
  }
}

/** Where an OTLP record says it beside the payload, else as events usually name it. */
export function traceOf(event: EventRecord, name: TraceFieldName): string | undefined {
  const own = name === '_trace_id' ? event.traceId : event.spanId
  if (own !== undefined && own !== '') return own
  for (const path of TRACE_PATHS[name]) {
    const value = jsonAt(event.payload, path)
    const text = value && jsonKind(value) === 'string' ? jsonString(value) : ''
    if (text !== '') return text
  }
  return undefined
}

const services = new WeakMap<EventRecord, string>()

/** As the service labels events: `_service`. It is asked of each row with each page. */
export function serviceOf(event: EventRecord): string | undefined {
  const known = services.get(event) ?? (event.service || serviceIn(event.payload))
  services.set(event, known)
  return known === '' ? undefined : known
}

/** Its text fields outside of arrays, the most important first; the first one is its line. */
export function textPathsOf({ payload }: EventRecord, names: TextNames): readonly string[] {
  return rankTextPaths(stringPaths(payload, ''), names)
}

/** Of strings outside of arrays. */
function* stringPaths(object: JsonSpan, prefix: string): Generator<string> {
  for (const { key, value } of jsonMembers(object)) {
    const kind = jsonKind(value)
    if (kind === 'string') yield `${prefix}${key}`
    else if (kind === 'object') yield* stringPaths(value, `${prefix}${key}.`)
  }
}

/** The beginning of a JSON string that was cut: without its quotes, escapes undone where whole. */
function cutString(text: string): string {
  const whole = text.slice(1).replace(/\\(?:u[0-9a-fA-F]{0,3})?$/, '')
  try {
    return JSON.parse(`"${whole}"`) as string
  } catch {
    return whole
  }
}
