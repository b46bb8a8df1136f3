/** Rows of the raw store as catch-up reads them, and which of their segments are to be inserted. */

import type { EncodedBlock } from '../model/batch/encoded-block.ts'
import type { MixedRun } from '../model/mixed-runs.ts'
import type { StreamSegment } from '../model/projection.ts'
import type { SegmentId } from '../model/segment-id.ts'
import type { SegmentMember } from '../model/segment-members.ts'
import type { StreamId } from '../model/stream.ts'

export interface StoredSegment {
  /** `MIXED_STREAM` with `runs`. */
  readonly streamId: StreamId
  readonly segmentId: SegmentId
  readonly payload: Uint8Array
  /** Of the payload; absent when a segment that was set aside is tried again. */
  readonly eventCount?: number
  /** Of a row that compaction merged: its segments. Each may be in the projection or not. */
  readonly members?: readonly SegmentMember[]
  /** Of a mixed row: likewise. */
  readonly runs?: readonly MixedRun[]
  /** Set when this is one segment out of such a row: which of the payload's events are its own. */
  readonly part?: SegmentPart
}

/** Some events of a stored payload, which are of several segments with these counts. */
export interface SegmentPart {
  readonly first: number
  readonly counts: readonly number[]
  /** Of a mixed one: whose those segments are. */
  readonly streamIds?: readonly StreamId[]
}

/** A row of the raw store, and what of it is not in the projection. */
export interface AbsentRow {
  readonly segment: StoredSegment
  readonly absent: readonly StreamSegment[]
}

/** What of a stored segment is to be brought in: all, or members that lie side by side. */
export type Piece = 'all' | MemberPiece

export interface MemberPiece {
  readonly first: number
  readonly members: readonly StreamMember[]
}

export interface StreamMember extends SegmentMember {
  readonly streamId: StreamId
}

/** Up to where a reader has got that has seen the row. */
export function lastIdOf({
  segmentId,
  runs,
}: Pick<StoredSegment, 'segmentId'> & {
  readonly runs?: readonly { readonly segmentId: SegmentId }[] | undefined
}): SegmentId {
  return runs?.at(-1)?.segmentId ?? segmentId
}

/** The segments in a row, in their order. */
export function segmentsOf(segment: StoredSegment): readonly StreamSegment[] {
  return membersOf(segment) ?? [segment]
}

export function absentRow(segment: StoredSegment, present: ReadonlySet<SegmentId>): AbsentRow {
  const absent = segmentsOf(segment).filter(({ segmentId }) => !present.has(segmentId))
  return { segment, absent }
}

export function absentPieces(segment: StoredSegment, present: ReadonlySet<SegmentId>): Piece[] {
  const members = membersOf(segment)
  if (members === undefined) return present.has(segment.segmentId) ? [] : ['all']
  const pieces: { readonly first: number; readonly members: StreamMember[] }[] = []
  let event = segment.part?.first ?? 0
  let wasAbsent = false
  for (const member of members) {
    const isAbsent = !present.has(member.segmentId)
    if (isAbsent && wasAbsent) pieces.at(-1)?.members.push(member)
    else if (isAbsent) pieces.push({ first: event, members: [member] })
    event += member.eventCount
    wasAbsent = isAbsent
  }
  return pieces
}

function membersOf(segment: StoredSegment): StreamMember[] | undefined {
  const { streamId, segmentId, members, runs, part } = segment
  if (part !== undefined) return [{ streamId, segmentId, eventCount: part.counts[0]! }]
  return runs?.slice() ?? members?.map((member) => ({ ...member, streamId }))
}

export function partOf({ runs }: StoredSegment, { first, members }: MemberPiece): SegmentPart {
  const counts = members.map(({ eventCount }) => eventCount)
  if (runs === undefined) return { first, counts }
  return { first, counts, streamIds: members.map(({ streamId }) => streamId) }
}

/** Blocks of one insert. */
export class Slice {
  /** `MIXED_STREAM`: for the table that streams share. */
  readonly streamId: StreamId
  /** Whose pieces its blocks are. */
  readonly sources: AbsentRow[] = []
  readonly blocks: EncodedBlock[] = []
  rows = 0
  bytes = 0

  constructor(streamId: StreamId) {
    this.streamId = streamId
  }

  add(source: AbsentRow, block: EncodedBlock): void {
    this.sources.push(source)
    this.blocks.push(block)
    this.rows += block.rows
    this.bytes += block.bytes.length
  }
}
