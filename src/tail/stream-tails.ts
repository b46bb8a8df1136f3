/**
 * The tails of one stream, and its committed segments that have not been handed to them yet: those
 * that are to be matched, or are being. Segments of a node leave in the order in which they came.
 */
import type { SegmentId } from '../model/segment-id.ts'
import type { Stream } from '../model/stream.ts'
import type { TailSegment } from './commit-source.ts'
import { QuerySets } from './query-sets.ts'
import { stampOf, stampRecord } from './stamp-record.ts'
import type { MatchSegments } from './stored-reads.ts'
import type { Tail, TailMatch } from './tail.ts'
import type { NodePositions } from './tail-cursor.ts'

export class StreamTails {
  readonly tails = new Set<Tail>()
  #textFields: readonly string[]
  readonly #sets: QuerySets
  #waiting: TailSegment[] = []
  /** Taken and not finished. */
  #underWay: readonly TailSegment[] = []
  waitingBytes = 0
  waitingEvents = 0
  /** Up to where the tails are; undefined when everything that was heard of is done. */
  #done: Map<number, SegmentId> | undefined

  constructor({ streamId, textFields }: Pick<Stream, 'streamId' | 'textFields'>) {
    this.#textFields = textFields
    this.#sets = new QuerySets(streamId)
  }

  /** The stream's setting. */
  get textFields(): readonly string[] {
    return this.#textFields
  }

  set textFields(textFields: readonly string[]) {
    if (JSON.stringify(textFields) === JSON.stringify(this.#textFields)) return
    this.#textFields = textFields
    this.#sets.changed()
  }

  /** Some may wait for one that is under way. */
  get isWaiting(): boolean {
    return this.#waiting.length > 0
  }

  get waiting(): number {
    return this.#waiting.length
  }

  /** When the oldest one that waits was heard of. */
  get oldestAtMs(): number {
    return this.#waiting[0]?.atMs ?? Number.POSITIVE_INFINITY
  }

  addTail(tail: Tail): void {
    this.tails.add(tail)
    this.#sets.changed()
  }

  removeTail(tail: Tail): void {
    this.tails.delete(tail)
    this.#sets.changed()
  }

  /** What ingest is to look for in the stream's events. */
  watched(nowMs: number): ReturnType<QuerySets['watched']> {
    return this.#sets.watched(() => this.#queries(), this.#textFields, nowMs)
  }

  findSieved(sieved: Parameters<QuerySets['find']>[0]): ReturnType<QuerySets['find']> {
    return this.#sets.find(sieved, () => this.#queries())
  }

  /** `heard`: up to where commits were heard of before this one. */
  add(segment: TailSegment, heard: NodePositions): void {
    this.#done ??= new Map(heard)
    this.#waiting.push(segment)
    this.waitingBytes += segment.payload?.length ?? 0
    this.waitingEvents += segment.eventCount
  }

  /** The oldest ones, of `eventsMax` events or a single one of more. To be finished. */
  take(eventsMax: number): readonly TailSegment[] {
    let count = 0
    let events = 0
    for (const { eventCount } of this.#waiting) {
      if (count > 0 && events + eventCount > eventsMax) break
      events += eventCount
      count++
    }
    const segments = this.#waiting.splice(0, count)
    for (const segment of segments) this.#forget(segment)
    this.#underWay = segments
    return segments
  }

  /** Those that need not be matched, unless one of their node that must be is before them. */
  takeSieved(): readonly TailSegment[] {
    const isBehind = new Set(this.#underWay.map(({ node }) => node))
    const taken: TailSegment[] = []
    this.#waiting = this.#waiting.filter((segment) => {
      const { node, sieved } = segment
      if (sieved === undefined) isBehind.add(node)
      if (isBehind.has(node)) return true
      taken.push(segment)
      this.#forget(segment)
      return false
    })
    return taken
  }

  /** One is done. */
  passed({ node, segmentId }: TailSegment): void {
    this.#done?.set(node, segmentId)
  }

  /** What was taken is done: by `take`, or else by `takeSieved`. */
  finish(segments: readonly TailSegment[], heard: NodePositions): void {
    for (const segment of segments) this.passed(segment)
    if (segments === this.#underWay) this.#underWay = []
    const left = [...this.#underWay, ...this.#waiting]
    if (left.length === 0) {
      this.#done = undefined
      return
    }
    const behind = new Set(left.map(({ node }) => node))
    for (const [node, id] of heard) if (!behind.has(node)) this.#done?.set(node, id)
  }

  /** Up to where its tails are done, when `heard` is up to where commits were heard of. */
  places(heard: NodePositions): NodePositions {
    return this.#done ?? heard
  }

  *#queries(): Iterable<string> {
    for (const { query } of this.tails) yield query
  }

  #forget({ payload, eventCount }: TailSegment): void {
    this.waitingBytes -= payload?.length ?? 0
    this.waitingEvents -= eventCount
  }
}

const NOWHERE: NodePositions = new Map()

type Matched = Awaited<ReturnType<MatchSegments>>

/** Hands what workers have matched to the tails, segment by segment, so that cursors are right. */
export function dispatch({
  of,
  segments,
  tails,
  texts,
  result,
}: {
  readonly of: StreamTails
  /** As they were read, in their order. */
  readonly segments: readonly TailSegment[]
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
export function dispatchSieved(of: StreamTails, segment: TailSegment): void {
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
  { eventCount }: TailSegment,
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
