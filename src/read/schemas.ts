/** The members that requests to read share, and those that their answers share. */
import { nullable, RFC3339, type Schema, type StringSchema } from '../api/schema.ts'
import { QUERY_MS_MAX, READ_STREAMS_MAX } from '../limits.ts'
import { TIME_BASES } from '../model/aggregates.ts'
import { momentWords } from './read-time.ts'

const MOMENT: StringSchema = {
  type: 'string',
  must: momentWords,
  description: 'RFC 3339, `now`, or a time before it such as `-15m` (`s`, `m`, `h`, `d`, `w`)',
}

/** Of buckets of time. */
export const TIME_ZONE: StringSchema = {
  type: 'string',
  default: 'UTC',
  description: 'By whose clocks buckets begin: a name of the IANA list',
  examples: ['Europe/Berlin'],
}

/** In the query language: docs/language.md. */
export const QUERY_TEXT: StringSchema = {
  type: 'string',
  default: '',
  description: 'Which events, in the query language; empty is all',
  examples: ['level:error', 'http.status:>=500 -path:/health'],
}

/** Of every request to read, in a body or in the URL. */
export const READ_PROPERTIES = {
  query: QUERY_TEXT,
  from: {
    ...MOMENT,
    description: `${MOMENT.description}; in the range. An hour before \`to\` when left out`,
  },
  to: { ...MOMENT, default: 'now', description: `${MOMENT.description}; not itself in the range` },
  time_basis: {
    type: 'string',
    enum: TIME_BASES,
    default: 'ingested_at',
    description: 'Which time `from` and `to` are about',
  },
  timeout_ms: {
    type: 'integer',
    minimum: 1,
    maximum: QUERY_MS_MAX,
    default: QUERY_MS_MAX,
    description: 'How long the answer may take',
  },
} as const satisfies Readonly<Record<string, Schema>>

/** Of requests over several streams, in a body. */
export const STREAMS: Schema = {
  anyOf: [
    { type: 'string', enum: ['*'] },
    { type: 'array', items: { type: 'string' }, minItems: 1, maxItems: READ_STREAMS_MAX },
  ],
  must: 'a list of ids of streams such as ["1", "7"], or "*" for all that the token sees',
  default: '*',
  description: 'Ids of streams, or `*`: all that the token sees',
}

/** The same in a URL. */
export const STREAMS_TEXT: StringSchema = {
  type: 'string',
  default: '*',
  description: 'Ids of streams with commas between them, or `*`: all that the token sees',
}

/** What every answer says of itself: `honest-answer.ts`. */
export const HONEST_PROPERTIES = {
  complete: {
    type: 'boolean',
    description: 'False: it covers less than was asked for, see `reason` and `covered`',
  },
  reason: nullable({ type: 'string' }, { description: 'Why it is not complete' }),
  covered: nullable(
    { type: 'object', properties: { from: RFC3339, to: RFC3339 } },
    { description: 'The range that it covers, when it is not complete' },
  ),
  as_of: { ...RFC3339, description: 'Every event acknowledged before is in it' },
  lag_ms: { type: 'integer', description: 'How long that is ago' },
  sampled: { type: 'boolean', description: 'Part of the events stands for all' },
} as const satisfies Readonly<Record<string, Schema>>
