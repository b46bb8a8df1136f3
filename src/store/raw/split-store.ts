/**
 * Splitting's SQL: mixed rows, and the rows of single streams that replace them. That happens in
 * one transaction, which counts what it deletes: a reader sees either the old rows or the new ones,
 * and runs that retention removed in the meantime do not come back.
 *
 * `session` is the worker's own, see `worker-lock.ts`; so nobody else can be in its transactions.
 */
import { SPLIT_BYTES_MAX } from '../../limits.ts'
import { MIXED_STREAM, type MixedRun, type SegmentRun } from '../../model/mixed-runs.ts'
import { nodeOfSegment, type SegmentId } from '../../model/segment-id.ts'
import { encodeMembers, type SizedRow } from '../../model/stored-row.ts'
import type { StreamId } from '../../model/stream.ts'
import type { Queryable } from '../postgres.ts'
import { readRowPayloads, SIZED_COLUMNS, type SizedColumns, sizedRow } from './sized-rows.ts'
import { REMOVED_NODE_ID } from './storage-sql.ts'

/** Compressed bytes that one statement puts into the raw store; one row may have more. */
export const SPLIT_STATEMENT_BYTES_MAX = 8 * 1024 * 1024
/** Rows of the streams that are looked at, so that what is split is not merged across them. */
export const SPLIT_BETWEEN_ROWS_MAX = 16_384

/** A run that is still there: a segment of its stream. */
export interface StoredRun extends SegmentRun {
  /** The mixed row, and how many of its events come before. */
  readonly rowId: SegmentId
  readonly firstEvent: number
}

/** A row of one stream made of some runs, whose ids rise. */
export interface SplitRow {
  readonly streamId: StreamId
  readonly runs: readonly StoredRun[]
}

/** Payloads of `SplitRow`s, one after another, and where each ends. */
export interface SplitPayloads {
  readonly bytes: Uint8Array
  readonly ends: Uint32Array
}

export interface Split {
  readonly mixed: readonly SizedRow[]
  readonly rows: readonly SplitRow[]
  readonly payloads: SplitPayloads
  /** From here on compaction must go over the stream again; undefined: it need not. */
  readonly compactFrom: SegmentId | undefined
}

export class SplitStore {
  readonly #session: Queryable

  constructor(session: Queryable) {
    this.#session = session
  }

  /**
   * Mixed rows that begin after `after` and end before `before`, in id order, up to the first row
   * with which their events exceed SPLIT_BYTES_MAX.
   */
  async listMixed(range: {
    readonly after: bigint
    readonly before: bigint
    readonly limit: number
  }): Promise<SizedRow[]> {
    const { rows } = await this.#session.query<SizedColumns>(
      `SELECT * FROM (
         SELECT ${SIZED_COLUMNS},
           sum(raw_bytes) OVER (ORDER BY segment_id) - raw_bytes AS bytes_before
         FROM segments WHERE stream_id = ${MIXED_STREAM} AND segment_id > $1 AND segment_id < $2
           AND last_segment_id < $2
         ORDER BY segment_id LIMIT $3
       ) AS rows WHERE bytes_before <= $4 ORDER BY segment_id`,
      [String(range.after), String(range.before), range.limit, SPLIT_BYTES_MAX],
    )
    return rows.map(sizedRow)
  }

  /** The oldest mixed row that its node's checkpoint has passed, excluding some. */
  async findOldest(
    checkpoints: ReadonlyMap<number, SegmentId>,
    except: ReadonlySet<SegmentId>,
  ): Promise<SegmentId | undefined> {
    const { rows } = await this.#session.query<{ segment_id: string }>(
      `SELECT g.segment_id FROM segments g
       JOIN unnest($1::integer[], $2::bigint[]) AS passed (node_id, checkpoint)
         ON node_id = ${nodeOfSegment('g.segment_id')} AND g.last_segment_id <= checkpoint
       WHERE g.stream_id = ${MIXED_STREAM} AND g.segment_id <> ALL ($3::bigint[])
       ORDER BY g.segment_id LIMIT 1`,
      [[...checkpoints.keys()], [...checkpoints.values()].map(String), [...except].map(String)],
    )
    return rows[0] === undefined ? undefined : (BigInt(rows[0].segment_id) as SegmentId)
  }

  /** Runs of the rows that are still there. */
  async listRuns(mixed: readonly SizedRow[]): Promise<StoredRun[]> {
    const runs = mixed.flatMap((row) => row.segments)
    const { rows } = await this.#session.query<RunRow>(
      `SELECT r.* FROM unnest($1::integer[], $2::bigint[]) AS wanted (stream_id, segment_id)
       JOIN segment_runs r
         ON r.stream_id = wanted.stream_id AND r.segment_id = wanted.segment_id`,
      keysOf(runs),
    )
    return rows.map((row) => ({
      streamId: row.stream_id as StreamId,
      segmentId: BigInt(row.segment_id) as SegmentId,
      rowId: BigInt(row.row_id) as SegmentId,
      firstEvent: row.first_event,
      eventCount: row.event_count,
      rawBytes: row.raw_bytes,
      sentBytes: row.sent_bytes,
      storedBytes: row.stored_bytes,
    }))
  }

  /** Payloads in the order of `rowIds`; undefined when one of them no longer exists. */
  readPayloads(rowIds: readonly SegmentId[]): Promise<Uint8Array[] | undefined> {
    return readRowPayloads(this.#session, MIXED_STREAM, rowIds)
  }

  /** Ids of the streams' own rows within a range, SPLIT_BETWEEN_ROWS_MAX of them at most. */
  async listBetween(
    streamIds: readonly StreamId[],
    range: { readonly after: bigint; readonly before: bigint },
  ): Promise<Map<StreamId, SegmentId[]>> {
    const { rows } = await this.#session.query<{ stream_id: number; segment_id: string }>(
      `SELECT stream_id, segment_id FROM segments
       WHERE stream_id = ANY ($1::integer[]) AND segment_id > $2 AND segment_id < $3 LIMIT $4`,
      [streamIds, String(range.after), String(range.before), SPLIT_BETWEEN_ROWS_MAX],
    )
    const between = new Map<StreamId, SegmentId[]>()
    for (const { stream_id, segment_id } of rows) {
      const ids = between.get(stream_id as StreamId)
      if (ids === undefined) between.set(stream_id as StreamId, [BigInt(segment_id) as SegmentId])
      else ids.push(BigInt(segment_id) as SegmentId)
    }
    return between
  }

  /**
   * Replaces the mixed rows by `rows`, which must have all runs that are left of them. Does nothing
   * and returns false when something has changed.
   */
  async replace(split: Split): Promise<boolean> {
    await this.#session.query('BEGIN')
    try {
      // The flush is not waited for: redoing this after a crash is harmless.
      await this.#session.query('SET LOCAL synchronous_commit = off')
      const isSame = await this.#deleteMixed(split)
      if (isSame) {
        for (const part of cutParts(split)) await this.#insert(part)
        await this.#count(split)
      }
      await this.#session.query(isSame ? 'COMMIT' : 'ROLLBACK')
      return isSame
    } catch (cause) {
      // Without effect when the store itself failed: that has ended the session.
      await this.#session.query('ROLLBACK').catch(() => undefined)
      throw cause
    }
  }

  async #deleteMixed({ mixed, rows }: Split): Promise<boolean> {
    const { rowCount: mixedCount } = await this.#session.query(
      `DELETE FROM segments WHERE stream_id = ${MIXED_STREAM} AND segment_id = ANY ($1::bigint[])`,
      [mixed.map((row) => String(row.segmentId))],
    )
    if (mixedCount !== mixed.length) return false
    const runs = rows.flatMap((row) => row.runs)
    if (runs.length === 0) return true
    const { rowCount } = await this.#session.query(
      `DELETE FROM segment_runs r
       USING unnest($1::integer[], $2::bigint[]) AS moved (stream_id, segment_id)
       WHERE r.stream_id = moved.stream_id AND r.segment_id = moved.segment_id`,
      keysOf(runs),
    )
    return rowCount === runs.length
  }

  /** All bytes as one parameter: an array of them would be sent as text. */
  async #insert({ rows, payloads }: SplitPart): Promise<void> {
    const members = rows.map(({ streamId, runs }) => {
      return runs.length > 1 ? encodeMembers(streamId, runs) : NO_MEMBERS
    })
    await this.#session.query(
      `INSERT INTO segments (stream_id, segment_id, last_segment_id, members, ingested_at,
         event_count, raw_bytes, sent_bytes, payload)
       SELECT stream_id, segment_id, last_segment_id,
         CASE WHEN members_bytes > 0
           THEN substring($2::bytea FROM members_start + 1 FOR members_bytes) END,
         timestamptz 'epoch' + (segment_id >> 21) * interval '1 millisecond', -- segment-id.ts
         event_count, raw_bytes, sent_bytes,
         substring($1::bytea FROM payload_start + 1 FOR payload_bytes)
       FROM unnest($3::integer[], $4::bigint[], $5::bigint[], $6::integer[], $7::integer[],
         $8::integer[], $9::integer[], $10::integer[], $11::integer[], $12::integer[])
         AS r (stream_id, segment_id, last_segment_id, event_count, raw_bytes, sent_bytes,
           payload_start, payload_bytes, members_start, members_bytes)`,
      [
        Buffer.concat(payloads),
        Buffer.concat(members),
        rows.map((row) => row.streamId),
        rows.map((row) => String(row.runs[0]?.segmentId)),
        rows.map(({ runs }) => (runs.length > 1 ? String(runs.at(-1)?.segmentId) : null)),
        rows.map((row) => sumOf(row.runs, 'eventCount')),
        rows.map((row) => sumOf(row.runs, 'rawBytes')),
        rows.map((row) => sumOf(row.runs, 'sentBytes')),
        startsOf(payloads),
        payloads.map((payload) => payload.length),
        startsOf(members),
        members.map((one) => one.length),
      ],
    )
  }

  /** Per stream, into how many rows its runs went and how much smaller or larger they are. */
  async #count({ rows, payloads, compactFrom }: Split): Promise<void> {
    const sums = new Map<StreamId, { segments: number; bytes: number }>()
    let start = 0
    for (const [index, { streamId, runs }] of rows.entries()) {
      const end = payloads.ends[index] ?? start
      const sum = sums.get(streamId) ?? { segments: 0, bytes: 0 }
      sum.segments += 1 - runs.length
      sum.bytes += end - start - sumOf(runs, 'storedBytes')
      sums.set(streamId, sum)
      start = end
    }
    if (sums.size === 0) return
    const streamIds = [...sums.keys()]
    const all = [...sums.values()]
    await this.#session.query(
      `INSERT INTO stream_usage AS u
         (stream_id, node_id, segment_count, event_count, sent_bytes, stored_bytes)
       SELECT stream_id, ${REMOVED_NODE_ID}, segments, 0, 0, bytes
       FROM unnest($1::integer[], $2::bigint[], $3::bigint[]) AS s (stream_id, segments, bytes)
       ON CONFLICT (stream_id, node_id) DO UPDATE SET
         segment_count = u.segment_count + excluded.segment_count,
         stored_bytes = u.stored_bytes + excluded.stored_bytes`,
      [streamIds, all.map(({ segments }) => segments), all.map(({ bytes }) => bytes)],
    )
    if (compactFrom === undefined) return
    await this.#session.query(
      `UPDATE stream_storage SET compacted_before = $2
       WHERE stream_id = ANY ($1::integer[]) AND compacted_before > $2`,
      [streamIds, String(compactFrom)],
    )
  }
}

const NO_MEMBERS = new Uint8Array(0)

interface RunRow {
  readonly stream_id: number
  readonly segment_id: string
  readonly row_id: string
  readonly first_event: number
  readonly event_count: number
  readonly raw_bytes: number
  readonly sent_bytes: number
  readonly stored_bytes: number
}

/** What one statement inserts. */
interface SplitPart {
  readonly rows: SplitRow[]
  readonly payloads: Uint8Array[]
}

function cutParts({ rows, payloads }: Split): SplitPart[] {
  const parts: SplitPart[] = []
  let part: SplitPart | undefined
  let partBytes = 0
  let start = 0
  for (const [index, row] of rows.entries()) {
    const payload = payloads.bytes.subarray(start, payloads.ends[index])
    start += payload.length
    if (part === undefined || partBytes + payload.length > SPLIT_STATEMENT_BYTES_MAX) {
      part = { rows: [], payloads: [] }
      parts.push(part)
      partBytes = 0
    }
    part.rows.push(row)
    part.payloads.push(payload)
    partBytes += payload.length
  }
  return parts
}

function keysOf(runs: readonly MixedRun[]): [number[], string[]] {
  return [runs.map((run) => run.streamId), runs.map((run) => String(run.segmentId))]
}

function startsOf(pieces: readonly Uint8Array[]): number[] {
  let at = 0
  return pieces.map((piece) => {
    at += piece.length
    return at - piece.length
  })
}

/** Sums over one commit's worth of bytes and events, or a few: far from 2^31. */
function sumOf(
  runs: readonly StoredRun[],
  field: 'eventCount' | 'rawBytes' | 'sentBytes' | 'storedBytes',
): number {
  return runs.reduce((sum, run) => sum + run[field], 0)
}
