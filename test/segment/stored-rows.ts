/**
 * A row of the raw store as a fixture has it, and what a build makes of it: every event's text, id,
 * times, shape and labels, by the ways that reading and catch-up go.
 */
import assert from 'node:assert/strict'
import { stampMembers } from '../../src/materialize/stamp.ts'
import { MIXED_STREAM } from '../../src/model/mixed-runs.ts'
import { segmentIdMs } from '../../src/model/segment-id.ts'
import { partOf, type RowSegment, storedRow } from '../../src/model/stored-row.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { SegmentReader } from '../../workers/read-segment.ts'
import { ReplayPipeline } from '../../workers/replay.ts'
import { type FixedColumns, readFixedColumns } from './fixed-columns.ts'

/** The columns of `segments`; ids as decimal text, bytes as hexadecimal, as JSON has them. */
export interface StoredRow {
  readonly stream_id: number
  readonly segment_id: string
  readonly last_segment_id?: string
  readonly members?: string
  readonly event_count: number
  readonly raw_bytes: number
}

/** An event as it must come out; `stream_id` only of mixed rows. */
export interface StoredEvent {
  readonly stream_id?: number
  readonly id: string
  readonly event_time: string
  readonly event_time_source: string
  readonly shape: string
  readonly level: string
  readonly service: string
  /** Only of events to which the protocol gave them. */
  readonly trace_id?: string
  readonly span_id?: string
  readonly text: string
}

const reader = new SegmentReader()
const replay = new ReplayPipeline()

/** The segments of a row. */
export function membersOf(row: StoredRow): readonly RowSegment[] {
  const members = row.members === undefined ? null : Buffer.from(row.members, 'hex')
  return storedRow({ ...row, members }).segments
}

/** The row's events as the event list gives them, with the labels of its block. */
export function readStored(row: StoredRow, payload: Uint8Array): StoredEvent[] {
  const { columns } = replayStored(row, payload)
  return membersOf(row).flatMap(({ segmentId, eventCount, streamId, firstEvent: first }) => {
    const read = {
      payload,
      segmentId: String(segmentId),
      ingestedAtMs: segmentIdMs(segmentId),
      fromOrdinal: 0,
      toOrdinal: eventCount,
      newestFirst: false,
      firstEvent: first,
    }
    const records = recordsOf(Buffer.from(reader.run([read])).toString())
    assert.deepEqual(reader.damaged, [])
    assert.equal(records.length, eventCount)
    return records.map((record, i) => ({
      ...(row.stream_id === MIXED_STREAM && { stream_id: streamId }),
      ...record,
      level: columns.level[first + i]!,
      service: columns.service[first + i]!,
    }))
  })
}

/** What stands before an event's payload in its record. */
const HEAD = new RegExp(
  '^{"id":"([^"]*)","ingested_at":"[^"]*","event_time":"([^"]*)"' +
    ',"event_time_source":"(\\w+)","shape":"(\\w+)",' +
    '(?:"level":"\\w*",)?(?:"service":"[^"]*",)?' +
    '(?:"trace_id":"(\\w+)",)?(?:"span_id":"(\\w+)",)?"payload":',
)

/** Event records less their receipt time, which is the id's; the payload as text, untouched. */
function recordsOf(json: string): Omit<StoredEvent, 'level' | 'service'>[] {
  // No event's text has a line feed, so one between the records tells them apart.
  const lines = json.replaceAll('},{"id":"', '}\n{"id":"').split('\n')
  return lines.map((line) => {
    const [head, id = '', eventTime = '', source = '', shape = '', traceId, spanId] =
      HEAD.exec(line) ?? []
    assert(head !== undefined, line)
    const text = line.slice(head.length, -1)
    const ids = {
      ...(traceId !== undefined && { trace_id: traceId }),
      ...(spanId !== undefined && { span_id: spanId }),
    }
    return { id, event_time: eventTime, event_time_source: source, shape, ...ids, text }
  })
}

/** The block that catch-up makes of the row, stamped as it is before it is inserted. */
export function replayStored(
  row: StoredRow,
  payload: Uint8Array,
): { columns: FixedColumns; payloadColumn: Buffer } {
  const members = membersOf(row)
  const part = partOf({ streamId: row.stream_id as StreamId }, members)
  const { block, eventCount } = replay.run(payload, row.stream_id, part)
  assert.equal(eventCount, row.event_count)
  stampMembers(block, members)
  return readFixedColumns(Buffer.from(block.bytes))
}
