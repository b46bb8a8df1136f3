/**
 * The answer to a bulk request of Fluent Bit. Fluent Bit keeps 512,000 bytes of an answer. It sends
 * the whole chunk again when it cannot read the answer or finds in it what it takes for a failure.
 * In some versions that is any rejected item, in others any item at all once `errors` is true. A
 * chunk sent again stores its good events twice, and its rejected events are rejected again.
 *
 * So the answer says `errors: false`, at which every version stops reading, whenever a retry would
 * gain nothing. It has items for the first rejected events only, none for stored ones. For the
 * reasons see docs/decisions/0036-bulk-answers.md.
 */
import type { IngestReport } from '../../ingest-report.ts'

export function encodeFluentBitReply(report: IngestReport, tookMs: number): string {
  const items = report.errors.map(({ line, message }) => {
    const error = { type: 'illegal_argument_exception', reason: `line ${line}: ${message}` }
    return { create: { status: 400, error } }
  })
  return `{"took":${tookMs},"errors":false,"items":${JSON.stringify(items)}}`
}
