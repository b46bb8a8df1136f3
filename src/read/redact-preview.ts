/** Shows what redaction would do to a sample, using ingest's worker code; stores nothing. */
import { checkBody } from '../api/check-value.ts'
import { readMemberTexts } from '../api/json-text.ts'
import type { ObjectSchema } from '../api/schema.ts'
import { IngestError } from '../errors.ts'
import { parseJson } from '../http/body.ts'
import type { Route } from '../http/exchange.ts'
import { EVENT_BYTES_MAX, REST_BODY_BYTES_MAX } from '../limits.ts'
import type { RedactionPreview } from '../model/redaction-preview.ts'
import { malformed } from './body-fields.ts'
import {
  findVisibleStream,
  type Guard,
  guardRoute,
  jsonAnswer,
  type StreamFinder,
} from './guard.ts'
import { readSettings, STREAM_CHANGES } from './stream-settings.ts'

/**
 * Runs in the pool, with redaction off where `redactFields` is false; undefined when ingest would
 * not accept the sample.
 */
export type PreviewRedaction = (
  sample: { readonly kind: 'event' | 'string'; readonly text: string },
  redactFields: readonly string[] | false,
) => Promise<RedactionPreview | undefined>

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
        return { status: 200, contentType: 'application/json', body: json }
      },
    }),
  ]
}

/**
 * The sample after redaction with `redactFields`; false: redaction is off. Throws `malformed` for
 * an event that ingest would not accept, `too_large`.
 */
export async function previewSample(
  preview: PreviewRedaction,
  { kind, text }: { readonly kind: 'event' | 'string'; readonly text: string },
  redactFields: readonly string[] | false,
): Promise<RedactionPreview> {
  if (Buffer.byteLength(text) > EVENT_BYTES_MAX) {
    const limit = `${EVENT_BYTES_MAX} bytes (EVENT_BYTES_MAX)`
    throw new IngestError('too_large', `sample is over ${limit}`)
  }
  if (redactFields === false && kind === 'string') {
    return { redacted: JSON.stringify(text), changes: [] }
  }
  const found = await preview({ kind, text }, redactFields)
  if (found !== undefined) return found
  throw malformed('sample is nested too deep to be an event')
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
