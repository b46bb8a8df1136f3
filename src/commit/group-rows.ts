/** A group's segments as rows of the raw store, and as what is told of them when durable. */
import type { CommittedSegment, SegmentToCommit } from '../model/batch/committed-group.ts'
import type { EncodedRun } from '../model/batch/encoded-batch.ts'
import type { SievedEvents } from '../model/batch/sieved-events.ts'
import { MIXED_STREAM, type SegmentRun } from '../model/mixed-runs.ts'
import { type SegmentId, segmentIdMs } from '../model/segment-id.ts'
import type { StreamId } from '../model/stream.ts'
import type { SegmentRow } from '../store/raw/segment-store.ts'

export interface CommitRow extends SegmentRow {
  /** As of `EncodedSegment`; not stored. */
  readonly sieved?: readonly (SievedEvents | undefined)[] | undefined
}

export function rowOf(
  streamId: StreamId,
  segment: SegmentToCommit,
  segmentIds: readonly SegmentId[],
): CommitRow {
  const { eventCount, rawBytes, sentBytes, payload, sieved } = segment
  const segmentId = segmentIds[0]!
  const ingestedAtMs = segmentIdMs(segmentId)
  const counts = { eventCount, rawBytes, sentBytes }
  const row = { streamId, segmentId, ingestedAtMs, ...counts, payload, sieved }
  if (segment.runs === undefined) return row
  const runs = toRuns(segment.runs, segmentIds, payload.length)
  return { ...row, streamId: MIXED_STREAM, runs }
}

/** The payload's bytes are shared by what the runs' events have as JSON; not a byte is lost. */
function toRuns(
  runs: readonly EncodedRun[],
  segmentIds: readonly SegmentId[],
  payloadBytes: number,
): SegmentRun[] {
  let bytesLeft = payloadBytes
  let rawLeft = runs.reduce((sum, run) => sum + run.rawBytes, 0)
  return runs.map(({ streamId, eventCount, rawBytes, sentBytes }, index) => {
    const storedBytes = Math.round((bytesLeft * rawBytes) / rawLeft)
    bytesLeft -= storedBytes
    rawLeft -= rawBytes
    const segmentId = segmentIds[index]!
    return { streamId, segmentId, eventCount, rawBytes, sentBytes, storedBytes }
  })
}

export function committedOf(
  streamId: StreamId,
  { runs, eventCount, block, delta }: SegmentToCommit,
  segmentIds: readonly SegmentId[],
): CommittedSegment {
  const segment = { streamId, segmentId: segmentIds[0]!, eventCount, block, delta }
  if (runs === undefined) return segment
  const committed = runs.map((run, index) => ({
    streamId: run.streamId,
    segmentId: segmentIds[index]!,
    eventCount: run.eventCount,
    delta: run.delta,
  }))
  return { ...segment, streamId: MIXED_STREAM, runs: committed }
}
