/**
 * The one way from encoded batches to the outcome of their requests: all segments are committed in
 * one transaction, and once they are durable each part learns where its events are. Both shared
 * batches and large requests take it.
 */
import type { BatchOwner } from '../../model/batch/accepted-batch.ts'
import type { SegmentToCommit } from '../../model/batch/committed-group.ts'
import type { PartResult } from '../../model/batch/part-result.ts'
import type { SegmentId } from '../../model/segment-id.ts'
import type { StreamId } from '../../model/stream.ts'
import type { CommittedPart } from '../dialect.ts'

/**
 * Makes the segments of one stream, or of several (`MIXED_STREAM`), durable together, with the
 * answer to remember; see `commit/`. Resolves with the ids of the segments, or of the runs of mixed
 * ones.
 */
export type CommitSegments = (
  streamId: StreamId,
  segments: readonly SegmentToCommit[],
  answer?: RememberedAnswer<SegmentId>,
) => Promise<readonly SegmentId[]>

/** An answer to be kept under its Idempotency-Key, which says where events are. */
export interface RememberedAnswer<Place = CommittedPart> {
  readonly keySha256: Uint8Array
  readonly fingerprint: Uint8Array
  readonly status: number
  readonly body: (places: readonly Place[]) => string
}

/** What a worker made of one batch. */
export interface BatchToCommit {
  readonly segments: readonly SegmentToCommit[]
  readonly parts: readonly PartResult[]
  /** Which stream owns which parts, when streams share the batch; otherwise one stream has all. */
  readonly owners?: readonly BatchOwner[]
}

/**
 * Resolves with where the events of all parts are, in order, once everything is durable. Rejects as
 * `Committer.submit` does, or with what `answer.body` throws. Nothing is stored then, unless the
 * error says that the outcome is unknown.
 */
export async function commitParts(
  commit: CommitSegments,
  streamId: StreamId,
  batches: readonly BatchToCommit[],
  answer?: RememberedAnswer,
): Promise<readonly CommittedPart[]> {
  const segments = batches.flatMap((batch) => batch.segments)
  if (segments.length === 0) return placeParts(batches, [])
  const completion = answer && {
    ...answer,
    body: (ids: readonly SegmentId[]) => answer.body(placeParts(batches, ids)),
  }
  return placeParts(batches, await commit(streamId, segments, completion))
}

/** `ids`: of all segments, or of their runs where they have runs; none if nothing was stored. */
export function placeParts(
  batches: readonly BatchToCommit[],
  ids: readonly SegmentId[],
): CommittedPart[] {
  let at = 0
  return batches.flatMap((batch) => {
    const start = at
    for (const { runs } of batch.segments) at += runs?.length ?? 1
    return placeBatch(batch, ids.slice(start, at))
  })
}

/** `firstEvent` counts within a stream, from the stream's first event in the batch. */
function placeBatch(batch: BatchToCommit, ids: readonly SegmentId[]): CommittedPart[] {
  const { segments, parts, owners = [] } = batch
  if (owners.length < 2) return placeRange(parts, ids)
  const runs = segments.flatMap((segment) => segment.runs ?? [])
  const idByStream = new Map(runs.map(({ streamId }, index) => [streamId, ids[index]!]))
  let at = 0
  return owners.flatMap(({ streamId, parts: count }) => {
    const id = idByStream.get(streamId)
    const own = parts.slice(at, at + count)
    at += count
    return placeRange(own, id === undefined ? [] : [id])
  })
}

function placeRange(
  parts: readonly PartResult[],
  segmentIds: readonly SegmentId[],
): CommittedPart[] {
  let firstEvent = 0
  return parts.map((result) => {
    const placed = { result, segmentIds, firstEvent }
    firstEvent += result.accepted
    return placed
  })
}
