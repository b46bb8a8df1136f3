/**
 * The form of a stream's own table: how its parts are laid out and which indexes they have.
 *
 * A path of the payload costs a query 50 to 90 ns a row in a compact part and 5 to 10 in a wide
 * one, which has 8 to 10 files for each path. So inserts of WIDE_ROWS_MIN rows become wide parts at
 * once, small ones become compact parts that are merged into wide ones, and a stream of very many
 * paths has compact parts only: making wide parts of it takes more memory than there is.
 *
 * An index's name says since which block of its table inserts have made it (in a cluster: since
 * which second); earlier parts may lack it. So the table alone shows what is left to be done.
 */
import { createHash } from 'node:crypto'
import { BARE_PART_BYTES_MIN, MERGE_CROWDED_BYTES_MAX, WIDE_ROWS_MIN } from '../../limits.ts'
import { NO_NEEDS, type TableNeeds } from '../../model/table-needs.ts'
import { idIndexExpression, TEXT_INDEX_TYPE, textIndexExpression } from './text-index.ts'

/** Seconds after which parts of a table of wide parts are merged however few they are. */
export const MERGE_AGE_S = 60
/** Parts that a merge takes at most: each takes memory. */
export const MERGE_PARTS_AT_ONCE_MAX = 30
/** Text fields of a stream that have an index. */
export const TEXT_INDEXES_MAX = 11
/** Fields of identifiers that have one. */
export const ID_INDEXES_MAX = 4

export interface TableIndex {
  /** Made from its kind, expression and type; its name begins with this. */
  readonly key: string
  readonly expression: string
  readonly type: string
}

/** Values as SQL. */
export type FormSettings = Readonly<Record<string, number | string>>

const FILTER_TYPE = 'bloom_filter(0.01) GRANULARITY 1'
/** Shapes of 16,384 rows: with more distinct shapes than this, the index keeps nothing. */
const SHAPES_TYPE = 'set(256) GRANULARITY 1'
/** Old events that are sent today make no range of event times read all of today. */
const TIMES_TYPE = 'minmax GRANULARITY 1'
const NAME = /^((?:text|id|shape|time)_[0-9a-f]{10})_([0-9]{1,18})$/

/**
 * ZSTD at its lowest level takes two fifths less space than LZ4, a tenth more of the engine's time
 * at insert, and scans take up to 1.4 times as long.
 */
const EVERY: FormSettings = { default_compression_codec: "'ZSTD(1)'" }
/**
 * Parts that are old enough are merged however few they are, up to the table's bound. Not in tables
 * of many paths: their parts would not become faster to read.
 */
const WIDE: FormSettings = {
  ...EVERY,
  min_rows_for_wide_part: WIDE_ROWS_MIN,
  min_bytes_for_wide_part: 1024 * 1024,
  min_age_to_force_merge_seconds: MERGE_AGE_S,
  max_parts_to_merge_at_once: MERGE_PARTS_AT_ONCE_MAX,
}
const COMPACT: FormSettings = {
  ...EVERY,
  min_rows_for_wide_part: 100_000_000,
  min_bytes_for_wide_part: 1024 * 1024 * 1024,
  min_age_to_force_merge_seconds: 0,
  max_parts_to_merge_at_once: 100,
}

/** Settings that tables of few paths and of many differ in. */
export function formSettings({ isWide }: Pick<TableNeeds, 'isWide'>): FormSettings {
  return isWide ? WIDE : COMPACT
}

export const COMPACT_SETTINGS = settingsSql(formSettings(NO_NEEDS))
/** What `engine_full` has of a table whose large parts are wide. */
export const WIDE_MARK = `min_rows_for_wide_part = ${WIDE_ROWS_MIN},`

/** For `system.parts AS p` of a table of wide parts: whether merging would make the part wide. */
export const IS_NARROW = `part_type = 'Compact' AND p.rows >= ${WIDE_ROWS_MIN}
  AND bytes_on_disk < ${MERGE_CROWDED_BYTES_MAX / 2}`

/**
 * For `system.parts AS p`: a part without indexes that is so large that no merge may ever make
 * them: inserted with less than INDEXED_INSERT_BYTES_MIN, and hardly compressed.
 */
export const IS_BARE = `secondary_indices_compressed_bytes = 0
  AND bytes_on_disk >= ${BARE_PART_BYTES_MIN}`

export function settingsSql(settings: FormSettings): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name} = ${value}`)
    .join(', ')
}

/** The wanted settings that differ from the table's, as `engine_full` has them. */
export function otherSettings(engineFull: string, wanted: FormSettings): FormSettings {
  const other = Object.entries(wanted).filter(([name, value]) => {
    return !`${engineFull},`.includes(` ${name} = ${value},`)
  })
  return Object.fromEntries(other)
}

/** The indexes that a table should have. */
export function wantedIndexes({ textPaths, idPaths }: TableNeeds): TableIndex[] {
  const texts = textPaths.slice(0, TEXT_INDEXES_MAX).map((path) => {
    return index('text', textIndexExpression(path), TEXT_INDEX_TYPE)
  })
  const ids = idPaths.slice(0, ID_INDEXES_MAX).map((path) => {
    return index('id', idIndexExpression(path), FILTER_TYPE)
  })
  return [
    index('shape', 'shape', SHAPES_TYPE),
    index('time', 'event_time', TIMES_TYPE),
    ...texts,
    ...ids,
  ]
}

/** `since`: inserts with higher block numbers make the index. */
export function addIndexSql({ key, expression, type }: TableIndex, since: bigint): string {
  return `ADD INDEX IF NOT EXISTS ${key}_${since} ${expression} TYPE ${type}`
}

/** The key and block of one of our indexes; undefined for an index that somebody else made. */
export function tryParseIndexName(name: string): { key: string; since: bigint } | undefined {
  const [, key, since] = NAME.exec(name) ?? []
  return key === undefined || since === undefined ? undefined : { key, since: BigInt(since) }
}

function index(
  kind: 'text' | 'id' | 'shape' | 'time',
  expression: string,
  type: string,
): TableIndex {
  const digest = createHash('sha256').update(`${expression} ${type}`).digest('hex')
  return { key: `${kind}_${digest.slice(0, 10)}`, expression, type }
}
