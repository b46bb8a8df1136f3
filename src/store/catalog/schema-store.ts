/** The catalog as people read it: fields, shapes, the state of learning; and Resolve. */

import { LIST_PAGE_BYTES_MAX } from '../../limits.ts'
import { foldName } from '../../model/match-names.ts'
import { FIELD_TYPES, type FieldType } from '../../model/schema.ts'
import type { SegmentId } from '../../model/segment-id.ts'
import type { StreamId } from '../../model/stream.ts'
import type { Postgres } from '../postgres.ts'

export interface FieldRecord {
  readonly path: string
  readonly types: readonly FieldType[]
  /** When each of them was seen last. */
  readonly typesSeenMs: readonly number[]
  readonly firstSeenMs: number
  readonly lastSeenMs: number
  /** JSON values, the newest first. */
  readonly samples: readonly string[]
  readonly resolvedAtMs: number | null
}

export interface FieldPage {
  /** Only paths after this one, in the order of their bytes. */
  readonly after: string | undefined
  readonly limit: number
  /** Only paths that begin with this. */
  readonly prefix: string | undefined
  /** Only paths that have this somewhere, as `foldName` compares. */
  readonly contains?: string | undefined
  readonly type: FieldType | undefined
  readonly conflict: boolean | undefined
}

export interface ShapeRecord {
  readonly shape: string
  readonly events: number
  readonly firstSeenMs: number
  readonly lastSeenMs: number
  readonly exampleSegmentId: SegmentId
  readonly exampleOrdinal: number
  /** A JSON array of [path, type]; null until the shape was described. */
  readonly pathsJson: string | null
}

export interface ShapeList {
  readonly shapes: readonly ShapeRecord[]
  readonly hasMore: boolean
}

export interface ShapePage {
  readonly after: string | undefined
  readonly limit: number
}

export interface SchemaState {
  readonly fields: number
  readonly shapes: number
  /** Fields in a type conflict. */
  readonly conflicts: number
}

const SEEN = FIELD_TYPES.map((type) => `seen_${type}_ms`)
/** `hasTypeConflict` in SQL. */
const IS_CONFLICT = `(${[
  '(seen_integer_ms > 0 OR seen_float_ms > 0)',
  ...FIELD_TYPES.filter((type) => !['null', 'integer', 'float'].includes(type)).map((type) => {
    return `(seen_${type}_ms > 0)`
  }),
]
  .map((kind) => `${kind}::integer`)
  .join(' + ')} > 1)`
const FIELD_COLUMNS = `path, first_seen_ms, last_seen_ms, samples, resolved_ms, ${SEEN.join(', ')}`

/** Numbers come as text: PostgreSQL's bigint. */
type FieldRow = Readonly<Record<string, string>> & { readonly samples: readonly string[] }

export class SchemaStore {
  readonly #postgres: Postgres

  constructor(postgres: Postgres) {
    this.#postgres = postgres
  }

  /** Fields in the order of their paths' bytes. */
  async listFields(streamId: StreamId, page: FieldPage): Promise<FieldRecord[]> {
    const type = page.type === undefined ? 'true' : `seen_${page.type}_ms > 0`
    const { rows } = await this.#postgres.query<FieldRow>(
      `SELECT ${FIELD_COLUMNS} FROM stream_fields
       WHERE stream_id = $1 AND ($2::text IS NULL OR path > $2 COLLATE "C")
         AND ($3::text IS NULL OR starts_with(path, $3)) AND ${type}
         AND ($4::boolean IS NULL OR ${IS_CONFLICT} = $4)
         AND ($6::text IS NULL OR strpos(lower(path COLLATE "C"), $6) > 0)
       ORDER BY path LIMIT $5`,
      [
        ...[streamId, page.after ?? null, page.prefix ?? null, page.conflict ?? null, page.limit],
        page.contains === undefined ? null : foldName(page.contains),
      ],
    )
    return rows.map(toField)
  }

  /**
   * Keeps only the type that was seen last; a forgotten type that is seen again from now on counts
   * again. Undefined when the stream has no such field.
   */
  async resolveField(streamId: StreamId, path: string): Promise<FieldRecord | undefined> {
    return this.#postgres.transaction(async (sql) => {
      // Raises the generation first: that waits for nodes that are writing and makes all reload.
      await sql.query(
        'UPDATE stream_schemas SET generation = generation + 1 WHERE stream_id = $1',
        [streamId],
      )
      const newest = `GREATEST(${SEEN.join(', ')})`
      const { rows } = await sql.query<FieldRow>(
        `UPDATE stream_fields SET resolved_ms = (extract(epoch FROM clock_timestamp()) * 1000),
           ${SEEN.map((seen, at) => {
             // Of two types that were last seen in the same millisecond, one stays.
             const later = SEEN.slice(at + 1).map((other) => `${other} < ${newest}`)
             const isOnly = [`${seen} = ${newest}`, ...later].join(' AND ')
             return `${seen} = CASE WHEN ${isOnly} THEN ${seen} ELSE 0 END`
           }).join(', ')}
         WHERE stream_id = $1 AND path = $2 RETURNING ${FIELD_COLUMNS}`,
        [streamId, path],
      )
      return rows[0] && toField(rows[0])
    })
  }

  /** Most recently seen shapes first; the page ends early past LIST_PAGE_BYTES_MAX of paths. */
  async listShapes(streamId: StreamId, page: ShapePage): Promise<ShapeList> {
    const { rows } = await this.#postgres.query<ShapeRow>(
      `SELECT * FROM (
         SELECT shape, event_count, first_seen_ms, last_seen_ms, example_segment_id,
           example_ordinal, paths,
           sum(octet_length(paths)) OVER (ORDER BY first_seen_ms DESC, shape) AS bytes,
           row_number() OVER (ORDER BY first_seen_ms DESC, shape) AS number,
           count(*) OVER ()::integer AS total
         FROM stream_shapes LEFT JOIN stream_shape_paths USING (stream_id, shape)
         WHERE stream_id = $1 AND ($2::text IS NULL OR (-first_seen_ms, shape) > (
           SELECT -first_seen_ms, shape FROM stream_shapes WHERE stream_id = $1 AND shape = $2))
       ) AS page
       WHERE number <= $3 AND (number = 1 OR COALESCE(bytes, 0) <= $4) ORDER BY number`,
      [streamId, page.after ?? null, page.limit, LIST_PAGE_BYTES_MAX],
    )
    const shapes = rows.map((row) => ({
      shape: row.shape,
      events: Number(row.event_count),
      firstSeenMs: Number(row.first_seen_ms),
      lastSeenMs: Number(row.last_seen_ms),
      exampleSegmentId: BigInt(row.example_segment_id) as SegmentId,
      exampleOrdinal: row.example_ordinal,
      pathsJson: row.paths,
    }))
    return { shapes, hasMore: (rows[0]?.total ?? 0) > shapes.length }
  }

  /** How much the stream has learned; nothing when it has no events yet. */
  async readState(streamId: StreamId): Promise<SchemaState> {
    const [state] = await this.readStates([streamId])
    return state!
  }

  /** The same of each of several streams, in their order. */
  async readStates(streamIds: readonly StreamId[]): Promise<SchemaState[]> {
    const { rows } = await this.#postgres.query<SchemaState>(
      `SELECT COALESCE(field_count, 0) AS fields, COALESCE(shape_count, 0) AS shapes,
         (SELECT count(*)::integer FROM stream_fields
          WHERE stream_id = asked.id AND ${IS_CONFLICT}) AS conflicts
       FROM unnest($1::integer[]) WITH ORDINALITY AS asked (id, place)
         LEFT JOIN stream_schemas ON stream_id = asked.id ORDER BY place`,
      [streamIds],
    )
    return rows
  }

  /** Forgets all of a deleted stream. Safe to call again. */
  async deleteStream(streamId: StreamId): Promise<void> {
    await this.#postgres.transaction(async (sql) => {
      // This row first: nodes that are still writing hold it.
      for (const table of SCHEMA_TABLES) {
        await sql.query(`DELETE FROM ${table} WHERE stream_id = $1`, [streamId])
      }
    })
  }
}

const SCHEMA_TABLES = [
  'stream_schemas',
  'stream_fields',
  'stream_shapes',
  'stream_shape_paths',
  'stream_schema_marks',
  'stream_rejects',
] as const

interface ShapeRow {
  readonly shape: string
  readonly event_count: string
  readonly first_seen_ms: string
  readonly last_seen_ms: string
  readonly example_segment_id: string
  readonly example_ordinal: number
  readonly paths: string | null
  readonly total: number
}

function toField(row: FieldRow): FieldRecord {
  const resolvedMs = Number(row.resolved_ms)
  const seenMs = (type: FieldType) => Number(row[`seen_${type}_ms`])
  const types = FIELD_TYPES.filter((type) => seenMs(type) > 0)
  return {
    path: row.path ?? '',
    types,
    typesSeenMs: types.map(seenMs),
    firstSeenMs: Number(row.first_seen_ms),
    lastSeenMs: Number(row.last_seen_ms),
    samples: row.samples,
    resolvedAtMs: resolvedMs === 0 ? null : resolvedMs,
  }
}
