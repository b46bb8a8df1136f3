/** What HEC bodies are, by `JSON.parse` and without any regard to speed. */
import { HEC_METADATA, type HecPartOptions } from '../../../src/model/batch/hec-part.ts'

export interface ModelEvent {
  readonly event: unknown
  /** Nanoseconds since 1970, as digits. */
  readonly time: string | undefined
}
/** The protocol's code, for the request. */
export type Judged = ModelEvent | number

type Members = Map<string, unknown>

const NAMES: readonly string[] = [...HEC_METADATA, 'time', 'event', 'fields']

/** The objects that stand one after another; undefined where they are not JSON. */
export function splitObjects(body: string): unknown[] | undefined {
  const found: unknown[] = []
  let rest = body.replace(/^[ \t\r\n]+/, '')
  while (rest !== '') {
    const end = objectEnd(rest)
    if (end < 0) return undefined
    found.push(JSON.parse(rest.slice(0, end)))
    rest = rest.slice(end).replace(/^[ \t\r\n]+/, '')
  }
  return found
}

/** The shortest beginning that is an object. */
function objectEnd(text: string): number {
  if (!text.startsWith('{')) return -1
  for (let end = text.indexOf('}') + 1; end > 0; end = text.indexOf('}', end) + 1) {
    if (isJson(text.slice(0, end))) return end
  }
  return -1
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

export function judgeEnvelope(given: unknown, defaults: HecPartOptions = {}): Judged {
  const envelope = membersOf(given)
  const event = envelope.get('event') ?? undefined
  if (event === undefined) return 12
  const isObject = typeof event === 'object' && !Array.isArray(event)
  if (isObject && Object.keys(event).length === 0) return 13
  if (typeof event === 'string' && /^[ \n\r\t]*$/.test(event)) return 13
  const fields = envelope.get('fields') ?? {}
  if (typeof fields !== 'object' || Array.isArray(fields)) return 15
  for (const value of Object.values(fields)) {
    const inner = Array.isArray(value) ? value : [value]
    if (inner.some((one) => typeof one === 'object' && one !== null)) return 15
  }
  for (const name of HEC_METADATA) {
    const value = envelope.get(name)
    if (typeof value === 'object' && value !== null) return 6
  }
  const time = timeOf(envelope.get('time') ?? undefined)
  if (time === null) return 6
  const said = time ?? timeOf(defaults.time) ?? undefined
  return { event: stored(envelope, event, fields, defaults), time: said }
}

function stored(envelope: Members, event: unknown, fields: object, defaults: HecPartOptions) {
  const members: Members =
    typeof event === 'object' && !Array.isArray(event) ? membersOf(event) : new Map()
  if (typeof event === 'string') {
    members.set(/^ *\{.*\}[ \n\r]*$/s.test(event) ? 'log' : 'message', event)
  } else if (members.size === 0) members.set('event', event)
  const kept: Members = new Map()
  const place = (name: string, value: unknown, losers: Members) => {
    if (!members.has(name)) members.set(name, value)
    else if (JSON.stringify(members.get(name)) !== JSON.stringify(value)) losers.set(name, value)
  }
  for (const name of HEC_METADATA) {
    const value = envelope.get(name) ?? defaults[name]
    if (value !== undefined) place(name, value, kept)
  }
  const keptFields: Members = new Map()
  for (const [name, value] of membersOf(fields)) place(name, value, keptFields)
  if (keptFields.size > 0) kept.set('fields', objectOf(keptFields))
  for (const [name, value] of envelope) if (!NAMES.includes(name)) kept.set(name, value)
  let name = 'hec'
  while (members.has(name)) name += '_'
  if (kept.size > 0) members.set(name, objectOf(kept))
  return objectOf(members)
}

/** Null for what is none; undefined for none said. */
function timeOf(value: unknown): string | null | undefined {
  if (value === undefined) return undefined
  const text = typeof value === 'number' || typeof value === 'string' ? String(value) : ''
  const match = /^([0-9]+)(?:\.([0-9]+))?$/.exec(text)
  if (match === null) return null
  const [, whole = '', fraction = ''] = match
  const seconds = BigInt(whole)
  const scale = seconds < 10n ** 10n ? 9 : seconds < 10n ** 13n ? 6 : seconds < 10n ** 16n ? 3 : 0
  const nanos = BigInt(whole + fraction.padEnd(9, '0').slice(0, scale))
  if (nanos >= 9_223_372_036_854_000_000n) return null
  return nanos === 0n ? undefined : String(nanos)
}

function membersOf(value: unknown): Members {
  return new Map(Object.entries(value as object))
}

function objectOf(members: Members): unknown {
  return Object.fromEntries(members)
}
