/** What a read knows of its streams when it begins: their fields, and what is removed of them. */
import type { SegmentId } from '../model/segment-id.ts'
import type { Stream } from '../model/stream.ts'
import type { FieldCatalogStore } from '../store/catalog/field-catalog-store.ts'
import type { Postgres } from '../store/postgres.ts'
import type { SourceStream } from '../store/projection/compile/row-source.ts'

/** In the order of `streams`. Throws `StoreError`. */
export async function openStreams(
  postgres: Postgres,
  catalogs: FieldCatalogStore,
  streams: readonly Stream[],
): Promise<readonly SourceStream[]> {
  const ids = streams.map(({ streamId }) => streamId)
  const [found, { rows }] = await Promise.all([
    catalogs.load(streams),
    postgres.query<{ stream_id: number; removed_before: string }>(
      'SELECT stream_id, removed_before FROM stream_storage WHERE stream_id = ANY ($1::integer[])',
      [ids],
    ),
  ])
  const marks = new Map(rows.map((row) => [row.stream_id, row.removed_before]))
  return streams.map(({ streamId }, index) => {
    const removedBefore = BigInt(marks.get(streamId) ?? '0') as SegmentId
    return { streamId, catalog: found[index]!, removedBefore }
  })
}
