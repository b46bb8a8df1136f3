/**
 * What is committed, for tails: of this node as commit forwards it, of others by polls with a
 * cursor for each, and of this node too when something may have been committed of which it was not
 * told. Each segment once, in id order for each node. At work only while somebody watches.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { TAIL_POLL_MS, TAIL_POLL_ROWS_MAX } from '../limits.ts'
import type { CommittedGroup } from '../model/batch.ts'
import type { SegmentId } from '../model/segment-id.ts'
import type { SegmentPlace } from '../model/segment-place.ts'
import type { StreamId } from '../model/stream.ts'
import { noPlace, type Places } from './tail-cursor.ts'

/** A committed segment of a stream. */
export interface CommittedEntry {
  readonly node: number
  readonly streamId: StreamId
  readonly segmentId: SegmentId
  readonly eventCount: number
  readonly place: SegmentPlace
}

/** One that somebody watches. */
export interface HeardSegment extends CommittedEntry {
  /** The row's, when this node has just committed it. */
  readonly payload: Uint8Array | undefined
  /** When it was heard of, monotonic. */
  readonly atMs: number
}

/** What the raw store tells; `CommittedStore` is one. */
export interface CommittedReads {
  readNewest(): Promise<ReadonlyMap<number, bigint>>
  readAfter(query: {
    readonly after: Places
    readonly except: number | undefined
    readonly limit: number
  }): Promise<{ readonly entries: readonly CommittedEntry[]; readonly hasMore: boolean }>
}

export interface CommitSourceOptions {
  readonly ownNode: number
  readonly store: CommittedReads
  readonly isWatched: (streamId: StreamId) => boolean
  readonly onSegment: (segment: HeardSegment) => void
  /** A poll failed: the store is away. It is tried again. */
  readonly onError: (cause: unknown) => void
}

export class CommitSource {
  readonly #options: CommitSourceOptions
  #places = new Map<number, SegmentId>()
  /** The newest id of this node that commit forwarded. */
  #newestOwn: SegmentId
  /** This node may have committed what it was not told of: it is polled like the others. */
  #isBehind = false
  #starting: Promise<void> | undefined
  #polling: AbortController | undefined

  constructor(options: CommitSourceOptions) {
    this.#options = options
    this.#newestOwn = noPlace(options.ownNode)
  }

  /** Up to where what is committed was heard of, by node. Only while it runs. */
  get places(): Places {
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
  add({ segments }: CommittedGroup, rows: readonly { readonly payload: Uint8Array }[]): void {
    const last = segments.at(-1)
    const newest = last?.runs?.at(-1)?.segmentId ?? last?.segmentId
    if (newest === undefined) return
    this.#newestOwn = newest
    if (this.#polling === undefined || this.#isBehind) return
    const atMs = performance.now()
    for (const [index, segment] of segments.entries()) {
      let payload: Uint8Array | undefined
      for (const entry of entriesOf(this.#options.ownNode, segment)) {
        if (!this.#isNew(entry) || !this.#options.isWatched(entry.streamId)) continue
        payload ??= rows[index]?.payload.slice()
        this.#options.onSegment({ ...entry, payload, atMs })
      }
    }
    this.#places.set(this.#options.ownNode, newest)
  }

  /** Something may have been committed that `add` was not told of. */
  mustCatchUp(): void {
    this.#isBehind = true
  }

  async #start(): Promise<void> {
    const found = await this.#options.store.readNewest()
    const places = new Map<number, SegmentId>()
    for (const [node, id] of found) places.set(node, id === 0n ? noPlace(node) : (id as SegmentId))
    const { ownNode } = this.#options
    const own = places.get(ownNode)
    // What is found and not forwarded yet is from before, just as what was forwarded meanwhile.
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
        this.#hear(found.entries)
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

  #hear(entries: readonly CommittedEntry[]): void {
    const atMs = performance.now()
    for (const entry of entries) {
      if (!this.#isNew(entry)) continue
      if (this.#options.isWatched(entry.streamId)) {
        this.#options.onSegment({ ...entry, payload: undefined, atMs })
      }
      this.#places.set(entry.node, entry.segmentId)
    }
  }

  #isNew({ node, segmentId }: CommittedEntry): boolean {
    const place = this.#places.get(node)
    return place === undefined || segmentId > place
  }
}

function* entriesOf(
  node: number,
  { streamId, segmentId, eventCount, runs }: CommittedGroup['segments'][number],
): Generator<CommittedEntry> {
  if (runs === undefined) {
    const place = { row: segmentId, isMixed: false, rowEventCount: eventCount, firstEvent: 0 }
    yield { node, streamId, segmentId, eventCount, place }
    return
  }
  let firstEvent = 0
  for (const run of runs) {
    const place = { row: segmentId, isMixed: true, rowEventCount: undefined, firstEvent }
    const { streamId: of, segmentId: id, eventCount: count } = run
    yield { node, streamId: of, segmentId: id, eventCount: count, place }
    firstEvent += count
  }
}
