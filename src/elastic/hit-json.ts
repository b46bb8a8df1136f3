/**
 * A hit as JSON: the event as it was stored, with the time and the labels that we know of it beside
 * its own members.
 */
import { readMemberTexts } from '../api/json-text.ts'
import { formatTimedId, tryParseEventId } from '../model/event-id.ts'
import { floorMs, tryParseRfc3339 } from '../model/rfc3339.ts'
import { highlights } from './highlight.ts'
import { clockOf, TIMESTAMP } from './meant-fields.ts'
import type { FieldAsked, SearchBody } from './read-search.ts'

/** Members of a record that an event's source has too, by their names there. */
const LABELS = [
  ['ingested_at', '_ingested_at'],
  ['level', '_level'],
  ['service', '_service'],
  ['trace_id', '_trace_id'],
  ['span_id', '_span_id'],
] as const

export interface HitsAbout {
  readonly body: SearchBody
  readonly nameOf: (streamId: string) => string
  /** Those that the query looks for. */
  readonly words: readonly string[]
}

export function hitJson(record: string, { body, nameOf, words }: HitsAbout): string {
  const members = readMemberTexts(record)
  const text = (name: string) => JSON.parse(members.get(name) ?? '""') as string
  const payload = members.get('payload') ?? '{}'
  const id = text('id')
  const times = { event_time: text('event_time'), ingested_at: text('ingested_at') }
  const parts = [
    `"_index":${JSON.stringify(nameOf(text('_stream')))}`,
    `"_id":${JSON.stringify(id)}`,
    '"_score":null',
  ]
  const own = readMemberTexts(payload)
  if (body.hasSource) parts.push(`"_source":${sourceJson(payload, own, members, times)}`)
  const fields = fieldsJson(body.fields, { own, members, times })
  if (fields !== '') parts.push(`"fields":{${fields}}`)
  if (body.highlight !== undefined && words.length > 0) {
    const found = highlights(payload, words, body.highlight)
    if (found !== undefined) parts.push(`"highlight":${JSON.stringify(found)}`)
  }
  parts.push(`"sort":${sortJson(id, times[body.clock], body)}`)
  return `{${parts.join(',')}}`
}

interface Times {
  readonly event_time: string
  readonly ingested_at: string
}

type Members = ReadonlyMap<string, string>

/** What an event has under one of these names itself stays as it is. */
function sourceJson(payload: string, own: Members, members: Members, times: Times): string {
  const first = own.has(TIMESTAMP) ? [] : [`"${TIMESTAMP}":${JSON.stringify(times.event_time)}`]
  const labels = LABELS.flatMap(([member, name]) => {
    const value = members.get(member)
    return value === undefined || own.has(name) ? [] : [`"${name}":${value}`]
  })
  const rest = payload.slice(payload.indexOf('{') + 1)
  const added = [...first, ...labels].join(',')
  return `{${added}${own.size === 0 || added === '' ? '' : ','}${rest}`
}

/** Time, and where it says nothing, the place among events of the same time. */
function sortJson(id: string, time: string, { clock }: SearchBody): string {
  const ns = tryParseRfc3339(time) ?? 0n
  const event = tryParseEventId(id)
  const isTimed = clock === 'event_time' && event !== undefined
  const place = isTimed ? formatTimedId({ ...event, timeNs: ns }) : id
  return `[${floorMs(ns)},${JSON.stringify(place)}]`
}

function fieldsJson(
  asked: readonly FieldAsked[],
  of: { readonly own: Members; readonly members: Members; readonly times: Times },
): string {
  const written = new Map<string, string>()
  for (const { name, format } of asked) {
    const value = fieldText(name, format, of)
    if (value !== undefined) written.set(name, value.startsWith('[') ? value : `[${value}]`)
  }
  return [...written].map(([name, value]) => `${JSON.stringify(name)}:${value}`).join(',')
}

function fieldText(
  name: string,
  format: string | undefined,
  {
    own,
    members,
    times,
  }: { readonly own: Members; readonly members: Members; readonly times: Times },
): string | undefined {
  const clock = clockOf(name)
  if (clock !== undefined) return JSON.stringify(timeText(times[clock], format))
  const label = LABELS.find(([, as]) => as === name)
  if (label !== undefined && members.has(label[0])) return members.get(label[0])
  return valueAt(own, name)
}

function timeText(time: string, format: string | undefined): string {
  if (format?.startsWith('epoch_millis') !== true) return time
  return String(floorMs(tryParseRfc3339(time) ?? 0n))
}

/** At a dotted path, in objects or in names with dots. Null has no value. */
function valueAt(members: Members, path: string): string | undefined {
  const whole = members.get(path)
  if (whole !== undefined) return whole === 'null' || whole.startsWith('{') ? undefined : whole
  for (let dot = path.indexOf('.'); dot > 0; dot = path.indexOf('.', dot + 1)) {
    const inner = members.get(path.slice(0, dot))
    if (inner?.startsWith('{') !== true) continue
    const found = valueAt(readMemberTexts(inner), path.slice(dot + 1))
    if (found !== undefined) return found
  }
  return undefined
}
