/** What redaction would make of a sample, by the worker code of ingest; stores nothing. */
import { IngestError } from '../errors.ts'
import type { Route } from '../http/exchange.ts'
import { EVENT_BYTES_MAX } from '../limits.ts'
import type { RedactionPreview } from '../model/redaction-preview.ts'
import { malformed } from './body-fields.ts'
import { findVisibleStream, guardRoute, type ResolveToken, type StreamFinder } from './guard.ts'
import { readSettings } from './stream-settings.ts'

/** Runs in the pool; undefined when ingest would not accept the sample. */
export type PreviewRedaction = (
  sample: { readonly kind: 'event' | 'string'; readonly text: string },
  redactFields: readonly string[],
) => Promise<RedactionPreview | undefined>

export interface RedactPreviewDeps {
  readonly resolveToken: ResolveToken
  readonly streams: StreamFinder
  readonly preview: PreviewRedaction
}

const MEMBERS = ['sample', 'redact_sensitive', 'redact_fields']

export function redactPreviewRoutes({
  resolveToken,
  streams,
  preview,
}: RedactPreviewDeps): Route[] {
  return [
    guardRoute(resolveToken, {
      method: 'POST',
      pattern: '/v1/streams/:id/redact/preview',
      scope: 'streams:read',
      body: 'json',
      run: async ({ principal, params, body }) => {
        const stream = await findVisibleStream(streams, principal, params[0])
        const { sample, settings } = readRequest(body)
        // Who asks what redaction would do wants to see it done, also before it is switched on.
        const isOn = settings.redactSensitive ?? true
        const text = typeof sample === 'string' ? sample : JSON.stringify(sample)
        if (Buffer.byteLength(text) > EVENT_BYTES_MAX) {
          const limit = `${EVENT_BYTES_MAX} bytes (EVENT_BYTES_MAX)`
          throw new IngestError('too_large', `sample is over ${limit}`)
        }
        const kind = typeof sample === 'string' ? 'string' : 'event'
        const redactFields = settings.redactFields ?? stream.redactFields
        const found = isOn
          ? await preview({ kind, text }, redactFields)
          : { redacted: JSON.stringify(sample), changes: [] }
        if (found === undefined) throw malformed('sample is nested too deep to be an event')
        const changes = JSON.stringify(found.changes)
        // What is redacted is JSON already; parsing it would lose digits.
        const json = `{"redacted":${found.redacted},"changes":${changes}}`
        return { status: 200, contentType: 'application/json', body: json }
      },
    }),
  ]
}

function readRequest(body: unknown): {
  sample: string | object
  settings: ReturnType<typeof readSettings>
} {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw malformed('the body must be an object with a sample')
  }
  const unknown = Object.keys(body).filter((name) => !MEMBERS.includes(name))
  if (unknown.length > 0) throw malformed(`unknown: ${unknown.slice(0, 5).join(', ')}`)
  const { sample, ...settings } = body as Readonly<Record<string, unknown>>
  const isObject = typeof sample === 'object' && sample !== null && !Array.isArray(sample)
  if (typeof sample !== 'string' && !isObject) {
    throw malformed('sample must be an object or a string')
  }
  return { sample: sample as string | object, settings: readSettings(settings) }
}
