/**
 * Materialize: brings committed segments into the projection, exactly once, a little later.
 *
 *   commit --CommittedGroup--> materialize --Native blocks--> ClickHouse, then the checkpoint
 *
 * Two modes. **Live**: the blocks that workers built wait in memory, are coalesced per table and
 * inserted; small ones of many streams share a table (`pick-insert.ts`), and those of a busy stream
 * are put where the embedded engine reads them, so that their buffers are free again soon.
 * **Catch-up**: segments past the checkpoint are read from the raw store; those that ClickHouse
 * does not have are rebuilt by the same worker code. Start begins with catch-up, and whatever goes
 * wrong in live mode (an insert of unknown outcome, too much waiting, ClickHouse away) drops the
 * memory and goes back to it. So there is one way to recover, and it is used often.
 *
 * Exactly once: a segment is in one block, and an insert makes one part of it; catch-up asks which
 * segments are there before it inserts, after it made sure that no insert of ours still runs.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  MATERIALIZE_BUFFER_BYTES_MAX,
  MATERIALIZE_INSERTS_MAX,
  MATERIALIZE_SMALL_BYTES_MAX,
  SET_ASIDE_POLL_MS,
  SPOOL_BYTES_MAX,
  SPOOL_BYTES_MIN,
} from '../limits.ts'
import type { CommittedGroup, CommittedSegment, EncodedBlock } from '../model/batch.ts'
import { MIXED_STREAM } from '../model/mixed-runs.ts'
import type { BlockSpool, StreamRows } from '../model/projection.ts'
import { type SegmentId, segmentIdMs } from '../model/segment-id.ts'
import type { StreamId } from '../model/stream.ts'
import { CatchUp, type CatchUpStores } from './catch-up.ts'
import { type FailureObserver, Failures } from './failures.ts'
import { joinInTurns } from './join-blocks.ts'
import { isFull, pickInsert } from './pick-insert.ts'
import { Progress } from './progress.ts'
import { stampBlock, stampMembers } from './stamp.ts'
import { StreamBuffer, toMixed } from './stream-buffer.ts'

export interface MaterializeStores extends CatchUpStores {
  /** Records the checkpoint; may reject. It never moves back. */
  writeCheckpoint(segmentId: SegmentId): Promise<void>
  /** Where a stream's blocks can wait outside our memory, if there is such a place. */
  tryOpenSpool(streamId: StreamId): BlockSpool | undefined
}

export interface MaterializeObserver extends FailureObserver {
  readonly onInsert: (insert: { rows: number; bytes: number; seconds: number }) => void
  readonly onReplayed: (segments: number) => void
  /** A segment that cannot be projected was left out, after several tries. */
  readonly onSetAside?: (segmentId: SegmentId, reason: string) => void
  readonly onModeChange: (mode: 'live' | 'catch-up', reason: string) => void
}

export interface MaterializerOptions {
  readonly stores: MaterializeStores
  readonly observer: MaterializeObserver
  /** Where the last run left off. */
  readonly checkpoint: SegmentId
  /** How long a block may wait to be coalesced. */
  readonly delayMs: number
  /** Takes back blocks that nothing uses any more. */
  readonly release?: (block: Uint8Array) => void
}

const TICK_MS = 100
const CHECKPOINT_MS = 500
const RETRY_MS_MAX = 5_000

export class Materializer {
  readonly #options: MaterializerOptions
  readonly #progress: Progress
  readonly #catchUpSteps: CatchUp
  readonly #retries: CatchUp
  readonly #failures: Failures
  /** In the order in which their oldest blocks came. */
  readonly #buffers = new Set<StreamBuffer>()
  /** Those of them that take more. */
  readonly #open = new Map<StreamId, StreamBuffer>()
  /** Bytes of blocks in our own memory, the ones being inserted included. */
  #keptBytes = 0
  #spooledBytes = 0
  #mode: 'live' | 'catch-up' = 'catch-up'
  /** In catch-up: everything up to here has been read from the raw store. */
  #cursor: SegmentId
  /** In catch-up: nothing before this segment is missing, where that is known. */
  #behindFrom: SegmentId | undefined
  /** The newest segment that commit told of. */
  #newest: SegmentId
  #written: SegmentId
  #writtenAtMs = 0
  /** When to ask whether segments set aside are to be tried again. */
  #retryAtMs = 0
  /** Counts falls back: what was read before one may lack what it was about. */
  #generation = 0
  #isStopping = false
  #running: Promise<void> | undefined
  #wake: (() => void) | undefined

  constructor(options: MaterializerOptions) {
    this.#options = options
    this.#progress = new Progress(options.checkpoint)
    const { stores, observer } = options
    this.#failures = new Failures(observer)
    this.#catchUpSteps = new CatchUp(stores, { onSetAside: observer.onSetAside })
    this.#retries = new CatchUp(stores, { onSetAside: observer.onSetAside, triesMax: 1 })
    this.#cursor = options.checkpoint
    this.#newest = options.checkpoint
    this.#written = options.checkpoint
  }

  /** Bytes of blocks that wait, spooled or not, and of those being inserted. */
  get bufferBytes(): number {
    return this.#keptBytes + this.#spooledBytes
  }

  /** Receipt time in milliseconds of the oldest segment not in the projection, if any. */
  get oldestPendingMs(): number | undefined {
    const oldest = this.#progress.oldest
    if (oldest !== undefined) return segmentIdMs(oldest)
    // Live, nothing but the outstanding is behind, and the cursor stands still.
    const isBehind = this.#newest > this.#cursor || this.#failures.count > 0
    if (this.#mode !== 'catch-up' || !isBehind) return undefined
    // The cursor may stand on a segment of long ago, when nothing came since.
    const from = this.#behindFrom ?? this.#cursor
    return Math.max(segmentIdMs(from), segmentIdMs(this.#cursor))
  }

  start(): void {
    this.#running = this.#run()
  }

  /** Takes over a durable group. Never waits: past the bound blocks are dropped and read again. */
  add(group: CommittedGroup): void {
    for (const segment of group.segments) {
      const { segmentId, block } = segment
      const last = lastId(segment)
      if (last > this.#newest) this.#newest = last
      // Catch-up reads it from the raw store, or already has.
      if (this.#mode === 'catch-up' || last <= this.#cursor) {
        if (block !== undefined) this.#options.release?.(block.bytes)
        continue
      }
      if (block === undefined) {
        this.#fallBack('a block was not kept', segmentId)
        continue
      }
      const buffer = this.#bufferFor(segment.streamId)
      if (!this.#hasRoom(buffer, block.bytes.length)) {
        this.#fallBack('more waits than may', segmentId)
        this.#options.release?.(block.bytes)
        continue
      }
      this.#keep(segment, block, buffer)
    }
  }

  #bufferFor(streamId: StreamId): StreamBuffer {
    let buffer = this.#open.get(streamId)
    if (buffer === undefined || isFull(buffer)) {
      buffer = new StreamBuffer(streamId, performance.now())
      this.#open.set(streamId, buffer)
      this.#buffers.add(buffer)
    }
    return buffer
  }

  #hasRoom(buffer: StreamBuffer, bytes: number): boolean {
    if (this.#keptBytes + bytes > MATERIALIZE_BUFFER_BYTES_MAX) return false
    // What is kept of it is going to be spooled as well.
    const spooledBytes = this.#spooledBytes + buffer.keptBytes + bytes
    return buffer.spool === undefined || spooledBytes <= SPOOL_BYTES_MAX
  }

  #keep(segment: CommittedSegment, block: EncodedBlock, buffer: StreamBuffer): void {
    const { streamId, segmentId, runs } = segment
    let rows: readonly StreamRows[] = [{ streamId, count: block.rows }]
    if (runs === undefined) {
      stampBlock(block, segmentId)
    } else {
      stampMembers(block, runs)
      rows = runs.map((run) => ({ streamId: run.streamId, count: run.eventCount }))
    }
    buffer.add(block, rows, this.#progress.add(lastId(segment)))
    this.#keptBytes += block.bytes.length
    if (buffer.keptBytes >= SPOOL_BYTES_MIN && streamId !== MIXED_STREAM) this.#spool(buffer)
    if (isFull(buffer)) this.#wake?.()
  }

  /**
   * Moves what the buffer keeps to its spool, if it has or gets one. A few MiB at a time: blocks
   * that come together are joined.
   */
  #spool(buffer: StreamBuffer): void {
    const { keptBytes } = buffer
    if (this.#spooledBytes + keptBytes > SPOOL_BYTES_MAX) return
    const spool = buffer.spool ?? this.#options.stores.tryOpenSpool(buffer.streamId)
    if (spool === undefined) return
    try {
      this.#moveTo(spool, buffer)
    } catch (cause) {
      this.#failures.fail(cause)
      this.#fallBack('blocks could not be spooled')
    }
  }

  #moveTo(spool: BlockSpool, buffer: StreamBuffer): void {
    const { keptBytes } = buffer
    buffer.moveTo(spool, (block) => this.#options.release?.(block))
    this.#keptBytes -= keptBytes
    this.#spooledBytes += keptBytes
  }

  /** Something may have been committed that `add` was not told of: looks into the raw store. */
  resync(): void {
    this.#fallBack('a commit was not handed on')
    this.#behindFrom = undefined
  }

  /** Inserts what waits, within `msMax`, and records the checkpoint. The rest is found at start. */
  async stop(msMax: number): Promise<void> {
    this.#isStopping = true
    this.#wake?.()
    await Promise.race([this.#running, sleep(msMax, undefined, { ref: false })])
  }

  async #run(): Promise<void> {
    for (;;) {
      try {
        const isIdle = this.#mode === 'catch-up' ? await this.#catchUp() : await this.#insertDue()
        await this.#recordCheckpoint()
        await this.#retrySetAside()
        this.#failures.succeed()
        if (this.#isStopping && this.#isDrained()) return
        if (isIdle) await this.#pause(TICK_MS)
      } catch (cause) {
        this.#failures.fail(cause)
        this.#fallBack('a store failed')
        if (this.#isStopping) return
        await this.#pause(Math.min(RETRY_MS_MAX, 100 * 2 ** this.#failures.count))
      }
    }
  }

  /** Now and then, and again at once while there is more. */
  async #retrySetAside(): Promise<void> {
    const now = performance.now()
    if (this.#isStopping || now < this.#retryAtMs) return
    const tried = await this.#retries.retry()
    if (tried === 0) this.#retryAtMs = now + SET_ASIDE_POLL_MS
  }

  #isDrained(): boolean {
    const isEmpty = this.#buffers.size === 0 && this.#progress.outstanding === 0
    return isEmpty && this.#written === this.#progress.checkpoint
  }

  async #pause(ms: number): Promise<void> {
    const wake = new Promise<void>((resolve) => {
      this.#wake = resolve
    })
    await Promise.race([wake, sleep(ms, undefined, { ref: false })])
    this.#wake = undefined
  }

  /** `since`: what it is about; before it nothing is missing but what is outstanding. */
  #fallBack(reason: string, since?: SegmentId): void {
    this.#generation++
    this.#progress.advance()
    if (this.#mode === 'live') this.#behindFrom = this.#progress.oldest ?? since
    this.#release([...this.#buffers])
    for (const { spool } of this.#buffers) spool?.release()
    this.#buffers.clear()
    this.#open.clear()
    this.#keptBytes = 0
    this.#spooledBytes = 0
    this.#progress.clear()
    this.#cursor = this.#progress.checkpoint
    if (this.#mode === 'live') this.#options.observer.onModeChange('catch-up', reason)
    this.#mode = 'catch-up'
  }

  #release(buffers: readonly StreamBuffer[]): void {
    for (const { blocks } of buffers) {
      for (const { bytes } of blocks) this.#options.release?.(bytes)
    }
  }

  /** One step of catch-up; goes live when the raw store holds nothing more. */
  async #catchUp(): Promise<boolean> {
    const generation = this.#generation
    const newest = this.#newest
    const step = await this.#catchUpSteps.step(this.#cursor)
    if (generation !== this.#generation) return false // Looks again, from the checkpoint.
    if (step === undefined) {
      if (this.#newest > newest) return false // Committed while we looked.
      // What we were told of and is not there has been removed since.
      if (newest > this.#cursor) this.#progress.add((this.#cursor = newest)).isDone = true
      this.#mode = 'live'
      this.#options.observer.onModeChange('live', 'caught up')
      return true
    }
    this.#options.observer.onReplayed(step.replayed)
    this.#cursor = step.last
    const entry = this.#progress.add(step.last)
    entry.isDone = true
    return false
  }

  /** Makes the inserts that are due, a few at a time. True when none was. */
  async #insertDue(): Promise<boolean> {
    const due = this.#takeDue()
    if (due.length === 0) return true
    const inserts = await Promise.allSettled(due.map((buffer) => this.#insert(buffer)))
    // All are over: catch-up must not look while one is on its way to ClickHouse.
    const failed = inserts.find((insert) => insert.status === 'rejected')
    if (failed !== undefined) throw failed.reason
    return false
  }

  async #insert(buffer: StreamBuffer): Promise<void> {
    const { stores, observer } = this.#options
    const { streamId, blocks, spool, rows, bytes } = buffer
    const startedAt = performance.now()
    if (spool !== undefined) await this.#insertSpool(spool, buffer)
    else if (streamId === MIXED_STREAM) await stores.insertMixed(blocks.map(toMixed))
    else await stores.insert(streamId, await joinInTurns(blocks))
    observer.onInsert({ rows, bytes, seconds: (performance.now() - startedAt) / 1000 })
    this.#release([buffer])
    // After a fall-back the entries are not ours any more, and catch-up finds them inserted.
    for (const entry of buffer.entries) entry.isDone = true
    if (this.#mode !== 'live') return
    if (spool === undefined) this.#keptBytes -= bytes
    else this.#spooledBytes -= bytes
  }

  async #insertSpool(spool: BlockSpool, buffer: StreamBuffer): Promise<void> {
    try {
      this.#moveTo(spool, buffer)
    } catch (cause) {
      spool.release()
      throw cause
    }
    await spool.insert()
  }

  /** What one stream has, or what several have that is small. */
  #takeDue(): StreamBuffer[] {
    const nowMs = performance.now()
    const delayMs = this.#isStopping ? 0 : this.#options.delayMs
    const due: StreamBuffer[] = []
    let takenBytes = 0
    let keptBytes = this.#keptBytes
    while (due.length < MATERIALIZE_INSERTS_MAX) {
      const next = pickInsert(this.#buffers, { nowMs, delayMs, keptBytes })
      if (next === undefined) break
      takenBytes += next.bytes
      keptBytes -= next.keptBytes
      if (due.length > 0 && takenBytes > MATERIALIZE_SMALL_BYTES_MAX) break
      due.push(next)
      this.#buffers.delete(next)
      if (this.#open.get(next.streamId) === next) this.#open.delete(next.streamId)
    }
    return due
  }

  async #recordCheckpoint(): Promise<void> {
    const checkpoint = this.#progress.advance()
    const now = performance.now()
    if (checkpoint === this.#written) return
    if (now - this.#writtenAtMs < CHECKPOINT_MS && !this.#isStopping) return
    await this.#options.stores.writeCheckpoint(checkpoint)
    this.#written = checkpoint
    this.#writtenAtMs = now
  }
}

/** Ids rise: what comes next is above it. */
function lastId({ segmentId, runs }: CommittedSegment): SegmentId {
  return runs?.at(-1)?.segmentId ?? segmentId
}
