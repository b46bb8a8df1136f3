/** What an event says: its fields, as they were sent, to the digit, and its labels. */
import { readFieldName } from '../../language/field-text.ts'
import { TRACE_PATHS } from '../../language/trace-fields.ts'
import {
  caseVariants,
  LEVELS,
  type Level,
  readLevel,
  SERVICE_FIELDS,
} from '../../model/event-labels.ts'
import { mayBeInArray, splitNames } from '../../model/field-path.ts'
import { rankTextPaths, TEXT_FIELDS_DEFAULT, TextNames } from '../../model/text-fields.ts'
import { UsageError } from '../usage-error.ts'
import { type JsonSpan, jsonAt, jsonKind, jsonObject, jsonString, wholeJson } from './exact-json.ts'

/** Which of an event's times is meant. */
export type TimeBasis = 'event_time' | 'ingested_at'

export interface EventRecord {
  readonly id: string
  readonly ingested_at: string
  readonly event_time: string
  readonly _stream?: string
  /** Where an OTLP record says it beside the payload. */
  readonly level?: string
  readonly payload: Readonly<Record<string, unknown>>
}

/** A field that is shown: of the payload, or what Sluice knows of every event. */
export interface ShownField {
  /** As it was asked for: the name of a member or of a column. */
  readonly name: string
  /** What the API's `fields` takes; undefined for what is not in the payload. */
  readonly path: string | undefined
}

const FIELDS_MAX = 64
/** By their names, the members of a record that they are. */
const RECORD_MEMBERS: Readonly<Record<string, string>> = {
  _id: 'id',
  _ingested_at: 'ingested_at',
  _event_time: 'event_time',
  _shape: 'shape',
  _stream: '_stream',
  _payload: 'payload',
}
const LABELS = ['_level', '_service', '_trace_id', '_span_id'] as const
const SERVICE_PLACES = SERVICE_FIELDS.flatMap(caseVariants)
export const SHOWN_NAMES: readonly string[] = [...Object.keys(RECORD_MEMBERS), ...LABELS]

/** Fields as `--fields` has them, or a list of names. Throws `UsageError`. */
export function readShownFields(given: string | readonly string[]): readonly ShownField[] {
  const names = typeof given === 'string' ? splitNames(given) : given
  const fields = names.map((written): ShownField => {
    const { path, isQuoted } = readFieldName(written.trim())
    if (path === '') throw new UsageError('--fields takes names with commas between them')
    if (!isQuoted && mayBeInArray(path)) {
      throw new UsageError(`--fields takes an array as a whole: ${path} without []`)
    }
    const isOwn = !isQuoted && SHOWN_NAMES.includes(path)
    return { name: path, path: isOwn ? undefined : path }
  })
  if (fields.length > FIELDS_MAX) throw new UsageError(`--fields takes ${FIELDS_MAX} at most`)
  const twice = fields.find(({ name }, index) => fields.findIndex((f) => f.name === name) < index)
  if (twice !== undefined) throw new UsageError(`--fields names ${twice.name} twice`)
  return fields
}

/**
 * The paths that suffice of the payload, for the API's `fields`; undefined where the whole of it is
 * needed, as labels may be anywhere in it.
 */
export function pathsOf(fields: readonly ShownField[]): readonly string[] | undefined {
  const needsAll = fields.some(({ name, path }) => {
    return path === undefined && (name === '_payload' || LABELS.some((label) => label === name))
  })
  const paths = fields.flatMap(({ path }) => (path === undefined ? [] : [inBackquotes(path)]))
  return needsAll || paths.length === 0 ? undefined : paths
}

/** A path as the API takes it, with nothing in it that is special there. */
export function inBackquotes(path: string): string {
  const isPlain = /^[A-Za-z@][\w.@-]*$/.test(path)
  return isPlain ? path : `\`${path.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``
}

/** A record of the API, read as far as it is asked for. */
export class EventValues {
  readonly #members: ReadonlyMap<string, JsonSpan>

  constructor(text: string) {
    this.#members = jsonObject(wholeJson(text))
  }

  /** As JSON, as it was sent; undefined where there is none. */
  at({ name, path }: ShownField): JsonSpan | undefined {
    if (path !== undefined) return this.#inPayload(path)
    const member = RECORD_MEMBERS[name]
    if (member !== undefined) return this.#members.get(member)
    const given = this.#members.get(name.slice(1)) // What OTLP says beside the payload.
    if (given !== undefined) return given
    if (name === '_level') return jsonOf(readLevel((at) => levelText(this.#inPayload(at))))
    const places = name === '_service' ? SERVICE_PLACES : TRACE_PATHS[name as '_trace_id']
    return places.map((at) => this.#inPayload(at)).find((value) => isSaid(value))
  }

  #inPayload(path: string): JsonSpan | undefined {
    const picked = this.#members.get('fields')
    if (picked !== undefined) return jsonObject(picked).get(path)
    const payload = this.#members.get('payload')
    return payload && jsonAt(payload, path)
  }
}

export function jsonOf(value: unknown): JsonSpan | undefined {
  return value === undefined ? undefined : wholeJson(JSON.stringify(value))
}

function isSaid(value: JsonSpan | undefined): boolean {
  return value !== undefined && jsonKind(value) === 'string' && jsonString(value) !== ''
}

function levelText(value: JsonSpan | undefined) {
  if (value === undefined) return undefined
  const isNumber = jsonKind(value) === 'number'
  if (isNumber) return { isNumber, text: value.text.slice(value.start, value.end) }
  return jsonKind(value) === 'string' ? { isNumber, text: jsonString(value) } : undefined
}

/** The level of a record that was read into values. */
export function levelOf({ level, payload }: EventRecord): Level | undefined {
  const given = LEVELS.find((known) => known === level)
  if (given !== undefined) return given
  return readLevel((path) => {
    const value = valueAt(payload, path)
    const isNumber = typeof value === 'number'
    return isNumber || typeof value === 'string' ? { isNumber, text: String(value) } : undefined
  })
}

/** The first text field, or the whole payload. */
export function lineOf({ payload }: EventRecord): string {
  const strings = new Map(stringsOf(payload, ''))
  const [path] = rankTextPaths(strings.keys(), TEXT_NAMES)
  return path === undefined ? JSON.stringify(payload) : strings.get(path)!
}

const TEXT_NAMES = new TextNames(TEXT_FIELDS_DEFAULT)

/** The strings outside of arrays, by their paths. */
function* stringsOf(
  members: Readonly<Record<string, unknown>>,
  prefix: string,
): Generator<[path: string, text: string]> {
  for (const [key, value] of Object.entries(members)) {
    const path = `${prefix}${key}`
    if (typeof value === 'string') yield [path, value]
    else if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      yield* stringsOf(value as Readonly<Record<string, unknown>>, `${path}.`)
    }
  }
}

function valueAt(value: unknown, path: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  const members = value as Readonly<Record<string, unknown>>
  if (Object.hasOwn(members, path)) return members[path]
  const dot = path.indexOf('.')
  if (dot < 0 || !Object.hasOwn(members, path.slice(0, dot))) return undefined
  return valueAt(members[path.slice(0, dot)], path.slice(dot + 1))
}
