/** A stream's settings: read from a request, checked, and written as JSON. One table for all. */
import assert from 'node:assert/strict'
import { nullable, type ObjectSchema, RFC3339, type Schema } from '../api/schema.ts'
import { malformed } from '../errors.ts'
import {
  FIELD_PATH_BYTES_MAX,
  NAME_CHARS_MAX,
  REDACT_FIELD_CHARS_MAX,
  REDACT_FIELDS_MAX,
  SCHEMA_CAP_MAX,
  TEXT_FIELDS_MAX,
} from '../limits.ts'
import { formatDuration, tryParseDuration } from '../model/duration.ts'
import { isFieldPath, mayBeInArray } from '../model/field-path.ts'
import { findPathFault, normalizePath } from '../model/redact/redact-path.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import { SCHEMA_CAPS_DEFAULT, type SchemaCaps } from '../model/schema.ts'
import { OTLP_CONTEXTS, type OtlpContextSetting, type Stream } from '../model/stream.ts'
import { TEXT_FIELDS_DEFAULT } from '../model/text-fields.ts'
import type { StreamSettings } from '../store/control/control-store.ts'
import { type BodyFields, isPathTooLong, readName } from './body-fields.ts'

const RETENTION_RULE =
  'a duration such as "30d" (a positive integer and s, m, h, d, w or y), at most 100 years'

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] }

/** Changes of a stream's settings; of its caps, only those that the request names. */
export type SettingChanges = Omit<Partial<StreamSettings>, 'schemaCaps'> & {
  readonly schemaCaps?: Partial<SchemaCaps>
}

interface Setting {
  readonly schema: Schema
  /** Reads a value that matches the schema. Throws `malformed` for what a schema cannot express. */
  readonly read: (value: unknown, into: Mutable<SettingChanges>) => void
}

/** Keyed by their names in the API. */
const SETTINGS = {
  name: {
    schema: {
      type: 'string',
      description: `Unique among the owner's streams; 1 to ${NAME_CHARS_MAX} characters`,
    },
    read: (value, into) => {
      into.name = readName('name', value)
    },
  },
  retention: {
    schema: {
      type: 'string',
      must: RETENTION_RULE,
      default: '30d',
      description: 'How long events are kept: an integer and s, m, h, d, w or y',
    },
    read: (value, into) => {
      into.retentionMs = readRetention(value)
    },
  },
  max_stored_bytes: {
    schema: countOrNull('Past it the oldest events go first'),
    read: (value, into) => {
      into.maxStoredBytes = value as number | null
    },
  },
  parse_user_agents: {
    schema: switchOf('Adds `{field}_parsed` beside user-agent fields'),
    read: (value, into) => {
      into.parseUserAgents = value as boolean
    },
  },
  redact_sensitive: {
    schema: switchOf('Redacts secrets before anything is stored'),
    read: (value, into) => {
      into.redactSensitive = value as boolean
    },
  },
  redact_fields: {
    schema: {
      type: 'array',
      items: { type: 'string' },
      must: 'a list of dotted paths',
      default: [],
      description: `More paths to redact; at most ${REDACT_FIELDS_MAX}`,
    },
    read: (value, into) => {
      into.redactFields = readRedactFields(value)
    },
  },
  text_fields: {
    schema: {
      type: 'array',
      items: { type: 'string' },
      must: 'a list of names',
      default: TEXT_FIELDS_DEFAULT,
      description:
        'Fields that are searched word by word, by their last names; `+name` adds to those; ' +
        `1 to ${TEXT_FIELDS_MAX}`,
    },
    read: (value, into) => {
      into.textFields = readTextFields(value as readonly string[])
    },
  },
  otlp_context: {
    schema: {
      type: 'string',
      enum: OTLP_CONTEXTS,
      default: 'drop',
      description:
        "Whether an OTLP record's attributes, resource, severity and ids join its structured body",
    },
    read: (value, into) => {
      into.otlpContext = value as OtlpContextSetting
    },
  },
  rate_budget: {
    schema: countOrNull('Events a second; null: no budget of its own'),
    read: (value, into) => {
      into.rateBudget = value as number | null
    },
  },
  byte_budget: {
    schema: countOrNull('Bytes a second; null: no budget of its own'),
    read: (value, into) => {
      into.byteBudget = value as number | null
    },
  },
  field_soft_cap: capSetting('fieldsSoft', 'Fields from which on there is a warning'),
  field_hard_cap: capSetting('fieldsHard', 'Fields that are learned at most'),
  shape_soft_cap: capSetting('shapesSoft', 'Shapes from which on there is a warning'),
  shape_hard_cap: capSetting('shapesHard', 'Shapes that are learned at most'),
} as const satisfies Record<string, Setting>

type SettingName = keyof typeof SETTINGS
const SETTING_NAMES = Object.keys(SETTINGS) as readonly SettingName[]

const properties = Object.fromEntries(
  SETTING_NAMES.map((name): [string, Schema] => [name, SETTINGS[name].schema]),
)
export const STREAM_CHANGES: ObjectSchema = { type: 'object', properties }
export const NEW_STREAM: ObjectSchema = { type: 'object', properties, required: ['name'] }
const shown = {
  id: { type: 'string' },
  name: { type: 'string' },
  owner: { type: 'string' },
  ...properties,
  created_at: RFC3339,
} as const
/** A stream as the API shows it. */
export const STREAM: ObjectSchema = {
  type: 'object',
  properties: shown,
  // All members are required: optional ones would be written after the others.
  required: Object.keys(shown),
}

const DEFAULTS: Omit<StreamSettings, 'name'> = {
  retentionMs: 30 * 86_400_000,
  maxStoredBytes: null,
  parseUserAgents: false,
  redactSensitive: false,
  redactFields: [],
  rateBudget: null,
  byteBudget: null,
  schemaCaps: SCHEMA_CAPS_DEFAULT,
  textFields: TEXT_FIELDS_DEFAULT,
  otlpContext: 'drop',
}

/** The settings of a new stream, from a body that matches `NEW_STREAM`. Throws `malformed`. */
export function readNewSettings(body: unknown): StreamSettings {
  const changes = readSettings(body)
  assert(changes.name !== undefined, 'its schema requires a name')
  return { ...DEFAULTS, ...completeSettings(changes, DEFAULTS), name: changes.name }
}

/** Changes with complete caps that agree with each other. Throws `malformed`. */
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

/** The settings that a body has, which was checked against its schema. Throws `malformed`. */
export function readSettings(body: unknown): SettingChanges {
  const fields = body as BodyFields
  const settings: Mutable<SettingChanges> = {}
  for (const name of SETTING_NAMES) {
    if (fields[name] !== undefined) SETTINGS[name].read(fields[name], settings)
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
    text_fields: stream.textFields,
    otlp_context: stream.otlpContext,
    rate_budget: stream.rateBudget,
    byte_budget: stream.byteBudget,
    field_soft_cap: stream.schemaCaps.fieldsSoft,
    field_hard_cap: stream.schemaCaps.fieldsHard,
    shape_soft_cap: stream.schemaCaps.shapesSoft,
    shape_hard_cap: stream.schemaCaps.shapesHard,
    created_at: formatTimeMs(stream.createdAtMs),
  }
}

function countOrNull(description: string): Schema {
  const count = { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER } as const
  const must = `null or a positive integer of at most ${Number.MAX_SAFE_INTEGER}`
  return nullable({ ...count, must }, { must, default: null, description })
}

function switchOf(description: string): Schema {
  return { type: 'boolean', default: false, description }
}

function capSetting(cap: keyof SchemaCaps, description: string): Setting {
  const must = `an integer from 1 to ${SCHEMA_CAP_MAX} (SCHEMA_CAP_MAX)`
  const range = { minimum: 1, maximum: SCHEMA_CAP_MAX, default: SCHEMA_CAPS_DEFAULT[cap] }
  return {
    schema: { type: 'integer', ...range, must, description },
    read: (value, into) => {
      into.schemaCaps = { ...into.schemaCaps, [cap]: value as number }
    },
  }
}

function readRetention(value: unknown): number {
  const ms = typeof value === 'string' ? tryParseDuration(value) : undefined
  if (ms === undefined) throw malformed(`"retention" must be ${RETENTION_RULE}`)
  return ms
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

/** A list all of whose names begin with `+` adds to the default, any other replaces it. */
function readTextFields(listed: readonly string[]): readonly string[] {
  const added = listed.filter((name) => name.startsWith('+'))
  if (added.length > 0 && added.length < listed.length) {
    throw malformed(
      '"text_fields" has names with and without "+"; with it a name is added to the default ' +
        'list, so write all with it, or none',
    )
  }
  const more = added.map((name) => name.slice(1))
  const isKnown = (name: string) => TEXT_FIELDS_DEFAULT.includes(name.toLowerCase())
  const paths =
    added.length === 0 ? listed : [...TEXT_FIELDS_DEFAULT, ...more.filter((name) => !isKnown(name))]
  if (paths.length === 0) throw malformed('"text_fields" must have at least one name')
  if (paths.length > TEXT_FIELDS_MAX) {
    const limit = `TEXT_FIELDS_MAX (${TEXT_FIELDS_MAX})`
    throw malformed(`"text_fields" has ${paths.length} names, over ${limit}`)
  }
  const folded = paths.map((path) => path.toLowerCase())
  for (const [index, path] of paths.entries()) {
    const where = `"text_fields"[${index - (paths.length - listed.length)}]`
    if (isPathTooLong(path)) {
      const limit = `FIELD_PATH_BYTES_MAX (${FIELD_PATH_BYTES_MAX})`
      throw malformed(`${where} is ${Buffer.byteLength(path)} bytes, over ${limit}`)
    }
    // PostgreSQL cannot store U+0000, and lone surrogates are not text at all.
    if (!isFieldPath(path) || /[\0\p{Cs}]/u.test(path)) {
      throw malformed(`${where} is not the name of a field`)
    }
    if (mayBeInArray(path)) {
      throw malformed(`${where} leads into an array: write the last name alone`)
    }
    const first = folded.indexOf(folded[index]!)
    if (first !== index) {
      throw malformed(`${where} is in the list twice: it is the same name as [${first}]`)
    }
  }
  return paths
}
