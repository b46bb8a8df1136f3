/** Random questions about the counts of events, and their plain answers. */
import assert from 'node:assert/strict'
import type { Buckets, TimeBasis } from '../../../../src/model/aggregates.ts'
import { makeSegmentId, type SegmentId, segmentIdAt } from '../../../../src/model/segment-id.ts'
import type { StreamId } from '../../../../src/model/stream.ts'

export interface Random {
  below(end: number): number
  pick<T>(values: readonly T[]): T
}

export interface Row {
  readonly stream: StreamId
  readonly ms: number
  readonly counter: number
  readonly eventNs: bigint
  readonly level: string
  /** The column. */
  readonly service: string
  /** The event's own field; the same unless a record said another one. */
  readonly own: string | undefined
}

export const HOUR_MS = 3_600_000
export const START_MS = Date.parse('2026-03-01T22:30:00Z')
export const SPAN_MS = 3 * HOUR_MS
export const NS_PER_MS = 1_000_000n
export const LEVELS = ['', 'debug', 'info', 'warn', 'error']
export const SERVICES = ['cart', 'checkout', 'mail', '']
export const [OWN, OLD, SHARED, OTHER] = [1, 2, 3, 4] as StreamId[] as [
  StreamId,
  StreamId,
  StreamId,
  StreamId,
]
export const STREAMS = [OWN, OLD, SHARED, OTHER]

export const QUERIES: readonly (readonly [text: string, matches: (row: Row) => boolean])[] = [
  ['', () => true],
  ['_level:error', ({ level }) => level === 'error'],
  ['_level:>=warn', ({ level }) => level === 'warn' || level === 'error'],
  ['_service:cart', ({ service }) => service === 'cart'],
  ['-_service:*', ({ service }) => service === ''],
  ['_service:c* -_level:info', (row) => row.service.startsWith('c') && row.level !== 'info'],
  ['service:cart', ({ own }) => own === 'cart'],
  ['-service:mail', ({ own }) => own !== 'mail'],
  ['service:cart OR _level:error', (row) => row.own === 'cart' || row.level === 'error'],
  ['service:c*', ({ own = '' }) => own.startsWith('c')],
]

export interface Asked {
  readonly text: string
  readonly matches: (row: Row) => boolean
  readonly streams: readonly StreamId[]
  readonly timeBasis: TimeBasis
  readonly fromNs: bigint
  readonly toNs: bigint
  readonly buckets: Buckets | undefined
  readonly labels: readonly ('_stream' | '_level' | '_service')[]
  readonly removedBefore: ReadonlyMap<StreamId, SegmentId>
  readonly learnedMs: number
}

export function randomAsked(random: Random): Asked {
  const [text, matches] = random.pick(QUERIES)
  const unit = random.pick([1, 1_000, 60_000, HOUR_MS])
  const moment = () => {
    const ms = START_MS - HOUR_MS / 2 + random.below(SPAN_MS + HOUR_MS)
    return BigInt(ms - (ms % unit)) * NS_PER_MS + (unit === 1 ? BigInt(random.below(2)) : 0n)
  }
  const [a, b] = [moment(), moment()]
  const stepMs = random.pick([1_000, 7_000, 60_000, 300_000, HOUR_MS])
  const [least, toNs] = a < b ? [a, b] : [b, a]
  const fromNs = random.below(10) === 0 ? -(10n ** 15n) : least
  const startMs = Math.floor(Number(fromNs / NS_PER_MS) / stepMs) * stepMs
  const some = STREAMS.filter(() => random.below(2) === 0)
  const mark = () => segmentIdAt(START_MS + random.below(SPAN_MS))
  return {
    text,
    matches,
    streams: some.length === 0 ? [random.pick(STREAMS)] : some,
    timeBasis: random.pick(['ingested_at', 'event_time'] as const),
    fromNs,
    toNs,
    buckets:
      random.below(2) === 0
        ? undefined
        : bucketsFrom(startMs, stepMs, random.below(2) && stepMs >= 60_000 ? random : undefined),
    labels: (['_stream', '_level', '_service'] as const).filter(() => random.below(3) === 0),
    removedBefore: new Map(
      STREAMS.map((stream) => [stream, random.below(2) ? 0n : mark()] as const),
    ) as ReadonlyMap<StreamId, SegmentId>,
    learnedMs: random.pick([2 ** 42, START_MS + random.below(SPAN_MS), 0]),
  }
}

/** Of two hours, by level. */
export function everything(streams: readonly StreamId[]): Asked {
  return {
    text: '',
    matches: () => true,
    streams,
    timeBasis: 'ingested_at',
    fromNs: BigInt(START_MS - HOUR_MS) * NS_PER_MS,
    toNs: BigInt(START_MS + HOUR_MS) * NS_PER_MS,
    buckets: undefined,
    labels: ['_level'],
    removedBefore: new Map(),
    learnedMs: 2 ** 42,
  }
}

/** `uneven`: as days and months are. */
export function bucketsFrom(startMs: number, stepMs: number, uneven?: Random): Buckets {
  const buckets = { startMs, stepMs, count: 1, step: '', timeZone: 'UTC' }
  if (uneven === undefined) return buckets
  const starts = [startMs]
  const endMs = START_MS + SPAN_MS + HOUR_MS
  while (starts.at(-1)! < endMs && starts.length < 500) {
    starts.push(starts.at(-1)! + stepMs * (1 + uneven.below(3)))
  }
  return { ...buckets, count: starts.length - 1, starts }
}

export function plain(rows: readonly Row[], asked: Asked): Map<string, number> {
  const counts = new Map<string, number>()
  for (const row of rows) {
    const ns = asked.timeBasis === 'event_time' ? row.eventNs : BigInt(row.ms) * NS_PER_MS
    const isRemoved = segmentIdOf(row) < (asked.removedBefore.get(row.stream) ?? 0n)
    if (!asked.streams.includes(row.stream) || isRemoved || !asked.matches(row)) continue
    if (ns < asked.fromNs || ns >= asked.toNs) continue
    const { buckets } = asked
    const ms = Number(ns / NS_PER_MS) - (ns < 0n && ns % NS_PER_MS !== 0n ? 1 : 0)
    const bucket =
      buckets?.starts === undefined
        ? buckets && Math.floor((ms - buckets.startMs) / buckets.stepMs)
        : buckets.starts.findLastIndex((start) => start <= ms)
    const values = { _stream: String(row.stream), _level: row.level, _service: row.service }
    const key = JSON.stringify([bucket, ...asked.labels.map((label) => values[label])])
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return counts
}

export const segmentIdOf = ({ ms, counter }: Row) => makeSegmentId({ ms, node: 1, counter })

export function assertSame(
  found: ReadonlyMap<string, number>,
  rows: readonly Row[],
  asked: Asked,
): void {
  const sorted = (counts: ReadonlyMap<string, number>) => [...counts].sort()
  const { matches: _, removedBefore, ...shown } = asked
  const text = [...Object.values(shown), [...removedBefore]].map(String).join(' | ')
  assert.deepEqual(sorted(found), sorted(plain(rows, asked)), text)
}
