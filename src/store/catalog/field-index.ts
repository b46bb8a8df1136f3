/**
 * All fields of streams, in memory for a moment, to be looked through while somebody types: by
 * parts of their names, with the share of events that have them.
 */
import { LRUCache } from 'lru-cache'
import { mainTurns } from '../../api/main-turns.ts'
import { FIELDS_FOUND_AMONG_MAX } from '../../limits.ts'
import type { PathParts } from '../../model/field-catalog.ts'
import { foldName } from '../../model/match-names.ts'
import { FIELD_TYPES, type FieldType } from '../../model/schema.ts'
import type { StreamId } from '../../model/stream.ts'
import type { Postgres } from '../postgres.ts'
import { KnownFields } from './known-fields.ts'
import { type EventCounts, ShapeCounts } from './shape-counts.ts'

/** For how long fields serve before they are read again: several keystrokes. */
export const FIELD_INDEX_CACHE_MS = 3_000

/** Fields that are read at a time; those of one stream, though they be more. */
const READ_FIELDS = 5_000

export interface IndexedField {
  readonly path: string
  /** For comparisons: see `foldName`. */
  readonly folded: string
  readonly types: readonly FieldType[]
  /** Undefined where no query can name it, as within an array within an array. */
  readonly parts: PathParts | undefined
}

export interface IndexedStream {
  readonly streamId: StreamId
  /** In the order of their paths' bytes. */
  readonly fields: readonly IndexedField[]
  readonly counts: EventCounts
  /** Its events may have fields that were not learned: it is past a cap. */
  readonly isPartial: boolean
}

export interface IndexedStreams {
  readonly streams: readonly IndexedStream[]
  /** Streams past FIELDS_FOUND_AMONG_MAX fields are not among them. */
  readonly isCut: boolean
}

interface StreamRow {
  readonly stream_id: StreamId
  readonly field_count: number
  readonly is_partial: boolean
}

interface FieldRow {
  readonly stream_id: StreamId
  readonly path: string
  readonly types: number
  readonly is_resolved: boolean
}

export class FieldIndex {
  readonly #postgres: Postgres
  readonly #counts: ShapeCounts
  readonly #nowMs: () => number
  readonly #known = new LRUCache<StreamId, IndexedStream & { readonly readAtMs: number }>({
    maxSize: 2 * FIELDS_FOUND_AMONG_MAX,
    sizeCalculation: ({ fields, counts }) => Math.max(fields.length, counts.paths) + 1,
  })

  constructor(postgres: Postgres, nowMs: () => number = () => performance.now()) {
    this.#postgres = postgres
    this.#counts = new ShapeCounts(postgres)
    this.#nowMs = nowMs
  }

  /** Each at most FIELD_INDEX_CACHE_MS old. Throws `StoreError`. */
  async load(streamIds: readonly StreamId[]): Promise<IndexedStreams> {
    const nowMs = this.#nowMs()
    const found = new Map<StreamId, IndexedStream>()
    for (const streamId of streamIds) {
      const known = this.#known.get(streamId)
      if (known !== undefined && nowMs - known.readAtMs < FIELD_INDEX_CACHE_MS) {
        found.set(streamId, known)
      }
    }
    let left = FIELDS_FOUND_AMONG_MAX
    for (const { fields } of found.values()) left -= fields.length
    const missing = streamIds.filter((streamId) => !found.has(streamId))
    const rows = missing.length === 0 ? [] : await this.#sizesOf(missing)
    const read: StreamRow[] = []
    for (const row of rows) {
      if (row.field_count > left) continue
      left -= row.field_count
      read.push(row)
    }
    for (const some of groupsOf(read)) {
      for (const stream of await this.#read(some)) {
        found.set(stream.streamId, stream)
        this.#known.set(stream.streamId, { ...stream, readAtMs: nowMs })
      }
      await mainTurns.next()
    }
    const streams = streamIds.flatMap((streamId) => found.get(streamId) ?? [])
    return { streams, isCut: read.length < rows.length }
  }

  /** A stream without events has no row. */
  async #sizesOf(streamIds: readonly StreamId[]): Promise<readonly StreamRow[]> {
    const { rows } = await this.#postgres.query<StreamRow>(
      `SELECT stream_id, field_count, is_partial FROM stream_schemas
       WHERE stream_id = ANY ($1) ORDER BY stream_id`,
      [streamIds],
    )
    return rows
  }

  async #read(streams: readonly StreamRow[]): Promise<readonly IndexedStream[]> {
    const ids = streams.map((stream) => stream.stream_id)
    const [{ rows }, counts] = await Promise.all([
      this.#postgres.query<FieldRow>(FIELDS_SQL, [ids]),
      this.#counts.of(ids),
    ])
    const byStream = new Map(ids.map((streamId) => [streamId, [] as FieldRow[]]))
    for (const row of rows) byStream.get(row.stream_id)?.push(row)
    return streams.map(({ stream_id: streamId, is_partial: isPartial }, index) => {
      const fields = fieldsOf(byStream.get(streamId)!)
      return { streamId, fields, counts: counts[index]!, isPartial }
    })
  }
}

/** Some streams at a time, so that what is read at once is little. */
function* groupsOf(streams: readonly StreamRow[]): Generator<readonly StreamRow[]> {
  let group: StreamRow[] = []
  let fields = 0
  for (const stream of streams) {
    if (group.length > 0 && fields + stream.field_count > READ_FIELDS) {
      yield group
      group = []
      fields = 0
    }
    group.push(stream)
    fields += stream.field_count
  }
  if (group.length > 0) yield group
}

const TYPE_BITS = FIELD_TYPES.map((type, bit) => `((seen_${type}_ms > 0)::integer << ${bit})`)

const FIELDS_SQL = `
  SELECT stream_id, path, ${TYPE_BITS.join(' | ')} AS types, resolved_ms > 0 AS is_resolved
  FROM stream_fields WHERE stream_id = ANY ($1) ORDER BY stream_id, path`

function fieldsOf(rows: readonly FieldRow[]): readonly IndexedField[] {
  const typed = rows.map(({ path, types: bits, is_resolved: isResolved }) => {
    const types = FIELD_TYPES.filter((_, bit) => (bits & (1 << bit)) !== 0)
    return { path, types, isResolved }
  })
  const known = new KnownFields(
    typed.map(({ path, types, isResolved }) => ({ path, types: isResolved ? [] : types })),
  )
  return typed.map(({ path, types }) => {
    return { path, folded: foldName(path), types, parts: known.partsOf(path) }
  })
}
