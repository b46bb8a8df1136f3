/**
 * Events: the list, newest first, and one event by its id. Read from the raw store, so an event
 * is found as soon as it was acknowledged.
 *
 * Payloads are the stored bytes, spliced into the reply and never parsed here: integers keep their
 * digits, duplicate keys stay.
 */
import { type ObjectSchema, RFC3339, type Schema } from '../api/schema.ts'
import { IngestError } from '../errors.ts'
import type { DamagedRead, SegmentRead } from '../model/batch/segment-read.ts'
import { formatEventId, tryParseEventId } from '../model/event-id.ts'
import { LEVELS } from '../model/event-labels.ts'
import { readOf } from '../model/stored-row.ts'
import type { StreamId } from '../model/stream.ts'
import type { EventStore } from '../store/raw/event-store.ts'
import { type PageQuery, planPage, segmentsToList } from './event-page.ts'
import { fetchSlices } from './segment-reads.ts'

/**
 * The event records of `reads`, in their order, as JSON objects with a comma between each two.
 * Runs in the pool. It must return every event asked for, but none of a read that it reports as
 * damaged.
 */
export type ReadSegments = (reads: readonly SegmentRead[]) => Promise<ReadRecords>

export interface ReadRecords {
  readonly json: Uint8Array
  readonly damaged: readonly DamagedRead[]
}

const OF_RECORD = 'Where an OTLP record says it beside a structured body'
/** Only of some events. */
const GIVEN: Readonly<Record<string, Schema>> = {
  level: { type: 'string', enum: LEVELS, description: OF_RECORD },
  service: { type: 'string', description: OF_RECORD },
  trace_id: { type: 'string', description: OF_RECORD },
  span_id: { type: 'string', description: OF_RECORD },
}
/** An event record; `payload` is the stored JSON, byte for byte. */
export const EVENT: ObjectSchema = {
  type: 'object',
  properties: {
    id: { type: 'string' },
    ingested_at: RFC3339,
    event_time: { ...RFC3339, description: "The producer's clock, up to nanoseconds" },
    event_time_source: { type: 'string', enum: ['otlp', 'field', 'receipt'] },
    shape: { type: 'string' },
    ...GIVEN,
    payload: { type: 'object', properties: {}, additionalProperties: {} },
  },
}
/** What reading events needs. */
export interface EventReads {
  readonly events: EventStore
  readonly readSegments: ReadSegments
}

/** A page of the event list, as JSON. Throws `StoreError`. */
export async function readEventPage(
  deps: EventReads,
  streamId: StreamId,
  query: PageQuery,
): Promise<Uint8Array> {
  const isUpwards = query.after !== undefined
  const segments = await deps.events.listSegments({
    streamId,
    start: query.start,
    end: query.end,
    newestFirst: !isUpwards,
    limit: segmentsToList(query),
  })
  const { slices, hasMore } = planPage(query, segments)
  const pieces: Uint8Array[] = []
  const damaged: { segment_id: string; events: number }[] = []
  for await (const reads of fetchSlices(deps.events, streamId, slices)) {
    const records = await deps.readSegments(reads)
    if (pieces.length > 0 && records.json.length > 0) pieces.push(Buffer.from(','))
    if (records.json.length > 0) pieces.push(records.json)
    for (const { index } of records.damaged) {
      const { segmentId, fromOrdinal, toOrdinal } = reads[index]!
      damaged.push({ segment_id: segmentId, events: toOrdinal - fromOrdinal })
    }
  }
  const [newest, oldest] = [slices[0], slices.at(-1)]
  // Upwards the cursor itself lies below the page, so there is always something older.
  const next =
    oldest !== undefined && (hasMore || isUpwards)
      ? formatEventId({ segmentId: oldest.segmentId, ordinal: oldest.fromOrdinal })
      : null
  const previous =
    newest === undefined
      ? query.after && formatEventId(query.after)
      : formatEventId({ segmentId: newest.segmentId, ordinal: newest.toOrdinal - 1 })
  // The cursors point past what is damaged or removed, so a client that reads on gets past it.
  const fields = { next, previous: previous ?? null, ...(damaged.length > 0 && { damaged }) }
  const tail = JSON.stringify(fields).slice(1)
  return Buffer.concat([Buffer.from('{"events":['), ...pieces, Buffer.from(`],${tail}`)])
}

/** The record of one event. Throws `not_found`, `internal` for a damaged one. */
export async function readEvent(
  deps: EventReads,
  streamId: StreamId,
  idText: string,
): Promise<Uint8Array> {
  const id = tryParseEventId(idText)
  if (id === undefined) throw eventNotFound()
  const { segmentId, ordinal } = id
  const segment = (await deps.events.readPayloads([{ streamId, segmentId }])).get(segmentId)
  if (segment === undefined || ordinal >= segment.eventCount) throw eventNotFound()
  const slice = { fromOrdinal: ordinal, toOrdinal: ordinal + 1 }
  const { json, damaged } = await deps.readSegments([readOf(segment, slice, true)])
  if (damaged.length > 0) {
    throw new IngestError('internal', 'the stored segment of this event is damaged')
  }
  return json
}

function eventNotFound(): IngestError {
  return new IngestError('not_found', 'the stream has no event with this id')
}
