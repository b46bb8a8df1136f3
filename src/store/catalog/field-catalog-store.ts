/**
 * The field catalogs that queries are compiled with, from what observe has written.
 *
 * They are read in one snapshot. A node's checkpoint is written together with what it learned, so
 * the fields cover all segments up to it; about the rows of shapes that are counted but not
 * described the catalog asserts nothing. So an answer never depends on how far observe is behind,
 * nor on how old a cached catalog is: for rows that the catalog does not cover, queries read all
 * types.
 */
import { LRUCache } from 'lru-cache'
import {
  type FieldCatalog,
  type LearnedRows,
  NOTHING_LEARNED,
  type Textless,
} from '../../model/field-catalog.ts'
import { isFieldPath } from '../../model/field-path.ts'
import { FIELD_TYPES, type FieldType } from '../../model/schema.ts'
import { type SegmentId, segmentIdAt, segmentIdMs } from '../../model/segment-id.ts'
import type { NodeMarks } from '../../model/segment-place.ts'
import type { Stream, StreamId } from '../../model/stream.ts'
import { TextNames } from '../../model/text-fields.ts'
import type { Postgres } from '../postgres.ts'
import { type KnownField, KnownFields } from './known-fields.ts'
import { TextlessShapes } from './textless-shapes.ts'

/** How long what is known of a stream's fields serves queries before it is read again. */
export const CATALOG_CACHE_MS = 1_000
/** Fields of streams that are remembered so; past it the longest unread are forgotten. */
export const CATALOG_CACHE_FIELDS_MAX = 100_000

/** What a query needs to know about a stream. */
export type CatalogStream = Pick<Stream, 'streamId' | 'textFields'>

interface Known {
  readonly fields: KnownFields
  readonly isPartial: boolean
  readonly learned: LearnedRows
  readonly observed: NodeMarks
  /** Those that are described. */
  readonly shapes: readonly string[]
  readonly readAtMs: number
}

/** Settings of text fields that are kept read: most streams have the same. */
const SETTINGS_KEPT_MAX = 1_000

/** Nodes further behind the first than this are not waited for: they get a time of their own. */
const BEHIND_MS = 3_000

export class FieldCatalogStore {
  readonly #postgres: Postgres
  readonly #nowMs: () => number
  readonly #known = new LRUCache<StreamId, Known>({
    maxSize: CATALOG_CACHE_FIELDS_MAX,
    sizeCalculation: ({ fields }) => fields.count + 1,
  })
  readonly #textless: TextlessShapes
  readonly #names = new LRUCache<string, TextNames>({ max: SETTINGS_KEPT_MAX })

  constructor(postgres: Postgres, nowMs: () => number = () => performance.now()) {
    this.#postgres = postgres
    this.#textless = new TextlessShapes(postgres)
    this.#nowMs = nowMs
  }

  /** In the order of `streams`, each at most CATALOG_CACHE_MS old. Throws `StoreError`. */
  async load(streams: readonly CatalogStream[]): Promise<FieldCatalog[]> {
    const nowMs = this.#nowMs()
    const found = new Map<StreamId, Known>()
    for (const { streamId } of streams) {
      const known = this.#known.get(streamId)
      if (known !== undefined && nowMs - known.readAtMs < CATALOG_CACHE_MS) {
        found.set(streamId, known)
      }
    }
    const missing = streams.flatMap(({ streamId }) => (found.has(streamId) ? [] : [streamId]))
    if (missing.length > 0) {
      for (const [streamId, known] of await this.#read(missing)) {
        found.set(streamId, known)
        this.#known.set(streamId, known)
      }
    }
    const asked = streams.map(({ streamId, textFields }) => {
      const { shapes } = found.get(streamId)!
      return { streamId, names: this.#namesOf(textFields), shapes }
    })
    const textless = await this.#textless.of(asked)
    return streams.map((stream, index) => {
      const text = { names: asked[index]!.names, textless: textless[index]! }
      return toCatalog(stream, found.get(stream.streamId)!, text)
    })
  }

  #namesOf(setting: readonly string[]): TextNames {
    const key = JSON.stringify(setting)
    const names = this.#names.get(key) ?? new TextNames(setting)
    this.#names.set(key, names)
    return names
  }

  async #read(streamIds: readonly StreamId[]): Promise<Map<StreamId, Known>> {
    const readAtMs = this.#nowMs()
    const { rows } = await this.#postgres.query<Row>(READ_SQL, [streamIds])
    const observed = new Map<number, SegmentId>()
    const states = new Map<StreamId, StreamState>()
    const fields = new Map(streamIds.map((streamId) => [streamId, [] as KnownField[]]))
    const large = new Map(streamIds.map((streamId) => [streamId, new Set<string>()]))
    const shapes = new Map<StreamId, readonly string[]>()
    for (const { kind, id, text, number } of rows) {
      const streamId = id as StreamId
      if (kind === 'node') observed.set(id, BigInt(text ?? '0') as SegmentId)
      else if (kind === 'shapes') shapes.set(streamId, (text ?? '').split(','))
      else if (kind === 'large') large.get(streamId)?.add(text ?? '')
      else if (kind === 'field') {
        fields.get(streamId)?.push({ path: text ?? '', types: typesOfBits(number) })
      } else {
        const undescribedMs = text === null ? undefined : Number(text)
        states.set(streamId, { isPartial: number > 0, undescribedMs })
      }
    }
    const learned = learnedBy(observed)
    return new Map(
      streamIds.map((streamId) => {
        const state = states.get(streamId)
        const known: Known = {
          fields: new KnownFields(fields.get(streamId) ?? [], large.get(streamId)),
          isPartial: state?.isPartial ?? false,
          learned: state === undefined ? learned : learnedOf(state, learned),
          observed: observedOf(state, observed),
          shapes: shapes.get(streamId) ?? [],
          readAtMs,
        }
        return [streamId, known]
      }),
    )
  }
}

const TYPE_BITS = FIELD_TYPES.map((type, bit) => `((seen_${type}_ms > 0)::integer << ${bit})`)

/**
 * How far each node has learned, over all streams; the streams ($1) with when a shape that is
 * counted but not described was first seen; their described shapes; and their fields. In one
 * statement, so in one snapshot.
 */
const READ_SQL = `
  SELECT 'node' AS kind, node_id AS id, COALESCE(c.segment_id, 0)::text AS text, 0 AS number
  FROM (SELECT node_id FROM nodes UNION SELECT node_id FROM observe_checkpoints) AS n
  LEFT JOIN observe_checkpoints AS c USING (node_id)
  UNION ALL
  SELECT 'stream', stream_id,
    (SELECT min(first_seen_ms)::text FROM stream_shapes AS h
     LEFT JOIN stream_shape_paths AS p USING (stream_id, shape)
     WHERE h.stream_id = s.stream_id AND p.shape IS NULL), is_partial::integer
  FROM stream_schemas AS s WHERE stream_id = ANY ($1)
  UNION ALL
  SELECT 'large', stream_id, unnest(large_paths), 0
  FROM stream_schemas WHERE stream_id = ANY ($1)
  UNION ALL
  SELECT 'shapes', stream_id, string_agg(shape, ','), 0 FROM stream_shape_paths
  WHERE stream_id = ANY ($1) GROUP BY stream_id
  UNION ALL
  SELECT 'field', stream_id, path,
    CASE WHEN resolved_ms > 0 THEN 0 ELSE ${TYPE_BITS.join(' | ')} END
  FROM stream_fields WHERE stream_id = ANY ($1)`

interface Row {
  readonly kind: 'node' | 'stream' | 'large' | 'shapes' | 'field'
  readonly id: number
  /** Of a node its segment, of a stream milliseconds, of a field its path; or all shapes. */
  readonly text: string | null
  /** Of a stream whether it is partial, of a field its types. */
  readonly number: number
}

interface StreamState {
  readonly isPartial: boolean
  readonly undescribedMs: number | undefined
}

/** One array for each set of types. */
const TYPES = Array.from({ length: 1 << FIELD_TYPES.length }, (_, bits): readonly FieldType[] => {
  return FIELD_TYPES.filter((_type, bit) => (bits & (1 << bit)) !== 0)
})

function typesOfBits(bits: number): readonly FieldType[] {
  return TYPES[bits] ?? []
}

/** Up to where all nodes have learned. */
function learnedBy(observed: NodeMarks): LearnedRows {
  const nodes = [...observed].map(([nodeId, segmentId]) => {
    // A later segment may have come in the same millisecond.
    return { nodeId, untilMs: segmentIdMs(segmentId) }
  })
  const first = Math.max(0, ...nodes.map(({ untilMs }) => untilMs))
  const behind = nodes.filter(({ untilMs }) => untilMs < first - BEHIND_MS)
  const others = nodes.filter((node) => !behind.includes(node))
  return {
    untilMs: Math.min(first, ...others.map(({ untilMs }) => untilMs)),
    behind,
    upTo: observed,
  }
}

function learnedOf({ isPartial, undescribedMs }: StreamState, learned: LearnedRows): LearnedRows {
  if (isPartial) return NOTHING_LEARNED
  if (undescribedMs === undefined) return learned
  const untilMs = Math.min(learned.untilMs, undescribedMs)
  return { ...learned, untilMs, upTo: NOTHING_LEARNED.upTo }
}

/** Paths of a shape that is counted but not described may not be known. */
function observedOf(state: StreamState | undefined, observed: NodeMarks): NodeMarks {
  if (state?.undescribedMs === undefined) return observed
  const last = (segmentIdAt(state.undescribedMs) - 1n) as SegmentId
  return new Map([...observed].map(([node, segment]) => [node, segment < last ? segment : last]))
}

function toCatalog(
  { streamId, textFields }: CatalogStream,
  known: Known,
  text: { readonly names: TextNames; readonly textless: Textless },
): FieldCatalog {
  const { fields, isPartial, learned, observed } = known
  return {
    streamId,
    learned,
    observed,
    textFields,
    textNames: text.names,
    textPaths: textPathsOf(fields, text.names),
    textless: text.textless,
    isPartial,
    paths: fields.paths,
    typesOf: (path) => fields.typesOf(path),
  }
}

/** The text fields outside of arrays of objects. */
export function textPathsOf({ paths }: KnownFields, names: TextNames): readonly string[] {
  return paths.flatMap((parts) => {
    const [path] = parts
    const isText = parts.length === 1 && path !== undefined && names.has(path) && isFieldPath(path)
    return isText ? [path] : []
  })
}
