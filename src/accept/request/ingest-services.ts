/** What an ingest request works with, and how it ends. */
import type { IngestError, OutcomeUnknownError } from '../../errors.ts'
import type { InFlight } from '../../http/in-flight.ts'
import type { Batcher } from '../batching/batcher.ts'
import type { Answer } from '../dialect.ts'
import type { IngestReport } from '../ingest-report.ts'

/** What every request shares. */
export interface IngestServices {
  readonly batcher: Batcher
  readonly inFlight: InFlight
}

/** How a request ends. */
export type Outcome =
  | {
      readonly kind: 'accepted'
      readonly answer: Answer
      /** Absent when the answer is the one remembered under the Idempotency-Key. */
      readonly report: IngestReport | undefined
    }
  /** The body was judged, and nothing of it is stored. */
  | { readonly kind: 'refused'; readonly error: IngestError; readonly report: IngestReport }
  | IngestError
  | OutcomeUnknownError
