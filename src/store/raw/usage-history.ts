/**
 * Who sent how much and who was refused, by time: counters per node, in fine steps that are added
 * up to coarse ones when they are old, and go in the end.
 *
 *                        fine                  coarse
 *   refusals             a minute, for a day   an hour, for a month
 *   what keys sent       an hour, for a month  a day, for 400 days
 */
import {
  KEYS_KEPT,
  type Kept,
  type KeyCounts,
  type MinuteStep,
  NO_STREAM,
  REFUSALS_KEPT,
  type RefusedRequests,
} from '../../model/batch/usage-counts.ts'
import type { StreamId } from '../../model/stream.ts'
import type { Queryable } from '../postgres.ts'
import { REMOVED_NODE_ID } from './storage-sql.ts'

const MINUTE_MS = 60_000

/** A range in minutes since 1970, half-open, in steps of so many minutes. */
export interface HistoryRange {
  readonly from: number
  readonly to: number
  readonly step: number
}

export type RefusedByKey = Omit<RefusedRequests, keyof MinuteStep | 'streamId'>
export type RefusedByTime = Pick<RefusedRequests, 'start' | 'reason' | 'requests'> &
  Pick<RefusedRequests, 'events' | 'bytes'>
export type SentByKey = Omit<KeyCounts, keyof MinuteStep | 'streamId'>
export type SentByTime = SentByKey & Pick<MinuteStep, 'start'>

/** Rows of what an answer tells: keys with their reasons, or keys. */
export const HISTORY_ROWS_MAX = 1_000
/** Old rows that one statement adds up or removes. */
const AGED_AT_ONCE_MAX = 10_000

const SUMS = `sum(requests)::float8 AS requests, sum(events)::float8 AS events,
  sum(bytes)::float8 AS bytes`
const REFUSED_ADDED = `requests = h.requests + excluded.requests,
  events = COALESCE(h.events + excluded.events, h.events, excluded.events),
  bytes = h.bytes + excluded.bytes, last_at = GREATEST(h.last_at, excluded.last_at)`
const SENT_ADDED = `requests = h.requests + excluded.requests,
  events = h.events + excluded.events, bytes = h.bytes + excluded.bytes`
const IN_RANGE = 'stream_id = $1 AND minutes = ANY ($4::integer[]) AND start >= $2 AND start < $3'

export class UsageHistory {
  readonly #sql: Queryable

  constructor(sql: Queryable) {
    this.#sql = sql
  }

  /** Adds to what node `nodeId` has of the same; no other touches its rows. */
  async recordRefusals(nodeId: number, refused: readonly RefusedRequests[]): Promise<void> {
    if (refused.length === 0) return
    await this.#sql.query(
      `INSERT INTO stream_refusal_history AS h (stream_id, minutes, start, key_id, reason, cause,
         node_id, requests, events, bytes, last_at)
       SELECT stream_id, minutes, start, key_id, reason, cause, $1, sum(requests), sum(events),
         sum(bytes), to_timestamp(max(last_at_ms) / 1000)
       FROM unnest($2::integer[], $3::integer[], $4::integer[], $5::integer[], $6::text[],
           $7::text[], $8::bigint[], $9::bigint[], $10::bigint[], $11::float8[])
         AS d (stream_id, minutes, start, key_id, reason, cause, requests, events, bytes,
           last_at_ms)
       GROUP BY stream_id, minutes, start, key_id, reason, cause
       ON CONFLICT (stream_id, minutes, start, key_id, reason, cause, node_id)
         DO UPDATE SET ${REFUSED_ADDED}`,
      [
        nodeId,
        ...columnsOf(refused, ['streamId', 'minutes', 'start', 'keyId', 'reason', 'cause']),
        ...columnsOf(refused, ['requests', 'events', 'bytes', 'lastAtMs']),
      ],
    )
  }

  /** The same of what keys sent. A key and step may occur only once. */
  async recordKeys(nodeId: number, sent: readonly KeyCounts[]): Promise<void> {
    if (sent.length === 0) return
    await this.#sql.query(
      `INSERT INTO stream_key_usage AS h
         (stream_id, minutes, start, key_id, node_id, requests, events, bytes)
       SELECT stream_id, minutes, start, key_id, $1, requests, events, bytes
       FROM unnest($2::integer[], $3::integer[], $4::integer[], $5::integer[], $6::bigint[],
           $7::bigint[], $8::bigint[])
         AS d (stream_id, minutes, start, key_id, requests, events, bytes)
       ON CONFLICT (stream_id, minutes, start, key_id, node_id) DO UPDATE SET ${SENT_ADDED}`,
      [
        nodeId,
        ...columnsOf(sent, ['streamId', 'minutes', 'start', 'keyId']),
        ...columnsOf(sent, ['requests', 'events', 'bytes']),
      ],
    )
  }

  /** By key, reason and cause, the newest first; of `NO_STREAM` without a stream. */
  async readRefused(
    range: HistoryRange,
    streamId: StreamId = NO_STREAM,
  ): Promise<readonly RefusedByKey[]> {
    const { rows } = await this.#sql.query<RefusedByKey>(
      `SELECT key_id AS "keyId", reason, cause, ${SUMS},
         floor(extract(epoch FROM max(last_at)) * 1000)::float8 AS "lastAtMs"
       FROM stream_refusal_history WHERE ${IN_RANGE}
       GROUP BY key_id, reason, cause ORDER BY max(last_at) DESC, key_id, reason, cause LIMIT $5`,
      [...paramsOf(streamId, range, REFUSALS_KEPT), HISTORY_ROWS_MAX],
    )
    return rows
  }

  /** By step and reason, in order; steps without any are left out. */
  async readRefusedOverTime(
    range: HistoryRange,
    streamId: StreamId = NO_STREAM,
  ): Promise<readonly RefusedByTime[]> {
    const { rows } = await this.#sql.query<RefusedByTime>(
      `SELECT start - start % $5::integer AS start, reason, ${SUMS}
       FROM stream_refusal_history WHERE ${IN_RANGE}
       GROUP BY start - start % $5::integer, reason ORDER BY 1, 2`,
      [...paramsOf(streamId, range, REFUSALS_KEPT), range.step],
    )
    return rows
  }

  /** By key, those that sent most first. */
  async readSent(streamId: StreamId, range: HistoryRange): Promise<readonly SentByKey[]> {
    const { rows } = await this.#sql.query<SentByKey>(
      `SELECT key_id AS "keyId", ${SUMS} FROM stream_key_usage WHERE ${IN_RANGE}
       GROUP BY key_id ORDER BY sum(bytes) DESC, key_id LIMIT $5`,
      [...paramsOf(streamId, range, KEYS_KEPT), HISTORY_ROWS_MAX],
    )
    return rows
  }

  /** Of these keys by step, in order; steps without any are left out. */
  async readSentOverTime(
    streamId: StreamId,
    range: HistoryRange,
    keyIds: readonly number[],
  ): Promise<readonly SentByTime[]> {
    const { rows } = await this.#sql.query<SentByTime>(
      `SELECT start - start % $5::integer AS start, key_id AS "keyId", ${SUMS}
       FROM stream_key_usage WHERE ${IN_RANGE} AND key_id = ANY ($6::integer[])
       GROUP BY start - start % $5::integer, key_id ORDER BY 1, 2`,
      [...paramsOf(streamId, range, KEYS_KEPT), range.step, keyIds],
    )
    return rows
  }

  /** Adds up what is old and removes what is too old; true when there may be more of it. */
  async age(nowMs: number): Promise<boolean> {
    const now = Math.floor(nowMs / MINUTE_MS)
    const refusals = await this.#age(now, REFUSALS_KEPT, {
      table: 'stream_refusal_history',
      key: 'key_id, reason, cause',
      counts: 'requests, events, bytes, last_at',
      sums: 'sum(requests), sum(events), sum(bytes), max(last_at)',
      added: REFUSED_ADDED,
    })
    const keys = await this.#age(now, KEYS_KEPT, {
      table: 'stream_key_usage',
      key: 'key_id',
      counts: 'requests, events, bytes',
      sums: 'sum(requests), sum(events), sum(bytes)',
      added: SENT_ADDED,
    })
    return refusals || keys
  }

  /** Coarse rows are of all nodes together, under retention's own number: nobody else's. */
  async #age(now: number, { fine, keptFine, coarse, keptCoarse }: Kept, of: Aged) {
    const { table, key, counts, sums, added } = of
    const old = `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM ${table} WHERE minutes = $1 AND start < $2
      ORDER BY start LIMIT ${AGED_AT_ONCE_MAX}))`
    const begin = 'start - start % $3::integer'
    const whole = (minute: number) => minute - (minute % coarse)
    const { rows } = await this.#sql.query<{ readonly count: number }>(
      `WITH old AS (${old} RETURNING *), summed AS (
         INSERT INTO ${table} AS h (stream_id, minutes, start, ${key}, node_id, ${counts})
         SELECT stream_id, $3::integer, ${begin}, ${key}, ${REMOVED_NODE_ID}, ${sums} FROM old
         GROUP BY stream_id, ${begin}, ${key}
         ON CONFLICT (stream_id, minutes, start, ${key}, node_id) DO UPDATE SET ${added}
       ) SELECT count(*)::integer AS count FROM old`,
      [fine, whole(now - keptFine), coarse],
    )
    const gone = await this.#sql.query(old, [coarse, whole(now - keptCoarse)])
    return Math.max(rows[0]?.count ?? 0, gone.rowCount) >= AGED_AT_ONCE_MAX
  }
}

/** A table whose rows get old. */
interface Aged {
  readonly table: string
  /** Columns. */
  readonly key: string
  readonly counts: string
  /** Of the counts, over rows. */
  readonly sums: string
  /** How excluded counts are added to those of `h`. */
  readonly added: string
}

/** Arrays by column. */
function columnsOf<T>(rows: readonly T[], names: readonly (keyof T)[]): unknown[][] {
  return names.map((name) => rows.map((row) => row[name]))
}

function paramsOf(streamId: StreamId, { from, to }: HistoryRange, { fine, coarse }: Kept) {
  return [streamId, from, to, [fine, coarse]]
}
