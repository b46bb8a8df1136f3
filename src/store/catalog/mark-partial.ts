import { SCHEMA_CAPS_DEFAULT, type SchemaCaps } from '../../model/schema.ts'
import type { SchemaChange } from '../../model/schema-changes.ts'
import type { StreamId } from '../../model/stream.ts'
import type { Queryable } from '../postgres.ts'

/**
 * Marks, for good, streams whose catalog lacks something that their events have: those that skipped
 * something, and those at a cap, where a node may have skipped. Queries then do not rely on it.
 */
export async function markPartial(
  sql: Queryable,
  changes: readonly SchemaChange[],
  caps: ReadonlyMap<StreamId, SchemaCaps>,
): Promise<void> {
  const streamIds = changes.map(({ streamId }) => streamId)
  const capsOf = (streamId: StreamId) => caps.get(streamId) ?? SCHEMA_CAPS_DEFAULT
  await sql.query(
    `UPDATE stream_schemas AS s SET is_partial = true
     FROM unnest($1::integer[], $2::boolean[], $3::integer[], $4::integer[])
       AS c (stream_id, is_partial, fields, shapes)
     WHERE s.stream_id = c.stream_id AND NOT s.is_partial
       AND (c.is_partial OR field_count >= c.fields OR shape_count >= c.shapes)`,
    [
      streamIds,
      changes.map(({ isPartial }) => isPartial),
      streamIds.map((streamId) => capsOf(streamId).fieldsHard),
      streamIds.map((streamId) => capsOf(streamId).shapesHard),
    ],
  )
}
