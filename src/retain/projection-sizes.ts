/** How much of the projection each stream has. */
import type { StreamId } from '../model/stream.ts'
import type { MixedPartition, MixedShare } from '../store/projection/mixed-parts.ts'
import type { ProjectionTable } from '../store/projection/projection-parts.ts'
import type { ProjectionSize } from '../store/raw/storage-store.ts'

/** What a row has beside its event: ids, times, the shape. */
const ROW_BYTES = 40

/**
 * What each stream has in its own table and in the shared one. ClickHouse does not report bytes per
 * stream of the shared table. So a day's bytes are shared out in proportion to each stream's rows
 * times the mean bytes of its events as sent (`eventBytes`): streams with large events do not use
 * up others' caps.
 */
export function projectionSizes(
  tables: readonly ProjectionTable[],
  partitions: readonly MixedPartition[],
  eventBytes: ReadonlyMap<StreamId, number>,
): Map<StreamId, ProjectionSize> {
  const sizes = new Map<StreamId, { streamId: StreamId; rows: number; bytes: number }>()
  for (const { streamId, rows, bytes } of tables) sizes.set(streamId, { streamId, rows, bytes })
  for (const { shares, bytes } of partitions) {
    const weightOf = (streamId: StreamId, { rows }: MixedShare) => {
      return rows * ((eventBytes.get(streamId) ?? 0) + ROW_BYTES)
    }
    let total = 0
    for (const [streamId, share] of shares) total += weightOf(streamId, share)
    for (const [streamId, share] of shares) {
      const size = sizes.get(streamId) ?? { streamId, rows: 0, bytes: 0 }
      size.rows += share.rows
      size.bytes += (bytes * weightOf(streamId, share)) / total
      sizes.set(streamId, size)
    }
  }
  for (const size of sizes.values()) size.bytes = Math.round(size.bytes)
  return sizes
}
