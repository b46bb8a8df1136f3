/** The record of what failovers lost, for all nodes: who found it, and whether it is settled. */
import type { SegmentId } from '../../model/segment-id.ts'
import type { Queryable } from '../postgres.ts'
import type { Loss } from './history.ts'

export interface UnsettledLoss {
  readonly lossId: number
  readonly after: SegmentId
  readonly upTo: SegmentId
}

/** Of all nodes. */
export interface LossSummary {
  /** 0 for none. */
  readonly newestId: number
  readonly losses: number
  readonly events: number
  /** Of the newest that was found within the time asked for, in words; undefined for none. */
  readonly recent: string | undefined
}

export class LostHistoryStore {
  readonly #postgres: Queryable

  constructor(postgres: Queryable) {
    this.#postgres = postgres
  }

  /** Throws `StoreError`, as everything here does. */
  async record(nodeId: number, loss: Loss, isSettled: boolean): Promise<void> {
    await this.#postgres.query(
      `INSERT INTO lost_history
         (node_id, what, after_segment_id, up_to_segment_id, event_count, settled_at)
       VALUES ($1, $2, $3, $4, $5, CASE WHEN $6 THEN now() END)`,
      [nodeId, loss.what, String(loss.after), String(loss.upTo), loss.events, isSettled],
    )
  }

  async readUnsettled(nodeId: number): Promise<UnsettledLoss[]> {
    const { rows } = await this.#postgres.query<{ id: number; after: string; up_to: string }>(
      `SELECT loss_id AS id, after_segment_id AS after, up_to_segment_id AS up_to
         FROM lost_history WHERE node_id = $1 AND settled_at IS NULL ORDER BY loss_id`,
      [nodeId],
    )
    return rows.map(({ id, after, up_to: upTo }) => {
      return { lossId: id, after: BigInt(after) as SegmentId, upTo: BigInt(upTo) as SegmentId }
    })
  }

  async settle(lossId: number): Promise<void> {
    await this.#postgres.query('UPDATE lost_history SET settled_at = now() WHERE loss_id = $1', [
      lossId,
    ])
  }

  /** The newest of the node's ids that were lost: no other segment may get one. 0 for none. */
  async readLastLost(nodeId: number): Promise<SegmentId> {
    const { rows } = await this.#postgres.query<{ up_to: string | null }>(
      'SELECT max(up_to_segment_id) AS up_to FROM lost_history WHERE node_id = $1',
      [nodeId],
    )
    return BigInt(rows[0]?.up_to ?? '0') as SegmentId
  }

  async summarize(recentMs: number): Promise<LossSummary> {
    const { rows } = await this.#postgres.query<{
      readonly newest: number
      readonly losses: number
      readonly events: number
      readonly recent: string | null
    }>(
      `SELECT COALESCE(max(loss_id), 0) AS newest, count(*)::integer AS losses,
         COALESCE(sum(event_count), 0)::float8 AS events,
         (SELECT format('node %s at %s UTC', node_id,
                   to_char(found_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS'))
            FROM lost_history WHERE found_at > now() - $1 * interval '1 millisecond'
           ORDER BY loss_id DESC LIMIT 1) AS recent
       FROM lost_history`,
      [recentMs],
    )
    const { newest = 0, losses = 0, events = 0, recent = null } = rows[0] ?? {}
    return { newestId: newest, losses, events, recent: recent ?? undefined }
  }
}
