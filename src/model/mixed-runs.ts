/**
 * Mixed segments: events of several streams in one payload, one run per stream. Many small batches
 * then cost one row of the raw store and one block, not one each.
 *
 * A run is a segment of its stream, with an id of its own. So an event's id does not show that its
 * segment is mixed, and does not change when compaction moves the run to a row of its stream.
 *
 *   members of a mixed row, a run: varuint stream, varuint id minus the id before it (of the first:
 *   minus the row's), varuint events
 */
import assert from 'node:assert/strict'
import type { SegmentId } from './segment-id.ts'
import type { SegmentMember } from './segment-members.ts'
import type { StreamId } from './stream.ts'
import { pushVaruint, readVaruint } from './varuint.ts'

/** The stream number of mixed rows in `segments`. No stream has this number. */
export const MIXED_STREAM = 0 as StreamId

export interface MixedRun extends SegmentMember {
  readonly streamId: StreamId
}

/** A run as it is stored: a segment of its stream. */
export interface SegmentRun extends MixedRun {
  /** Bytes of its events as JSON, and as they were sent. */
  readonly rawBytes: number
  readonly sentBytes: number
  /** The run's share of the payload. */
  readonly storedBytes: number
}

/** Bounds the gaps between the ids of a row, which are made together. Varuints stay exact. */
const DELTA_MAX = 2n ** 52n

export function encodeRuns(runs: readonly MixedRun[]): Uint8Array {
  assert(runs.length > 0)
  const bytes: number[] = []
  let last: bigint = runs[0]!.segmentId
  for (const { streamId, segmentId, eventCount } of runs) {
    const delta = segmentId - last
    assert(delta >= 0n && delta < DELTA_MAX && eventCount > 0 && streamId !== MIXED_STREAM)
    pushVaruint(bytes, streamId)
    pushVaruint(bytes, Number(delta))
    pushVaruint(bytes, eventCount)
    last = segmentId
  }
  return Uint8Array.from(bytes)
}

/** The inverse of `encodeRuns`; `first` is the row's id. Throws on invalid bytes. */
export function decodeRuns(bytes: Uint8Array, first: SegmentId): MixedRun[] {
  const runs: MixedRun[] = []
  const at = { index: 0 }
  let id: bigint = first
  while (at.index < bytes.length) {
    const streamId = readVaruint(bytes, at) as StreamId
    id += BigInt(readVaruint(bytes, at))
    runs.push({ streamId, segmentId: id as SegmentId, eventCount: readVaruint(bytes, at) })
  }
  return runs
}
