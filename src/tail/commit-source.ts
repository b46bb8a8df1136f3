/**
 * Committed segments, for tails: this node's as commit forwards them, others' by polls with a
 * cursor for each node. This node is polled too when it may have committed segments that commit did
 * not forward. Each segment once, in id order for each node. Runs only while somebody watches.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { TAIL_POLL_MS, TAIL_POLL_ROWS_MAX } from '../limits.ts'
import type { CommittedGroup } from '../model/batch/committed-group.ts'
import type { SievedEvents } from '../model/batch/sieved-events.ts'
import type { SegmentId } from '../model/segment-id.ts'
import type { CommittedEntry } from '../model/segment-place.ts'
import { placeSegments } from '../model/stored-row.ts'
import type { StreamId } from '../model/stream.ts'
import type { SievedSegment } from './query-sets.ts'
import { type NodePositions, noPosition } from './tail-cursor.ts'

/** What commit tells of a row beside the group. */
export interface CommittedRow {
  readonly payload: Uint8Array
  readonly sieved?: readonly (SievedEvents | undefined)[] | undefined
}

/** A segment of a stream that somebody watches. */
export interface TailSegment extends CommittedEntry {
  /** The row's, when this node has just committed it and it is to be matched. */
  readonly payload: Uint8Array | undefined
  /** What its stream's tails match: then it is not. */
  readonly sieved: SievedSegment | undefined
  /** When it was heard of, monotonic. */
  readonly atMs: number
}

/** What is needed of the raw store; `CommittedStore` has it. */
export interface CommittedReads {
  readNewest(): Promise<ReadonlyMap<number, bigint>>
  readAfter(query: {
    readonly after: NodePositions
    readonly except: number | undefined
    readonly limit: number
  }): Promise<{ readonly entries: readonly CommittedEntry[]; readonly hasMore: boolean }>
}

export interface CommitSourceOptions {
  readonly ownNode: number
  readonly store: CommittedReads
  readonly isWatched: (streamId: StreamId) => boolean
  /** What its tails need of it; undefined when something of that is not there. */
  readonly findSieved: (streamId: StreamId, sieved: SievedEvents) => SievedSegment | undefined
  readonly onSegment: (segment: TailSegment) => void
  /** A poll failed: the store is away. It is tried again. */
  readonly onError: (cause: unknown) => void
}

export class CommitSource {
  readonly #options: CommitSourceOptions
  #places = new Map<number, SegmentId>()
  /** The newest id of this node that commit forwarded. */
  #newestOwn: SegmentId
  /**
   * This node may have committed segments that were not forwarded: it is polled like the others.
   */
  #isBehind = false
  #starting: Promise<void> | undefined
  #polling: AbortController | undefined

  constructor(options: CommitSourceOptions) {
    this.#options = options
    this.#newestOwn = noPosition(options.ownNode)
  }

  /** Up to where commits were heard of, by node. Only while it runs. */
  get places(): NodePositions {
    return this.#places
  }

  /** Resolves when everything committed from now on will be heard of. Throws `StoreError`. */
  async start(): Promise<void> {
    if (this.#polling !== undefined) return
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined
    })
    await this.#starting
  }

  stop(): void {
    this.#polling?.abort()
    this.#polling = undefined
  }

  /** Commit has made `group` durable, as these rows. Payloads are copied when they are needed. */
  add({ segments }: CommittedGroup, rows: readonly CommittedRow[]): void {
    const last = segments.at(-1)
    const newest = last?.runs?.at(-1)?.segmentId ?? last?.segmentId
    if (newest === undefined) return
    this.#newestOwn = newest
    if (this.#polling === undefined || this.#isBehind) return
    const atMs = performance.now()
    for (const [index, segment] of segments.entries()) {
      let payload: Uint8Array | undefined
      const { runs = [segment] } = segment
      for (const [run, placed] of placeSegments(runs).entries()) {
        const entry = { ...placed, node: this.#options.ownNode }
        if (!this.#isNew(entry) || !this.#options.isWatched(entry.streamId)) continue
        const events = rows[index]?.sieved?.[run]
        const sieved = events && this.#options.findSieved(entry.streamId, events)
        if (sieved === undefined) payload ??= rows[index]?.payload.slice()
        const given = sieved === undefined ? payload : undefined
        this.#options.onSegment({ ...entry, payload: given, sieved, atMs })
      }
    }
    this.#places.set(this.#options.ownNode, newest)
  }

  /** Something may have been committed for which `add` was not called. */
  mustCatchUp(): void {
    this.#isBehind = true
  }

  async #start(): Promise<void> {
    const found = await this.#options.store.readNewest()
    const places = new Map<number, SegmentId>()
    for (const [node, id] of found)
      places.set(node, id === 0n ? noPosition(node) : (id as SegmentId))
    const { ownNode } = this.#options
    const own = places.get(ownNode)
    // Segments that were found but not forwarded yet are earlier ones, like those forwarded since.
    if (own === undefined || own < this.#newestOwn) places.set(ownNode, this.#newestOwn)
    this.#places = places
    this.#isBehind = false
    this.#polling = new AbortController()
    void this.#poll(this.#polling.signal)
  }

  async #poll(signal: AbortSignal): Promise<void> {
    const { store, ownNode } = this.#options
    while (!signal.aborted) {
      let hasMore = false
      try {
        const isBehind = this.#isBehind
        const except = isBehind ? undefined : ownNode
        const query = { after: this.#places, except, limit: TAIL_POLL_ROWS_MAX }
        const found = await store.readAfter(query)
        if (signal.aborted) return
        hasMore = found.hasMore
        this.#onCommitted(found.entries)
        const own = this.#places.get(ownNode)
        if (isBehind && !hasMore && own !== undefined && own >= this.#newestOwn) {
          this.#isBehind = false
        }
      } catch (cause) {
        this.#options.onError(cause)
      }
      if (!hasMore) await sleep(TAIL_POLL_MS, undefined, { ref: false })
    }
  }

  #onCommitted(entries: readonly CommittedEntry[]): void {
    const atMs = performance.now()
    for (const entry of entries) {
      if (!this.#isNew(entry)) continue
      if (this.#options.isWatched(entry.streamId)) {
        this.#options.onSegment({ ...entry, payload: undefined, sieved: undefined, atMs })
      }
      this.#places.set(entry.node, entry.segmentId)
    }
  }

  #isNew({ node, segmentId }: CommittedEntry): boolean {
    const place = this.#places.get(node)
    return place === undefined || segmentId > place
  }
}
