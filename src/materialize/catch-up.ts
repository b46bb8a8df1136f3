/**
 * Catch-up: reads committed segments from the raw store, asks ClickHouse which of them it has,
 * rebuilds the others' blocks in the pool, and inserts them.
 *
 *   read, ask (the next ones meanwhile) ▶ rebuild, some at a time ▶ insert, two at a time
 *
 * The caller of `step` makes sure that nothing else inserts these segments meanwhile. When a step
 * rejects, none of its inserts is still under way, except those whose outcome is unknown.
 */
import { MATERIALIZE_INSERT_ROWS, REPLAY_SEGMENTS_MAX } from '../limits.ts'
import type { EncodedBlock } from '../model/batch/encoded-block.ts'
import type { StreamSegment } from '../model/projection.ts'
import type { SegmentId } from '../model/segment-id.ts'
import {
  type LoadedRow,
  lastIdOf,
  partOf,
  type RowSegment,
  type SegmentPart,
  sideBySide,
} from '../model/stored-row.ts'
import type { StreamId } from '../model/stream.ts'
import { type Fault, rebuildError, segmentFault } from './faults.ts'
import { joinInTurns } from './join-blocks.ts'
import { type AbsentRow, PendingInsert } from './pending-insert.ts'
import { type LagKey, ownerOf } from './source-key.ts'
import { stampMembers } from './stamp.ts'

/** How often it reads before it is the next stream's turn. */
export const REPLAY_READS_MAX = 8
/** Segments that it has rebuilt in the pool at a time: few, or so many as have few events. */
export const REPLAY_AHEAD_SEGMENTS = 4
export const REPLAY_AHEAD_SEGMENTS_MAX = 32
export const REPLAY_AHEAD_EVENTS = 16_384
/** Inserts that it makes at a time; live, others make some meanwhile. */
export const REPLAY_INSERTS_MAX = 2
/** Bytes of one of them; a third one is being filled meanwhile. */
export const REPLAY_INSERT_BYTES = 24 * 1024 * 1024
/** How often a segment's own data may fail before it is set aside, so that others go on. */
export const SEGMENT_TRIES_MAX = 5

export interface CatchUpStores {
  /**
   * This node's segments after `after`, in id order, at most `limit`. With a stream, only those in
   * rows of that stream, or `alone` in mixed rows; with `MIXED_STREAM`, all mixed ones.
   */
  readAfter(
    after: SegmentId,
    limit: number,
    streamId?: StreamId,
    rows?: 'own' | 'alone',
  ): Promise<readonly LoadedRow[]>
  /** Resolves once no insert of this node that runs in ClickHouse now does so any more. */
  settleInserts(): Promise<void>
  /** Which of the segments are in the projection: their stream's table or the shared one. */
  findPresent(segments: readonly StreamSegment[]): Promise<ReadonlySet<SegmentId>>
  /** Rebuilds the block of a part of a row, through the worker code. */
  rebuild(row: LoadedRow, part: SegmentPart): Promise<EncodedBlock>
  /**
   * Inserts blocks of one stream, or those of `MIXED_STREAM` into the table that streams share;
   * makes the table when it is missing.
   */
  insert(streamId: StreamId, blocks: readonly Uint8Array[], rows: number): Promise<void>
  /** Makes it durable that these segments are left out, until somebody asks to try again. */
  setAside(segments: readonly SetAside[]): Promise<void>
  /** Segments set aside that somebody asked to try again, some of them. */
  readRetries(): Promise<readonly LoadedRow[]>
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
  /** Segments, or neighbours in a row, that were absent; and their events. */
  readonly replayed: number
  readonly events: number
}

export interface CatchUpOptions {
  /** Whose segments. */
  readonly of?: LagKey
  /** A segment cannot be projected; it stays in the raw store. */
  readonly onSetAside?: ((segmentId: SegmentId, reason: string) => void) | undefined
  readonly triesMax?: number
}

export class CatchUp {
  readonly #stores: CatchUpStores
  readonly #options: CatchUpOptions
  /** Bytes of one insert; smaller after failures, so that in the end one segment goes alone. */
  #sliceBytes = REPLAY_INSERT_BYTES
  readonly #tries = new Map<SegmentId, number>()
  /** Recorded already, but the caller's cursor has not passed them yet. */
  readonly #setAside = new Set<SegmentId>()
  /** An insert of ours may still run. */
  #mustSettle = true

  constructor(stores: CatchUpStores, options: CatchUpOptions = {}) {
    this.#stores = stores
    this.#options = options
  }

  /**
   * Brings the next segments in, in several reads while `mayGoOn`; undefined when there are none.
   * Rejects when a store fails.
   */
  async step(after: SegmentId, mayGoOn = () => true): Promise<CatchUpStep | undefined> {
    let last: SegmentId | undefined
    const { replayed, events } = await this.#run(async (turn) => {
      let next: Promise<Batch> | undefined = this.#read(after)
      for (let reads = 1; next !== undefined; reads++) {
        const batch: Batch = await next
        const end = batch.stored.at(-1)
        if (end === undefined) return
        last = lastIdOf(end)
        const isMore = batch.stored.length === REPLAY_SEGMENTS_MAX && reads < REPLAY_READS_MAX
        next = isMore && mayGoOn() ? this.#read(last) : undefined
        await turn.bring(batch)
      }
    })
    return last === undefined ? undefined : { last, replayed, events }
  }

  /** Tries some of those again that it is asked for; returns how many. Rejects as `step` does. */
  async retry(): Promise<number> {
    const stored = await this.#stores.readRetries()
    if (stored.length === 0) return 0
    for (const { segmentId } of stored) this.#setAside.delete(segmentId)
    this.#mustSettle = true
    await this.#run(async (turn) => turn.bring(await this.#ask(stored)))
    const there = stored.filter(({ segmentId }) => !this.#setAside.has(segmentId))
    await this.#stores.forgetSetAside(there)
    return stored.length
  }

  async #run(work: (turn: ReplayTurn) => Promise<void>): Promise<ReplayTurn> {
    // Must come before ClickHouse is asked which segments it has.
    if (this.#mustSettle) await this.#stores.settleInserts()
    this.#mustSettle = true
    const turn = new ReplayTurn({
      stores: this.#stores,
      isSetAside: (segmentId) => this.#setAside.has(segmentId),
      giveUp: (source, fault) => this.#giveUp(source, fault),
      sliceBytes: this.#sliceBytes,
    })
    try {
      await work(turn)
      await turn.end()
    } catch (cause) {
      await turn.abandon()
      // Smaller for the next try.
      if (turn.hasInsertFailed) this.#sliceBytes = Math.max(1, Math.floor(this.#sliceBytes / 4))
      throw cause
    }
    this.#sliceBytes = Math.min(REPLAY_INSERT_BYTES, this.#sliceBytes * 2)
    this.#mustSettle = false
    return turn
  }

  #read(after: SegmentId): Promise<Batch> {
    const { of = 'all' } = this.#options
    const owner = of === 'all' ? undefined : ownerOf(of)
    const batch = this.#stores
      .readAfter(after, REPLAY_SEGMENTS_MAX, owner, typeof of === 'string' ? 'alone' : 'own')
      .then((stored) => this.#ask(stored))
    batch.catch(() => undefined) // It may fail before it is awaited, or never be.
    return batch
  }

  async #ask(stored: readonly LoadedRow[]): Promise<Batch> {
    if (stored.length === 0) return { stored, present: new Set() }
    return {
      stored,
      present: await this.#stores.findPresent(stored.flatMap(({ segments }) => segments)),
    }
  }

  /**
   * Counts a segment's failures that are its data's fault; true when it is set aside. Skipping the
   * segment would not help against any other failure: it is retried until it works.
   */
  async #giveUp({ row, absent }: AbsentRow, fault: Fault): Promise<boolean> {
    if (fault.kind !== 'data') return false
    const { segmentId } = row
    if (this.#setAside.has(segmentId)) return true
    const tries = (this.#tries.get(segmentId) ?? 0) + 1
    this.#tries.set(segmentId, tries)
    if (tries < (this.#options.triesMax ?? SEGMENT_TRIES_MAX)) return false
    const { reason } = fault
    await this.#stores.setAside(
      absent.map(({ streamId, segmentId }) => ({ streamId, segmentId, reason, tries })),
    )
    this.#tries.delete(segmentId)
    this.#setAside.add(segmentId)
    this.#options.onSetAside?.(segmentId, reason)
    return true
  }
}

/** Rows, and which of their segments are in the projection. */
interface Batch {
  readonly stored: readonly LoadedRow[]
  readonly present: ReadonlySet<SegmentId>
}

interface TurnOptions {
  readonly stores: CatchUpStores
  readonly isSetAside: (segmentId: SegmentId) => boolean
  readonly giveUp: (source: AbsentRow, fault: Fault) => Promise<boolean>
  readonly sliceBytes: number
}

interface Rebuilding {
  readonly source: AbsentRow
  /** Undefined: its row was set aside. */
  readonly block: Promise<EncodedBlock | undefined>
}

/** What one step has under way. */
class ReplayTurn {
  readonly #options: TurnOptions
  readonly #slices = new Map<StreamId, PendingInsert>()
  /** In the order of their segments. */
  readonly #rebuilding: Rebuilding[] = []
  /** Events of their rows. */
  #ahead = 0
  readonly #inserting = new Set<Promise<void>>()
  #failure: { readonly cause: unknown } | undefined
  replayed = 0
  events = 0
  hasInsertFailed = false

  constructor(options: TurnOptions) {
    this.#options = options
  }

  /** Puts the absent segments into slices, each of which is inserted once it is full. */
  async bring({ stored, present }: Batch): Promise<void> {
    for (const row of stored) {
      if (this.#options.isSetAside(row.segmentId)) continue
      const absent = row.segments.filter(({ segmentId }) => !present.has(segmentId))
      const source = { row, absent }
      for (const piece of sideBySide(absent)) {
        this.replayed++
        const block = this.#rebuild(source, piece)
        block.catch(() => undefined) // Awaited in its turn.
        this.#rebuilding.push({ source, block })
        this.#ahead += row.eventCount
        while (this.#isFarAhead) await this.#takeRebuilt()
      }
    }
  }

  get #isFarAhead(): boolean {
    const { length } = this.#rebuilding
    if (length < REPLAY_AHEAD_SEGMENTS) return false
    return length >= REPLAY_AHEAD_SEGMENTS_MAX || this.#ahead >= REPLAY_AHEAD_EVENTS
  }

  /** Resolves when all of it is in the projection. */
  async end(): Promise<void> {
    while (this.#rebuilding.length > 0) await this.#takeRebuilt()
    for (const streamId of [...this.#slices.keys()]) await this.#startInsert(streamId)
    await Promise.all(this.#inserting)
    this.#assertWell()
  }

  /** Resolves when nothing is under way any more. */
  async abandon(): Promise<void> {
    await Promise.allSettled([...this.#rebuilding.map(({ block }) => block), ...this.#inserting])
  }

  async #rebuild(
    source: AbsentRow,
    piece: readonly RowSegment[],
  ): Promise<EncodedBlock | undefined> {
    const { row } = source
    const { stores, giveUp } = this.#options
    try {
      const block = await stores.rebuild(row, partOf(row, piece))
      stampMembers(block, piece)
      return block
    } catch (cause) {
      const error = rebuildError(cause)
      if (await giveUp(source, segmentFault(error))) return undefined
      throw error
    }
  }

  async #takeRebuilt(): Promise<void> {
    const [{ source, block: rebuilding }] = this.#rebuilding as [Rebuilding]
    const block = await rebuilding
    this.#rebuilding.shift()
    const { row } = source
    this.#ahead -= row.eventCount
    if (block === undefined || this.#options.isSetAside(row.segmentId)) return
    const { streamId } = row
    const slice = this.#slices.get(streamId)
    const isFull =
      slice !== undefined &&
      (slice.bytes + block.bytes.length > this.#options.sliceBytes ||
        slice.rows + block.rows > MATERIALIZE_INSERT_ROWS)
    if (isFull) await this.#startInsert(streamId)
    const open = this.#slices.get(streamId) ?? new PendingInsert(streamId)
    this.#slices.set(streamId, open)
    open.add(source, block)
  }

  /** Inserts the stream's slice, once fewer than REPLAY_INSERTS_MAX inserts are under way. */
  async #startInsert(streamId: StreamId): Promise<void> {
    const slice = this.#slices.get(streamId)
    if (slice === undefined) return
    this.#slices.delete(streamId)
    while (this.#inserting.size >= REPLAY_INSERTS_MAX) await Promise.race(this.#inserting)
    this.#assertWell()
    const insert = this.#insert(slice).finally(() => this.#inserting.delete(insert))
    this.#inserting.add(insert)
  }

  /** Never rejects: `#assertWell` throws the first failure. */
  async #insert(slice: PendingInsert): Promise<void> {
    const { stores, giveUp } = this.#options
    const { streamId, sources, blocks, rows } = slice
    try {
      try {
        await stores.insert(streamId, await joinInTurns(blocks), rows)
        this.events += rows
      } catch (cause) {
        const only = new Set(sources).size === 1 ? sources[0] : undefined
        if (only === undefined || !(await giveUp(only, segmentFault(cause)))) throw cause
      }
    } catch (cause) {
      this.hasInsertFailed = true
      this.#failure ??= { cause }
    }
  }

  #assertWell(): void {
    if (this.#failure !== undefined) throw this.#failure.cause
  }
}
