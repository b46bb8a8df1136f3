/**
 * Counts of events by time, level and service, which the engine keeps beside each part of a
 * projection table ("projections" of its own). A count of whole units of time reads these instead
 * of rows, however many there are. They are written, merged and removed with their part, so they
 * are right wherever the part is; of a part that has none the engine counts the rows.
 *
 * A key of fixed size groups twice as fast at insert as strings do: levels go by a byte of a hash,
 * which differs for all that there are, services by a hash of 128 bits.
 */
import { CONTEXT_SERVICE_AT } from '../../model/projection.ts'
import { type ClickHousePlace, onShards } from '../clickhouse-place.ts'

/** One of the projections: the size of its units of time. */
export interface CountsUnit {
  readonly name: string
  readonly ms: number
  /** It counts by event times as well as by receipt. */
  readonly hasEventTime: boolean
}

/**
 * For histograms of short ranges and for the edges of long ones. By receipt alone: the events of a
 * second happened in very many others, and each would be a row.
 */
export const COUNTS_BY_SECOND: CountsUnit = {
  name: 'counts_by_second',
  ms: 1_000,
  hasEventTime: false,
}
export const COUNTS_BY_MINUTE: CountsUnit = {
  name: 'counts_minute',
  ms: 60_000,
  hasEventTime: true,
}

/** Finest first. Streams that share a table have too few events a second to count them so. */
export const OWN_COUNTS: readonly CountsUnit[] = [COUNTS_BY_SECOND, COUNTS_BY_MINUTE]
export const SHARED_COUNTS: readonly CountsUnit[] = [COUNTS_BY_MINUTE]

const MS_PER_SECOND = 1_000

/** The columns that rows are grouped by; `ingested_at` and `event_time` as numbers of units. */
export interface CountsKey {
  readonly ingested_at: string
  readonly event_time?: string
  readonly level: string
  readonly service: string
  readonly own: string
}

/**
 * Expressions of the key, as the engine must find them again in a query. Numbers of units since
 * 1970; those of event times are only right after 1970, as divisions round towards it.
 */
export function countsKey({ ms, hasEventTime }: CountsUnit): CountsKey {
  const units = (seconds: string) => {
    return ms === MS_PER_SECOND ? seconds : `intDiv(${seconds}, ${ms / MS_PER_SECOND})`
  }
  const happened = `toInt32(${units('toUnixTimestamp64Second(event_time)')})`
  return {
    ingested_at: units('toUnixTimestamp(ingested_at)'),
    ...(hasEventTime && { event_time: happened }),
    level: 'toUInt8(cityHash64(level))',
    service: 'sipHash128(service)',
    own: OWN_SERVICE,
  }
}

/** How a SELECT gets at the counts of a table. */
export interface CountsColumns {
  readonly from: string
  readonly key: CountsKey
  /** Aggregates, of a SELECT that groups by columns of the key. */
  readonly events: string
  any(label: 'level' | 'service'): string
}

/**
 * Of the table's rows: the engine finds by itself that it has their counts, which takes it 4 ms a
 * SELECT, and counts the rows of parts that lack them.
 */
export function countsOfRows(table: string, unit: CountsUnit): CountsColumns {
  return { from: table, key: countsKey(unit), events: 'count()', any: (label) => `any(${label})` }
}

/**
 * The counts by themselves, in 1.5 ms: only where each part has them. Columns are called by their
 * expressions, as the engine writes them.
 */
export function countsAlone(
  place: ClickHousePlace,
  table: string,
  unit: CountsUnit,
): CountsColumns {
  const key = countsKey(unit)
  return {
    from: onShards(place, `mergeTreeProjection(${place.database}, ${table}, ${unit.name})`),
    key: {
      ingested_at: quoteName(key.ingested_at),
      ...(key.event_time !== undefined && { event_time: quoteName(key.event_time) }),
      level: quoteName(key.level),
      service: quoteName(key.service),
      own: quoteName(key.own),
    },
    events: 'countMerge(`count()`)',
    any: (label) => `anyMerge(\`any(${label})\`)`,
  }
}

/** None of ours has a backtick. */
function quoteName(expression: string): string {
  return `\`${expression}\``
}

/**
 * What the event's own fields say of its service (`model/projection.ts`): the same as the column
 * `service`, nothing, or something else. Written so that the engine does not rewrite it in queries,
 * as it would not find it again, and in functions, as it calls the column.
 */
const OWN_SERVICE =
  'multiIf(or(empty(context), ' +
  `equals(substring(context, ${CONTEXT_SERVICE_AT + 1}), service)), 0, ` +
  `lessOrEquals(length(context), ${CONTEXT_SERVICE_AT}), 1, 2)`
export const OWN_SERVICE_IS_LABEL = 0
export const OWN_SERVICE_IS_OTHER = 2

/** What follows ADD in an ALTER, `when` with IF NOT EXISTS, or is among a CREATE's columns. */
export function countsSql(unit: CountsUnit, isShared: boolean, when = ''): string {
  const key = Object.entries(countsKey(unit))
  const keys = key.map(([name, sql]) => `${sql} AS key_${name}`)
  const names = key.map(([name]) => `key_${name}`)
  const stream = isShared ? 'stream_id, ' : ''
  return (
    `PROJECTION ${when}${unit.name} (SELECT ${stream}${keys.join(', ')}, ` +
    `count(), any(level), any(service) GROUP BY ${stream}${names.join(', ')})`
  )
}

/** Of ours, of an earlier form; `name` is that of a projection in a table. */
export function isOutdatedCounts(name: string, wanted: readonly CountsUnit[]): boolean {
  return /^counts_[a-z_]+$/.test(name) && wanted.every((unit) => unit.name !== name)
}
