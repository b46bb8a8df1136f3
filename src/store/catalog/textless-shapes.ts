/**
 * Which of a stream's shapes are those of events without a string in any text field: words without
 * a field are then searched in all of their strings. A shape says what paths and types its events
 * have, and never changes, so each is looked at once.
 */
import { setImmediate as immediate } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import {
  catalogPath,
  NO_TEXTLESS,
  type PathParts,
  type Textless,
} from '../../model/field-catalog.ts'
import { isFieldPath } from '../../model/field-path.ts'
import type { FieldType } from '../../model/schema.ts'
import type { StreamId } from '../../model/stream.ts'
import type { TextNames } from '../../model/text-fields.ts'
import type { Postgres } from '../postgres.ts'
import { type KnownField, KnownFields } from './known-fields.ts'

/** Shapes of which is remembered whether their events have text; past it as with fields. */
export const TEXTLESS_SHAPES_KEPT_MAX = 200_000

/** Descriptions that are read at a time: each may have SHAPE_PATHS_BYTES_MAX. */
const READ_MAX = 32

/** What is looked up for one stream. */
export interface ShapesOfStream {
  readonly streamId: StreamId
  readonly names: TextNames
  /** Those that are described, 16 hex digits each. */
  readonly shapes: readonly string[]
}

interface TextlessShape {
  readonly doubtful: readonly string[]
  readonly paths: readonly PathParts[]
}

/** What is known of a stream by the names of one setting. */
interface Looked {
  readonly names: TextNames
  /** Undefined for a shape all of whose events have text. */
  readonly byShape: Map<string, TextlessShape | undefined>
  /** Of all in `byShape`; undefined when some were added since it was made. */
  textless: Textless | undefined
}

export class TextlessShapes {
  readonly #postgres: Postgres
  readonly #looked = new LRUCache<StreamId, Looked>({
    maxSize: TEXTLESS_SHAPES_KEPT_MAX,
    sizeCalculation: ({ byShape }) => Math.max(1, byShape.size),
  })

  constructor(postgres: Postgres) {
    this.#postgres = postgres
  }

  /** In the order of `streams`. Throws `StoreError`. */
  async of(streams: readonly ShapesOfStream[]): Promise<Textless[]> {
    const looked = streams.map((stream) => this.#begin(stream))
    const missing = streams.flatMap(({ streamId, shapes }, index) => {
      const { byShape } = looked[index]!
      return shapes.filter((shape) => !byShape.has(shape)).map((shape) => ({ streamId, shape }))
    })
    if (missing.length > 0) await this.#look(missing, streams, looked)
    return looked.map((one) => (one.textless ??= mergeShapes(one.byShape)))
  }

  #begin({ streamId, names, shapes }: ShapesOfStream): Looked {
    const known = this.#looked.get(streamId)
    // Fewer shapes than are known: those of a stream's past were removed.
    const isSame = known?.names === names && known.byShape.size <= shapes.length
    const looked = isSame ? known : { names, byShape: new Map(), textless: undefined }
    this.#looked.set(streamId, looked)
    return looked
  }

  async #look(
    missing: readonly { readonly streamId: StreamId; readonly shape: string }[],
    streams: readonly ShapesOfStream[],
    looked: readonly Looked[],
  ): Promise<void> {
    const byStream = new Map(streams.map(({ streamId }, index) => [streamId, looked[index]!]))
    for (let at = 0; at < missing.length; at += READ_MAX) {
      if (at > 0) await immediate()
      const some = missing.slice(at, at + READ_MAX)
      const { rows } = await this.#postgres.query<Row>(READ_SQL, [
        some.map(({ streamId }) => streamId),
        some.map(({ shape }) => shape),
      ])
      for (const { stream_id: streamId, shape, paths } of rows) {
        const one = byStream.get(streamId)!
        one.byShape.set(shape, tryReadTextless(paths, one.names))
        one.textless = undefined
      }
    }
    // They have become larger. What is set again, as it is, keeps its size.
    for (const [streamId, one] of byStream) {
      if (this.#looked.peek(streamId) !== one) continue
      this.#looked.delete(streamId)
      this.#looked.set(streamId, one)
    }
  }
}

const READ_SQL = `
  SELECT stream_id, shape, paths FROM stream_shape_paths
  WHERE (stream_id, shape) IN (SELECT * FROM unnest($1::integer[], $2::text[]))`

interface Row {
  readonly stream_id: StreamId
  readonly shape: string
  /** JSON: pairs of path and type. */
  readonly paths: string
}

function tryReadTextless(paths: string, names: TextNames): TextlessShape | undefined {
  const leaves = JSON.parse(paths) as readonly (readonly [path: string, type: FieldType])[]
  return textlessOf(leaves, names)
}

/**
 * Undefined if every event with these leaves has a string in a text field. `doubtful`: text fields
 * that have a value of another type, too, in the same event: the last of duplicate keys counts.
 */
export function textlessOf(
  leaves: readonly (readonly [path: string, type: FieldType])[],
  names: TextNames,
): TextlessShape | undefined {
  const types = new Map<string, FieldType[]>()
  for (const [path, type] of leaves) types.set(path, [...(types.get(path) ?? []), type])
  const fields = [...types].map(([path, seen]): KnownField => ({ path, types: seen }))
  const known = new KnownFields(fields)
  const doubtful: string[] = []
  const strings: PathParts[] = []
  for (const parts of known.paths) {
    if (!parts.every(isFieldPath)) continue
    const { scalars, elements } = known.typesOf(parts)
    const isString = scalars.includes('String')
    if (!isString && !elements.includes('String')) continue
    strings.push(parts)
    const [path] = parts
    if (path === undefined || parts.length > 1 || !isString || !names.has(path)) continue
    const isCertain = types.get(path)!.every((type) => type === 'string' || type === 'null')
    // The catalog has this in place of what it cannot hold.
    if (isCertain && !path.includes('\ufffd')) return undefined
    doubtful.push(path)
  }
  return { doubtful, paths: strings }
}

/** What is known of all shapes, 16 hex digits each. */
export function mergeShapes(byShape: ReadonlyMap<string, TextlessShape | undefined>): Textless {
  const shapes: bigint[] = []
  const doubtful = new Set<string>()
  const paths = new Map<string, PathParts>()
  for (const [shape, textless] of byShape) {
    if (textless === undefined) continue
    shapes.push(BigInt(`0x${shape}`))
    for (const path of textless.doubtful) doubtful.add(path)
    for (const path of textless.paths) paths.set(catalogPath(path), path)
  }
  if (shapes.length === 0) return NO_TEXTLESS
  const sorted = [...paths].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, path]) => path)
  return { shapes, doubtful: [...doubtful].sort(), paths: sorted }
}
