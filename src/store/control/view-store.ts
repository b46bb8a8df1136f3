/**
 * SQL of saved views. Nothing caches them, so no other node has to be told of a change. Changes of
 * one stream's views lock the stream's row and so happen one at a time: their bound holds.
 * Throws `IngestError` for what a client did and `StoreError` for what the store did.
 */
import { IngestError } from '../../errors.ts'
import { VIEWS_PER_STREAM_MAX } from '../../limits.ts'
import type { StreamId } from '../../model/stream.ts'
import type { Postgres, Queryable } from '../postgres.ts'
import type { PageRequest } from './control-store.ts'
import type { View, ViewSettings } from './view.ts'

export interface NewView {
  readonly streamId: StreamId
  readonly createdBy: string
  readonly settings: ViewSettings
}

interface ViewRow {
  readonly view_id: number
  readonly stream_id: number
  readonly name: string
  readonly shared: boolean
  /** JSON of the other settings. */
  readonly settings: string
  readonly created_by: string
  readonly created_at_ms: number
  readonly updated_at_ms: number
  readonly version: number
}

const msOf = (column: string) => `floor(extract(epoch FROM ${column}) * 1000)::float8`
const COLUMNS = `view_id, stream_id, name, shared, settings, created_by, version,
  ${msOf('created_at')} AS created_at_ms, ${msOf('updated_at')} AS updated_at_ms`
/** Views that are shared, and one's own; all views when there is no owner to compare with. */
const IS_SEEN = `($2::text IS NULL OR created_by = $2 OR shared)`

export class ViewStore {
  readonly #postgres: Postgres

  constructor(postgres: Postgres) {
    this.#postgres = postgres
  }

  /** Views that `owner` sees, in the order of their creation; all when it is undefined. */
  async list(streamId: StreamId, owner: string | undefined, page: PageRequest): Promise<View[]> {
    const { rows } = await this.#postgres.query<ViewRow>(
      `SELECT ${COLUMNS} FROM stream_views
       WHERE stream_id = $1 AND ${IS_SEEN} AND view_id > $3 ORDER BY view_id LIMIT $4`,
      [streamId, owner ?? null, page.after, page.limit],
    )
    return rows.map(toView)
  }

  /** Undefined when there is none that `owner` sees. */
  async find(
    streamId: StreamId,
    owner: string | undefined,
    viewId: number,
  ): Promise<View | undefined> {
    const { rows } = await this.#postgres.query<ViewRow>(
      `SELECT ${COLUMNS} FROM stream_views WHERE stream_id = $1 AND ${IS_SEEN} AND view_id = $3`,
      [streamId, owner ?? null, viewId],
    )
    return rows[0] && toView(rows[0])
  }

  /**
   * Throws `conflict` past VIEWS_PER_STREAM_MAX and for the name of a view that `viewer` sees, whom
   * no other is told of; `not_found`.
   */
  async create(
    { streamId, createdBy, settings }: NewView,
    viewer: string | undefined,
  ): Promise<View> {
    const { name, shared, ...rest } = settings
    return await this.#change(streamId, async (sql) => {
      await assertNameFree(sql, { streamId, viewer, name, but: NO_VIEW })
      const { rows: counts } = await sql.query<{ readonly count: string }>(
        'SELECT count(*) FROM stream_views WHERE stream_id = $1',
        [streamId],
      )
      if (Number(counts[0]?.count) >= VIEWS_PER_STREAM_MAX) {
        const limit = `VIEWS_PER_STREAM_MAX (${VIEWS_PER_STREAM_MAX})`
        throw new IngestError('conflict', `the stream already has ${limit} views`)
      }
      const { rows } = await sql.query<ViewRow>(
        `INSERT INTO stream_views (stream_id, name, shared, settings, created_by)
         VALUES ($1, $2, $3, $4, $5) RETURNING ${COLUMNS}`,
        [streamId, name, shared, JSON.stringify(rest), createdBy],
      )
      return toView(rows[0]!)
    })
  }

  /**
   * Replaces the settings when the view still has `version`; undefined when it has another one, or
   * is gone. Throws `conflict` for another name, or a view to share, when `viewer` sees that name;
   * `not_found` for the stream.
   */
  async update(
    view: View,
    settings: ViewSettings,
    viewer: string | undefined,
  ): Promise<View | undefined> {
    const { name, shared, ...rest } = settings
    const { streamId, viewId } = view
    const isNew = name !== view.settings.name || (shared && !view.settings.shared)
    return await this.#change(streamId, async (sql) => {
      if (isNew) await assertNameFree(sql, { streamId, viewer, name, but: viewId })
      const { rows } = await sql.query<ViewRow>(
        `UPDATE stream_views
         SET name = $3, shared = $4, settings = $5, version = version + 1, updated_at = now()
         WHERE view_id = $1 AND version = $2 RETURNING ${COLUMNS}`,
        [view.viewId, view.version, name, shared, JSON.stringify(rest)],
      )
      return rows[0] && toView(rows[0])
    })
  }

  /** Deleting again changes nothing. */
  async delete(view: View): Promise<void> {
    await this.#postgres.query('DELETE FROM stream_views WHERE view_id = $1', [view.viewId])
  }

  async #change<T>(streamId: StreamId, write: (sql: Queryable) => Promise<T>): Promise<T> {
    return await this.#postgres.transaction(async (sql) => {
      const { rows } = await sql.query(
        'SELECT 1 FROM streams WHERE stream_id = $1 AND deleted_at IS NULL FOR UPDATE',
        [streamId],
      )
      if (rows.length > 0) return await write(sql)
      throw new IngestError('not_found', 'there is no stream with this id')
    })
  }
}

/** No view has it. */
const NO_VIEW = 0

interface NameQuestion {
  readonly streamId: StreamId
  /** Undefined: who sees all. */
  readonly viewer: string | undefined
  readonly name: string
  /** This view may have it. */
  readonly but: number
}

/**
 * Throws `conflict`. The stream's row is locked, so no other view gets the name meanwhile. Views
 * that `viewer` does not see may have it: a refusal would tell of them.
 */
async function assertNameFree(
  sql: Queryable,
  { streamId, viewer, name, but }: NameQuestion,
): Promise<void> {
  const { rows } = await sql.query(
    `SELECT 1 FROM stream_views
     WHERE stream_id = $1 AND ${IS_SEEN} AND name = $3 AND view_id <> $4 LIMIT 1`,
    [streamId, viewer ?? null, name, but],
  )
  if (rows.length === 0) return
  throw new IngestError('conflict', 'the stream has a view of this name already')
}

function toView(row: ViewRow): View {
  return {
    viewId: row.view_id,
    streamId: row.stream_id as StreamId,
    settings: { ...JSON.parse(row.settings), name: row.name, shared: row.shared },
    createdBy: row.created_by,
    createdAtMs: row.created_at_ms,
    updatedAtMs: row.updated_at_ms,
    version: row.version,
  }
}
