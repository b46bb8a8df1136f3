/** What redaction would do: to a sample that is sent, and to events that are stored. */
import { checkBody } from '../api/check-value.ts'
import { readMemberTexts } from '../api/json-text.ts'
import type { ObjectSchema } from '../api/schema.ts'
import { parseJson } from '../http/body.ts'
import type { Route } from '../http/exchange.ts'
import { type Guard, guardRoute, jsonAnswer, jsonText } from '../http/guard.ts'
import { REST_BODY_BYTES_MAX } from '../limits.ts'
import { findVisibleStream, type StreamFinder } from '../read/find-streams.ts'
import type { ReadMembers } from '../read/read-request.ts'
import { type PreviewRedaction, previewSample } from '../read/redact-preview.ts'
import { REVIEW_REQUEST, type ReviewDeps, reviewRedaction } from '../read/redact-review.ts'
import { readSettings, STREAM_CHANGES } from '../read/stream-settings.ts'

export interface RedactPreviewDeps extends Guard {
  readonly streams: StreamFinder
  readonly preview: PreviewRedaction
}

const { redact_sensitive, redact_fields } = STREAM_CHANGES.properties
const SAMPLE: ObjectSchema = {
  type: 'object',
  properties: {
    sample: {
      anyOf: [{ type: 'object', properties: {}, additionalProperties: {} }, { type: 'string' }],
      must: 'an object or a string',
      description: 'An event, or a string that would be in one',
    },
    redact_sensitive: {
      ...redact_sensitive,
      default: true,
      description: 'As if the stream had it on, or off',
    },
    redact_fields: {
      ...redact_fields,
      default: undefined,
      description: "More paths to redact; the stream's own when left out",
    },
  },
  required: ['sample'],
}
const PREVIEW: ObjectSchema = {
  type: 'object',
  properties: {
    redacted: { description: 'The sample as it would be stored' },
    changes: {
      type: 'array',
      items: {
        type: 'object',
        properties: { path: { type: 'string' }, reason: { type: 'string' } },
      },
    },
  },
}

export function redactPreviewRoutes({ streams, preview, ...guard }: RedactPreviewDeps): Route[] {
  return [
    guardRoute(guard, {
      method: 'POST',
      pattern: '/v1/streams/:id/redact/preview',
      operationId: 'previewRedaction',
      summary: 'Show what redaction would make of a sample',
      tag: 'Redaction',
      scope: 'streams:read',
      body: SAMPLE,
      takesText: true,
      answers: { 200: jsonAnswer('Nothing is stored', PREVIEW) },
      bodyBytesMax: REST_BODY_BYTES_MAX,
      run: async ({ principal, params, body }) => {
        const stream = await findVisibleStream(streams, principal, params[0])
        const { kind, text, settings } = readRequest(String(body))
        const redactFields = settings.redactFields ?? stream.redactFields
        // A preview should show redaction even before it is switched on.
        const isOn = settings.redactSensitive ?? true
        const found = await previewSample(preview, { kind, text }, isOn && redactFields)
        const changes = JSON.stringify(found.changes)
        // What is redacted is JSON already; parsing it would lose digits.
        const json = `{"redacted":${found.redacted},"changes":${changes}}`
        return jsonText(json)
      },
    }),
  ]
}

/** Keeps an event's text as it was sent: parsing would lose digits and duplicate keys. */
function readRequest(body: string): {
  kind: 'event' | 'string'
  text: string
  settings: ReturnType<typeof readSettings>
} {
  const parsed = parseJson(Buffer.from(body))
  checkBody(SAMPLE, parsed)
  const { sample, ...settings } = parsed as Readonly<Record<string, unknown>>
  const read = readSettings(settings)
  if (typeof sample === 'string') return { kind: 'string', text: sample, settings: read }
  return { kind: 'event', text: readMemberTexts(body).get('sample') ?? '', settings: read }
}

export interface RedactReviewDeps extends Guard, ReviewDeps {
  readonly streams: StreamFinder
}

/** As of a query, and the longest `redact_fields` with every character escaped. */
const REVIEW_BODY_BYTES_MAX = 1024 * 1024

/** Its members are in `docs/api.md`. */
const REVIEW: ObjectSchema = { type: 'object', properties: {}, additionalProperties: {} }

export function redactReviewRoutes(deps: RedactReviewDeps): Route[] {
  return [
    guardRoute(deps, {
      method: 'POST',
      pattern: '/v1/streams/:id/redact/review',
      operationId: 'reviewRedaction',
      summary: 'Count what redaction would change in stored events',
      tag: 'Redaction',
      scope: 'events:read',
      body: REVIEW_REQUEST,
      answers: { 200: jsonAnswer('Values are masked; nothing is stored', REVIEW) },
      bodyBytesMax: REVIEW_BODY_BYTES_MAX,
      run: async ({ principal, params, body, signal }) => {
        const stream = await findVisibleStream(deps.streams, principal, params[0])
        return jsonText(await reviewRedaction(deps, body as ReadMembers, stream, signal))
      },
    }),
  ]
}
