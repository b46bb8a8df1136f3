/**
 * What a tail has missed when it begins: from a cursor, an event or a time up to the commits that
 * this node has heard of. Oldest first, as fast as the reader takes it; at most the newest
 * TAIL_RESUME_EVENTS_MAX events are matched, and a gap stands for earlier ones.
 */
import { COMPACT_AGE_MS, TAIL_RESUME_EVENTS_MAX, TAIL_RESUME_PAGE_EVENTS } from '../limits.ts'
import type { EventId } from '../model/event-id.ts'
import { type SegmentId, segmentIdAt, segmentIdMs, segmentIdNode } from '../model/segment-id.ts'
import type { CommittedEntry } from '../model/segment-place.ts'
import type { StreamId } from '../model/stream.ts'
import {
  type MatchSegments,
  readWanted,
  type SegmentSource,
  type WantedSegment,
} from './stored-reads.ts'
import {
  cursorAt,
  encodePositions,
  type NodePositions,
  noPosition,
  placeBelow,
  type TailCursor,
} from './tail-cursor.ts'
import type { QueueItem } from './tail-queue.ts'

/** Where a tail begins. */
export type TailStart =
  | { readonly kind: 'now' }
  | { readonly kind: 'time'; readonly ms: number }
  /** After this event. */
  | { readonly kind: 'event'; readonly event: EventId }
  | { readonly kind: 'cursor'; readonly cursor: TailCursor }

export interface MissedReads {
  readMissed(query: {
    readonly streamId: StreamId
    readonly ranges: readonly {
      readonly node: number
      readonly after: SegmentId
      readonly upTo: SegmentId
    }[]
    readonly limit: number
  }): Promise<readonly CommittedEntry[]>
}

export interface CatchUpParts {
  readonly store: MissedReads
  readonly events: SegmentSource
  readonly match: MatchSegments
  readonly nowMs: () => number
  /** Resolves when more may be sent: other work has its turn between. */
  readonly nextTurn: () => Promise<void>
}

export interface CatchUpRequest {
  readonly streamId: StreamId
  readonly query: string
  /** The stream's setting. */
  readonly textFields: readonly string[]
  readonly start: TailStart
  /** Where the catch-up ends, by node. */
  readonly heard: NodePositions
}

type Missed = Omit<CommittedEntry, 'firstEvent'>

/** Younger segments are found by the node in their ids: they are not merged yet. */
const YOUNG_MS = COMPACT_AGE_MS - 120_000
/** A list has this many segments, or all that exist. */
const LIST_MAX = TAIL_RESUME_EVENTS_MAX + 2

/** Resolves when `send` was given everything, or `isOver`. Throws `StoreError`, `IngestError`. */
export async function catchUp(
  parts: CatchUpParts,
  request: CatchUpRequest,
  send: (item: QueueItem) => Promise<void>,
  isOver: () => boolean,
): Promise<void> {
  const from = startOf(request)
  const listed = await listMissed(parts, request, from)
  const { kept, left } = newest(listed)
  const places = new Map(from.places)
  if (left !== undefined) {
    await send(gapBefore(kept[0]!.segmentId, places, left))
  }
  for (const page of pagesOf(kept, from.partial)) {
    if (isOver()) return
    await sendPage(parts, request, { page, places, send })
  }
}

/** Where the tail begins, for every node that was heard of. */
function startOf({ start, heard }: CatchUpRequest): TailCursor {
  const places = new Map<number, SegmentId>()
  for (const [node, upTo] of heard) {
    const place = placeOfNode(start, node) ?? upTo
    places.set(node, least([place, upTo]))
  }
  if (start.kind === 'cursor') return { ...start.cursor, places }
  if (start.kind === 'event') return { places, partial: start.event }
  return { places }
}

function placeOfNode(start: TailStart, node: number): SegmentId | undefined {
  switch (start.kind) {
    case 'now':
      return undefined
    case 'time':
      return placeBelow(segmentIdAt(start.ms), node)
    case 'event':
      return placeBelow(start.event.segmentId, node)
    case 'cursor':
      return start.cursor.places.get(node) ?? noPosition(node)
  }
}

/** What the tail has missed, newest first; past LIST_MAX events possibly only the newest. */
async function listMissed(
  { store, events, nowMs }: CatchUpParts,
  { streamId, start, heard }: CatchUpRequest,
  { places }: TailCursor,
): Promise<readonly Missed[]> {
  const ranges = [...heard].flatMap(([node, upTo]) => {
    const after = places.get(node)!
    return after < upTo ? [{ node, after, upTo }] : []
  })
  if (ranges.length === 0) return []
  const seen = most([...places.values()])
  if (start.kind === 'cursor' && segmentIdMs(seen) > nowMs() - YOUNG_MS) {
    return store.readMissed({ streamId, ranges, limit: LIST_MAX })
  }
  const first = least(ranges.map(({ after }) => after))
  const last = most(ranges.map(({ upTo }) => upTo))
  const range = { streamId, start: first + 1n, end: last + 1n, newestFirst: true, limit: LIST_MAX }
  const byNode = new Map(ranges.map((one) => [one.node, one]))
  return (await events.listSegments(range)).flatMap((segment) => {
    const { segmentId, eventCount } = segment
    const node = segmentIdNode(segmentId)
    const own = byNode.get(node)
    if (own === undefined || segmentId <= own.after || segmentId > own.upTo) return []
    return [{ node, streamId, segmentId, eventCount }]
  })
}

function most(ids: readonly SegmentId[]): SegmentId {
  return ids.toSorted(compareIds).at(-1)!
}

function least(ids: readonly SegmentId[]): SegmentId {
  return ids.toSorted(compareIds)[0]!
}

function compareIds(a: SegmentId, b: SegmentId): number {
  return a < b ? -1 : 1
}

/** The entries to match, oldest first, and how many events are left out; undefined for none. */
function newest(listed: readonly Missed[]): {
  readonly kept: readonly Missed[]
  readonly left: number | undefined
} {
  const sorted = listed.toSorted((a, b) => (a.segmentId > b.segmentId ? -1 : 1))
  let events = 0
  let count = 0
  for (const { eventCount } of sorted) {
    if (count > 0 && events + eventCount > TAIL_RESUME_EVENTS_MAX) break
    events += eventCount
    count++
  }
  const all = listed.reduce((sum, { eventCount }) => sum + eventCount, 0)
  const isCut = count < sorted.length || sorted.length >= LIST_MAX
  return { kept: sorted.slice(0, count).reverse(), left: isCut ? all - events : undefined }
}

/** For what lies before `first`, to which `places` move. */
function gapBefore(first: SegmentId, places: Map<number, SegmentId>, events: number): QueueItem {
  let fromMs = segmentIdMs(first)
  for (const [node, place] of places) {
    const below = placeBelow(first, node)
    if (place >= below) continue
    fromMs = Math.min(fromMs, segmentIdMs(place))
    places.set(node, below)
  }
  const toMs = segmentIdMs(first)
  const cursor = encodePositions(places)
  return { kind: 'gap', reason: 'too_far_back', events, isExact: false, fromMs, toMs, cursor }
}

interface Slice extends WantedSegment {
  readonly node: number
  readonly isLast: boolean
}

/** Slices with so few events that their records take little memory. */
function* pagesOf(
  entries: readonly Missed[],
  partial: TailCursor['partial'],
): Generator<readonly Slice[]> {
  let page: Slice[] = []
  let left = TAIL_RESUME_PAGE_EVENTS
  for (const { eventCount, ...of } of entries) {
    const { segmentId } = of
    let fromOrdinal = segmentId === partial?.segmentId ? partial.ordinal + 1 : 0
    while (fromOrdinal < eventCount) {
      const toOrdinal = Math.min(eventCount, fromOrdinal + left)
      const isLast = toOrdinal === eventCount
      page.push({ ...of, fromOrdinal, toOrdinal, isLast })
      left -= toOrdinal - fromOrdinal
      fromOrdinal = toOrdinal
      if (left > 0) continue
      yield page
      page = []
      left = TAIL_RESUME_PAGE_EVENTS
    }
  }
  if (page.length > 0) yield page
}

/** What is sent at a stretch. */
const SEND_MS_MAX = 4

async function sendPage(
  { events, match, nextTurn }: CatchUpParts,
  { query, textFields }: CatchUpRequest,
  {
    page,
    places,
    send,
  }: {
    readonly page: readonly Slice[]
    readonly places: Map<number, SegmentId>
    readonly send: (item: QueueItem) => Promise<void>
  },
): Promise<void> {
  const atMs = performance.now()
  const found = await readWanted(events, page)
  const slices = page.filter((_, index) => found[index] !== undefined)
  const reads = found.filter((read) => read !== undefined)
  if (reads.length === 0) return
  const limit = TAIL_RESUME_PAGE_EVENTS
  const { queries, events: matched } = await match({
    reads,
    queries: [{ text: query, textFields, eventTime: undefined, limit }],
  })
  const { stopped, undecided, events: mine } = queries[0]!
  let at = 0
  let sinceMs = performance.now()
  for (const [index, { node, segmentId, toOrdinal, isLast }] of slices.entries()) {
    const cursor = encodePositions(places, segmentId)
    for (; at < mine.length && matched.read[mine[at]!] === index; at++) {
      const event = mine[at]!
      const start = event === 0 ? 0 : matched.jsonEnd[event - 1]!
      const record = matched.json.subarray(start, matched.jsonEnd[event])
      const ordinal = matched.ordinal[event]!
      const of = { segmentId, cursor: cursorAt(ordinal, cursor), atMs }
      await send({ kind: 'event', record, ...of })
      if (performance.now() - sinceMs < SEND_MS_MAX) continue
      await nextTurn()
      sinceMs = performance.now()
    }
    if (isLast) places.set(node, segmentId)
    if (stopped === undefined || index < stopped.read) continue
    const first = index === stopped.read ? stopped.ordinal : slices[index]!.fromOrdinal
    const ms = segmentIdMs(segmentId)
    const behind = isLast ? encodePositions(places) : cursorAt(toOrdinal - 1, cursor)
    const gap = { reason: 'query_cost', events: toOrdinal - first, isExact: false } as const
    await send({ kind: 'gap', ...gap, fromMs: ms, toMs: ms, cursor: behind })
  }
  if (undecided === 0) return
  const last = slices.at(-1)!
  const [fromMs, toMs] = [slices[0]!, last].map(({ segmentId }) => segmentIdMs(segmentId))
  const cursor = last.isLast
    ? encodePositions(places)
    : cursorAt(last.toOrdinal - 1, encodePositions(places, last.segmentId))
  const gap = { reason: 'query_cost', events: undecided, isExact: false } as const
  await send({ kind: 'gap', ...gap, fromMs: fromMs!, toMs: toMs!, cursor })
}
