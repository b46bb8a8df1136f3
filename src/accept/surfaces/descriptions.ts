/** What the API description says of the ingest routes. Their protocols are described elsewhere. */
import type { RouteDescription } from '../../api/route-description.ts'
import type { ObjectSchema, Schema } from '../../api/schema.ts'

/** An event of any form. */
export const EVENT_SCHEMA: ObjectSchema = {
  type: 'object',
  properties: {},
  additionalProperties: {},
}
const REPORT: ObjectSchema = {
  type: 'object',
  properties: {
    accepted: { type: 'integer', description: 'Stored, on disk' },
    rejected: { type: 'integer', description: 'Not stored, and not worth a retry' },
    errors: {
      type: 'array',
      description: 'The first 20 rejected events',
      items: {
        type: 'object',
        properties: {
          index: { type: 'integer', description: 'Position among the events, from 0' },
          line: { type: 'integer', description: 'From 1' },
          code: { type: 'string' },
          message: { type: 'string' },
        },
      },
    },
  },
  required: ['accepted', 'rejected', 'errors'],
}
const HEADERS: Readonly<Record<string, Schema>> = {
  'Content-Encoding': {
    type: 'string',
    description: 'gzip, deflate, br, or zstd where Node has it',
  },
  'Idempotency-Key': {
    type: 'string',
    maxLength: 255,
    description: 'The same request under the same key is stored once in 24 hours',
  },
}

/** A path of ours that takes events; its body's forms by media type. */
export function describeIngest(
  operationId: string,
  summary: string,
  content: Readonly<Record<string, Schema>>,
): RouteDescription {
  return {
    operationId,
    summary,
    tag: 'Ingest',
    credential: 'key',
    headers: HEADERS,
    body: { required: true, content },
    answers: {
      200: { description: 'What was stored', content: { 'application/json': REPORT } },
    },
  }
}

/** A path of another product's API, for that product's clients. */
export function compatible(
  method: string,
  pattern: string,
  about: Pick<RouteDescription, 'summary' | 'tag' | 'credential'>,
): RouteDescription {
  const words = `${method} ${pattern}`.toLowerCase().split(/[^a-z]+/)
  return {
    operationId: words.filter(Boolean).join('_'),
    ...about,
    answers: { 200: { description: 'The answer of the product that it imitates' } },
  }
}
