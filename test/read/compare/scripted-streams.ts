/** Scenarios in the real engine's table, one after another in time, and comparisons of them. */

import { type Scenario, scriptedEvent } from '../../../bench/compare/scenarios.ts'
import type { ScalarType } from '../../../src/model/field-catalog.ts'
import { makeSegmentId, type SegmentId } from '../../../src/model/segment-id.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { readAggregateRequest } from '../../../src/read/aggregate/aggregate-request.ts'
import { type CompareDeps, compare } from '../../../src/read/compare/compare.ts'
import { readCompareRequest } from '../../../src/read/compare/compare-request.ts'
import type { ClickHouse } from '../../../src/store/clickhouse.ts'
import { ProjectionTables } from '../../../src/store/projection/compile/projection-tables.ts'
import { createTableSql, projectionTable } from '../../../src/store/projection/projection-store.ts'
import { AggregateStore } from '../../../src/store/projection/reads/aggregate-store.ts'
import { CompareStore } from '../../../src/store/projection/reads/compare-store.ts'
import { learnedCatalog } from '../../store/projection/compile/test-catalog.ts'
import { createRandom } from '../../support/random.ts'

const HOUR_MS = 3_600_000
export const START_MS = Date.parse('2026-01-01T00:00:00Z')

export interface ComparedFinding {
  readonly text: string
  readonly kind: string
  readonly direction: string
  readonly query: string
  readonly window: { readonly count: number }
  readonly baseline: { readonly count: number }
  readonly same: readonly string[]
  readonly also: readonly string[]
  readonly examples: readonly { readonly stream: string; readonly id: string }[]
}

export interface ComparedAnswer {
  readonly findings: readonly ComparedFinding[]
  readonly whole: { readonly text: string; readonly factor: number | null }
  readonly looked_at: { readonly events: number; readonly fields: readonly string[] }
  readonly left_out: { readonly names: readonly string[] }
  readonly estimated: boolean
  readonly complete: boolean
}

/** The two hours of the scenario with this place in the list. */
export function hoursOf(index: number) {
  const at = (hours: number) => new Date(START_MS + hours * HOUR_MS).toISOString()
  return {
    window: { from: at(2 * index + 1), to: at(2 * index + 2) },
    baseline: { from: at(2 * index), to: at(2 * index + 1) },
  }
}

export class ScriptedStreams {
  readonly #clickhouse: ClickHouse
  readonly #deps: CompareDeps
  readonly #types = new Map<string, Set<ScalarType>>()
  readonly streamId: StreamId

  constructor(clickhouse: ClickHouse, streamId: StreamId) {
    this.#clickhouse = clickhouse
    this.streamId = streamId
    const tables = new ProjectionTables(clickhouse)
    const aggregates = new AggregateStore(clickhouse, tables)
    const compared = new CompareStore(clickhouse, tables)
    this.#deps = {
      openStreams: async () => ({ sources: [this.source], asOfMs: Date.now() }),
      compareTotal: aggregates.run.bind(aggregates),
      compareKinds: compared.kinds.bind(compared),
      compareValues: compared.count.bind(compared),
      compareMasks: compared.masks.bind(compared),
      nowMs: Date.now,
    }
  }

  /** Everything is learned. */
  get source() {
    const types = Object.fromEntries(
      [...this.#types].map(([path, scalars]) => [path, { scalars: [...scalars] }]),
    )
    const catalog = learnedCatalog(this.streamId, ['message'], types)
    return { streamId: this.streamId, catalog, removedBefore: 0n as SegmentId }
  }

  /** So many events in each baseline. */
  async fill(scenarios: readonly Scenario[], events: number, seed = 1): Promise<void> {
    const { next } = createRandom(seed)
    const lines = scenarios.flatMap((scenario, index) => {
      const inWindow = Math.round(events * (scenario.traffic ?? 1))
      return Array.from({ length: events + inWindow }, (_, number) => {
        const isWindow = number >= events
        const at = isWindow ? (number - events) / inWindow : number / events
        const ms = START_MS + Math.floor((2 * index + (isWindow ? 1 : 0) + at) * HOUR_MS)
        return this.#line(scriptedEvent(scenario, { isWindow, at, number }, next), ms, number)
      })
    })
    const table = projectionTable(this.#clickhouse.database, this.streamId)
    await this.#clickhouse.command(createTableSql(this.#clickhouse.database, this.streamId))
    const columns = 'segment_id, ordinal, ingested_at, event_time, shape, level, service, payload'
    const settings = {
      input_format_try_infer_dates: 0,
      input_format_try_infer_datetimes: 0,
    } as const
    const sql = `INSERT INTO ${table} (${columns}) FORMAT TSV`
    await this.#clickhouse.insertNative(sql, [Buffer.from(lines.join(''))], { settings })
  }

  /** Events of a range that a query means. */
  async count(query: string, range: { readonly from: string; readonly to: string }) {
    const request = readAggregateRequest({ query, ...range }, Date.now())
    const { total } = await this.#deps.compareTotal({ ...request, streams: [this.source] })
    return Number(total)
  }

  async compare(body: Readonly<Record<string, unknown>>): Promise<ComparedAnswer> {
    const request = readCompareRequest(body, Date.now())
    const signal = new AbortController().signal
    return JSON.parse(await compare(this.#deps, request, [], signal)) as ComparedAnswer
  }

  #line(event: Readonly<Record<string, unknown>>, ms: number, ordinal: number): string {
    for (const [name, value] of Object.entries(event)) this.#learn(name, value)
    const at = new Date(ms).toISOString().replace('T', ' ').replace('Z', '')
    const shape = Object.keys(event).length
    const id = makeSegmentId({ ms, node: 1, counter: 0 })
    const payload = JSON.stringify(event).replaceAll('\\', '\\\\')
    return `${[id, ordinal, at, at, shape, event.level, event.service, payload].join('\t')}\n`
  }

  #learn(name: string, value: unknown): void {
    const type =
      typeof value === 'string' ? 'String' : Number.isInteger(value) ? 'Int64' : 'Float64'
    const known = this.#types.get(name) ?? new Set()
    this.#types.set(name, known.add(type))
  }
}
