/**
 * The answer to an aggregating query, as JSON text: results keep all their digits, which they would
 * not with `JSON.stringify`. Buckets without events are filled in.
 */

import type { AggregateResult, AggregateRow } from '../../store/projection/reads/aggregate-store.ts'
import type { Aggregate } from '../../store/projection/reads/parts.ts'
import { type Honesty, honestMembers } from '../answer-coverage.ts'
import { type AggregateRequest, bucketsOf, LEFT_OUT } from './aggregate-request.ts'
import { bucketMembers, bucketSeconds, bucketTime } from './buckets.ts'
import { groupJson } from './group-json.ts'

const NS_PER_SECOND = 1e9

export function* aggregateJson(
  request: AggregateRequest,
  result: AggregateResult,
  honesty: Honesty,
  elapsedMs: number,
): Generator<string> {
  const writer = new RowWriter(request)
  const { rows, total, groups, isEstimated, missedMax, stats } = result
  yield '{"rows":['
  yield* withCommas(writer.rows(rows.filter(({ isOthers }) => !isOthers)))
  yield '],"others":['
  const others = rows.filter(({ isOthers }) => isOthers)
  const buckets = bucketsOf(request)
  const tail = {
    groups,
    estimated: isEstimated,
    missed_max: missedMax ?? null,
    ...bucketMembers(buckets),
    ...honestMembers(honesty),
    stats: {
      elapsed_ms: Math.round(elapsedMs * 10) / 10,
      engine_ms: Math.round(stats.engineMs * 10) / 10,
      rows_read: stats.rowsRead,
    },
  }
  if (request.hasOthers && others.length > 0) yield* withCommas(writer.series(others, []))
  yield `],"total":${total},${JSON.stringify(tail).slice(1)}`
}

function* withCommas(texts: Iterable<string>): Generator<string> {
  let comma = ''
  for (const text of texts) {
    yield `${comma}${text}`
    comma = ','
  }
}

class RowWriter {
  readonly #request: AggregateRequest

  constructor(request: AggregateRequest) {
    this.#request = request
  }

  *rows(rows: readonly AggregateRow[]): Generator<string> {
    const { keys } = this.#request
    if (keys.length === 0) return yield this.#row([], rows[0], undefined)
    if (keys.every(({ kind }) => kind === 'bucket')) return yield* this.series(rows, [])
    for (let start = 0; start < rows.length; ) {
      const first = rows[start]!
      let end = start + 1
      while (end < rows.length && isSameGroup(first, rows[end]!)) end++
      yield* this.series(rows.slice(start, end), this.#groupMembers(first))
      start = end
    }
  }

  /** The rows of one group: one for each bucket, in their order. */
  *series(rows: readonly AggregateRow[], members: readonly string[]): Generator<string> {
    const buckets = bucketsOf(this.#request)
    if (buckets === undefined) {
      for (const row of rows) yield this.#row(members, row, undefined)
      return
    }
    const byBucket = new Map(rows.map((row) => [row.bucket, row]))
    for (let index = 0; index < buckets.count; index++) {
      yield this.#row(members, byBucket.get(index), index)
    }
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
    return `{${[...members, ...time, ...values, ...this.#leftOut(row)].join(',')}}`
  }

  /** By the names of aggregates, where values were left out that are no numbers. */
  #leftOut(row: AggregateRow | undefined): string[] {
    const counts = this.#request.aggregates.flatMap(({ name }, index) => {
      const count = row?.leftOut[index] ?? 0
      return count === 0 ? [] : [`${JSON.stringify(name)}:${count}`]
    })
    return counts.length === 0 ? [] : [`"${LEFT_OUT}":{${counts.join(',')}}`]
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
