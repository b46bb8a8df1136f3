/** Reading segments of the raw store for the event list. Their payloads are fetched apart. */
import type { SegmentId } from '../model/segment-id.ts'
import type { StreamId } from '../model/stream.ts'
import type { Postgres } from './postgres.ts'

export interface SegmentInfo {
  readonly segmentId: SegmentId
  readonly eventCount: number
  /** Bytes of its events as sent. */
  readonly rawBytes: number
}

/** Segments with `start <= id < end`. */
export interface SegmentRange {
  readonly streamId: StreamId
  readonly start: bigint
  readonly end: bigint
  readonly newestFirst: boolean
  readonly limit: number
}

export class EventStore {
  readonly #postgres: Postgres

  constructor(postgres: Postgres) {
    this.#postgres = postgres
  }

  /** The first `limit` segments of a range. Reads no payload: those are stored out of line. */
  async listSegments(range: SegmentRange): Promise<SegmentInfo[]> {
    const order = range.newestFirst ? 'DESC' : 'ASC'
    const { rows } = await this.#postgres.query<InfoRow>(
      `SELECT segment_id, event_count, raw_bytes FROM segments
       WHERE stream_id = $1 AND segment_id >= $2 AND segment_id < $3
       ORDER BY segment_id ${order} LIMIT $4`,
      [range.streamId, String(range.start), String(range.end), range.limit],
    )
    return rows.map((row) => ({
      segmentId: BigInt(row.segment_id) as SegmentId,
      eventCount: row.event_count,
      rawBytes: row.raw_bytes,
    }))
  }

  /** Payloads by id. Segments that retention removed in the meantime are absent. */
  async readPayloads(
    streamId: StreamId,
    segmentIds: readonly SegmentId[],
  ): Promise<Map<SegmentId, Uint8Array>> {
    const { rows } = await this.#postgres.query<PayloadRow>(
      `SELECT segment_id, payload FROM segments
       WHERE stream_id = $1 AND segment_id = ANY ($2::bigint[])`,
      [streamId, segmentIds.map(String)],
    )
    return new Map(rows.map((row) => [BigInt(row.segment_id) as SegmentId, row.payload]))
  }
}

interface InfoRow {
  readonly segment_id: string
  readonly event_count: number
  readonly raw_bytes: number
}

interface PayloadRow {
  readonly segment_id: string
  readonly payload: Uint8Array
}
