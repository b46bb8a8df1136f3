/** The error for a request when something throws before any of it was stored. */
import { IngestError } from '../../errors.ts'

/**
 * A RangeError means that memory could not be allocated. That passes, so the sender should try
 * again: senders do so after `overloaded`, and not after `internal`.
 */
export function failureOf(cause: unknown): IngestError {
  if (!(cause instanceof RangeError)) return IngestError.from(cause, 'internal')
  return new IngestError('overloaded', 'there is no memory for the request now', { cause })
}
