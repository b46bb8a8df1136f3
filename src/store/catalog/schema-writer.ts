/**
 * Observe's side of the catalog: loading streams, and merging what a node learned.
 *
 * One transaction per write, with the streams' rows of `stream_schemas` locked in id order: several
 * nodes write the same streams one after another and cannot deadlock, and caps hold exactly. The
 * node's schema mark in each stream moves in the same transaction as its counts, so a segment
 * counts once: a write that is repeated finds the mark there and changes nothing.
 *
 * Before the transaction the control plane is asked which streams are live, and for their caps. A
 * stream that is deleted in between is written to once more; retention purges its rows later.
 */
import { FIELD_SAMPLES_MAX } from '../../limits.ts'
import { FIELD_TYPES, SCHEMA_CAPS_DEFAULT, type SchemaCaps } from '../../model/schema.ts'
import type { KnownSchema, SchemaChange, SchemaCounts } from '../../model/schema-changes.ts'
import { nodeOfSegment, type SegmentId } from '../../model/segment-id.ts'
import type { StreamId } from '../../model/stream.ts'
import type { Postgres, Queryable } from '../postgres.ts'
import { StoreError } from '../store-error.ts'
import type { StreamDirectory } from '../stream-directory.ts'
import { type NodeIdentity, underLease } from '../under-lease.ts'
import { mergeLargePaths } from './large-paths.ts'

/** A shape that nothing has described yet, and a segment that has it. */
export interface UndescribedShape {
  readonly streamId: StreamId
  readonly shape: string
  readonly segmentId: SegmentId
}

type CapsByStream = ReadonlyMap<StreamId, SchemaCaps>

interface CountRow {
  readonly stream_id: StreamId
  readonly field_count: number
  readonly shape_count: number
  readonly generation: string
}

export class SchemaWriter {
  readonly #postgres: Postgres
  readonly #streams: Pick<StreamDirectory, 'findSchemaCaps'>
  readonly #node: NodeIdentity

  constructor(
    postgres: Postgres,
    streams: Pick<StreamDirectory, 'findSchemaCaps'>,
    node: NodeIdentity,
  ) {
    this.#postgres = postgres
    this.#streams = streams
    this.#node = node
  }

  /** 0 when the node has none. Throws `StoreError`. */
  async readCheckpoint(): Promise<SegmentId> {
    const { rows } = await this.#postgres.query<{ segment_id: string }>(
      'SELECT segment_id FROM observe_checkpoints WHERE node_id = $1',
      [this.#node.nodeId],
    )
    return BigInt(rows[0]?.segment_id ?? '0') as SegmentId
  }

  /** What is known about live streams; deleted ones are absent. Throws `StoreError`. */
  async load(streamIds: readonly StreamId[]): Promise<KnownSchema[]> {
    const caps = await this.#streams.findSchemaCaps(streamIds)
    const live = [...caps.keys()]
    await this.#postgres.query(
      `INSERT INTO stream_schemas (stream_id) SELECT unnest($1::integer[]) AS stream_id
       ORDER BY stream_id ON CONFLICT DO NOTHING`,
      [live],
    )
    // Marks first: if another process of our node still writes, they are older than what follows.
    const marks = await readMarks(this.#postgres, live, this.#node.nodeId)
    const counted = await readCounts(this.#postgres, caps)
    const [types, shapes] = await Promise.all([this.#loadTypes(live), this.#loadShapes(live)])
    return counted.map((counts) => {
      const { streamId } = counts
      const typesByPath = types.get(streamId) ?? new Map()
      const describedByShape = shapes.get(streamId) ?? new Map()
      const mark = marks.get(streamId) ?? (0n as SegmentId)
      return { ...counts, mark, typesByPath, describedByShape }
    })
  }

  async #loadTypes(streamIds: readonly StreamId[]): Promise<Map<StreamId, Map<string, number>>> {
    const bits = FIELD_TYPES.map((type, bit) => `((seen_${type}_ms > 0)::integer << ${bit})`)
    const { rows } = await this.#postgres.query<{
      readonly stream_id: StreamId
      readonly path: string
      readonly types: number
    }>(
      `SELECT stream_id, path, ${bits.join(' | ')} AS types FROM stream_fields
       WHERE stream_id = ANY ($1)`,
      [streamIds],
    )
    const byStream = new Map<StreamId, Map<string, number>>()
    for (const row of rows) mapOf(byStream, row.stream_id).set(row.path, row.types)
    return byStream
  }

  async #loadShapes(streamIds: readonly StreamId[]): Promise<Map<StreamId, Map<string, boolean>>> {
    const { rows } = await this.#postgres.query<{
      readonly stream_id: StreamId
      readonly shape: string
      readonly is_described: boolean
    }>(
      `SELECT stream_id, shape, p.shape IS NOT NULL AS is_described
       FROM stream_shapes LEFT JOIN stream_shape_paths AS p USING (stream_id, shape)
       WHERE stream_id = ANY ($1)`,
      [streamIds],
    )
    const byStream = new Map<StreamId, Map<string, boolean>>()
    for (const row of rows) mapOf(byStream, row.stream_id).set(row.shape, row.is_described)
    return byStream
  }

  /** Shapes that this node was the first to see and that were not described before it stopped. */
  async readUndescribed(limit: number): Promise<UndescribedShape[]> {
    const { rows } = await this.#postgres.query<{
      readonly stream_id: StreamId
      readonly shape: string
      readonly example_segment_id: string
    }>(
      `SELECT stream_id, shape, example_segment_id FROM stream_shapes
       LEFT JOIN stream_shape_paths AS p USING (stream_id, shape)
       WHERE p.shape IS NULL AND ${nodeOfSegment('example_segment_id')} = $1 LIMIT $2`,
      [this.#node.nodeId, limit],
    )
    return rows.map(({ stream_id: streamId, shape, example_segment_id: segmentId }) => {
      return { streamId, shape, segmentId: BigInt(segmentId) as SegmentId }
    })
  }

  /**
   * Merges the changes and moves the node's checkpoint, together. A change that was merged already
   * is left out; one of a deleted stream is dropped. Returns the live streams as they are now.
   * Throws `StoreError`; then nothing changed, unless the answer to COMMIT was lost.
   */
  async write(changes: readonly SchemaChange[], checkpoint?: SegmentId): Promise<SchemaCounts[]> {
    const streamIds = changes.map(({ streamId }) => streamId)
    const caps = changes.length > 0 ? await this.#streams.findSchemaCaps(streamIds) : new Map()
    return underLease(this.#postgres, this.#node, async (sql) => {
      const locked = await lock(sql, [...caps.keys()])
      const applied = await this.#select(sql, changes, locked)
      if (applied.length > 0) {
        await mergeShapes(sql, applied, caps)
        await mergePaths(sql, applied)
        await mergeFields(sql, applied, caps)
        await mergeLargePaths(sql, applied, caps)
        await markPartial(sql, applied, caps)
        await this.#writeMarks(sql, applied)
      }
      if (checkpoint !== undefined) await this.#writeCheckpoint(sql, checkpoint)
      return await readCounts(sql, caps)
    })
  }

  /** The changes that were not merged yet. */
  async #select(
    sql: Queryable,
    changes: readonly SchemaChange[],
    locked: ReadonlySet<StreamId>,
  ): Promise<SchemaChange[]> {
    // A separate statement, after the lock: it sees what the previous holder of the lock wrote.
    const marks = await readMarks(sql, [...locked], this.#node.nodeId)
    return changes.filter(({ streamId, after, through }) => {
      if (!locked.has(streamId)) return false
      // A change without segments only describes and counts nothing, so repeating it is harmless.
      const mark = marks.get(streamId) ?? 0n
      if (after === through || mark <= after) return true
      if (mark >= through) return false
      throw new StoreError('conflict', 'some of these segments were learned from')
    })
  }

  async #writeMarks(sql: Queryable, changes: readonly SchemaChange[]): Promise<void> {
    await sql.query(
      `INSERT INTO stream_schema_marks AS m (stream_id, node_id, segment_id)
       SELECT stream_id, $1, segment_id FROM unnest($2::integer[], $3::bigint[])
         AS c (stream_id, segment_id)
       ON CONFLICT (stream_id, node_id) DO UPDATE
         SET segment_id = GREATEST(m.segment_id, excluded.segment_id)`,
      [
        this.#node.nodeId,
        changes.map(({ streamId }) => streamId),
        changes.map(({ through }) => String(through)),
      ],
    )
  }

  async #writeCheckpoint(sql: Queryable, checkpoint: SegmentId): Promise<void> {
    await sql.query(
      `INSERT INTO observe_checkpoints AS c (node_id, segment_id) VALUES ($1, $2)
       ON CONFLICT (node_id) DO UPDATE
         SET segment_id = GREATEST(c.segment_id, excluded.segment_id), updated_at = now()`,
      [this.#node.nodeId, String(checkpoint)],
    )
  }
}

/** Those of the streams that have a catalog, which is locked until the transaction ends. */
async function lock(sql: Queryable, streamIds: readonly StreamId[]): Promise<Set<StreamId>> {
  const { rows } = await sql.query<{ readonly stream_id: StreamId }>(
    `SELECT stream_id FROM stream_schemas WHERE stream_id = ANY ($1)
     ORDER BY stream_id FOR UPDATE`,
    [streamIds],
  )
  return new Set(rows.map((row) => row.stream_id))
}

async function readMarks(
  sql: Queryable,
  streamIds: readonly StreamId[],
  nodeId: number,
): Promise<Map<StreamId, SegmentId>> {
  const { rows } = await sql.query<{ readonly stream_id: StreamId; readonly segment_id: string }>(
    `SELECT stream_id, segment_id FROM stream_schema_marks
     WHERE stream_id = ANY ($1) AND node_id = $2`,
    [streamIds, nodeId],
  )
  return new Map(rows.map((row) => [row.stream_id, BigInt(row.segment_id) as SegmentId]))
}

/** Updates existing rows; inserts the others, in order, as far as the hard cap allows. */
async function mergeShapes(
  sql: Queryable,
  changes: readonly SchemaChange[],
  caps: CapsByStream,
): Promise<void> {
  const rows = changes.flatMap(({ streamId, shapes }) =>
    shapes.map((shape) => ({ streamId, shape })),
  )
  if (rows.length === 0) return
  await sql.query(
    `WITH incoming AS (
       SELECT * FROM unnest($1::integer[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[],
         $6::bigint[], $7::integer[]) WITH ORDINALITY
       AS i (stream_id, shape, count, first_ms, last_ms, segment_id, ordinal, place)
     ), updated AS (
       UPDATE stream_shapes AS t SET event_count = t.event_count + i.count,
         first_seen_ms = LEAST(t.first_seen_ms, i.first_ms),
         last_seen_ms = GREATEST(t.last_seen_ms, i.last_ms)
       FROM incoming AS i WHERE t.stream_id = i.stream_id AND t.shape = i.shape
       RETURNING t.stream_id, t.shape
     ), fresh AS (
       SELECT i.*, row_number() OVER (PARTITION BY i.stream_id ORDER BY i.place) AS number
       FROM incoming AS i LEFT JOIN updated AS u USING (stream_id, shape) WHERE u.shape IS NULL
     ), inserted AS (
       INSERT INTO stream_shapes (stream_id, shape, first_seen_ms, last_seen_ms, event_count,
         example_segment_id, example_ordinal)
       SELECT stream_id, shape, first_ms, last_ms, count, segment_id, ordinal
       FROM fresh JOIN stream_schemas USING (stream_id)
         JOIN unnest($8::integer[], $9::integer[]) AS caps (stream_id, hard_cap) USING (stream_id)
       WHERE number <= hard_cap - shape_count AND count > 0
       RETURNING stream_id
     )
     UPDATE stream_schemas AS s SET shape_count = s.shape_count + added.count
     FROM (SELECT stream_id, count(*) AS count FROM inserted GROUP BY stream_id) AS added
     WHERE s.stream_id = added.stream_id`,
    [
      rows.map(({ streamId }) => streamId),
      rows.map(({ shape }) => shape.shape),
      rows.map(({ shape }) => shape.count),
      rows.map(({ shape }) => shape.firstSeenMs),
      rows.map(({ shape }) => shape.lastSeenMs),
      rows.map(({ shape }) => String(shape.exampleSegmentId)),
      rows.map(({ shape }) => shape.exampleOrdinal),
      [...caps.keys()],
      [...caps.values()].map(({ shapesHard }) => shapesHard),
    ],
  )
}

async function mergePaths(sql: Queryable, changes: readonly SchemaChange[]): Promise<void> {
  const rows = changes.flatMap(({ streamId, shapes }) => {
    return shapes.flatMap(({ shape, paths }) =>
      paths === undefined ? [] : [{ streamId, shape, paths }],
    )
  })
  for (const some of slices(rows, MERGE_PATHS_SHAPES)) {
    await sql.query(
      `INSERT INTO stream_shape_paths (stream_id, shape, paths)
       SELECT i.* FROM unnest($1::integer[], $2::text[], $3::text[]) AS i (stream_id, shape, paths)
       JOIN stream_shapes USING (stream_id, shape)
       ON CONFLICT DO NOTHING`,
      [
        some.map(({ streamId }) => streamId),
        some.map(({ shape }) => shape),
        some.map(({ paths }) => JSON.stringify(paths)),
      ],
    )
  }
}

/**
 * Of one statement: the main thread makes its parameters at a stretch. A shape has up to
 * SHAPE_PATHS_BYTES_MAX.
 */
const MERGE_PATHS_SHAPES = 8
const MERGE_FIELDS_ROWS = 250

const SEEN = FIELD_TYPES.map((type) => `seen_${type}_ms`)
const SEEN_FROM = 6
const CAPS_FROM = SEEN_FROM + SEEN.length

/** Like `mergeShapes`. A type that was seen only before the path was resolved stays forgotten. */
const MERGE_FIELDS = `
  WITH incoming AS (
    SELECT i.*, ARRAY(SELECT jsonb_array_elements_text(i.samples_json::jsonb)) AS samples
    FROM unnest($1::integer[], $2::text[], $3::bigint[], $4::bigint[], $5::text[],
      ${SEEN.map((_, n) => `$${SEEN_FROM + n}::bigint[]`).join(', ')}) WITH ORDINALITY
    AS i (stream_id, path, first_ms, last_ms, samples_json, ${SEEN.join(', ')}, place)
  ), updated AS (
    UPDATE stream_fields AS t SET
      first_seen_ms = LEAST(t.first_seen_ms, i.first_ms),
      last_seen_ms = GREATEST(t.last_seen_ms, i.last_ms),
      samples = first_samples(i.samples, t.samples, ${FIELD_SAMPLES_MAX}),
      ${SEEN.map((seen) => {
        return `${seen} = CASE WHEN i.${seen} > t.resolved_ms
          THEN GREATEST(t.${seen}, i.${seen}) ELSE t.${seen} END`
      }).join(', ')}
    FROM incoming AS i WHERE t.stream_id = i.stream_id AND t.path = i.path
    RETURNING t.stream_id, t.path
  ), fresh AS (
    SELECT i.*, row_number() OVER (PARTITION BY i.stream_id ORDER BY i.place) AS number
    FROM incoming AS i LEFT JOIN updated AS u USING (stream_id, path) WHERE u.path IS NULL
  ), inserted AS (
    INSERT INTO stream_fields (stream_id, path, first_seen_ms, last_seen_ms, samples,
      ${SEEN.join(', ')})
    SELECT stream_id, path, first_ms, last_ms, samples, ${SEEN.join(', ')}
    FROM fresh JOIN stream_schemas USING (stream_id)
      JOIN unnest($${CAPS_FROM}::integer[], $${CAPS_FROM + 1}::integer[])
        AS caps (stream_id, hard_cap) USING (stream_id)
    WHERE number <= hard_cap - field_count
    RETURNING stream_id
  )
  UPDATE stream_schemas AS s SET field_count = s.field_count + added.count
  FROM (SELECT stream_id, count(*) AS count FROM inserted GROUP BY stream_id) AS added
  WHERE s.stream_id = added.stream_id`

async function mergeFields(
  sql: Queryable,
  changes: readonly SchemaChange[],
  caps: CapsByStream,
): Promise<void> {
  const rows = changes.flatMap(({ streamId, fields }) =>
    fields.map((field) => ({ streamId, field })),
  )
  for (const some of slices(rows, MERGE_FIELDS_ROWS)) {
    await sql.query(MERGE_FIELDS, [
      some.map(({ streamId }) => streamId),
      some.map(({ field }) => field.path),
      some.map(({ field }) => field.firstSeenMs),
      some.map(({ field }) => field.lastSeenMs),
      some.map(({ field }) => JSON.stringify(field.samples)),
      ...FIELD_TYPES.map((_, number) => some.map(({ field }) => field.typeSeenMs[number] ?? 0)),
      [...caps.keys()],
      [...caps.values()].map(({ fieldsHard }) => fieldsHard),
    ])
  }
}

/** The stored counts of the streams, with the caps from the control plane. */
async function readCounts(sql: Queryable, caps: CapsByStream): Promise<SchemaCounts[]> {
  const { rows } = await sql.query<CountRow>(
    `SELECT stream_id, field_count, shape_count, generation FROM stream_schemas
     WHERE stream_id = ANY ($1)`,
    [[...caps.keys()]],
  )
  return rows.map((row) => ({
    streamId: row.stream_id,
    caps: caps.get(row.stream_id)!,
    generation: BigInt(row.generation),
    fields: row.field_count,
    shapes: row.shape_count,
  }))
}

function* slices<T>(all: readonly T[], length: number): Generator<readonly T[]> {
  for (let at = 0; at < all.length; at += length) yield all.slice(at, at + length)
}

function mapOf<V>(maps: Map<StreamId, Map<string, V>>, streamId: StreamId): Map<string, V> {
  let map = maps.get(streamId)
  if (map === undefined) {
    map = new Map()
    maps.set(streamId, map)
  }
  return map
}

/**
 * Marks, for good, streams whose catalog lacks something that their events have: those that skipped
 * something, and those at a cap, where a node may have skipped. Queries then do not rely on it.
 */
async function markPartial(
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
