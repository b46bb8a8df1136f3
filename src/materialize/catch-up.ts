/**
 * Catch-up: one step reads the next committed segments from the raw store, asks ClickHouse which of
 * them it has, rebuilds the others' blocks in the pool, and inserts them.
 */
import { REPLAY_SEGMENTS_MAX } from '../limits.ts'
import type { EncodedBlock } from '../model/batch.ts'
import type { SegmentId } from '../model/segment-id.ts'
import type { StreamId } from '../model/stream.ts'
import { stampBlock } from './stamp.ts'

export interface StoredSegment {
  readonly streamId: StreamId
  readonly segmentId: SegmentId
  readonly payload: Uint8Array
}

export interface CatchUpStores {
  /** This node's segments after `after`, in id order, at most `limit`. */
  readAfter(after: SegmentId, limit: number): Promise<readonly StoredSegment[]>
  /** Resolves once no insert of this node runs in ClickHouse any more. */
  settleInserts(): Promise<void>
  /** Which of the segments the stream's projection table has. */
  findPresent(streamId: StreamId, ids: readonly SegmentId[]): Promise<ReadonlySet<SegmentId>>
  /** Rebuilds a segment's block, through the worker code. */
  rebuild(segment: StoredSegment): Promise<EncodedBlock>
  /** Inserts blocks of one stream; makes its table when it is missing. */
  insert(streamId: StreamId, blocks: readonly Uint8Array[]): Promise<void>
}

export interface CatchUpStep {
  /** The last segment of the step; it and all before it are in the projection. */
  readonly last: SegmentId
  readonly replayed: number
}

export class CatchUp {
  readonly #stores: CatchUpStores

  constructor(stores: CatchUpStores) {
    this.#stores = stores
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
    const ids = segments.map((segment) => segment.segmentId)
    const present = await this.#stores.findPresent(streamId, ids)
    const absent = segments.filter((segment) => !present.has(segment.segmentId))
    if (absent.length === 0) return 0
    const blocks = await Promise.all(
      absent.map(async (segment) => {
        const block = await this.#stores.rebuild(segment)
        stampBlock(block, segment.segmentId)
        return block.bytes
      }),
    )
    await this.#stores.insert(streamId, blocks)
    return absent.length
  }
}
