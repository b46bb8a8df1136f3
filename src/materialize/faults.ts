/**
 * Classifies failures on the way to the projection. A segment may be set aside only if its data is
 * at fault: any other failure would affect the next segment just as much.
 */
import { ERRORS, IngestError } from '../errors.ts'
import { StoreError } from '../store/store-error.ts'

export interface Fault {
  /**
   * `away`: a store or the pool is gone or overloaded now. `data`: this data can never be inserted.
   * `refused`: rights, quotas, tables that were changed: an operator must repair it.
   */
  readonly kind: 'away' | 'data' | 'refused'
  /** A few words for people, in lower case, without anything of the events or the request. */
  readonly reason: string
}

/** A segment's block could not be built again, and not for want of time or room. */
class DamagedSegmentError extends Error {
  constructor(cause: unknown) {
    super('the payload of a segment cannot be decoded', { cause })
  }
}

/** What a failure to build a segment's block again is thrown as. */
export function rebuildError(cause: unknown): unknown {
  // The worker code is pure: the payload causes whatever is not the pool's refusal.
  return isAway(cause) ? cause : new DamagedSegmentError(cause)
}

/** Of one segment that could not be brought in. */
export function segmentFault(cause: unknown): Fault {
  if (cause instanceof DamagedSegmentError) return { kind: 'data', reason: 'damaged' }
  const fault = faultOf(cause)
  const isData = cause instanceof StoreError && cause.kind === 'bad_data'
  return isData ? { kind: 'data', reason: fault.reason } : fault
}

/** Of any step towards the projection, for which no segment is to blame. */
function faultOf(cause: unknown): Fault {
  return { kind: isAway(cause) ? 'away' : 'refused', reason: reasonOf(cause) }
}

function isAway(cause: unknown): boolean {
  if (cause instanceof IngestError) return ERRORS[cause.code].retryable
  return cause instanceof Error && 'retryable' in cause && cause.retryable === true
}

function reasonOf(cause: unknown): string {
  if (cause instanceof IngestError) return cause.code
  if (!(cause instanceof StoreError)) return 'internal'
  const { clickHouseName, clickHouseCode, code } = cause
  if (clickHouseName !== undefined) return clickHouseName.toLowerCase()
  return clickHouseCode === undefined ? (code?.toLowerCase() ?? cause.kind) : `${clickHouseCode}`
}
