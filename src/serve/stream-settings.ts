/** A stream's settings: read from a request, checked, and written as JSON. One table for all. */
import { REDACT_FIELD_CHARS_MAX, REDACT_FIELDS_MAX, SCHEMA_CAP_MAX } from '../limits.ts'
import { formatDuration, tryParseDuration } from '../model/duration.ts'
import { findPathFault, normalizePath } from '../model/redact-path.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import { SCHEMA_CAPS_DEFAULT, type SchemaCaps } from '../model/schema.ts'
import type { Stream } from '../model/stream.ts'
import type { StreamSettings } from '../store/control/control-store.ts'
import { malformed, readBoolean, readCountOrNull, readFields, readName } from './body-fields.ts'

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] }

/** Some settings of a stream; of its caps those that are named. */
export type SettingChanges = Omit<Partial<StreamSettings>, 'schemaCaps'> & {
  readonly schemaCaps?: Partial<SchemaCaps>
}

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
  field_soft_cap: (value, into) => {
    into.schemaCaps = { ...into.schemaCaps, fieldsSoft: readCap('field_soft_cap', value) }
  },
  field_hard_cap: (value, into) => {
    into.schemaCaps = { ...into.schemaCaps, fieldsHard: readCap('field_hard_cap', value) }
  },
  shape_soft_cap: (value, into) => {
    into.schemaCaps = { ...into.schemaCaps, shapesSoft: readCap('shape_soft_cap', value) }
  },
  shape_hard_cap: (value, into) => {
    into.schemaCaps = { ...into.schemaCaps, shapesHard: readCap('shape_hard_cap', value) }
  },
} as const satisfies Record<string, (value: unknown, into: Mutable<SettingChanges>) => void>

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
  schemaCaps: SCHEMA_CAPS_DEFAULT,
}

/** The settings of a new stream. Throws `malformed`. */
export function readNewSettings(body: unknown): StreamSettings {
  const changes = readSettings(body)
  const { name } = changes
  if (name === undefined) throw malformed('"name" is required')
  return { ...DEFAULTS, ...completeSettings(changes, DEFAULTS), name }
}

/** Changes with caps that are whole and fit together. Throws `malformed`. */
export function completeSettings(
  changes: SettingChanges,
  current: Pick<StreamSettings, 'schemaCaps'>,
): Partial<StreamSettings> {
  const { schemaCaps, ...others } = changes
  if (schemaCaps === undefined) return others
  const caps = { ...current.schemaCaps, ...schemaCaps }
  for (const [name, soft, hard] of [
    ['field', caps.fieldsSoft, caps.fieldsHard],
    ['shape', caps.shapesSoft, caps.shapesHard],
  ] as const) {
    if (soft <= hard) continue
    throw malformed(`"${name}_soft_cap" (${soft}) must not be over "${name}_hard_cap" (${hard})`)
  }
  return { ...others, schemaCaps: caps }
}

/** Those settings that `body` has. Throws `malformed`. */
export function readSettings(body: unknown): SettingChanges {
  const fields = readFields(body, SETTING_NAMES)
  const settings: Mutable<SettingChanges> = {}
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
    field_soft_cap: stream.schemaCaps.fieldsSoft,
    field_hard_cap: stream.schemaCaps.fieldsHard,
    shape_soft_cap: stream.schemaCaps.shapesSoft,
    shape_hard_cap: stream.schemaCaps.shapesHard,
    created_at: formatTimeMs(stream.createdAtMs),
  }
}

function readCap(name: string, value: unknown): number {
  const isCap = typeof value === 'number' && Number.isInteger(value) && value > 0
  if (isCap && value <= SCHEMA_CAP_MAX) return value
  throw malformed(`"${name}" must be an integer from 1 to ${SCHEMA_CAP_MAX} (SCHEMA_CAP_MAX)`)
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
  const paths = new Map<string, number>()
  for (const [index, path] of value.entries()) {
    const where = `"redact_fields"[${index}]`
    if (typeof path !== 'string') throw malformed(`${where} must be a string`)
    if (path.length > REDACT_FIELD_CHARS_MAX) {
      const limit = `REDACT_FIELD_CHARS_MAX (${REDACT_FIELD_CHARS_MAX})`
      throw malformed(`${where} is ${path.length} characters, over ${limit}`)
    }
    const fault = findPathFault(path)
    if (fault !== undefined) throw malformed(`${where} (${JSON.stringify(path)}) ${fault}`)
    const normalized = normalizePath(path)
    const same = paths.get(normalized)
    if (same !== undefined) {
      throw malformed(`${where} is in the list twice: it is the same path as [${same}]`)
    }
    paths.set(normalized, index)
  }
  return value as readonly string[]
}
