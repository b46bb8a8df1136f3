/** What a read knows of its streams when it begins. */
import { type FieldCatalog, NO_TYPES, NOTHING_LEARNED } from '../model/field-catalog.ts'
import type { SegmentId } from '../model/segment-id.ts'
import type { Stream } from '../model/stream.ts'
import type { Postgres } from '../store/postgres.ts'
import type { SourceStream } from '../store/projection/compile/row-source.ts'

/** The catalogs and the marks of `streams`. Throws `StoreError`. */
export async function openStreams(
  postgres: Postgres,
  streams: readonly Stream[],
): Promise<readonly SourceStream[]> {
  const ids = streams.map(({ streamId }) => streamId)
  const { rows } = await postgres.query<{ stream_id: number; removed_before: string }>(
    'SELECT stream_id, removed_before FROM stream_storage WHERE stream_id = ANY ($1::integer[])',
    [ids],
  )
  const marks = new Map(rows.map((row) => [row.stream_id, row.removed_before]))
  return streams.map((stream) => ({
    streamId: stream.streamId,
    catalog: unlearned(stream),
    removedBefore: BigInt(marks.get(stream.streamId) ?? '0') as SegmentId,
  }))
}

/** Of which every row is read with all types. */
function unlearned({ streamId, textFields }: Stream): FieldCatalog {
  const known = { isAllText: false, learned: NOTHING_LEARNED, paths: [], typesOf: () => NO_TYPES }
  return { streamId, textFields, ...known }
}
