/** What is different from before, as a read over REST. */
import { nullable, type ObjectSchema, type Schema } from '../../api/schema.ts'
import { splitNames } from '../../model/field-path.ts'
import { type CompareDeps, compare } from '../../read/compare/compare.ts'
import { COMPARE_PROPERTIES, readCompareRequest } from '../../read/compare/compare-request.ts'
import { answerOf, type ReadKind } from '../read-routes.ts'
import { readRangeText } from './range-text.ts'

const COMPARED_SIDE: ObjectSchema = {
  type: 'object',
  properties: {
    count: { type: 'integer' },
    rate: { type: 'number', description: 'Events a second' },
    share: { type: 'number', description: 'Of all events of the side, 0 to 1' },
  },
}
const FACTOR = nullable({ type: 'number' }, { description: 'Null where there was none before' })
const TEXTS: Schema = { type: 'array', items: { type: 'string' } }
const NUMBERS: ObjectSchema = {
  type: 'object',
  properties: {
    count: { type: 'integer', description: 'Numbers that were looked at' },
    p50: nullable({ type: 'number' }, { description: 'To within a sixteenth' }),
    p95: nullable({ type: 'number' }, { description: 'To within a sixteenth' }),
  },
}
const FINDING: ObjectSchema = {
  type: 'object',
  properties: {
    text: { type: 'string', description: 'In plain words' },
    kind: { type: 'string', enum: ['value', 'exists', 'numbers', 'pair'] },
    direction: { type: 'string', enum: ['more', 'fewer'] },
    query: { type: 'string', description: 'Finds just these events, in either range' },
    stream: nullable({ type: 'string' }, { description: 'Of a finding about a whole stream' }),
    window: COMPARED_SIDE,
    baseline: COMPARED_SIDE,
    factor: FACTOR,
    score: { type: 'number', description: 'G², by how much it varies anyway' },
    numbers: nullable(
      { type: 'object', properties: { window: NUMBERS, baseline: NUMBERS } },
      { description: 'Of `numbers`: those of the field' },
    ),
    same: { ...TEXTS, description: 'Conditions that nine tenths of the same events meet' },
    also: { ...TEXTS, description: 'What changed because of these events' },
    within: { ...TEXTS, description: 'Rare values that what is new of it has in common' },
    examples: {
      type: 'array',
      items: {
        type: 'object',
        properties: { stream: { type: 'string' }, id: { type: 'string' } },
      },
    },
  },
}
const RANGE = { from: { type: 'string' }, to: { type: 'string' } } as const
const WHOLE_SIDE: ObjectSchema = {
  type: 'object',
  properties: { count: { type: 'integer' }, rate: { type: 'number' } },
}

export function compareKind(deps: CompareDeps): ReadKind {
  return {
    name: 'compare',
    operation: 'compare',
    summary: 'What is different from before',
    properties: COMPARE_PROPERTIES,
    texts: {
      window: {
        schema: { type: 'string', description: '`FROM..TO`, such as `-15m..now`' },
        read: readRangeText,
      },
      baseline: {
        schema: { type: 'string', description: '`before`, `yesterday`, `FROM..TO`, `query:TEXT`' },
        read: readBaselineText,
      },
      fields: {
        schema: { type: 'string', description: 'Paths with commas between them' },
        read: (text) => splitNames(text),
      },
    },
    answer: answerOf({
      findings: { type: 'array', items: FINDING, description: 'The clearest first' },
      whole: {
        type: 'object',
        properties: {
          text: { type: 'string' },
          window: WHOLE_SIDE,
          baseline: WHOLE_SIDE,
          factor: FACTOR,
        },
        description: 'All events: a change that they have in common is no finding',
      },
      window: { type: 'object', properties: RANGE },
      baseline: { type: 'object', properties: { ...RANGE, query: { type: 'string' } } },
      looked_at: {
        type: 'object',
        properties: {
          events: { type: 'integer', description: 'Whose values were counted' },
          values: { type: 'integer' },
          fields: TEXTS,
        },
      },
      left_out: {
        type: 'object',
        properties: { fields: { type: 'integer' }, names: TEXTS },
        description: 'Fields of too many values, of ever new ones, or past the limit',
      },
      estimated: { type: 'boolean', description: 'Some events stood for all to find candidates' },
    }),
    run: async (members, find, signal) => {
      const request = readCompareRequest(members, deps.nowMs())
      return compare(deps, request, await find(), signal)
    },
  }
}

function readBaselineText(text: string) {
  if (text.startsWith('query:')) return { query: text.slice('query:'.length) }
  return text.includes('..') ? readRangeText(text) : text
}
