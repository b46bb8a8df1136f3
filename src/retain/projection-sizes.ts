/** How much of the projection each stream has. */
import type { StreamId } from '../model/stream.ts'
import type { MixedPartition } from '../store/mixed-parts.ts'
import type { ProjectionTable } from '../store/projection-parts.ts'
import type { ProjectionSize } from '../store/storage-store.ts'

/**
 * What each stream has in its own table and in the shared one. There a row counts with the mean of
 * all rows: what one takes is not told.
 */
export function projectionSizes(
  tables: readonly ProjectionTable[],
  partitions: readonly MixedPartition[],
): Map<StreamId, ProjectionSize> {
  let [mixedRows, mixedBytes] = [0, 0]
  for (const { rows, bytes } of partitions) {
    mixedRows += rows
    mixedBytes += bytes
  }
  const sizes = new Map<StreamId, { streamId: StreamId; rows: number; bytes: number }>()
  for (const { streamId, rows, bytes } of tables) sizes.set(streamId, { streamId, rows, bytes })
  for (const { shares } of partitions) {
    for (const [streamId, share] of shares) {
      const size = sizes.get(streamId) ?? { streamId, rows: 0, bytes: 0 }
      size.rows += share.rows
      size.bytes += share.rows * (mixedBytes / mixedRows)
      sizes.set(streamId, size)
    }
  }
  for (const size of sizes.values()) size.bytes = Math.round(size.bytes)
  return sizes
}
