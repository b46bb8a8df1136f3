import { SCHEMA_CAPS_DEFAULT, type SchemaCaps } from '../../model/schema.ts'
import type { SchemaChange } from '../../model/schema-changes.ts'
import type { StreamId } from '../../model/stream.ts'
import type { Queryable } from '../postgres.ts'

/**
 * Adds to the streams' fields with integers past 64 bits with a sign. Past the cap on fields none
 * is added, and queries do not rely on the stream's catalog: it has more fields than it may learn.
 */
export async function mergeLargePaths(
  sql: Queryable,
  changes: readonly SchemaChange[],
  caps: ReadonlyMap<StreamId, SchemaCaps>,
): Promise<void> {
  const rows = changes.flatMap(({ streamId, largePaths }) => {
    const { fieldsHard } = caps.get(streamId) ?? SCHEMA_CAPS_DEFAULT
    return largePaths.map((path) => ({ streamId, path, fieldsHard }))
  })
  if (rows.length === 0) return
  await sql.query(
    `UPDATE stream_schemas AS s SET
       large_paths = CASE WHEN cardinality(merged) > fields THEN s.large_paths ELSE merged END,
       is_partial = s.is_partial OR cardinality(merged) > fields
     FROM (
       SELECT stream_id, max(fields) AS fields, array_agg(DISTINCT path) AS merged FROM (
         SELECT * FROM unnest($1::integer[], $2::text[], $3::integer[])
           AS incoming (stream_id, path, fields)
         UNION ALL
         SELECT stream_id, unnest(large_paths), NULL FROM stream_schemas
         WHERE stream_id = ANY ($1::integer[])
       ) AS each GROUP BY stream_id
     ) AS m
     WHERE s.stream_id = m.stream_id`,
    [
      rows.map(({ streamId }) => streamId),
      rows.map(({ path }) => path),
      rows.map(({ fieldsHard }) => fieldsHard),
    ],
  )
}
