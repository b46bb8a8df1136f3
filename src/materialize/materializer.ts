/**
 * Materialize: brings committed segments into the projection, exactly once, a little later.
 *
 *   commit --CommittedGroup--> materialize --Native blocks--> ClickHouse, then the checkpoint
 *
 * **Live**: the blocks that workers built wait in memory, are coalesced per table and inserted;
 * small ones of many streams share a table (`pick-insert.ts`), and those of a busy stream are put
 * where the embedded engine reads them, so that their buffers are soon free again.
 * **Behind** (`lags.ts`): a stream's segments, or all, are read from the raw store; those that
 * ClickHouse does not have are rebuilt by the same worker code (`catch-up.ts`). All streams start
 * behind. Any failure in live mode (an insert of unknown outcome, too much waiting, a block that
 * was not kept) drops the blocks of that stream and leaves it behind, while the others stay live.
 * So there is one way to recover, and it is used often.
 *
 * Exactly once: a segment is in one block, and an insert makes one part of it. A stream that is
 * behind has nothing waiting, and its catch-up first awaits the inserts that are under way, then
 * asks which segments are there. The checkpoint passes neither what is outstanding live nor what a
 * stream that is behind still lacks.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Follower, retryMs } from '../follow/follower.ts'
import { Pause } from '../follow/pause.ts'
import type { RequiredLiteral } from '../language/required-literals.ts'
import { LAGGING_STREAMS_MAX, REPLAY_TURN_MS, SET_ASIDE_POLL_MS } from '../limits.ts'
import type { CommittedGroup, CommittedSegment } from '../model/batch/committed-group.ts'
import type { EncodedBlock } from '../model/batch/encoded-block.ts'
import type { BlockSpool, LiveMark } from '../model/projection.ts'
import { type SegmentId, segmentIdMs } from '../model/segment-id.ts'
import type { StreamId } from '../model/stream.ts'
import { CatchUp, type CatchUpStores } from './catch-up.ts'
import { type FailureObserver, Failures } from './failures.ts'
import { joinInTurns } from './join-blocks.ts'
import { type Lag, Lags } from './lags.ts'
import { LiveBuffers } from './live-buffers.ts'
import { type Outstanding, Progress } from './progress.ts'
import { type LagKey, type SourceKey, sourceOf, tableOf } from './source-key.ts'
import { stampBlock, stampMembers } from './stamp.ts'
import type { StreamBuffer } from './stream-buffer.ts'
import type { Prefilter } from './waiting-blocks.ts'

export interface MaterializeStores extends CatchUpStores {
  /**
   * Records the checkpoint; may reject. It never moves back. `live`: up to where all but those of
   * some streams are in the projection, when that is further.
   */
  writeCheckpoint(segmentId: SegmentId, live?: LiveMark): Promise<void>
  /** Where a stream's blocks can wait outside our memory, if there is such a place. */
  tryOpenSpool(streamId: StreamId): BlockSpool | undefined
}

export interface Replayed {
  readonly segments: number
  readonly events: number
  readonly seconds: number
}

export interface MaterializeObserver extends FailureObserver {
  readonly onInsert: (insert: { rows: number; bytes: number; seconds: number }) => void
  /** Catch-up has made a step. */
  readonly onReplayed: (replayed: Replayed) => void
  /** A segment that cannot be projected was left out, after several tries. */
  readonly onSetAside?: (segmentId: SegmentId, reason: string) => void
  /** `catch-up` while any stream is behind. */
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

export class Materializer implements Follower {
  readonly #options: MaterializerOptions
  readonly #release: (block: Uint8Array) => void
  /** Of everything that commit forwarded; streams that are behind count as done here. */
  readonly #progress: Progress
  readonly #lags = new Lags()
  /** Up to where streams were caught up beyond what commit had forwarded by then. */
  readonly #caughtUp = new Map<SourceKey, SegmentId>()
  readonly #retries: CatchUp
  readonly #failures: Failures<LagKey | 'checkpoint' | 'retries'>
  readonly #buffers: LiveBuffers
  readonly #inserting = new Map<Promise<void>, StreamId>()
  #written: { readonly checkpoint: SegmentId; readonly live: SegmentId | undefined }
  #writtenAtMs = 0
  /** When to ask whether segments set aside are to be tried again. */
  #retryAtMs = 0
  #isStopping = false
  #running: Promise<unknown> | undefined
  readonly #livePause = new Pause()
  readonly #catchUpPause = new Pause()

  constructor(options: MaterializerOptions) {
    const { stores, observer, checkpoint } = options
    this.#options = options
    this.#release = options.release ?? (() => undefined)
    this.#progress = new Progress(checkpoint)
    this.#failures = new Failures(observer)
    this.#retries = new CatchUp(stores, { onSetAside: observer.onSetAside, triesMax: 1 })
    this.#buffers = new LiveBuffers({
      tryOpenSpool: (streamId) => stores.tryOpenSpool(streamId),
      release: this.#release,
    })
    this.#written = { checkpoint, live: undefined }
    this.#lags.begin(this.#newLag('all', undefined))
  }

  /** Bytes of blocks that wait, spooled or not, and of those being inserted. */
  get bufferBytes(): number {
    return this.#buffers.bytes
  }

  /** Streams that are behind; the node as a whole counts as one. */
  get lagging(): number {
    return this.#lags.size
  }

  get isIdle(): boolean {
    this.#progress.advance()
    return this.#lags.size === 0 && this.#progress.outstanding === 0
  }

  /** Receipt time in milliseconds of the oldest segment not in the projection, if any. */
  get oldestPendingMs(): number | undefined {
    this.#progress.advance()
    const { oldest } = this.#progress
    const behindMs = this.#lags.oldestMs((key) => this.#failures.count(key) > 0)
    if (oldest === undefined) return behindMs
    return Math.min(segmentIdMs(oldest), behindMs ?? Number.POSITIVE_INFINITY)
  }

  /** Everything up to here is in the projection. The recorded checkpoint follows it. */
  get projected(): SegmentId {
    return this.#lags.checkpoint(this.#progress.advance())
  }

  /** Everything of these streams up to here is in the projection. */
  projectedOf(streamIds: readonly StreamId[]): SegmentId {
    return this.#lags.checkpointOf(streamIds, this.#progress.advance())
  }

  /** Undefined while it says no more than the checkpoint, and while all of the node is behind. */
  #liveMark(checkpoint: SegmentId): LiveMark | undefined {
    const { owners } = this.#lags
    const segmentId = this.#progress.advance()
    return owners && segmentId > checkpoint ? { segmentId, behind: owners } : undefined
  }

  /** Lets through the segments that may have all of the literals; never waits. */
  prefilter(literals: readonly RequiredLiteral[]): Prefilter {
    return this.#buffers.waiting.prefilter(literals)
  }

  start(): void {
    const catchUp = this.#runCatchUp()
    this.#running = Promise.all([catchUp, this.#runLive(catchUp)])
  }

  /** Takes over a durable group. Never waits: past the bound blocks are dropped and read again. */
  add(group: CommittedGroup): void {
    for (const segment of group.segments) {
      const last = (segment.runs?.at(-1) ?? segment).segmentId
      // Otherwise catch-up has read it already.
      if (last > this.#progress.last) this.#addNext(segment, last)
      else if (segment.block !== undefined) this.#release(segment.block.bytes)
    }
    for (const [source, id] of this.#caughtUp) {
      if (id <= this.#progress.last) this.#caughtUp.delete(source)
    }
  }

  #addNext(segment: CommittedSegment, last: SegmentId): void {
    const { block } = segment
    const source = sourceOf(segment)
    if (!this.#isRead(source, last)) {
      if (block === undefined) this.#leaveBehind(source, 'a block was not kept', last)
      else this.#makeRoom(source, block.bytes.length, last)
    }
    const entry = this.#progress.add(last, source)
    if (block !== undefined && !this.#isRead(source, last)) {
      this.#keep(segment, block, entry)
      return
    }
    entry.isDone = true
    const lag = this.#lags.of(source)
    if (lag !== undefined) lag.newest = last
    if (block !== undefined) this.#release(block.bytes)
  }

  /** Whether catch-up brings it in, or has done so. */
  #isRead(source: SourceKey, segmentId: SegmentId): boolean {
    if (this.#lags.of(source) !== undefined) return true
    const caughtUp = [source, tableOf(source)].map((key) => this.#caughtUp.get(key))
    return caughtUp.some((id) => id !== undefined && segmentId <= id)
  }

  /** Leaves streams behind, those with the most first, until there is room for the block. */
  #makeRoom(source: SourceKey, bytes: number, segmentId: SegmentId): void {
    while (this.#lags.of(source) === undefined && !this.#buffers.hasRoom(source, bytes)) {
      this.#leaveBehind(this.#buffers.largest(bytes) ?? source, 'more waits than may', segmentId)
    }
  }

  #keep(segment: CommittedSegment, block: EncodedBlock, entry: Outstanding): void {
    const { segmentId, runs } = segment
    if (runs === undefined) stampBlock(block, segmentId)
    else stampMembers(block, runs)
    try {
      const ids = runs?.map((run) => run.segmentId) ?? [segmentId]
      if (this.#buffers.add(block, entry, ids)) this.#livePause.end()
    } catch (cause) {
      this.#failures.fail(entry.source, cause)
      this.#leaveBehind(entry.source, 'blocks could not be spooled', entry.segmentId)
    }
  }

  /** Something may have been committed for which `add` was not called: reads the raw store. */
  mustCatchUp(): void {
    this.#leaveBehind('all', 'a commit was not handed on', undefined)
  }

  /** Inserts what waits, within `msMax`, and records the checkpoint. The rest is found at start. */
  async stop(msMax: number): Promise<void> {
    this.#isStopping = true
    this.#livePause.end()
    this.#catchUpPause.end()
    await Promise.race([this.#running, sleep(msMax, undefined, { ref: false })])
  }

  /** `from`: the segment it is about; before it nothing is missing but what is outstanding. */
  #leaveBehind(key: LagKey, reason: string, from: SegmentId | undefined): void {
    if (key !== 'all' && this.#lags.of(key) !== undefined) return
    const lag = this.#newLag(this.#lags.size < LAGGING_STREAMS_MAX ? key : 'all', from)
    if (this.#lags.size === 0) this.#options.observer.onModeChange('catch-up', reason)
    for (const dropped of this.#lags.begin(lag)) this.#failures.succeed(dropped)
    this.#buffers.drop(lag.key)
    this.#progress.handOver(lag.key)
    this.#catchUpPause.end()
  }

  /** Of what is live until now. All of it up to the live checkpoint is in the projection. */
  #newLag(key: LagKey, since: SegmentId | undefined): Lag {
    const { stores, observer } = this.#options
    const live = this.#progress.advance()
    const oldest = this.#progress.oldestOf(key)
    return {
      key,
      catchUp: new CatchUp(stores, { of: key, onSetAside: observer.onSetAside }),
      cursor: this.#lags.checkpoint(live, key),
      from: since === undefined ? undefined : (oldest ?? since),
      newest: oldest === undefined && since === undefined ? live : this.#progress.last,
      notBeforeMs: 0,
    }
  }

  async #runCatchUp(): Promise<void> {
    while (!this.#isStopping) {
      if (performance.now() >= this.#retryAtMs) await this.#retrySetAside()
      const lag = this.#lags.next(performance.now())
      if (lag === undefined) await this.#catchUpPause.wait(TICK_MS)
      else await this.#catchUp(lag)
    }
    // One step more of each: most often that is all there is.
    for (let left = this.#lags.size; left > 0; left--) {
      const lag = this.#lags.next(performance.now())
      if (lag !== undefined) await this.#catchUp(lag)
    }
  }

  /** One step of catch-up; a stream is live again when the raw store has nothing more of it. */
  async #catchUp(lag: Lag): Promise<void> {
    const { key } = lag
    const startedAt = performance.now()
    const { newest } = lag
    try {
      const own = [...this.#inserting].filter(
        ([, table]) => key === 'all' || table === tableOf(key),
      )
      await Promise.all(own.map(([insert]) => insert))
      const mayGoOn = () => this.#lags.size === 1 || performance.now() - startedAt < REPLAY_TURN_MS
      const step = await lag.catchUp.step(lag.cursor, mayGoOn)
      this.#failures.succeed(key)
      if (step !== undefined) {
        const seconds = (performance.now() - startedAt) / 1000
        const { replayed: segments, events } = step
        this.#options.observer.onReplayed({ segments, events, seconds })
        lag.cursor = step.last
      } else if (lag.newest === newest) {
        this.#goLive(lag)
      }
    } catch (cause) {
      if (!this.#lags.isCurrent(lag)) return // The lag that replaced it will fail the same way.
      this.#failures.fail(key, cause)
      lag.notBeforeMs = performance.now() + retryMs(this.#failures.count(key))
    }
  }

  #goLive(lag: Lag): void {
    const { key, cursor } = lag
    // After a call for catch-up another one has taken its place, and looks again.
    if (!this.#lags.isCurrent(lag)) return
    this.#lags.end(lag)
    if (key === 'all') this.#progress.pass(cursor)
    else if (cursor > this.#progress.last) this.#caughtUp.set(key, cursor)
    if (this.#lags.size === 0) this.#options.observer.onModeChange('live', 'caught up')
  }

  /** Now and then, and again at once while there is more. */
  async #retrySetAside(): Promise<void> {
    try {
      const tried = await this.#retries.retry()
      this.#failures.succeed('retries')
      if (tried > 0) return
    } catch (cause) {
      this.#failures.fail('retries', cause)
    }
    this.#retryAtMs = performance.now() + SET_ASIDE_POLL_MS
  }

  async #runLive(catchUp: Promise<void>): Promise<void> {
    for (;;) {
      const isIdle = await this.#insertDue()
      if (this.#isStopping && this.#buffers.isEmpty) {
        await catchUp
        await this.#recordCheckpoint()
        return
      }
      await this.#recordCheckpoint()
      if (isIdle) await this.#livePause.wait(TICK_MS)
    }
  }

  /** Makes the inserts that are due, a few at a time. True when none was. */
  async #insertDue(): Promise<boolean> {
    const due = this.#buffers.takeDue(this.#isStopping ? 0 : this.#options.delayMs)
    const inserts = due.map((buffer) => {
      const insert = this.#insert(buffer)
      this.#inserting.set(insert, buffer.streamId)
      return insert.finally(() => this.#inserting.delete(insert))
    })
    await Promise.all(inserts)
    return due.length === 0
  }

  /** Never rejects: what fails is caught up. */
  async #insert(buffer: StreamBuffer): Promise<void> {
    const { stores, observer } = this.#options
    const { streamId, blocks, spool, rows, bytes } = buffer
    const startedAt = performance.now()
    try {
      if (spool !== undefined) await this.#insertSpool(spool, buffer)
      else await stores.insert(streamId, await joinInTurns(blocks), rows)
    } catch (cause) {
      this.#failures.fail(this.#lags.isAll ? 'all' : streamId, cause)
      this.#buffers.end(buffer, false)
      this.#leaveBehind(streamId, 'an insert failed', buffer.entries[0]?.segmentId)
      return
    }
    observer.onInsert({ rows, bytes, seconds: (performance.now() - startedAt) / 1000 })
    this.#buffers.end(buffer, true)
    this.#failures.succeed(streamId)
    // Of a stream that was left behind meanwhile catch-up finds them.
    for (const entry of buffer.entries) entry.isDone = true
  }

  async #insertSpool(spool: BlockSpool, buffer: StreamBuffer): Promise<void> {
    try {
      this.#buffers.fillSpool(spool, buffer)
    } catch (cause) {
      spool.release()
      throw cause
    }
    await spool.insert(buffer.rows)
  }

  /** Never rejects. */
  async #recordCheckpoint(): Promise<void> {
    const checkpoint = this.projected
    const live = this.#liveMark(checkpoint)
    const now = performance.now()
    if (checkpoint === this.#written.checkpoint && live?.segmentId === this.#written.live) return
    if (now - this.#writtenAtMs < CHECKPOINT_MS && !this.#isStopping) return
    this.#writtenAtMs = now
    try {
      await this.#options.stores.writeCheckpoint(checkpoint, live)
      this.#written = { checkpoint, live: live?.segmentId }
      this.#failures.succeed('checkpoint')
    } catch (cause) {
      this.#failures.fail('checkpoint', cause)
    }
  }
}
