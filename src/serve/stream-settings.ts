/** A stream's settings: read from a request, checked, and written as JSON. One table for all. */
import { REDACT_FIELD_CHARS_MAX, REDACT_FIELDS_MAX } from '../limits.ts'
import { formatDuration, tryParseDuration } from '../model/duration.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import type { Stream } from '../model/stream.ts'
import type { StreamSettings } from '../store/control-store.ts'
import { malformed, readBoolean, readCountOrNull, readFields, readName } from './body-fields.ts'

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] }

/** For each setting, by its name in the API: reads a value into `into`, or throws `malformed`. */
const READERS = {
  name: (value, into) => {
    into.name = readName('name', value)
  },
  retention: (value, into) => {
    into.retentionMs = readRetention(value)
  },
  max_stored_bytes: (value, into) => {
    into.maxStoredBytes = readCountOrNull('max_stored_bytes', value)
  },
  parse_user_agents: (value, into) => {
    into.parseUserAgents = readBoolean('parse_user_agents', value)
  },
  redact_sensitive: (value, into) => {
    into.redactSensitive = readBoolean('redact_sensitive', value)
  },
  redact_fields: (value, into) => {
    into.redactFields = readRedactFields(value)
  },
  rate_budget: (value, into) => {
    into.rateBudget = readCountOrNull('rate_budget', value)
  },
  byte_budget: (value, into) => {
    into.byteBudget = readCountOrNull('byte_budget', value)
  },
} as const satisfies Record<
  string,
  (value: unknown, into: Partial<Mutable<StreamSettings>>) => void
>

type SettingName = keyof typeof READERS
const SETTING_NAMES = Object.keys(READERS) as readonly SettingName[]

const DEFAULTS: Omit<StreamSettings, 'name'> = {
  retentionMs: 30 * 86_400_000,
  maxStoredBytes: null,
  parseUserAgents: false,
  redactSensitive: false,
  redactFields: [],
  rateBudget: null,
  byteBudget: null,
}

/** The settings of a new stream. Throws `malformed`. */
export function readNewSettings(body: unknown): StreamSettings {
  const settings = readSettings(body)
  const { name } = settings
  if (name === undefined) throw malformed('"name" is required')
  return { ...DEFAULTS, ...settings, name }
}

/** Those settings that `body` has. Throws `malformed`. */
export function readSettings(body: unknown): Partial<StreamSettings> {
  const fields = readFields(body, SETTING_NAMES)
  const settings: Partial<Mutable<StreamSettings>> = {}
  for (const name of SETTING_NAMES) {
    if (fields[name] !== undefined) READERS[name](fields[name], settings)
  }
  return settings
}

/** The stream as the API shows it. */
export function streamJson(stream: Stream) {
  return {
    id: String(stream.streamId),
    name: stream.name,
    owner: stream.owner,
    retention: formatDuration(stream.retentionMs),
    max_stored_bytes: stream.maxStoredBytes,
    parse_user_agents: stream.parseUserAgents,
    redact_sensitive: stream.redactSensitive,
    redact_fields: stream.redactFields,
    rate_budget: stream.rateBudget,
    byte_budget: stream.byteBudget,
    created_at: formatTimeMs(stream.createdAtMs),
  }
}

function readRetention(value: unknown): number {
  const ms = typeof value === 'string' ? tryParseDuration(value) : undefined
  if (ms !== undefined) return ms
  const units = 'a positive integer and s, m, h, d, w or y'
  throw malformed(`"retention" must be a duration such as "30d" (${units}), at most 100 years`)
}

/** Dotted paths. Also read by the redaction preview. Throws `malformed`. */
export function readRedactFields(value: unknown): readonly string[] {
  if (!Array.isArray(value)) throw malformed('"redact_fields" must be a list of dotted paths')
  if (value.length > REDACT_FIELDS_MAX) {
    const limit = `REDACT_FIELDS_MAX (${REDACT_FIELDS_MAX})`
    throw malformed(`"redact_fields" has ${value.length} paths, over ${limit}`)
  }
  const paths = new Set<string>()
  for (const [index, path] of value.entries()) {
    const where = `"redact_fields"[${index}]`
    if (typeof path !== 'string') throw malformed(`${where} must be a string`)
    if (path.length > REDACT_FIELD_CHARS_MAX) {
      const limit = `REDACT_FIELD_CHARS_MAX (${REDACT_FIELD_CHARS_MAX})`
      throw malformed(`${where} is ${path.length} characters, over ${limit}`)
    }
    if (path.split('.').includes('')) {
      throw malformed(`${where} must be a dotted path without empty segments`)
    }
    if (path.includes('\0')) throw malformed(`${where} must not hold the character U+0000`)
    if (paths.has(path)) throw malformed(`${where} is in the list twice`)
    paths.add(path)
  }
  return [...paths]
}
