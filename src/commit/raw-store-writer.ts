/** The raw store as commit sees it: every failure told apart by what the committer can do. */
import { IngestError } from '../errors.ts'
import type { CommitFailure, SegmentStore } from '../store/raw/segment-store.ts'
import type { RawStoreWriter, WriteFailure } from './committer.ts'

const DISK_FULL_RETRY_SECONDS = 30

/** `onLeaseLost` hears that another process has our node number: nothing can be committed again. */
export function createRawStoreWriter(store: SegmentStore, onLeaseLost: () => void): RawStoreWriter {
  return {
    async write(rows, answers) {
      const failure = await store.commit(rows, answers)
      if (failure === undefined) return undefined
      if (failure.error.kind === 'lease_lost') onLeaseLost()
      return toWriteFailure(failure)
    },
    wasCommitted: (row) => store.wasCommitted(row),
  }
}

function toWriteFailure({ error, mayHaveCommitted }: CommitFailure): WriteFailure {
  if (mayHaveCommitted) return { kind: 'unknown', message: error.message }
  switch (error.kind) {
    case 'unavailable':
      return { kind: 'retry', message: error.message }
    case 'disk_full':
      return refused('the raw store has no space left', DISK_FULL_RETRY_SECONDS)
    case 'lease_lost':
      return refused('this node lost its number and is stopping')
    case 'conflict':
      if (error.constraint === 'segments_pkey') return { kind: 'exists', message: error.message }
      if (error.constraint === 'idempotency_keys_claim') return { kind: 'answers' }
      return refused('the raw store refused the data')
    case 'bad_data':
    case 'other':
      return refused('the raw store refused the data')
  }
}

function refused(message: string, retryAfterSeconds = 1): WriteFailure {
  return { kind: 'refused', error: new IngestError('unavailable', message, { retryAfterSeconds }) }
}
