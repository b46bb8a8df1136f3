/** The sources of search over the stores and the workers. */
import { IngestError } from '../../errors.ts'
import { QueryError } from '../../language/query-error.ts'
import { SEARCH_PAYLOADS_MAX } from '../../limits.ts'
import type { SegmentRead } from '../../model/batch/segment-read.ts'
import type { EventKey, TimedKey } from '../../model/event-id.ts'
import type { SourceStream } from '../../model/field-catalog.ts'
import type { StreamSegment } from '../../model/projection.ts'
import type { SegmentId } from '../../model/segment-id.ts'
import type {
  IdRange,
  PendingList,
  PendingSegment,
  SegmentInfo,
} from '../../model/segment-place.ts'
import { type FoundSegment, readOf } from '../../model/stored-row.ts'
import type { StreamId } from '../../model/stream.ts'
import type { MatchedEvents, MatchResult, MatchTask } from '../../pool/messages.ts'
import { MEMORY_LIMIT_EXCEEDED, TIMEOUT_EXCEEDED } from '../../store/clickhouse-codes.ts'
import type { IdQuestion, TimedQuestion } from '../../store/projection/reads/id-store.ts'
import type { SegmentRange } from '../../store/raw/event-store.ts'
import type { PendingStore } from '../../store/raw/pending-store.ts'
import { StoreError } from '../../store/store-error.ts'
import { queryFault } from '../read-request.ts'
import { type OpenPrefilter, PendingPrefilter } from './pending-prefilter.ts'
import {
  type FoundEvent,
  type Matched,
  type MatchQuestion,
  type ReadingRange,
  type SearchSources,
  SourceFailure,
} from './search-sources.ts'

/** Rows of the raw store that a search lists at a time, of those that the projection may lack. */
export const SEARCH_PENDING_ROWS = 512

export interface SourceStores {
  readonly pending: Pick<PendingStore, 'list' | 'readExtent'>
  /** `EventStore`'s: the first segments of a range, in reading order, by stream. */
  readonly listSegmentsOf: (
    streamIds: readonly StreamId[],
    range: Omit<SegmentRange, 'streamId'>,
  ) => Promise<ReadonlyMap<StreamId, readonly SegmentInfo[]>>
  /** `IdStore`'s. */
  readonly findIds: (question: IdQuestion, signal: AbortSignal) => Promise<readonly EventKey[]>
  readonly findTimed: (question: TimedQuestion, signal: AbortSignal) => Promise<readonly TimedKey[]>
  readonly readPayloads: ReadPayloads
  readonly prefilter: OpenPrefilter
  /** Of the segments that the projection may lack. */
  readonly onChosen: (segments: { readonly read: number; readonly passedOver: number }) => void
  /** In the pool. */
  readonly match: (task: MatchTask, signal: AbortSignal) => Promise<MatchResult>
}

/** By segment id; those that are gone are absent. */
export type ReadPayloads = (keys: readonly StreamSegment[]) => Promise<Map<SegmentId, FoundSegment>>

/** Segments of a stream that are listed at a time where all are. */
const ALL_SEGMENTS = 66
/** Streams whose segments are listed at a time. */
const LISTED_STREAMS = 64

export function storeSources(stores: SourceStores): SearchSources {
  const { pending } = stores
  return {
    readExtent: (streams, range) => pending.readExtent(idsOf(streams), range),
    listPending: (streams, range) => {
      return pending.list({ ...range, streamIds: idsOf(streams), limit: SEARCH_PENDING_ROWS })
    },
    listAll: (streams, range) => listAll(stores, streams, range),
    findIds: (question, signal) => stores.findIds(question, signal).catch(rethrow),
    findTimed: (question, signal) => stores.findTimed(question, signal).catch(rethrow),
    match: (question, segments, signal) => {
      const { query, eventTime } = question
      if (query.kind === 'all' && eventTime === undefined) {
        return Promise.resolve({ events: allOf(segments), unread: undefined })
      }
      return matchSegments(stores, question, segments, signal)
    },
  }
}

function idsOf(streams: readonly SourceStream[]): StreamId[] {
  return streams.map(({ streamId }) => streamId)
}

function rethrow(cause: unknown): never {
  throw toFailure(cause)
}

function toFailure(cause: unknown): unknown {
  if (cause instanceof QueryError) return queryFault('query', cause)
  if (!(cause instanceof StoreError)) return cause
  if (cause.clickHouseCode === TIMEOUT_EXCEEDED) return new SourceFailure('late', cause)
  if (cause.clickHouseCode === MEMORY_LIMIT_EXCEEDED) {
    const text = 'the search needs too much memory; narrow its query'
    return new IngestError('unavailable', text, { members: { reason: 'memory' } })
  }
  return cause.retryable ? new SourceFailure('away', cause) : cause
}

/** For several streams, only as far as each of them is listed. */
async function listAll(
  { listSegmentsOf }: SourceStores,
  streams: readonly SourceStream[],
  range: ReadingRange,
): Promise<PendingList> {
  const { newestFirst } = range
  let complete: IdRange = { start: range.start, end: range.end }
  const found: PendingSegment[] = []
  const streamIds = idsOf(streams)
  for (let at = 0; at < streamIds.length; at += LISTED_STREAMS) {
    const some = streamIds.slice(at, at + LISTED_STREAMS)
    // What the streams before leave to list is often little.
    const of = { newestFirst, ...complete, limit: ALL_SEGMENTS }
    for (const [streamId, listed] of await listSegmentsOf(some, of)) {
      complete = completeWith(complete, listed, newestFirst)
      const rows = listed.map(({ segmentId, eventCount }) => ({ streamId, segmentId, eventCount }))
      found.push(...rows)
    }
  }
  const segments = found
    .filter(({ segmentId }) => segmentId >= complete.start && segmentId < complete.end)
    .sort((a, b) => (a.segmentId < b.segmentId === newestFirst ? 1 : -1))
  return { segments, complete, projected: new Map() }
}

/** What of it remains complete with a stream of which perhaps not all is listed. */
function completeWith(
  complete: IdRange,
  listed: readonly SegmentInfo[],
  newestFirst: boolean,
): IdRange {
  const last = listed.at(-1)
  const isAll = listed.length < ALL_SEGMENTS && sumOf(listed) < ALL_SEGMENTS - 2
  if (last === undefined || isAll) return complete
  const { start, end } = complete
  const { segmentId } = last
  if (segmentId < start || segmentId >= end) return complete
  return newestFirst ? { start: segmentId, end } : { start, end: segmentId + 1n }
}

function sumOf(segments: readonly SegmentInfo[]): number {
  return segments.reduce((sum, { eventCount }) => sum + eventCount, 0)
}

/** Every event of the segments. */
function allOf(segments: readonly PendingSegment[]): readonly EventKey[] {
  return segments.flatMap(({ streamId, segmentId, eventCount }) => {
    return Array.from({ length: eventCount }, (_, ordinal) => ({ streamId, segmentId, ordinal }))
  })
}

/** Some segments at a time, in reading order, until there are enough events or no time is left. */
async function matchSegments(
  stores: SourceStores,
  question: MatchQuestion,
  segments: readonly PendingSegment[],
  signal: AbortSignal,
): Promise<Matched> {
  const found: FoundEvent[] = []
  const prefilter = new PendingPrefilter(question, stores.prefilter)
  for (let at = 0; at < segments.length; ) {
    const range = { at, max: SEARCH_PAYLOADS_MAX }
    const { chosen: some, next } = await prefilter.choose(segments, range, signal)
    stores.onChosen({ read: some.length, passedOver: next - at - some.length })
    at = next
    const payloads = await stores.readPayloads(some)
    for (const stream of question.streams) {
      const of = some.flatMap(({ streamId, segmentId }) => {
        const segment = streamId === stream.streamId ? payloads.get(segmentId) : undefined
        return segment === undefined ? [] : [segment]
      })
      if (of.length > 0) found.push(...(await matchStream(stores, question, stream, of, signal)))
    }
    if (found.length >= question.limit) break
    if (at < segments.length && question.isLate()) return { events: found, unread: segments[at] }
  }
  return { events: found, unread: undefined }
}

/** The stream's text fields are its own, so it has a task of its own. */
async function matchStream(
  { match }: SourceStores,
  question: MatchQuestion,
  { streamId, catalog }: SourceStream,
  segments: readonly FoundSegment[],
  signal: AbortSignal,
): Promise<readonly FoundEvent[]> {
  const { queryText, eventTime, limit, before, after, newestFirst, records } = question
  const query = { text: queryText, textFields: catalog.textFields, eventTime, limit }
  const found: FoundEvent[] = []
  let reads: readonly SegmentRead[] = segments.map((segment) => {
    const isCut = before !== undefined && segment.segmentId === before.segmentId
    const fromOrdinal =
      after !== undefined && segment.segmentId === after.segmentId ? after.ordinal + 1 : 0
    const toOrdinal = isCut ? Math.min(before.ordinal, segment.eventCount) : segment.eventCount
    const read = readOf(segment, { fromOrdinal, toOrdinal }, newestFirst)
    return records?.includesStreamId ? { ...read, streamId: String(streamId) } : read
  })
  while (reads.length > 0) {
    const withRecords = records !== undefined && records.bytesLeft > 0
    const how = { withRecords, format: records?.format }
    const task: MatchTask = { kind: 'match', reads, queries: [query], ...how }
    const { events, queries, damaged } = await match(task, signal)
    const [matches] = queries
    const lost = damaged.map(({ index }) => reads[index]!)
    const lostEvents = lost.reduce((sum, read) => sum + read.toOrdinal - read.fromOrdinal, 0)
    question.onUndecided(lostEvents + (matches?.undecided ?? 0))
    for (const place of matches?.events ?? []) {
      const { segmentId } = reads[events.read[place]!]!
      const ordinal = events.ordinal[place]!
      const id = { segmentId: BigInt(segmentId) as SegmentId, ordinal }
      const key = { streamId, ...id, timeNs: events.timeNs[place]! }
      found.push(withRecords ? { ...key, record: recordOf(events, place) } : key)
    }
    if (withRecords) records.bytesLeft -= events.json.length
    const stopped = matches?.stopped
    if (stopped === undefined || found.length >= limit) break
    reads = goOnFrom(reads, stopped)
  }
  return found
}

function recordOf({ json, jsonEnd }: MatchedEvents, place: number): Uint8Array {
  return json.subarray(place === 0 ? 0 : jsonEnd[place - 1]!, jsonEnd[place])
}

/** What a task that ended early has not looked at. */
function goOnFrom(
  reads: readonly SegmentRead[],
  { read, ordinal }: { readonly read: number; readonly ordinal: number },
): readonly SegmentRead[] {
  const [first, ...rest] = reads.slice(read)
  if (first === undefined) return []
  const left = first.newestFirst
    ? { ...first, toOrdinal: ordinal + 1 }
    : { ...first, fromOrdinal: ordinal }
  return left.fromOrdinal < left.toOrdinal ? [left, ...rest] : rest
}
