/** Events as the page keeps them: the record's text, and what each row shows of it. */

import { mainTextOf, TEXT_FIELDS_DEFAULT, TextNames } from '../../src/model/text-fields.ts'
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

export interface EventRecord {
  readonly id: string
  readonly streamId: string | undefined
  readonly ingestedAt: string
  readonly eventTime: string
  readonly eventMs: number
  readonly shape: string
  /** Where an OTLP record says it beside the payload. */
  readonly level?: string
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
  const eventTime = textOf('event_time') || textOf('ingested_at')
  return {
    id: textOf('id'),
    streamId: stream && jsonText(stream).replaceAll('"', ''),
    ingestedAt: textOf('ingested_at'),
    eventTime,
    eventMs: Date.parse(eventTime),
    shape: textOf('shape'),
    level: textOf('level'),
    payload: members.get('payload') ?? wholeJson('{}'),
  }
}

const CELL_CHARS_MAX = 512

/** What would not be seen, or would turn what is beside it around: control and direction marks. */
const UNSEEN = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}]/gu

/** As it is shown: such characters by their escapes. */
export function visibleText(text: string): string {
  const code = (found: string) => found.codePointAt(0)!.toString(16).padStart(4, '0')
  return text.replace(UNSEEN, (found) => `\\u${code(found)}`)
}

/** What a cell shows of the value at `path`: strings as they are, anything else as JSON. */
export function cellText(event: EventRecord, path: string): string {
  const value = jsonAt(event.payload, path)
  if (value === undefined) return ''
  const start = value.start
  const cut = { ...value, end: Math.min(value.end, start + CELL_CHARS_MAX) }
  if (jsonKind(value) !== 'string') return jsonText(cut)
  return value.end === cut.end ? jsonString(value) : cutString(jsonText(cut))
}

/** The line of an event: its most important text field, else its payload as it is. */
export function lineOf(
  event: EventRecord,
  textFields: readonly string[] = TEXT_FIELDS_DEFAULT,
): string {
  const path = mainTextOf(stringPaths(event.payload, ''), namesOf(textFields))
  if (path !== undefined) return cellText(event, path)
  const { start, end } = event.payload
  return jsonText({ ...event.payload, end: Math.min(end, start + CELL_CHARS_MAX) })
}

let lastNames: { readonly of: readonly string[]; readonly names: TextNames } | undefined

function namesOf(textFields: readonly string[]): TextNames {
  if (lastNames?.of !== textFields) {
    lastNames = { of: textFields, names: new TextNames(textFields) }
  }
  return lastNames.names
}

/** Of strings outside of arrays. */
function* stringPaths(object: JsonSpan, prefix: string): Generator<string> {
  for (const { key, value } of jsonMembers(object)) {
    const kind = jsonKind(value)
    if (kind === 'string') yield `${prefix}${key}`
    else if (kind === 'object') yield* stringPaths(value, `${prefix}${key}.`)
  }
}

/** The beginning of a JSON string that was cut: without its quote, escapes undone where whole. */
function cutString(text: string): string {
  const whole = text.slice(1).replace(/\\(?:u[0-9a-fA-F]{0,3})?$/, '')
  try {
    return `${JSON.parse(`"${whole}"`) as string}…`
  } catch {
    return `${whole}…`
  }
}
