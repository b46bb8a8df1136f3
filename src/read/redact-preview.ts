/** Shows what redaction would do to a sample, using ingest's worker code; stores nothing. */
import { IngestError, malformed } from '../errors.ts'
import { EVENT_BYTES_MAX } from '../limits.ts'
import type { RedactionPreview } from '../model/redact/redaction.ts'

/**
 * Runs in the pool, with redaction off where `redactFields` is false; undefined when ingest would
 * not accept the sample.
 */
export type PreviewRedaction = (
  sample: { readonly kind: 'event' | 'string'; readonly text: string },
  redactFields: readonly string[] | false,
) => Promise<RedactionPreview | undefined>

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
