/**
 * Events: the list, newest first, and one event by its id. Read from the raw store, so an event
 * is here as soon as its ingest was acknowledged.
 *
 * Payloads are the stored bytes, spliced into the reply and never parsed here: integers keep their
 * digits, duplicate keys stay.
 */
import { IngestError } from '../errors.ts'
import type { Reply, Route } from '../http/exchange.ts'
import { formatEventId, tryParseEventId } from '../model/event-id.ts'
import type { SegmentId } from '../model/segment-id.ts'
import type { StreamId } from '../model/stream.ts'
import type { EventStore } from '../store/event-store.ts'
import { readParameters } from './body-fields.ts'
import {
  type PageQuery,
  planPage,
  readPageQuery,
  type SegmentSlice,
  segmentsToList,
} from './event-page.ts'
import { findVisibleStream, guardRoute, type ResolveToken, type StreamFinder } from './guard.ts'

/** Events `fromOrdinal` up to, not including, `toOrdinal` of a stored segment. */
export interface SegmentRead extends SegmentSlice {
  readonly payload: Uint8Array
  readonly newestFirst: boolean
}

/**
 * The event records of `reads`, in their order, as JSON objects with a comma between each two.
 * Runs in the pool. It must give every event asked for.
 */
export type ReadSegments = (reads: readonly SegmentRead[]) => Promise<Uint8Array>

export interface EventRoutesDeps {
  readonly resolveToken: ResolveToken
  readonly streams: StreamFinder
  readonly events: EventStore
  readonly readSegments: ReadSegments
}

export function eventRoutes(deps: EventRoutesDeps): Route[] {
  const { resolveToken, streams } = deps
  const pattern = '/v1/streams/:id/events'
  return [
    guardRoute(resolveToken, {
      method: 'GET',
      pattern,
      scope: 'events:read',
      run: async ({ principal, params, query }) => {
        const { streamId } = await findVisibleStream(streams, principal, params[0])
        return readPage(deps, streamId, readPageQuery(query))
      },
    }),
    guardRoute(resolveToken, {
      method: 'GET',
      pattern: `${pattern}/:event`,
      scope: 'events:read',
      run: async ({ principal, params, query }) => {
        const { streamId } = await findVisibleStream(streams, principal, params[0])
        readParameters(query, [])
        return readEvent(deps, streamId, params[1] ?? '')
      },
    }),
  ]
}

async function readPage(
  deps: EventRoutesDeps,
  streamId: StreamId,
  query: PageQuery,
): Promise<Reply> {
  const isUpwards = query.after !== undefined
  const segments = await deps.events.listSegments({
    streamId,
    start: query.start,
    end: query.end,
    newestFirst: !isUpwards,
    limit: segmentsToList(query),
  })
  const { slices, hasMore } = planPage(query, segments)
  const records = await readSlices(deps, streamId, slices)
  const [newest, oldest] = [slices[0], slices.at(-1)]
  // Upwards the cursor itself lies below the page, so there always is something older.
  const next =
    oldest !== undefined && (hasMore || isUpwards)
      ? formatEventId({ segmentId: oldest.segmentId, ordinal: oldest.fromOrdinal })
      : null
  const previous =
    newest === undefined
      ? query.after && formatEventId(query.after)
      : formatEventId({ segmentId: newest.segmentId, ordinal: newest.toOrdinal - 1 })
  const tail = JSON.stringify({ next, previous: previous ?? null }).slice(1)
  const body = Buffer.concat([Buffer.from('{"events":['), records, Buffer.from(`],${tail}`)])
  return { status: 200, contentType: 'application/json', body }
}

async function readEvent(
  deps: EventRoutesDeps,
  streamId: StreamId,
  idText: string,
): Promise<Reply> {
  const id = tryParseEventId(idText)
  if (id === undefined) throw eventNotFound()
  const [segment] = await deps.events.listSegments({
    streamId,
    start: id.segmentId,
    end: id.segmentId + 1n,
    newestFirst: true,
    limit: 1,
  })
  if (segment === undefined || id.ordinal >= segment.eventCount) throw eventNotFound()
  const { segmentId, ordinal } = id
  const slice = { segmentId, fromOrdinal: ordinal, toOrdinal: ordinal + 1 }
  const body = await readSlices(deps, streamId, [slice])
  // Retention may have removed it just now.
  if (body.byteLength === 0) throw eventNotFound()
  return { status: 200, contentType: 'application/json', body }
}

/** Records of `slices`; those of segments that retention just removed are left out. */
async function readSlices(
  deps: EventRoutesDeps,
  streamId: StreamId,
  slices: readonly SegmentSlice[],
): Promise<Uint8Array> {
  if (slices.length === 0) return new Uint8Array(0)
  const ids: readonly SegmentId[] = slices.map((slice) => slice.segmentId)
  const payloads = await deps.events.readPayloads(streamId, ids)
  const reads = slices.flatMap((slice) => {
    const payload = payloads.get(slice.segmentId)
    return payload === undefined ? [] : [{ ...slice, payload, newestFirst: true }]
  })
  return reads.length === 0 ? new Uint8Array(0) : deps.readSegments(reads)
}

function eventNotFound(): IngestError {
  return new IngestError('not_found', 'the stream has no event with this id')
}
