/**
 * How far ClickHouse merges the parts of streams' tables. Merging a row costs what inserting it
 * does, and above some ten thousand rows a part no query is faster for it. So parts as large as a
 * busy stream's inserts are left alone, until a day has so many that opening them is what costs.
 */
import {
  MERGE_BYTES_MAX,
  MERGE_CROWDED_BYTES_MAX,
  MERGE_PARTS_CROWDED,
  MERGE_PARTS_RELAXED,
} from '../limits.ts'
import type { StreamId } from '../model/stream.ts'
import type { ProjectionParts, ProjectionTable } from '../store/projection-parts.ts'

export interface MergeBoundsOptions {
  readonly parts: Pick<ProjectionParts, 'listOtherwiseMerged' | 'setMergeBytes'>
  /** For tests. */
  readonly crowded?: number
  readonly relaxed?: number
}

export class MergeBounds {
  readonly #options: MergeBoundsOptions
  /** Streams with another bound than the normal one; unknown until a round has asked. */
  #others: Set<StreamId> | undefined

  constructor(options: MergeBoundsOptions) {
    this.#options = options
  }

  /** Throws `StoreError`. */
  async round(
    tables: readonly Pick<ProjectionTable, 'streamId' | 'dayParts'>[],
    signal: AbortSignal,
  ): Promise<void> {
    const { parts, crowded = MERGE_PARTS_CROWDED, relaxed = MERGE_PARTS_RELAXED } = this.#options
    this.#others ??= new Set(await parts.listOtherwiseMerged())
    for (const { streamId, dayParts } of tables) {
      if (signal.aborted) return
      if (dayParts >= crowded && !this.#others.has(streamId)) {
        await parts.setMergeBytes(streamId, MERGE_CROWDED_BYTES_MAX)
        this.#others.add(streamId)
      } else if (dayParts < relaxed && this.#others.has(streamId)) {
        await parts.setMergeBytes(streamId, MERGE_BYTES_MAX)
        this.#others.delete(streamId)
      }
    }
  }
}
