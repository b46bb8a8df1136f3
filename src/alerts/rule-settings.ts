/** What a rule is: its settings as the API has them, and what they say to the evaluator. */
import type { ObjectSchema, Schema } from '../api/schema.ts'
import { IngestError, malformed } from '../errors.ts'
import {
  ALERT_DELAY_MS_MAX,
  ALERT_FOR_WINDOWS_MAX,
  ALERT_GROUP_KEYS_MAX,
  ALERT_KEEP_WINDOWS_MAX,
  ALERT_RULE_BYTES_MAX,
  ALERT_WINDOW_MS_MAX,
  ALERT_WINDOW_MS_MIN,
} from '../limits.ts'
import { RULE_DEFAULTS, wholeRule } from '../model/alerts/alert-rule.ts'
import { formatDuration, tryParseDuration } from '../model/duration.ts'
import { AGGREGATE_PROPERTIES, readAggregateRequest } from '../read/aggregate/aggregate-request.ts'
import type { ReadMembers } from '../read/read-request.ts'
import { QUERY_TEXT, READ_PROPERTIES, STREAMS } from '../read/schemas.ts'
import type { Rule, RuleSettings } from '../store/alerts/rule.ts'
import { OPERATORS } from './condition.ts'
import { type Judgement, NO_DATA } from './decide-window.ts'
import { assertRelative } from './relative-to.ts'

const DAY_MS = 86_400_000
const SEVERITIES = ['info', 'warning', 'critical'] as const
const LABELS_MAX = 32
const LABEL_CHARS_MAX = 1_024
const LABEL_NAME = /^[a-zA-Z_][a-zA-Z0-9_]{0,63}$/
const CHANNELS_MAX = 10
const ID_CHARS_MAX = 20

const duration = (text: string, description: string): Schema => ({
  type: 'string',
  must: 'a duration such as "1m" (s, m, h, d)',
  description,
  examples: [text],
})

const TEXTS: ObjectSchema = {
  type: 'object',
  properties: {},
  additionalProperties: { type: 'string', maxLength: LABEL_CHARS_MAX },
}

/** What a person sets of a rule. */
export const RULE_PROPERTIES = {
  description: {
    type: 'string',
    maxLength: 2_000,
    default: RULE_DEFAULTS.description,
    description: 'For people',
  },
  streams: STREAMS,
  query: QUERY_TEXT,
  view_id: {
    type: 'string',
    maxLength: ID_CHARS_MAX,
    description:
      'A saved view of the one stream: where `query` is left out, its own, as it is when ' +
      'the rule is put',
  },
  aggregate: {
    ...AGGREGATE_PROPERTIES.aggregates.items,
    description: 'What is judged of each window, as in a query; the count when left out',
  },
  relative_to: {
    type: 'object',
    properties: {
      ...AGGREGATE_PROPERTIES.aggregates.items.properties,
      before: duration('1w', 'The same, of the window so long before; a multiple of `every`'),
    },
    description: 'What the value is divided by: another aggregate of the window, or `before`',
  },
  group_by: {
    type: 'array',
    items: { type: 'string' },
    maxItems: ALERT_GROUP_KEYS_MAX,
    default: RULE_DEFAULTS.group_by,
    description: 'Each group of equal values in these fields is judged by itself',
  },
  condition: {
    type: 'object',
    properties: {
      op: { type: 'string', enum: OPERATORS },
      value: { type: 'number' },
    },
    required: ['op', 'value'],
    description: 'It holds in a window: the value, `op`, this value',
  },
  window: duration('5m', 'How much time a window covers, 10 s to 24 h'),
  every: duration('1m', 'How often one ends; divides the day. `window` when left out'),
  for: {
    type: 'object',
    properties: {
      of: { type: 'integer', minimum: 1, maximum: ALERT_FOR_WINDOWS_MAX, default: 1 },
      in: { type: 'integer', minimum: 1, maximum: ALERT_FOR_WINDOWS_MAX, default: 1 },
    },
    default: RULE_DEFAULTS.for,
    description: 'It fires once the condition held in `of` of the last `in` windows',
  },
  keep_firing: {
    type: 'integer',
    minimum: 0,
    maximum: ALERT_KEEP_WINDOWS_MAX,
    default: RULE_DEFAULTS.keep_firing,
    description: 'Windows for which it goes on to fire',
  },
  no_data: {
    type: 'string',
    enum: NO_DATA,
    default: RULE_DEFAULTS.no_data,
    description: 'A window without events: judged (a count is 0), as if it held, or as before',
  },
  time_basis: {
    ...READ_PROPERTIES.time_basis,
    description: 'Which time windows are of. Only `ingested_at` has each event in a window',
  },
  delay: duration('1m', 'Of `event_time`: how long after its end a window is decided'),
  severity: {
    type: 'string',
    enum: SEVERITIES,
    default: RULE_DEFAULTS.severity,
    description: 'How bad it is that it fires',
  },
  repeat: duration(
    '4h',
    'After a delivery, until it is told again that a group still fires; `0s`: never',
  ),
  send_resolved: {
    type: 'boolean',
    default: RULE_DEFAULTS.send_resolved,
    description: 'Whether that is told, too',
  },
  labels: {
    ...TEXTS,
    default: RULE_DEFAULTS.labels,
    description: 'Added to what is told, for who routes it',
  },
  annotations: {
    ...TEXTS,
    default: RULE_DEFAULTS.annotations,
    description: 'The same for who reads it',
  },
  channels: {
    type: 'array',
    items: { type: 'string', minLength: 1, maxLength: 64 },
    maxItems: CHANNELS_MAX,
    default: RULE_DEFAULTS.channels,
    description: 'Names of those who are told',
  },
  paused: {
    type: 'boolean',
    default: RULE_DEFAULTS.paused,
    description: 'Windows meanwhile are passed over',
  },
} as const satisfies Readonly<Record<string, Schema>>

export const RULE_BODY: ObjectSchema = {
  type: 'object',
  properties: RULE_PROPERTIES,
  required: ['condition', 'window'],
}

/** What the evaluator asks and judges by. */
export interface RuleTask extends Judgement {
  readonly windowMs: number
  readonly everyMs: number
  readonly delayMs: number
}

/** `members` match `RULE_BODY`. Throws `malformed` for settings that could not be evaluated. */
export function readRuleSettings(members: ReadMembers): RuleSettings {
  const settings = wholeRule(members) as object as RuleSettings
  const isOfEvents = settings.time_basis === 'event_time'
  const bytes = Buffer.byteLength(JSON.stringify(settings))
  if (bytes > ALERT_RULE_BYTES_MAX) {
    const limit = `ALERT_RULE_BYTES_MAX (${ALERT_RULE_BYTES_MAX})`
    throw malformed(`the rule is ${bytes} bytes of JSON, over ${limit}`)
  }
  assertTexts('labels', settings.labels)
  assertTexts('annotations', settings.annotations)
  readZeroOrDuration('repeat', settings.repeat)
  const task = taskOf(settings)
  assertRelative(settings, task.everyMs)
  if (settings.for.of > settings.for.in) throw malformed('"for.of" is over "for.in"')
  if (!isOfEvents && task.delayMs > 0) {
    throw malformed('"delay" is for "time_basis": "event_time"; receipt needs none')
  }
  // Judged by the code that asks.
  readAggregateRequest(windowMembers(settings, { fromMs: 0, endMs: task.windowMs }), task.windowMs)
  return settings
}

/** Throws `malformed`. */
export function taskOf(settings: RuleSettings): RuleTask {
  const windowMs = readWithin('window', settings.window, ALERT_WINDOW_MS_MIN, ALERT_WINDOW_MS_MAX)
  const everyMs = readWithin('every', settings.every, ALERT_WINDOW_MS_MIN, ALERT_WINDOW_MS_MAX)
  if (DAY_MS % everyMs !== 0) {
    throw malformed(`"every" must divide the day evenly, and ${settings.every} does not`)
  }
  if (everyMs > windowMs) {
    throw malformed('"every" is over "window": events between two windows would be in none')
  }
  const delayMs = readZeroOrDuration('delay', settings.delay)
  if (delayMs > ALERT_DELAY_MS_MAX) {
    const limit = `${formatDuration(ALERT_DELAY_MS_MAX)} (ALERT_DELAY_MS_MAX)`
    throw malformed(`"delay" must be at most ${limit}`)
  }
  return {
    windowMs,
    everyMs,
    delayMs,
    of: settings.for.of,
    in: settings.for.in,
    keepFiring: settings.keep_firing,
    condition: settings.condition,
    noData: settings.no_data,
    isCount: settings.relative_to === undefined && isOfCounts(settings),
    isGrouped: settings.group_by.length > 0,
  }
}

/** Whether nothing counts as 0. */
export function isOfCounts({ aggregate: { fn } }: RuleSettings): boolean {
  return fn === 'count' || fn === 'rate' || fn === 'uniq'
}

/** A rule that cannot be evaluated for so many intervals is told. */
export const FAILING_INTERVALS = 3

/** Its next window is over for more than three intervals. */
export function isOverdue(
  { everyMs, delayMs, cursorMs }: Pick<Rule, 'everyMs' | 'delayMs' | 'cursorMs'>,
  nowMs: number,
): boolean {
  return nowMs - (cursorMs + everyMs + delayMs) >= FAILING_INTERVALS * everyMs
}

/** Why a rule cannot be evaluated (any more); undefined when it can. */
export function problemOf(settings: RuleSettings): string | undefined {
  try {
    readRuleSettings(settings as unknown as ReadMembers)
    return undefined
  } catch (cause) {
    if (cause instanceof IngestError) return cause.message
    throw cause
  }
}

/** Not what anybody calls an aggregate. */
const DIVISOR = 'relative to'

/** Of the query that asks for one window. */
export function windowMembers(
  rule: RuleSettings,
  { fromMs, endMs }: { readonly fromMs: number; readonly endMs: number },
): ReadMembers {
  const { query, aggregate, relative_to: relative, group_by: groupBy, time_basis: basis } = rule
  const isOther = relative !== undefined && relative.before === undefined
  return {
    query,
    time_basis: basis,
    from: new Date(fromMs).toISOString(),
    to: new Date(endMs).toISOString(),
    aggregates: isOther ? [aggregate, { ...relative, as: DIVISOR }] : [aggregate],
    group_by: groupBy,
  }
}

/** Whether what is asked or judged differs: then what is remembered means nothing any more. */
export function isOtherQuestion(a: RuleSettings, b: RuleSettings): boolean {
  const asked = ({ streams, query, aggregate, relative_to: relative, ...rest }: RuleSettings) => {
    const { group_by: groupBy, window, every, time_basis: basis, delay } = rest
    const { condition, for: patience, keep_firing: keep, no_data: noData } = rest
    const question = [streams, query, aggregate, relative, groupBy, window, every, basis, delay]
    return JSON.stringify([question, condition, patience, keep, noData])
  }
  return asked(a) !== asked(b)
}

function readWithin(name: string, text: string, min: number, max: number): number {
  const ms = tryParseDuration(text)
  if (ms !== undefined && ms >= min && ms <= max) return ms
  const words = `${formatDuration(min)} to ${formatDuration(max)}`
  throw malformed(`"${name}" must be a duration of ${words}, such as "5m"`)
}

function readZeroOrDuration(name: string, text: string): number {
  const ms = text === '0s' ? 0 : tryParseDuration(text)
  if (ms !== undefined) return ms
  throw malformed(`"${name}" must be a duration such as "1m", or "0s"`)
}

function assertTexts(name: string, texts: Readonly<Record<string, string>>): void {
  const names = Object.keys(texts)
  if (names.length > LABELS_MAX) throw malformed(`"${name}" are over ${LABELS_MAX}`)
  if (names.every((one) => LABEL_NAME.test(one))) return
  throw malformed(`names of "${name}" must match ${LABEL_NAME.source}`)
}
