/**
 * The answer to a bulk request of Fluent Bit. It keeps 512,000 bytes of an answer, and sends a
 * chunk again, all of it, when it cannot read the answer or finds in it what it takes for a
 * failure. In some versions that is any item that was rejected, in others any item at all once
 * `errors` is true: what was stored would be stored again, and what was rejected would be rejected
 * again.
 *
 * So it is told `errors: false`, at which every version stops reading, whenever nothing is gained
 * by sending the chunk again. Stored events have no item; the first rejected ones have. Why this
 * and nothing else: docs/decisions/0036-bulk-answers.md.
 */
import type { IngestReport } from '../ingest-report.ts'

export function encodeFluentBitReply(report: IngestReport, tookMs: number): string {
  const items = report.errors.map(({ line, message }) => {
    const error = { type: 'illegal_argument_exception', reason: `line ${line}: ${message}` }
    return { create: { status: 400, error } }
  })
  return `{"took":${tookMs},"errors":false,"items":${JSON.stringify(items)}}`
}
