/** What the API description says of the ingest routes. Their protocols are described elsewhere. */
import type { RouteDescription } from '../../api/route-description.ts'
import type { ObjectSchema, Schema } from '../../api/schema.ts'

const EVENT: ObjectSchema = { type: 'object', properties: {}, additionalProperties: {} }
const LINES: Schema = { type: 'string', description: 'One object per line' }
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

function ingest(
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

const JSON_FORMS: Schema = { anyOf: [EVENT, { type: 'array', items: EVENT }] }

export const NATIVE_JSON = ingest('ingestJson', 'Ingest JSON events', {
  'application/json': JSON_FORMS,
  'application/x-ndjson': LINES,
  'application/jsonl': LINES,
  'application/stream+json': LINES,
})
export const NATIVE_TEXT = ingest('ingestText', 'Ingest lines of text, one event per line', {
  'text/plain': { type: 'string' },
})

/** OTLP logs at one of its paths. */
export function otlpLogs(operationId: string): RouteDescription {
  const form: Schema = { description: 'ExportLogsServiceRequest' }
  const answer: Schema = { description: 'ExportLogsServiceResponse' }
  return {
    ...ingest(operationId, 'Ingest OTLP logs', {
      'application/x-protobuf': form,
      'application/json': form,
    }),
    description: 'The key may also come as `Authorization: Bearer`.',
    answers: {
      200: {
        description: 'Stored',
        content: { 'application/x-protobuf': answer, 'application/json': answer },
      },
    },
  }
}

/** A path of another product's API, for that product's clients. */
export function compatible(
  method: string,
  pattern: string,
  about: Pick<RouteDescription, 'summary' | 'tag'>,
): RouteDescription {
  const words = `${method} ${pattern}`.toLowerCase().split(/[^a-z]+/)
  return {
    operationId: words.filter(Boolean).join('_'),
    ...about,
    credential: about.tag === 'OTLP' ? 'none' : 'basic',
    answers: { 200: { description: 'The answer of the product that it imitates' } },
  }
}
