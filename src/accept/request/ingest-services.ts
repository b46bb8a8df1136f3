/** What an ingest request works with, and how it ends. */
import type { IngestError, OutcomeUnknownError } from '../../errors.ts'
import type { InFlight } from '../../http/in-flight.ts'
import type { SegmentToCommit } from '../../model/batch.ts'
import type { SegmentId } from '../../model/segment-id.ts'
import type { StreamId } from '../../model/stream.ts'
import type { CredentialCache } from '../admission/authenticate.ts'
import type { Batcher } from '../batching/batcher.ts'
import type { Answer } from '../dialect.ts'
import type { IngestReport } from '../ingest-report.ts'

/** What every request shares. */
export interface IngestServices {
  readonly batcher: Batcher
  /** Judges keys once more before a commit. */
  readonly credentials: Pick<CredentialCache, 'isCurrent' | 'confirm'>
  readonly inFlight: InFlight
  /** Makes the segments durable together, and the idempotent answer with them. */
  readonly commit: (
    streamId: StreamId,
    segments: readonly SegmentToCommit[],
    completion?: {
      readonly keySha256: Uint8Array
      readonly fingerprint: Uint8Array
      readonly status: number
      /** The answer, given the segments' ids. */
      readonly body: (segmentIds: readonly SegmentId[]) => string
    },
  ) => Promise<readonly SegmentId[]>
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
