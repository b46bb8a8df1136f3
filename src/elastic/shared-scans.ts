/**
 * The scans of one request. Those that are asked for at the same time and differ only in what they
 * measure are one scan: the panels of a dashboard ask for the same groups and buckets again and
 * again.
 */
import { setImmediate as turn } from 'node:timers/promises'
import { ELASTIC_SCANS_MAX, QUERY_AGGREGATES_MAX } from '../limits.ts'
import type { SourceStream } from '../model/field-catalog.ts'
import type {
  AggregateResult,
  AggregateRow,
  AggregateTask,
} from '../store/projection/reads/aggregate-store.ts'
import type { Aggregate } from '../store/projection/reads/parts.ts'
import { refused } from './members.ts'

export type RunAggregate = (task: AggregateTask, signal?: AbortSignal) => Promise<AggregateResult>

/** How many run at a time, in the one place that the request has in its lane. */
const AT_ONCE = 2
/** …while ingest needs the machine. */
const AT_ONCE_BUSY = 1
/** Aggregates of one scan: past it there are two. */
const SHARED_MAX = 4 * QUERY_AGGREGATES_MAX

interface Asked {
  readonly task: AggregateTask
  /** What scans that are one have in common. */
  readonly key: string
  readonly resolve: (result: AggregateResult) => void
  readonly reject: (cause: unknown) => void
}

export class SharedScans {
  readonly #run: RunAggregate
  readonly #signal: AbortSignal
  readonly #shouldYieldToIngest: () => boolean
  #waiting: Asked[] = []
  #running = 0
  #count = 0

  constructor(run: RunAggregate, signal: AbortSignal, shouldYieldToIngest: () => boolean) {
    this.#run = run
    this.#signal = signal
    this.#shouldYieldToIngest = shouldYieldToIngest
  }

  /** As `RunAggregate`. */
  run(task: AggregateTask): Promise<AggregateResult> {
    if (task.streams.length === 0) return Promise.resolve(NOTHING)
    return new Promise((resolve, reject) => {
      this.#waiting.push({ task, key: keyOf(task), resolve, reject })
      if (this.#waiting.length === 1) void turn().then(() => this.#fill())
    })
  }

  #fill(): void {
    const most = this.#shouldYieldToIngest() ? AT_ONCE_BUSY : AT_ONCE
    while (this.#running < most && this.#waiting.length > 0) {
      const [first, ...others] = this.#waiting
      const group = [first!]
      const rest: Asked[] = []
      let count = first!.task.aggregates.length
      for (const one of others) {
        const fits = count + one.task.aggregates.length <= SHARED_MAX
        if (fits && one.key === first!.key) {
          group.push(one)
          count += one.task.aggregates.length
        } else {
          rest.push(one)
        }
      }
      this.#waiting = rest
      this.#running++
      void this.#scan(group).finally(() => {
        this.#running--
        this.#fill()
      })
    }
  }

  async #scan(group: readonly Asked[]): Promise<void> {
    try {
      if (++this.#count > ELASTIC_SCANS_MAX) {
        throw refused(`the request makes over ${ELASTIC_SCANS_MAX} queries (ELASTIC_SCANS_MAX)`)
      }
      const all = new Map<string, Aggregate>()
      for (const { task } of group) {
        for (const one of task.aggregates) if (!all.has(textOf(one))) all.set(textOf(one), one)
      }
      const aggregates = group.length === 1 ? group[0]!.task.aggregates : [...all.values()]
      const places = [...all.keys()]
      const [{ task }] = group as [Asked]
      const { order } = task
      const isPlaced = order.of === 'key' || group.length === 1
      const index = isPlaced ? order.index : places.indexOf(orderKey(task))
      const timeoutMs = Math.min(...group.map((one) => one.task.timeoutMs))
      const merged = { ...task, aggregates, timeoutMs, order: { ...order, index } }
      const result = await this.#run(merged, this.#signal)
      if (group.length === 1) return group[0]!.resolve(result)
      for (const one of group) {
        const at = one.task.aggregates.map((aggregate) => places.indexOf(textOf(aggregate)))
        one.resolve({ ...result, rows: result.rows.map((row) => withValues(row, at)) })
      }
    } catch (cause) {
      for (const { reject } of group) reject(cause)
    }
  }
}

const NOTHING: AggregateResult = {
  rows: [],
  total: 0n,
  groups: 0,
  isEstimated: false,
  stats: { rowsRead: 0, engineMs: 0 },
}

function withValues(row: AggregateRow, at: readonly number[]): AggregateRow {
  return {
    ...row,
    values: at.map((index) => row.values[index]!),
    leftOut: at.map((index) => row.leftOut[index] ?? 0),
  }
}

/** What scans that are one have in common. */
function keyOf(task: AggregateTask): string {
  const { aggregates: _, streams, order, timeoutMs: _timeout, ...rest } = task
  return textOf({
    ...rest,
    streams: streams.map(({ streamId }: SourceStream) => streamId),
    order: order.of === 'key' ? order : { ...order, index: orderKey(task) },
  })
}

function orderKey({ aggregates, order }: AggregateTask): string {
  return textOf(aggregates[order.index])
}

function textOf(value: unknown): string {
  return JSON.stringify(value, (name, one) => {
    if (name === 'start' || name === 'end') return undefined
    return typeof one === 'bigint' ? String(one) : one instanceof Map ? [...one] : one
  })
}
