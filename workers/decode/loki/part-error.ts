/** What makes a Loki request fail as a whole. */
import type { RejectCode } from '../../../src/model/batch/part-result.ts'

/** Thrown once a part at most. */
export class PartError extends Error {
  override readonly name = 'PartError'
  readonly code: RejectCode

  constructor(message: string, code: RejectCode = 'malformed') {
    super(message)
    this.code = code
  }
}
