/**
 * Catch-up: one step reads the next committed segments from the raw store, asks ClickHouse which of
 * them it has, rebuilds the others' blocks in the pool, and inserts them.
 */
import { MATERIALIZE_INSERT_BYTES, REPLAY_SEGMENTS_MAX } from '../limits.ts'
import type { EncodedBlock } from '../model/batch.ts'
import type { SegmentId } from '../model/segment-id.ts'
import type { SegmentMember } from '../model/segment-members.ts'
import type { StreamId } from '../model/stream.ts'
import { stampBlock, stampMembers } from './stamp.ts'

export interface StoredSegment {
  readonly streamId: StreamId
  readonly segmentId: SegmentId
  readonly payload: Uint8Array
  /** Of a row that compaction merged: its segments. Each may be in the projection or not. */
  readonly members?: readonly SegmentMember[]
}

/** Some events of a stored segment, of several segments with so many events each. */
export interface SegmentPart {
  readonly first: number
  readonly counts: readonly number[]
}

export interface CatchUpStores {
  /** This node's segments after `after`, in id order, at most `limit`. */
  readAfter(after: SegmentId, limit: number): Promise<readonly StoredSegment[]>
  /** Resolves once no insert of this node runs in ClickHouse any more. */
  settleInserts(): Promise<void>
  /** Which of the segments the stream's projection table has. */
  findPresent(streamId: StreamId, ids: readonly SegmentId[]): Promise<ReadonlySet<SegmentId>>
  /** Rebuilds a segment's block, or that of a part of it, through the worker code. */
  rebuild(segment: StoredSegment, part?: SegmentPart): Promise<EncodedBlock>
  /** Inserts blocks of one stream; makes its table when it is missing. */
  insert(streamId: StreamId, blocks: readonly Uint8Array[]): Promise<void>
}

export interface CatchUpStep {
  /** The last segment of the step; it and all before it are in the projection. */
  readonly last: SegmentId
  readonly replayed: number
}

/** How often one segment may fail by itself before it is left out, so that others go on. */
const SEGMENT_FAILURES_MAX = 5

export class CatchUp {
  readonly #stores: CatchUpStores
  readonly #onSetAside: (segmentId: SegmentId, cause: unknown) => void
  /** Bytes of one insert; smaller after failures, so that in the end one segment goes alone. */
  #sliceBytes = MATERIALIZE_INSERT_BYTES
  readonly #failures = new Map<SegmentId, number>()
  readonly #setAside = new Set<SegmentId>()

  /** `onSetAside`: a segment cannot be projected; it stays in the raw store. */
  constructor(
    stores: CatchUpStores,
    onSetAside: (segmentId: SegmentId, cause: unknown) => void = () => undefined,
  ) {
    this.#stores = stores
    this.#onSetAside = onSetAside
  }

  /** Brings the next segments in; undefined when there are none. Rejects when a store fails. */
  async step(after: SegmentId): Promise<CatchUpStep | undefined> {
    const stored = await this.#stores.readAfter(after, REPLAY_SEGMENTS_MAX)
    const last = stored.at(-1)
    if (last === undefined) return undefined
    await this.#stores.settleInserts()
    const byStream = new Map<StreamId, StoredSegment[]>()
    for (const segment of stored) {
      const known = byStream.get(segment.streamId)
      if (known === undefined) byStream.set(segment.streamId, [segment])
      else known.push(segment)
    }
    let replayed = 0
    for (const [streamId, segments] of byStream) {
      replayed += await this.#bring(streamId, segments)
    }
    return { last: last.segmentId, replayed }
  }

  async #bring(streamId: StreamId, segments: readonly StoredSegment[]): Promise<number> {
    const ids = segments.flatMap((segment) => idsOf(segment)).sort((a, b) => (a < b ? -1 : 1))
    const present = await this.#stores.findPresent(streamId, ids)
    let replayed = 0
    let slice = new Slice()
    for (const segment of segments) {
      if (this.#setAside.has(segment.segmentId)) continue
      for (const piece of absentPieces(segment, present)) {
        replayed++
        const block = await this.#rebuild(segment, piece)
        if (block === undefined) break
        if (slice.blocks.length > 0 && slice.bytes + block.length > this.#sliceBytes) {
          await this.#insert(streamId, slice)
          slice = new Slice()
        }
        slice.add(segment.segmentId, block)
      }
    }
    if (slice.blocks.length > 0) await this.#insert(streamId, slice)
    return replayed
  }

  async #rebuild(segment: StoredSegment, piece: Piece): Promise<Uint8Array | undefined> {
    try {
      if (piece === 'all') {
        const block = await this.#stores.rebuild(segment)
        stampBlock(block, segment.segmentId)
        return block.bytes
      }
      const counts = piece.members.map((member) => member.eventCount)
      const block = await this.#stores.rebuild(segment, { first: piece.first, counts })
      stampMembers(block, piece.members)
      return block.bytes
    } catch (cause) {
      if (this.#giveUp(segment.segmentId, cause)) return undefined
      throw cause
    }
  }

  /** Inserts a slice. One that fails is made smaller for the next try. */
  async #insert(streamId: StreamId, slice: Slice): Promise<void> {
    try {
      await this.#stores.insert(streamId, slice.blocks)
      this.#sliceBytes = Math.min(MATERIALIZE_INSERT_BYTES, this.#sliceBytes * 2)
    } catch (cause) {
      this.#sliceBytes = Math.max(1, Math.floor(this.#sliceBytes / 4))
      const [only] = slice.ids
      if (slice.ids.length === 1 && only !== undefined && this.#giveUp(only, cause)) return
      throw cause
    }
  }

  /** Counts a segment's failures that are not the store's being away; true when it is set aside. */
  #giveUp(segmentId: SegmentId, cause: unknown): boolean {
    if (isAway(cause)) return false
    const failures = (this.#failures.get(segmentId) ?? 0) + 1
    this.#failures.set(segmentId, failures)
    if (failures < SEGMENT_FAILURES_MAX) return false
    this.#failures.delete(segmentId)
    this.#setAside.add(segmentId)
    this.#onSetAside(segmentId, cause)
    return true
  }
}

/** What of a stored segment is to be brought in: all, or members that lie side by side. */
type Piece = 'all' | { readonly first: number; readonly members: readonly SegmentMember[] }

function idsOf({ segmentId, members }: StoredSegment): readonly SegmentId[] {
  return members?.map((member) => member.segmentId) ?? [segmentId]
}

function absentPieces(segment: StoredSegment, present: ReadonlySet<SegmentId>): Piece[] {
  const { segmentId, members } = segment
  if (members === undefined) return present.has(segmentId) ? [] : ['all']
  const pieces: { readonly first: number; readonly members: SegmentMember[] }[] = []
  let event = 0
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

/** Blocks of one insert. */
class Slice {
  readonly ids: SegmentId[] = []
  readonly blocks: Uint8Array[] = []
  bytes = 0

  add(segmentId: SegmentId, block: Uint8Array): void {
    this.ids.push(segmentId)
    this.blocks.push(block)
    this.bytes += block.length
  }
}

/**
 * Whether a store's error only says: not now. Memory limits count as such, a bad block does not.
 */
function isAway(cause: unknown): boolean {
  return cause instanceof Error && 'retryable' in cause && cause.retryable === true
}
