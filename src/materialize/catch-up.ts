/**
 * Catch-up: one step reads the next committed segments from the raw store, asks ClickHouse which of
 * them it has, rebuilds the others' blocks in the pool, and inserts them.
 */
import {
  MATERIALIZE_INSERT_BYTES,
  MATERIALIZE_INSERT_ROWS,
  REPLAY_SEGMENTS_MAX,
  SEGMENT_TRIES_MAX,
} from '../limits.ts'
import type { EncodedBlock } from '../model/batch.ts'
import { MIXED_STREAM, type MixedRun } from '../model/mixed-runs.ts'
import type { MixedBlock, StreamRows, StreamSegment } from '../model/projection.ts'
import type { SegmentId } from '../model/segment-id.ts'
import type { SegmentMember } from '../model/segment-members.ts'
import type { StreamId } from '../model/stream.ts'
import { type Fault, rebuildError, segmentFault } from './faults.ts'
import { joinInTurns } from './join-blocks.ts'
import { stampBlock, stampMembers } from './stamp.ts'
import { toMixed, toWaiting, type WaitingBlock } from './stream-buffer.ts'

export interface StoredSegment {
  /** `MIXED_STREAM` with `runs`. */
  readonly streamId: StreamId
  readonly segmentId: SegmentId
  readonly payload: Uint8Array
  /** Of a row that compaction merged: its segments. Each may be in the projection or not. */
  readonly members?: readonly SegmentMember[]
  /** Of a mixed row: likewise. */
  readonly runs?: readonly MixedRun[]
  /** Of a segment inside such a row that comes by itself: which of the payload's events it is. */
  readonly part?: SegmentPart
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
  /** Which of the segments are in the projection: their stream's table or the shared one. */
  findPresent(segments: readonly StreamSegment[]): Promise<ReadonlySet<SegmentId>>
  /** Rebuilds a segment's block, or that of a part of it, through the worker code. */
  rebuild(segment: StoredSegment, part?: SegmentPart): Promise<EncodedBlock>
  /** Inserts blocks of one stream; makes its table when it is missing. */
  insert(streamId: StreamId, blocks: readonly Uint8Array[]): Promise<void>
  /** Inserts blocks into the table that streams share. */
  insertMixed(blocks: readonly MixedBlock[]): Promise<void>
  /** Makes it durable that these segments are left out, until somebody asks to try again. */
  setAside(segments: readonly SetAside[]): Promise<void>
  /** Segments set aside that somebody asked to try again, some of them. */
  readRetries(): Promise<readonly StoredSegment[]>
  /** They are in the projection now. */
  forgetSetAside(segments: readonly StreamSegment[]): Promise<void>
}

export interface SetAside extends StreamSegment {
  /** Why, without anything of its events: see `faults.ts`. */
  readonly reason: string
  readonly tries: number
}

export interface CatchUpStep {
  /** The last segment or run of the step; it and all before it are in the projection. */
  readonly last: SegmentId
  readonly replayed: number
}

export interface CatchUpOptions {
  /** A segment cannot be projected; it stays in the raw store. */
  readonly onSetAside?: ((segmentId: SegmentId, reason: string) => void) | undefined
  readonly triesMax?: number
}

export class CatchUp {
  readonly #stores: CatchUpStores
  readonly #options: CatchUpOptions
  /** Bytes of one insert; smaller after failures, so that in the end one segment goes alone. */
  #sliceBytes = MATERIALIZE_INSERT_BYTES
  readonly #failures = new Map<SegmentId, number>()
  /** Recorded already; the checkpoint has not passed them yet. */
  readonly #setAside = new Set<SegmentId>()

  constructor(stores: CatchUpStores, options: CatchUpOptions = {}) {
    this.#stores = stores
    this.#options = options
  }

  /** Brings the next segments in; undefined when there are none. Rejects when a store fails. */
  async step(after: SegmentId): Promise<CatchUpStep | undefined> {
    const stored = await this.#stores.readAfter(after, REPLAY_SEGMENTS_MAX)
    const last = stored.at(-1)
    if (last === undefined) return undefined
    const replayed = await this.#bringAll(stored)
    return { last: last.runs?.at(-1)?.segmentId ?? last.segmentId, replayed }
  }

  /** Tries some of those again that it is asked for; returns how many. Rejects as `step` does. */
  async retry(): Promise<number> {
    const stored = await this.#stores.readRetries()
    if (stored.length === 0) return 0
    for (const { segmentId } of stored) this.#setAside.delete(segmentId)
    await this.#bringAll(stored)
    const there = stored.filter(({ segmentId }) => !this.#setAside.has(segmentId))
    await this.#stores.forgetSetAside(there)
    return stored.length
  }

  /** How many segments, or neighbours in a row, were absent. */
  async #bringAll(stored: readonly StoredSegment[]): Promise<number> {
    await this.#stores.settleInserts()
    const present = await this.#stores.findPresent(stored.flatMap(segmentsOf))
    const byStream = new Map<StreamId, StoredSegment[]>()
    for (const segment of stored) {
      const known = byStream.get(segment.streamId)
      if (known === undefined) byStream.set(segment.streamId, [segment])
      else known.push(segment)
    }
    let replayed = 0
    for (const [streamId, segments] of byStream) {
      const slice = new Slice(streamId)
      for (const segment of segments) replayed += await this.#bring(segment, present, slice)
      await this.#insert(slice)
    }
    return replayed
  }

  /** Puts what is absent of a segment into the slice, which is inserted when it is full. */
  async #bring(
    segment: StoredSegment,
    present: ReadonlySet<SegmentId>,
    slice: Slice,
  ): Promise<number> {
    const { segmentId } = segment
    if (this.#setAside.has(segmentId)) return 0
    const absent = segmentsOf(segment).filter((each) => !present.has(each.segmentId))
    const row = { segment, absent }
    let replayed = 0
    for (const piece of absentPieces(segment, present)) {
      replayed++
      const block = await this.#rebuild(row, piece)
      if (block === undefined) break // All of it is set aside.
      const isFull =
        slice.bytes + block.bytes.length > this.#sliceBytes ||
        slice.rows + block.rows > MATERIALIZE_INSERT_ROWS
      if (isFull) await this.#insert(slice)
      slice.add(row, block, streamRows(segment, piece, block.rows))
    }
    return replayed
  }

  async #rebuild(row: AbsentRow, piece: Piece): Promise<EncodedBlock | undefined> {
    const { segment } = row
    try {
      if (piece === 'all') {
        const block = await this.#stores.rebuild(segment)
        stampBlock(block, segment.segmentId)
        return block
      }
      const counts = piece.members.map((member) => member.eventCount)
      const block = await this.#stores.rebuild(segment, { first: piece.first, counts })
      stampMembers(block, piece.members)
      return block
    } catch (cause) {
      const error = rebuildError(cause)
      if (await this.#giveUp(row, segmentFault(error))) return undefined
      throw error
    }
  }

  /** Inserts and empties a slice, if there is something in it. */
  async #insert(slice: Slice): Promise<void> {
    const { streamId, sources, blocks } = slice
    if (blocks.length === 0) return
    try {
      if (streamId === MIXED_STREAM) await this.#stores.insertMixed(blocks.map(toMixed))
      else await this.#stores.insert(streamId, await joinInTurns(blocks))
      this.#sliceBytes = Math.min(MATERIALIZE_INSERT_BYTES, this.#sliceBytes * 2)
    } catch (cause) {
      // Smaller for the next try.
      this.#sliceBytes = Math.max(1, Math.floor(this.#sliceBytes / 4))
      const only = new Set(sources).size === 1 ? sources[0] : undefined
      if (only === undefined || !(await this.#giveUp(only, segmentFault(cause)))) throw cause
    }
    slice.clear()
  }

  /**
   * Counts a segment's failures that are its data's fault; true when it is set aside. Whatever else
   * is wrong is nothing that passing the segment would mend: it is tried until it works.
   */
  async #giveUp({ segment, absent }: AbsentRow, fault: Fault): Promise<boolean> {
    if (fault.kind !== 'data') return false
    const { segmentId } = segment
    const tries = (this.#failures.get(segmentId) ?? 0) + 1
    this.#failures.set(segmentId, tries)
    if (tries < (this.#options.triesMax ?? SEGMENT_TRIES_MAX)) return false
    const { reason } = fault
    await this.#stores.setAside(
      absent.map(({ streamId, segmentId }) => ({ streamId, segmentId, reason, tries })),
    )
    this.#failures.delete(segmentId)
    this.#setAside.add(segmentId)
    this.#options.onSetAside?.(segmentId, reason)
    return true
  }
}

/** A row of the raw store, and what of it is not in the projection. */
interface AbsentRow {
  readonly segment: StoredSegment
  readonly absent: readonly StreamSegment[]
}

/** What of a stored segment is to be brought in: all, or members that lie side by side. */
type Piece = 'all' | { readonly first: number; readonly members: readonly StreamMember[] }

interface StreamMember extends SegmentMember {
  readonly streamId: StreamId
}

/** The segments in a row of several, in their order. */
function membersOf(segment: StoredSegment): StreamMember[] | undefined {
  const { streamId, segmentId, members, runs, part } = segment
  if (part !== undefined) return [{ streamId, segmentId, eventCount: part.counts[0]! }]
  return runs?.slice() ?? members?.map((member) => ({ ...member, streamId }))
}

function segmentsOf(segment: StoredSegment): readonly StreamSegment[] {
  return membersOf(segment) ?? [segment]
}

function streamRows({ streamId }: StoredSegment, piece: Piece, count: number): StreamRows[] {
  if (piece === 'all') return [{ streamId, count }]
  return piece.members.map((member) => ({ streamId: member.streamId, count: member.eventCount }))
}

function absentPieces(segment: StoredSegment, present: ReadonlySet<SegmentId>): Piece[] {
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

/** Blocks of one insert. */
class Slice {
  /** `MIXED_STREAM`: for the table that streams share. */
  readonly streamId: StreamId
  /** Whose pieces its blocks are. */
  sources: AbsentRow[] = []
  blocks: WaitingBlock[] = []
  rows = 0
  bytes = 0

  constructor(streamId: StreamId) {
    this.streamId = streamId
  }

  add(source: AbsentRow, block: EncodedBlock, streamRows: readonly StreamRows[]): void {
    this.sources.push(source)
    this.blocks.push(toWaiting(block, streamRows))
    this.rows += block.rows
    this.bytes += block.bytes.length
  }

  clear(): void {
    this.sources = []
    this.blocks = []
    this.rows = 0
    this.bytes = 0
  }
}
