/** What became of a request's events: counts, and the first rejected ones (docs/api.md). */
import { IngestError } from '../errors.ts'
import { REPLY_ERRORS_MAX } from '../limits.ts'
import type { PartResult, RejectCode } from '../model/batch/part-result.ts'

/** Why an event, or the whole request, is no good. */
export interface ReportedError {
  readonly index: number
  readonly line: number
  readonly code: RejectCode
  readonly message: string
}

export class IngestReport {
  accepted = 0
  rejected = 0
  repaired = 0
  acceptedBytes = 0
  readonly rejectedByCode = new Map<RejectCode, number>()
  /** The first rejects, placed in the whole request: index from 0, line from 1. */
  readonly errors: ReportedError[] = []
  /** Events that are stored without something, and the first of them in the whole request. */
  warnings = 0
  firstWarning: PartResult['firstWarning']
  /** Set when the whole request failed: a syntax error in a document or an array. */
  fatal: ReportedError | undefined
  #lines = 0
  #items = 0

  /** The JSON of a native 200 answer. */
  get body(): string {
    const { accepted, rejected, errors } = this
    if (rejected === 0) return `{"accepted":${accepted},"rejected":0,"errors":[]}`
    return JSON.stringify({ accepted, rejected, errors })
  }

  /** Why the request failed, else the first event; undefined where there was nothing to reject. */
  get firstFault(): ReportedError | undefined {
    return this.fatal ?? this.errors[0]
  }

  /** Line feeds of the body that no part holds. */
  skipLines(count: number): void {
    this.#lines += count
  }

  /** Adds the next part's outcome; parts come in body order. */
  add(result: PartResult): void {
    this.accepted += result.accepted
    this.rejected += result.rejected
    this.repaired += result.repaired
    this.acceptedBytes += result.acceptedBytes
    for (const reject of result.rejects) {
      const placed = {
        ...reject,
        index: this.#items + reject.index,
        line: this.#lines + reject.line,
      }
      if (this.errors.length < REPLY_ERRORS_MAX) this.errors.push(placed)
    }
    for (const [code, count] of Object.entries(result.rejectedByCode)) {
      const known = this.rejectedByCode.get(code as RejectCode) ?? 0
      this.rejectedByCode.set(code as RejectCode, known + count)
    }
    this.warnings += result.warnings ?? 0
    if (result.firstWarning !== undefined) {
      const { index, message } = result.firstWarning
      this.firstWarning ??= { index: this.#items + index, message }
    }
    if (result.fatal !== undefined && this.fatal === undefined) {
      const { index, line } = result.fatal
      this.fatal = { ...result.fatal, index: this.#items + index, line: this.#lines + line }
    }
    this.#items += result.items
    this.#lines += result.lines
  }
}

/** What a whole request is refused with for such a fault. */
export function refusalFor({ code, message }: ReportedError): IngestError {
  return new IngestError(code === 'too_large' ? 'too_large' : 'malformed', message)
}
