/** Random events in tables of the real engine, and what a catalog knows of them. */
import type { FieldCatalog, ScalarType } from '../../../../src/model/field-catalog.ts'
import { MIXED_STREAM } from '../../../../src/model/mixed-runs.ts'
import { makeSegmentId } from '../../../../src/model/segment-id.ts'
import type { StreamId } from '../../../../src/model/stream.ts'
import type { ClickHouse } from '../../../../src/store/clickhouse.ts'
import {
  createTableSql,
  projectionTable,
} from '../../../../src/store/projection/projection-store.ts'
import { createRandom } from '../../../support/random.ts'
import { learnedCatalog } from '../compile/test-catalog.ts'
import type { PlainEvent } from './naive-aggregate.ts'

export const FROM_MS = Date.parse('2026-01-01T00:00:00Z')
export const MINUTE_MS = 60_000

const VALUES = [
  ...['1', '1.0', '"1"', '2', '2.5', '-7', '0', '-0.0', 'true', 'false', 'null', '{}', '"x"', '""'],
  ...['9007199254740993', '9007199254740992', '9007199254740992.0', '18446744073709551615'],
  ...['-9223372036854775808', '1e300', '1e19', '"é\\"\\n"', '"1.0"', '[1,2]', '["a"]'],
]
export const TYPES: Readonly<Record<string, readonly string[]>> = {
  string: ['"a"', '"b"', '"c"', '""'],
  integer: ['1', '2', '3', '40', '9007199254740993'],
  number: ['1', '1.0', '1.5', '2', '-3'],
  mixed: VALUES,
}
const LEVELS = ['info', 'warn', 'error', '']

export interface Random {
  below(end: number): number
  pick<T>(values: readonly T[]): T
}

export function randomEvents(random: Random, stream: number, count: number): PlainEvent[] {
  return Array.from({ length: count }, () => {
    const fields: Record<string, string> = {}
    for (const [name, values] of Object.entries(TYPES)) {
      if (random.below(5) > 0) fields[name] = random.pick(values)
    }
    const ms = FROM_MS + random.below(60 * MINUTE_MS)
    return { stream, ms, level: random.pick(LEVELS), fields }
  })
}

/** Into the table of a stream, or the one that several share. */
export async function insert(
  clickhouse: ClickHouse,
  table: StreamId,
  events: readonly PlainEvent[],
): Promise<void> {
  await clickhouse.command(createTableSql(clickhouse.database, table))
  const isMixed = table === MIXED_STREAM
  const lines = events.map(({ stream, ms, level, fields }, ordinal) => {
    const payload = `{${Object.entries(fields).map(([name, json]) => `"${name}":${json}`)}}`
    const at = new Date(ms).toISOString().replace('T', ' ').replace('Z', '')
    const id = makeSegmentId({ ms, node: 1, counter: 0 })
    const row = [id, ordinal, at, at, 255, level, payload.replaceAll('\\', '\\\\')]
    return `${[...(isMixed ? [stream] : []), ...row].join('\t')}\n`
  })
  const columns = `${isMixed ? 'stream_id, ' : ''}segment_id, ordinal, ingested_at, event_time`
  const into = projectionTable(clickhouse.database, table)
  const sql = `INSERT INTO ${into} (${columns}, shape, level, payload) FORMAT TSV`
  const settings = { input_format_try_infer_dates: 0, input_format_try_infer_datetimes: 0 } as const
  await clickhouse.insertNative(sql, [Buffer.from(lines.join(''))], { settings })
}

/** What those events have; learned of up to `untilMs`. */
export function catalogOf(
  stream: StreamId,
  events: readonly PlainEvent[],
  untilMs: number,
): FieldCatalog {
  const known = events.filter((event) => event.stream === stream && event.ms < untilMs)
  const types = new Map<string, Set<ScalarType>>()
  const arrays = new Set<string>()
  for (const [name, json] of known.flatMap(({ fields }) => Object.entries(fields))) {
    if (json.startsWith('[')) arrays.add(name)
    if (/^[[{n]/.test(json)) continue
    const found = types.get(name) ?? new Set()
    types.set(name, found.add(typeOf(json)))
  }
  const named = Object.keys(TYPES).map((name) => {
    const scalars = [...(types.get(name) ?? [])]
    const elements = arrays.has(name) ? (['Int64', 'String'] as const) : []
    return [name, { scalars, elements }] as const
  })
  const catalog = learnedCatalog(stream, [], Object.fromEntries(named))
  return { ...catalog, learned: { ...catalog.learned, untilMs } }
}

function typeOf(json: string): ScalarType {
  if (json.startsWith('"')) return 'String'
  if (json === 'true' || json === 'false') return 'Bool'
  if (!/^-?[0-9]+$/.test(json)) return 'Float64'
  const value = BigInt(json)
  if (value < 2n ** 63n) return 'Int64'
  return value < 2n ** 64n ? 'UInt64' : 'Float64'
}

/** Printed with its seed. */
export function startRandom(): Random {
  const { next, seed } = createRandom()
  console.log(`TEST_SEED=${seed}`)
  const below = (end: number) => Math.floor(next() * end)
  return { below, pick: (values) => values[below(values.length)]! }
}
