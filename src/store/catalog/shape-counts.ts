/**
 * How many of a stream's events have each field, by type: events are counted by shape, and a shape
 * says which fields its events have. A shape never changes, so its description is read once; what
 * is read again are the counts. Nothing is counted for this per event.
 *
 * Shapes with the most events come first, up to SHAPE_COUNTS_BYTES_MAX of descriptions a stream:
 * shares are of the events of the shapes that were looked at.
 */
import { LRUCache } from 'lru-cache'
import { mainTurns } from '../../api/main-turns.ts'
import { MAIN_SLICE_CHARS, SCHEMA_CAP_MAX } from '../../limits.ts'
import { FIELD_TYPES, type FieldType } from '../../model/schema.ts'
import type { StreamId } from '../../model/stream.ts'
import type { Postgres } from '../postgres.ts'

/** Bytes of shapes' descriptions that are looked at for one stream. */
export const SHAPE_COUNTS_BYTES_MAX = 8 * 1024 * 1024
/** Rough bytes of what is remembered of all streams' shapes; past it the longest unread go. */
export const SHAPE_COUNTS_KEPT_BYTES = 64 * 1024 * 1024
/** Of one stream: what it may learn, and as much again that it may not. */
export const SHAPE_COUNTS_PATHS_MAX = 2 * SCHEMA_CAP_MAX

/** Descriptions that are read at a time: each may have SHAPE_PATHS_BYTES_MAX. */
const READ_MAX = 32

export interface PathCounts {
  /** Events that have the field. */
  readonly events: number
  /** By the type's number in FIELD_TYPES; an event may have values of several. */
  readonly byType: readonly number[]
}

export interface EventCounts {
  /** All events of the shapes that were looked at. */
  readonly events: number
  /** How many paths are counted. */
  readonly paths: number
  /** Undefined for a path of none of these shapes. */
  readonly of: (path: string) => PathCounts | undefined
}

/** A type's number takes three bits; this one stands for any. */
const SLOTS = 8
const ANY = SLOTS - 1

interface Known {
  /** A number for each path. */
  readonly ids: Map<string, number>
  /** By shape: a path's number times SLOTS, and a type's; in order. */
  readonly leaves: Map<string, Uint32Array>
  bytes: number
}

/** Rough bytes of a path beside its text. */
const ENTRY_BYTES = 128

interface ShapeRow {
  readonly stream_id: StreamId
  readonly shape: string
  readonly event_count: string
  readonly bytes: number
}

export class ShapeCounts {
  readonly #postgres: Postgres
  readonly #known = new LRUCache<StreamId, Known>({
    maxSize: SHAPE_COUNTS_KEPT_BYTES,
    sizeCalculation: ({ bytes }) => bytes + ENTRY_BYTES,
  })

  constructor(postgres: Postgres) {
    this.#postgres = postgres
  }

  /** In the order of `streamIds`. Throws `StoreError`. */
  async of(streamIds: readonly StreamId[]): Promise<EventCounts[]> {
    const { rows } = await this.#postgres.query<ShapeRow>(COUNTS_SQL, [streamIds])
    const shapes = new Map(streamIds.map((streamId) => [streamId, [] as ShapeRow[]]))
    const bytes = new Map<StreamId, number>()
    for (const row of rows) {
      const { stream_id: streamId } = row
      const sum = (bytes.get(streamId) ?? 0) + row.bytes
      bytes.set(streamId, sum)
      if (sum <= SHAPE_COUNTS_BYTES_MAX) shapes.get(streamId)?.push(row)
    }
    const known = new Map(streamIds.map((streamId) => [streamId, this.#knownOf(streamId)]))
    await this.#describe([...shapes.values()].flat(), known)
    return streamIds.map((id) => countPaths(shapes.get(id) ?? [], known.get(id)!))
  }

  #knownOf(streamId: StreamId): Known {
    return this.#known.get(streamId) ?? { ids: new Map(), leaves: new Map(), bytes: 0 }
  }

  async #describe(shapes: readonly ShapeRow[], known: ReadonlyMap<StreamId, Known>): Promise<void> {
    const missing = shapes.filter((row) => !known.get(row.stream_id)!.leaves.has(row.shape))
    let chars = 0
    for (let at = 0; at < missing.length; at += READ_MAX) {
      const some = missing.slice(at, at + READ_MAX)
      const { rows } = await this.#postgres.query<{
        readonly stream_id: StreamId
        readonly shape: string
        readonly paths: string
      }>(PATHS_SQL, [some.map((row) => row.stream_id), some.map((row) => row.shape)])
      for (const { stream_id: streamId, shape, paths } of rows) {
        remember(known.get(streamId)!, shape, paths)
        chars += paths.length
        if (chars < MAIN_SLICE_CHARS) continue
        await mainTurns.next()
        chars = 0
      }
    }
    // What is set again, as it is, keeps its size.
    for (const [streamId, one] of known) {
      this.#known.delete(streamId)
      this.#known.set(streamId, one)
    }
  }
}

const COUNTS_SQL = `
  SELECT stream_id, shape, event_count, octet_length(paths) AS bytes
  FROM stream_shapes JOIN stream_shape_paths USING (stream_id, shape)
  WHERE stream_id = ANY ($1) ORDER BY stream_id, event_count DESC, shape`

const PATHS_SQL = `
  SELECT stream_id, shape, paths FROM stream_shape_paths
  WHERE (stream_id, shape) IN (SELECT * FROM unnest($1::integer[], $2::text[]))`

/** `paths`: JSON, pairs of path and type. */
function remember(known: Known, shape: string, paths: string): void {
  // Who asked at the same time may have read it, too.
  if (known.leaves.has(shape)) return
  const leaves = new Set<number>()
  for (const [name, type] of JSON.parse(paths) as readonly (readonly [string, FieldType])[]) {
    // As the catalog's text has it: lone surrogates are replaced.
    const path = Buffer.from(name).toString()
    let id = known.ids.get(path)
    if (id === undefined) {
      // The most frequent shapes were read first: what has no room is rare.
      if (known.ids.size >= SHAPE_COUNTS_PATHS_MAX) continue
      id = known.ids.size
      known.ids.set(path, id)
      known.bytes += ENTRY_BYTES + path.length
    }
    leaves.add(id * SLOTS + FIELD_TYPES.indexOf(type))
  }
  known.leaves.set(shape, Uint32Array.from(leaves).sort())
  known.bytes += ENTRY_BYTES + 4 * leaves.size
}

function countPaths(shapes: readonly ShapeRow[], { ids, leaves }: Known): EventCounts {
  const counts = new Float64Array(ids.size * SLOTS)
  let events = 0
  for (const { shape, event_count: text } of shapes) {
    const count = Number(text)
    events += count
    let last = -1
    for (const leaf of leaves.get(shape) ?? []) {
      counts[leaf]! += count
      const id = leaf >> 3
      // A path with several types is one field of the event.
      if (id !== last) counts[id * SLOTS + ANY]! += count
      last = id
    }
  }
  const size = ids.size
  const of = (path: string): PathCounts | undefined => {
    const id = ids.get(path)
    if (id === undefined || id >= size || counts[id * SLOTS + ANY] === 0) return undefined
    const byType = [...counts.subarray(id * SLOTS, id * SLOTS + ANY)]
    return { events: counts[id * SLOTS + ANY]!, byType }
  }
  return { events, paths: size, of }
}
