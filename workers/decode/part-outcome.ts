/** Counts what becomes of one part's events, and keeps the first rejects for the reply. */
import { REPLY_ERRORS_MAX } from '../../src/limits.ts'
import type { BulkItems } from '../../src/model/batch/bulk-items.ts'
import type { EventReject, PartResult, RejectCode } from '../../src/model/batch/part-result.ts'

export class PartOutcome {
  accepted = 0
  rejected = 0
  lines = 0
  items = 0
  repaired = 0
  acceptedBytes = 0
  /** Of a bulk part, once it was decoded. */
  bulkItems: BulkItems | undefined
  readonly #rejects: EventReject[] = []
  readonly #rejectedByCode: Partial<Record<RejectCode, number>> = {}
  #fatal: EventReject | undefined
  #warnings = 0
  #firstWarning: PartResult['firstWarning']

  /** Counts the next `items` as accepted, with their bytes in total. */
  accept(bytes: number, items = 1): void {
    this.accepted += items
    this.items += items
    this.acceptedBytes += bytes
  }

  /** What all items took together, where they share some of it: each has the same part. */
  shareBytes(bytes: number): void {
    if (this.accepted > 0) this.acceptedBytes = Math.round((bytes * this.accepted) / this.items)
  }

  /** Counts the current item (`items`) as rejected; `line` is from 1 within the part. */
  reject(line: number, code: RejectCode, message: string): void {
    this.rejected++
    this.#rejectedByCode[code] = (this.#rejectedByCode[code] ?? 0) + 1
    if (this.#rejects.length < REPLY_ERRORS_MAX) {
      this.#rejects.push({ index: this.items, line, code, message })
    }
    this.items++
  }

  /** The newest accepted item is stored, but without something that its sender should know of. */
  warn(message: string): void {
    this.#warnings++
    this.#firstWarning ??= { index: this.items - 1, message }
  }

  /** The part fails as a whole: whatever was accepted of it before is not stored. */
  fail(line: number, code: RejectCode, message: string): void {
    this.#fatal = { index: this.items, line, code, message }
    this.accepted = 0
    this.acceptedBytes = 0
  }

  get failed(): boolean {
    return this.#fatal !== undefined
  }

  toResult(): PartResult {
    return {
      accepted: this.accepted,
      rejected: this.rejected,
      rejectedByCode: this.#rejectedByCode,
      lines: this.lines,
      items: this.items,
      repaired: this.repaired,
      acceptedBytes: this.acceptedBytes,
      rejects: this.#rejects,
      warnings: this.#fatal === undefined ? this.#warnings : 0,
      firstWarning: this.#fatal === undefined ? this.#firstWarning : undefined,
      fatal: this.#fatal,
      bulkItems: this.bulkItems,
    }
  }
}
