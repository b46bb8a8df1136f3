/** Payloads of committed segments: from memory, or from the raw store. */
import type { SegmentRead } from '../model/batch/segment-read.ts'
import type { StreamSegment } from '../model/projection.ts'
import type { SegmentId } from '../model/segment-id.ts'
import type { SegmentInfo } from '../model/segment-place.ts'
import { type FoundSegment, type RowSegment, readOf } from '../model/stored-row.ts'
import type { StreamId } from '../model/stream.ts'
import type { MatchResult, MatchTask } from '../pool/messages.ts'

/** What is needed of the raw store about a stream's segments; `EventStore` has it. */
export interface SegmentSource {
  listSegments(range: {
    readonly streamId: StreamId
    readonly start: bigint
    readonly end: bigint
    readonly newestFirst: boolean
    readonly limit: number
  }): Promise<readonly SegmentInfo[]>
  readPayloads(keys: readonly StreamSegment[]): Promise<ReadonlyMap<SegmentId, FoundSegment>>
}

/** Runs in a worker. */
export type MatchSegments = (
  task: Pick<MatchTask, 'reads' | 'queries'>,
) => Promise<Pick<MatchResult, 'queries' | 'events'>>

/** Some events of a segment. */
export interface WantedSegment extends StreamSegment {
  readonly fromOrdinal: number
  readonly toOrdinal: number
  /** The row's, when it is known. */
  readonly payload?: Uint8Array | undefined
  readonly firstEvent?: RowSegment['firstEvent']
}

/** The events of each; undefined for a segment that retention has removed. */
export async function readWanted(
  source: Pick<SegmentSource, 'readPayloads'>,
  wanted: readonly WantedSegment[],
): Promise<(SegmentRead | undefined)[]> {
  const stored = await source.readPayloads(wanted.filter(({ payload }) => payload === undefined))
  return wanted.map((one) => {
    const { segmentId, payload, firstEvent = 0 } = one
    const found = payload === undefined ? stored.get(segmentId) : { segmentId, payload, firstEvent }
    return found && readOf(found, one, false)
  })
}
