/** What the catalog knows that decides the form of a stream's table. */
import { isFieldPath, mayBeInArray } from '../../model/field-path.ts'
import type { StreamId } from '../../model/stream.ts'
import { ID_FIELDS, NO_NEEDS, type TableNeeds } from '../../model/table-needs.ts'
import { rankTextPaths, TextNames } from '../../model/text-fields.ts'
import type { Postgres } from '../postgres.ts'
import type { StreamDirectory } from '../stream-directory.ts'

/** Fields up to which that is so: a wide part has 8 to 10 files for each. */
export const WIDE_PATHS_MAX = 128

export class TableNeedsStore {
  readonly #postgres: Postgres
  readonly #streams: Pick<StreamDirectory, 'findSchemaCaps' | 'findTextFields'>

  constructor(
    postgres: Postgres,
    streams: Pick<StreamDirectory, 'findSchemaCaps' | 'findTextFields'>,
  ) {
    this.#postgres = postgres
    this.#streams = streams
  }

  /** The needs of those streams that are live and have learned fields. Throws `StoreError`. */
  async read(streamIds: readonly StreamId[]): Promise<ReadonlyMap<StreamId, TableNeeds>> {
    const [caps, textFields] = await Promise.all([
      this.#streams.findSchemaCaps(streamIds),
      this.#streams.findTextFields(streamIds),
    ])
    const { rows: counts } = await this.#postgres.query<{ stream_id: StreamId; n: number }>(
      `SELECT stream_id, field_count AS n FROM stream_schemas
       WHERE stream_id = ANY ($1::integer[]) AND field_count > 0`,
      [streamIds],
    )
    const texts = new Set([...textFields.values()].flat().map((name) => name.toLowerCase()))
    const { rows: strings } = await this.#postgres.query<{ stream_id: StreamId; path: string }>(
      `SELECT stream_id, path FROM stream_fields
       WHERE stream_id = ANY ($1::integer[]) AND seen_string_ms > 0
         AND (lower(path) LIKE ANY ($2::text[]) OR path ~* $3)
       ORDER BY first_seen_ms, path`,
      [streamIds, [...texts].flatMap(likeName), ID_FIELDS.source],
    )
    const pathsOf = new Map<StreamId, string[]>()
    for (const { stream_id: streamId, path } of strings) {
      if (!isFieldPath(path) || mayBeInArray(path)) continue
      const others = pathsOf.get(streamId)
      if (others === undefined) pathsOf.set(streamId, [path])
      else others.push(path)
    }
    const needs = new Map<StreamId, TableNeeds>()
    for (const { stream_id: streamId, n } of counts) {
      const hardCap = caps.get(streamId)?.fieldsHard
      if (hardCap === undefined) continue
      const paths = pathsOf.get(streamId) ?? []
      needs.set(streamId, {
        // A stream at its cap may have any number of paths that were not learned.
        isWide: n <= WIDE_PATHS_MAX && n < hardCap,
        fields: n,
        textPaths: rankTextPaths(paths, new TextNames(textFields.get(streamId) ?? [])),
        idPaths: paths.filter((path) => ID_FIELDS.test(path)),
      })
    }
    return needs
  }

  /** The needs of one stream; `NO_NEEDS` when nothing is known about it. Throws `StoreError`. */
  async readOne(streamId: StreamId): Promise<TableNeeds> {
    return (await this.read([streamId])).get(streamId) ?? NO_NEEDS
  }
}

/** Patterns for paths that are the name or end in it. */
function likeName(name: string): string[] {
  const literal = name.replace(/[\\%_]/g, '\\$&')
  return [literal, `%.${literal}`]
}
