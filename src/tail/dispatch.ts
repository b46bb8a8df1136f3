/** Hands what workers have matched to the tails, segment by segment, so that cursors are right. */
import type { HeardSegment } from './commit-source.ts'
import { stampOf, stampRecord } from './stamp-record.ts'
import type { MatchSegments } from './stored-reads.ts'
import type { StreamTails } from './stream-tails.ts'
import type { Tail, TailMatch } from './tail.ts'
import type { Places } from './tail-cursor.ts'

const NOWHERE: Places = new Map()

type Matched = Awaited<ReturnType<MatchSegments>>

export function dispatch({
  of,
  segments,
  tails,
  texts,
  result,
}: {
  readonly of: StreamTails
  /** As they were read, in their order. */
  readonly segments: readonly HeardSegment[]
  readonly tails: readonly Tail[]
  /** Queries, in the order of the result's. */
  readonly texts: readonly string[]
  readonly result: Matched
}): void {
  const records = new Map<number, Uint8Array>()
  const byQuery = texts.map(() => 0)
  const tailsOf = byText(tails)
  for (const [index, segment] of segments.entries()) {
    const done = of.places(NOWHERE)
    for (const [query, text] of texts.entries()) {
      const { events, stopped } = result.queries[query]!
      const matches: TailMatch[] = []
      let at = byQuery[query]!
      for (; at < events.length && result.events.read[events[at]!] === index; at++) {
        matches.push(matchOf(result.events, events[at]!, records))
      }
      byQuery[query] = at
      const left = eventsLeft(segment, index, stopped)
      for (const tail of tailsOf.get(text) ?? []) {
        if (!tail.wants(segment)) continue
        tail.push(segment, matches, done)
        if (left > 0) tail.skip([segment], 'query_cost', left)
      }
    }
    of.passed(segment)
  }
  for (const tail of tails) {
    const { undecided } = result.queries[texts.indexOf(tail.query)]!
    if (undecided > 0) tail.skip(segments, 'query_cost', undecided)
  }
}

/** The same of a segment that ingest has looked at. */
export function dispatchSieved(of: StreamTails, segment: HeardSegment): void {
  if (segment.sieved === undefined) return
  const { texts, found } = segment.sieved
  const { matches, ordinals, records, recordEnd } = found
  const done = of.places(NOWHERE)
  const stamp = stampOf(segment.segmentId)
  const made: TailMatch[] = []
  const tailsOf = byText(of.tails)
  let at = 0
  for (const text of texts) {
    const count = matches[at++]!
    const places = matches.subarray(at, at + count)
    at += count
    const tails = tailsOf.get(text)
    if (tails === undefined) continue
    const own: TailMatch[] = []
    for (const place of places) {
      const start = place === 0 ? 0 : recordEnd[place - 1]!
      made[place] ??= {
        ordinal: ordinals[place]!,
        record: stampRecord(records.subarray(start, recordEnd[place]), stamp),
      }
      own.push(made[place])
    }
    for (const tail of tails) if (tail.wants(segment)) tail.push(segment, own, done)
  }
  of.passed(segment)
}

function byText(tails: Iterable<Tail>): ReadonlyMap<string, readonly Tail[]> {
  const tailsOf = new Map<string, Tail[]>()
  for (const tail of tails) {
    const same = tailsOf.get(tail.query)
    if (same === undefined) tailsOf.set(tail.query, [tail])
    else same.push(tail)
  }
  return tailsOf
}

/** Events of the segment that a query which stopped has not looked at. */
function eventsLeft(
  { eventCount }: HeardSegment,
  index: number,
  stopped: Matched['queries'][number]['stopped'],
): number {
  if (stopped === undefined || index < stopped.read) return 0
  return index === stopped.read ? eventCount - stopped.ordinal : eventCount
}

/** Records are copied, so that a waiting record does not keep all others in memory. */
function matchOf(
  { ordinal, json, jsonEnd }: Matched['events'],
  event: number,
  records: Map<number, Uint8Array>,
): TailMatch {
  let record = records.get(event)
  if (record === undefined) {
    record = json.slice(event === 0 ? 0 : jsonEnd[event - 1]!, jsonEnd[event])
    records.set(event, record)
  }
  return { ordinal: ordinal[event]!, record }
}
