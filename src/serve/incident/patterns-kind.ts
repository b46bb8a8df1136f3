/** What kinds of messages there are, as a read over REST. */
import { nullable, type ObjectSchema, RFC3339, type Schema } from '../../api/schema.ts'
import { findPatterns, type PatternsDeps } from '../../read/patterns/find-patterns.ts'
import { PATTERNS_PROPERTIES, readPatternsRequest } from '../../read/patterns/patterns-request.ts'
import { answerOf, type ReadKind } from '../read-routes.ts'
import { readRangeText } from './range-text.ts'

const STRINGS: Schema = { type: 'array', items: { type: 'string' } }
const PATTERN: ObjectSchema = {
  type: 'object',
  properties: {
    template: nullable(
      { type: 'string' },
      { description: 'Words and `<slots>`; null where the text of no event could be read' },
    ),
    parts: {
      type: 'array',
      items: {
        type: 'object',
        properties: { text: { type: 'string' }, slot: { type: 'string' }, examples: STRINGS },
      },
      description: '`text`, or `slot` with its kind and examples',
    },
    count: { type: 'integer' },
    share: { type: 'number', description: 'Of all events that match' },
    first_seen: { ...RFC3339, description: 'In the range' },
    last_seen: RFC3339,
    levels: { type: 'object', properties: {}, additionalProperties: { type: 'integer' } },
    sparkline: { type: 'array', items: { type: 'integer' }, description: 'Events by `step_ms`' },
    pattern_ids: { ...STRINGS, description: 'The patterns of the row: 16 hex digits each' },
    query: { type: 'string', description: 'What selects just these events, beside your query' },
    examples: {
      type: 'array',
      items: {
        type: 'object',
        properties: { stream: { type: 'string' }, id: { type: 'string' } },
      },
    },
    baseline_count: { type: 'integer', description: 'With `baseline`' },
    is_new: { type: 'boolean', description: 'None of it is in `baseline`' },
    factor: nullable({ type: 'number' }, { description: 'How many times as often as there' }),
  },
}

export function patternsKind(deps: PatternsDeps): ReadKind {
  return {
    name: 'patterns',
    operation: 'patterns',
    summary: 'What kinds of messages there are, and which are new',
    properties: PATTERNS_PROPERTIES,
    texts: {
      baseline: {
        schema: { type: 'string', description: '`FROM..TO`, such as `-2d..-1d`' },
        read: readRangeText,
      },
    },
    answer: answerOf({
      patterns: { type: 'array', items: PATTERN },
      events: { type: 'integer', description: 'All that match' },
      without_pattern: {
        type: 'integer',
        description: 'Those without a text, or received before patterns were kept',
      },
      others: {
        type: 'object',
        properties: { patterns: { type: 'integer' }, events: { type: 'integer' } },
        description: 'What is in no row',
      },
      distinct: { type: 'integer', description: 'Different patterns' },
      step_ms: { type: 'number' },
      baseline: nullable({
        type: 'object',
        properties: { from: RFC3339, to: RFC3339, events: { type: 'integer' } },
      }),
    }),
    run: async (members, find, signal) => {
      return findPatterns(deps, readPatternsRequest(members, deps.nowMs()), await find(), signal)
    },
  }
}
