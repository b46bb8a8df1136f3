/**
 * The answer to an aggregating query, as JSON text: results keep all their digits, which they would
 * not with `JSON.stringify`. Buckets without events are filled in.
 */
import type {
  AggregateResult,
  AggregateRow,
} from '../../store/projection/aggregate/aggregate-store.ts'
import { type Honesty, honestMembers } from '../honest-answer.ts'
import { type Aggregate, type AggregateRequest, bucketsOf } from './aggregate-request.ts'
import { bucketSeconds, bucketTime, formatStep } from './buckets.ts'
import { groupJson } from './group-json.ts'

const NS_PER_SECOND = 1e9

export function aggregateJson(
  request: AggregateRequest,
  result: AggregateResult,
  honesty: Honesty,
  elapsedMs: number,
): string {
  const writer = new RowWriter(request)
  const { rows, total, groups, isEstimated, stats } = result
  const shown = writer.rows(rows.filter(({ isOthers }) => !isOthers))
  const others = rows.filter(({ isOthers }) => isOthers)
  const buckets = bucketsOf(request)
  const tail = {
    groups,
    estimated: isEstimated,
    bucket: buckets === undefined ? null : formatStep(buckets.stepMs),
    bucket_ms: buckets?.stepMs ?? null,
    ...honestMembers(honesty),
    stats: {
      elapsed_ms: Math.round(elapsedMs * 10) / 10,
      engine_ms: Math.round(stats.engineMs * 10) / 10,
      rows_read: stats.rowsRead,
    },
  }
  const told = request.hasOthers && others.length > 0 ? writer.series(others, []) : []
  const head = `"rows":[${shown.join(',')}],"others":[${told.join(',')}],"total":${total}`
  return `{${head},${JSON.stringify(tail).slice(1)}`
}

class RowWriter {
  readonly #request: AggregateRequest

  constructor(request: AggregateRequest) {
    this.#request = request
  }

  rows(rows: readonly AggregateRow[]): string[] {
    const { keys } = this.#request
    if (keys.length === 0) return [this.#row([], rows[0], undefined)]
    if (keys.every(({ kind }) => kind === 'bucket')) return this.series(rows, [])
    const groups: AggregateRow[][] = []
    for (const row of rows) {
      const last = groups.at(-1)
      if (last !== undefined && isSameGroup(last[0]!, row)) last.push(row)
      else groups.push([row])
    }
    return groups.flatMap((series) => this.series(series, this.#groupMembers(series[0]!)))
  }

  /** The rows of one group: one for each bucket, in their order. */
  series(rows: readonly AggregateRow[], members: readonly string[]): string[] {
    const buckets = bucketsOf(this.#request)
    if (buckets === undefined) return rows.map((row) => this.#row(members, row, undefined))
    const byBucket = new Map(rows.map((row) => [row.bucket, row]))
    return Array.from({ length: buckets.count }, (_, index) => {
      return this.#row(members, byBucket.get(index), index)
    })
  }

  #groupMembers({ group }: AggregateRow): string[] {
    const fields = this.#request.keys.filter(({ kind }) => kind !== 'bucket')
    return fields.map(({ name }, index) => `${JSON.stringify(name)}:${groupJson(group[index]!)}`)
  }

  #row(
    members: readonly string[],
    row: AggregateRow | undefined,
    bucket: number | undefined,
  ): string {
    const buckets = bucketsOf(this.#request)
    const time =
      buckets === undefined || bucket === undefined
        ? []
        : [`"_bucket":"${bucketTime(buckets, bucket)}"`]
    const values = this.#request.aggregates.map((aggregate, index) => {
      const value = this.#value(aggregate, row?.values[index], bucket)
      return `${JSON.stringify(aggregate.name)}:${value}`
    })
    return `{${[...members, ...time, ...values].join(',')}}`
  }

  #value({ fn }: Aggregate, value: string | undefined, bucket: number | undefined): string {
    if (value === undefined) return fn === 'count' || fn === 'rate' || fn === 'uniq' ? '0' : 'null'
    return fn === 'rate' ? String(Number(value) / this.#seconds(bucket)) : value
  }

  #seconds(bucket: number | undefined): number {
    const buckets = bucketsOf(this.#request)
    const { fromNs, toNs } = this.#request
    if (buckets === undefined || bucket === undefined) return Number(toNs - fromNs) / NS_PER_SECOND
    return bucketSeconds(buckets, bucket, this.#request)
  }
}

function isSameGroup(a: AggregateRow, b: AggregateRow): boolean {
  return a.group.every(({ kind, text }, index) => {
    return kind === b.group[index]?.kind && text === b.group[index]?.text
  })
}
