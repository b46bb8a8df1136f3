/**
 * Observe: learns fields and shapes from what was committed, a little later.
 *
 *   commit --CommittedGroup--> observe --SchemaChange--> catalog in PostgreSQL
 *
 * Like materialize, it has two modes and one way to recover. **Live**: the workers' schema deltas
 * are merged in memory and written every `OBSERVE_FLUSH_MS`, less often when writing takes long, as
 * with many streams. **Catch-up**: segments past the node's checkpoint are read from the raw store
 * and learned from through the same worker code. It starts in catch-up, and any failure drops the
 * memory and returns to it.
 *
 * A segment counts once: a stream's counts and the schema mark up to which they count are written
 * in one transaction, and segments up to the mark are skipped. So neither an unknown outcome of a
 * write nor learning a segment again does harm.
 *
 * Memory is bounded by the streams' caps and by OBSERVE_CACHE_BYTES_MAX over all.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { mainTurns } from '../api/main-turns.ts'
import { ERRORS, IngestError } from '../errors.ts'
import { type Follower, retryMs } from '../follow/follower.ts'
import { Pause } from '../follow/pause.ts'
import {
  OBSERVE_FLUSH_MS,
  OBSERVE_FLUSH_MS_MAX,
  OBSERVE_FLUSH_SHARE,
  REPLAY_SEGMENTS_MAX,
} from '../limits.ts'
import type {
  CommittedGroup,
  CommittedRun,
  CommittedSegment,
} from '../model/batch/committed-group.ts'
import type { SchemaDelta } from '../model/batch/schema-delta.ts'
import type { StreamSegment } from '../model/projection.ts'
import type { KnownSchema, SchemaChange, SchemaCounts } from '../model/schema-changes.ts'
import type { SegmentId } from '../model/segment-id.ts'
import {
  type FoundSegment,
  type LoadedRow,
  lastIdOf,
  partOf,
  type RowSegment,
  type SegmentPart,
  sideBySide,
} from '../model/stored-row.ts'
import type { StreamId } from '../model/stream.ts'
import { type Lookup, Lookups } from './lookups.ts'
import { SchemaCache } from './schema-cache.ts'
import type { Skipped } from './stream-schema.ts'

/** Streams of one write. */
export const OBSERVE_WRITE_STREAMS_MAX = 64

export interface ObserveStores {
  /** Live streams among these, as the catalog has them. */
  load(streamIds: readonly StreamId[]): Promise<readonly KnownSchema[]>
  /** All changes and the checkpoint in one transaction. */
  write(changes: readonly SchemaChange[], checkpoint?: SegmentId): Promise<readonly SchemaCounts[]>
  /**
   * Rows of this node's segments after `after`, in id order, at most `limit`. Of a merged row only
   * those segments: other nodes count their own in it.
   */
  readAfter(after: SegmentId, limit: number): Promise<readonly LoadedRow[]>
  /** One segment, undefined when it is gone. */
  readSegment(segment: StreamSegment): Promise<FoundSegment | undefined>
  /** Shapes of this node that an earlier run left without a description. */
  readUndescribed(): Promise<readonly Lookup[]>
  /** What each of these segments says, every shape described; through the worker code. */
  learn(task: LearnTask): Promise<readonly SchemaDelta[]>
}

/** Some segments of a row, side by side. */
export interface LearnTask extends Pick<LoadedRow, 'streamId' | 'payload'> {
  readonly part: SegmentPart
}

export interface ObserveObserver {
  readonly onWrite: (write: { streams: number; seconds: number }) => void
  /** Leaves and events past the hard caps. */
  readonly onSkipped: (skipped: Readonly<Skipped>) => void
  readonly onReplayed: (segments: number) => void
  readonly onError: (cause: unknown, failures: number) => void
  /** A segment that cannot be learned from was passed over, after several tries. */
  readonly onPassedOver: (segmentId: SegmentId, cause: unknown) => void
  readonly onModeChange: (mode: 'live' | 'catch-up', reason: string) => void
}

export interface ObserverOptions {
  readonly stores: ObserveStores
  readonly observer: ObserveObserver
  /** Where the last run left off. */
  readonly checkpoint: SegmentId
  readonly flushMs?: number
}

/** Segments read for descriptions between two writes. */
const LOOKUPS_A_ROUND = 4
/** Shapes that are described at a stretch; each has up to BLOCK_PATHS_MAX leaves. */
const SHAPES_A_TURN = 4
/** How often one segment may fail by itself before it is passed over. */
const SEGMENT_FAILURES_MAX = 3

export class Observer implements Follower {
  readonly #options: ObserverOptions
  readonly #cache = new SchemaCache()
  readonly #lookups = new Lookups()
  #mode: 'live' | 'catch-up' = 'catch-up'
  /** Everything up to here was learned from, or is in the cache. */
  #cursor: SegmentId
  /** The newest segment that commit told of. */
  #newest: SegmentId
  #written: SegmentId
  #flushedAtMs = 0
  /** What the last flush took. */
  #writeMs = 0
  #failures = 0
  #failing: { readonly segmentId: SegmentId; count: number } | undefined
  #generation = 0
  #hasReadUndescribed = false
  #isStopping = false
  #running: Promise<void> | undefined
  readonly #pause = new Pause()

  constructor(options: ObserverOptions) {
    this.#options = options
    this.#cursor = options.checkpoint
    this.#newest = options.checkpoint
    this.#written = options.checkpoint
  }

  /** Rough bytes of what is in memory. */
  get cacheBytes(): number {
    return this.#cache.bytes
  }

  get isCaughtUp(): boolean {
    return this.#mode === 'live' && this.#written >= this.#newest
  }

  get isIdle(): boolean {
    return this.isCaughtUp && this.#hasReadUndescribed && this.#lookups.size === 0
  }

  start(): void {
    this.#running = this.#run()
  }

  /** Learns from a durable group. Never waits. Costs a lookup a segment and one a shape. */
  add(group: CommittedGroup): void {
    for (const { streamId, segmentId, delta } of group.segments.flatMap(runsOf)) {
      if (segmentId > this.#newest) this.#newest = segmentId
      // Catch-up reads it from the raw store, or already has.
      if (this.#mode === 'catch-up' || segmentId <= this.#cursor) continue
      this.#cursor = segmentId
      this.#learn(streamId, segmentId, delta)
      if (this.#cache.isOverfull) this.#fallBack('more waits than OBSERVE_WAITING_BYTES_MAX')
    }
  }

  /** Something may have been committed for which `add` was not called: reads the raw store. */
  mustCatchUp(): void {
    this.#fallBack('a commit was not handed on')
  }

  /** Writes what was learned, within `msMax`. The rest is found at start. */
  async stop(msMax: number): Promise<void> {
    this.#isStopping = true
    this.#pause.end()
    await Promise.race([this.#running, sleep(msMax, undefined, { ref: false })])
  }

  async #run(): Promise<void> {
    for (;;) {
      try {
        await this.#round()
        this.#failures = 0
        if (this.#isStopping && (await this.#isDrained())) return
      } catch (cause) {
        this.#failures++
        this.#options.observer.onError(cause, this.#failures)
        this.#fallBack('a store failed')
        if (this.#isStopping) return
        await this.#pause.wait(retryMs(this.#failures))
      }
    }
  }

  async #isDrained(): Promise<boolean> {
    if (this.#mode === 'catch-up') return true // Where it is, the next start goes on.
    await this.#flush()
    return this.#cache.changed().length === 0
  }

  async #round(): Promise<void> {
    if (this.#mode === 'catch-up') {
      if (!(await this.#catchUp())) return
    } else {
      await this.#load(this.#cache.unloaded())
      const isDue = performance.now() - this.#flushedAtMs >= this.#flushMs
      if (isDue && !this.#isStopping) {
        await this.#flush()
        await this.#describe()
      }
    }
    if (this.#isStopping || this.#cache.unloaded().length > 0) return
    const dueMs = this.#flushedAtMs + this.#flushMs - performance.now()
    await this.#pause.wait(Math.max(10, dueMs))
  }

  get #flushMs(): number {
    const { flushMs = OBSERVE_FLUSH_MS } = this.#options
    const sharedMs = Math.min(this.#writeMs / OBSERVE_FLUSH_SHARE, OBSERVE_FLUSH_MS_MAX)
    return Math.max(flushMs, sharedMs)
  }

  #fallBack(reason: string): void {
    this.#generation++
    this.#cache.clear()
    this.#cursor = this.#written
    if (this.#mode === 'live') this.#options.observer.onModeChange('catch-up', reason)
    this.#mode = 'catch-up'
  }

  #learn(streamId: StreamId, segmentId: SegmentId, delta: SchemaDelta): void {
    const schema = this.#cache.add(streamId, segmentId, delta)
    if (schema === undefined) {
      this.#pause.end() // To load it now: what waits for that takes memory.
      return
    }
    for (const { shape, leaves } of delta.shapes) {
      if (leaves !== undefined || schema.isDescribed(shape)) continue
      this.#lookups.add({ streamId, shape, segmentId })
    }
  }

  async #load(streamIds: readonly StreamId[]): Promise<void> {
    for (let at = 0; at < streamIds.length; at += OBSERVE_WRITE_STREAMS_MAX) {
      const part = streamIds.slice(at, at + OBSERVE_WRITE_STREAMS_MAX)
      const generation = this.#generation
      const known = await this.#options.stores.load(part)
      if (generation !== this.#generation) return
      for (const { streamId, segmentId, delta } of this.#cache.loaded(part, known)) {
        this.#learn(streamId, segmentId, delta)
      }
    }
  }

  /** Writes what changed, at most OBSERVE_WRITE_STREAMS_MAX streams at a time. */
  async #flush(): Promise<void> {
    // Until none waits: the checkpoint must not pass over what is not in a change.
    while (this.#cache.unloaded().length > 0) await this.#load(this.#cache.unloaded())
    this.#flushedAtMs = performance.now()
    this.#tellSkipped()
    const generation = this.#generation
    // Whatever comes while it is being written is written next time, and not in this checkpoint.
    const checkpoint = this.#cursor
    const changed = this.#cache.changed().map((schema) => {
      this.#cache.touch(schema)
      return { schema, sizes: schema.sizes, change: schema.take() }
    })
    if (changed.length === 0 && checkpoint === this.#written) return
    for (let at = 0; at === 0 || at < changed.length; at += OBSERVE_WRITE_STREAMS_MAX) {
      const part = changed.slice(at, at + OBSERVE_WRITE_STREAMS_MAX)
      const isLast = at + OBSERVE_WRITE_STREAMS_MAX >= changed.length
      const changes = part.map(({ change }) => change)
      const startedAt = performance.now()
      const counts = await this.#options.stores.write(changes, isLast ? checkpoint : undefined)
      const seconds = (performance.now() - startedAt) / 1_000
      this.#options.observer.onWrite({ streams: part.length, seconds })
      if (generation !== this.#generation) return
      const byStream = new Map(counts.map((count) => [count.streamId, count]))
      for (const { schema, sizes } of part) {
        const count = byStream.get(schema.streamId)
        if (count === undefined) this.#cache.forget(schema.streamId)
        else schema.confirm(count, sizes)
      }
    }
    this.#written = checkpoint
    this.#writeMs = performance.now() - this.#flushedAtMs
    this.#cache.evict()
  }

  #tellSkipped(): void {
    const { fields, shapes } = this.#cache.skipped
    if (fields + shapes > 0) this.#options.observer.onSkipped({ fields, shapes })
    this.#cache.skipped.fields = 0
    this.#cache.skipped.shapes = 0
  }

  /** One step of catch-up. True when there was nothing to do. */
  async #catchUp(): Promise<boolean> {
    const generation = this.#generation
    const newest = this.#newest
    const rows = await this.#options.stores.readAfter(this.#cursor, REPLAY_SEGMENTS_MAX)
    if (generation !== this.#generation) return false
    const last = rows.at(-1)
    if (last === undefined) {
      if (this.#newest > newest) return false // Committed while we looked.
      // What we were told of and is not there has been removed since.
      if (newest > this.#cursor) this.#cursor = newest
      this.#mode = 'live'
      this.#options.observer.onModeChange('live', 'caught up')
      return true
    }
    const segments = rows.flatMap((row) => row.segments)
    await this.#load(this.#cache.missing(segments.map(({ streamId }) => streamId)))
    let replayed = 0
    for (const row of rows) {
      for (const piece of sideBySide(row.segments)) {
        if (generation !== this.#generation || this.#isStopping) return false
        const isKnown = ({ streamId, segmentId }: RowSegment) => {
          return this.#cache.has(streamId, segmentId)
        }
        if (piece.every(isKnown)) continue
        const deltas = await this.#replay(row, piece)
        if (generation !== this.#generation) return false
        for (const [i, segment] of piece.entries()) {
          if (isKnown(segment)) continue
          const delta = deltas?.[i]
          if (delta !== undefined) this.#learn(segment.streamId, segment.segmentId, delta)
          else this.#cache.markPartial(segment.streamId)
          replayed++
        }
      }
    }
    this.#cursor = lastIdOf(last)
    this.#options.observer.onReplayed(replayed)
    await this.#flush()
    return false
  }

  /** What segments say that lie side by side; undefined when that fails again and again. */
  async #replay(
    { streamId, payload }: Pick<LoadedRow, 'streamId' | 'payload'>,
    piece: readonly RowSegment[],
  ): Promise<readonly SchemaDelta[] | undefined> {
    try {
      const part = partOf({ streamId }, piece)
      return await this.#options.stores.learn({ streamId, payload, part })
    } catch (cause) {
      if (isNotNow(cause)) throw cause
      const { segmentId } = piece[0]!
      if (this.#failing?.segmentId !== segmentId) this.#failing = { segmentId, count: 0 }
      if (++this.#failing.count < SEGMENT_FAILURES_MAX) throw cause
      for (const each of piece) this.#options.observer.onPassedOver(each.segmentId, cause)
      return undefined
    }
  }

  /** Reads a few segments for shapes that came without a description. */
  async #describe(): Promise<void> {
    const { stores } = this.#options
    if (!this.#hasReadUndescribed) {
      this.#hasReadUndescribed = true
      for (const lookup of await stores.readUndescribed()) this.#lookups.add(lookup)
    }
    const generation = this.#generation
    for (let round = 0; round < LOOKUPS_A_ROUND && this.#lookups.size > 0; round++) {
      const wanted = this.#lookups.take()
      const { streamId, segmentId } = wanted[0]!
      await this.#load(this.#cache.missing([streamId]))
      const isWanted = wanted.some(({ shape }) => !this.#cache.isDescribed(streamId, shape))
      if (!isWanted || generation !== this.#generation) continue
      const stored = await stores.readSegment({ streamId, segmentId })
      if (stored === undefined) continue
      const [delta] = (await this.#replay(stored, [stored])) ?? []
      if (generation !== this.#generation || delta === undefined) continue
      for (const [index, shape] of delta.shapes.entries()) {
        if (index % SHAPES_A_TURN === 0) await mainTurns.next()
        if (generation !== this.#generation) return
        this.#cache.describe(streamId, segmentId, {
          shapes: [shape],
          shapesSkipped: 0,
          largePaths: [],
        })
      }
    }
  }
}

/** A mixed segment's runs: each is a segment of its stream. */
function runsOf(segment: CommittedSegment): readonly CommittedRun[] {
  return segment.runs ?? [segment]
}

/** Whether an error only says: not now. A full pool is no fault of the segment. */
function isNotNow(cause: unknown): boolean {
  if (cause instanceof IngestError) return ERRORS[cause.code].retryable
  return cause instanceof Error && 'retryable' in cause && cause.retryable === true
}
