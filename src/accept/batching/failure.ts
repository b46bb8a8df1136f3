/** What a request is told of a throw on its way to the pool, where nothing of it was stored. */
import { IngestError } from '../../errors.ts'

/**
 * A RangeError is memory that could not be had. That passes, so its sender is to try again: senders
 * do after `overloaded`, and not after `internal`.
 */
export function failureOf(cause: unknown): IngestError {
  if (!(cause instanceof RangeError)) return IngestError.from(cause, 'internal')
  return new IngestError('overloaded', 'there is no memory for the request now', { cause })
}
