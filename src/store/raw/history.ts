/**
 * Whether PostgreSQL still has what this process saw committed. With asynchronous replication a
 * standby may be promoted that lacks the last commits. Then what this process has in memory is of a
 * history that never was: segments that it acknowledged, fields that it takes for learned, keys.
 *
 * What is remembered are the newest commits, one segment of each, as a transaction is there or not,
 * and numbers that only rise. They are compared when PostgreSQL was away (`postgres-watch.ts`).
 * In memory only: a process that starts knows nothing, and compares the projection instead
 * (`app/settle-history.ts`). Costs a commit one entry in a list, and PostgreSQL nothing.
 */
import { COMPACT_AGE_MS } from '../../limits.ts'
import type { CommittedGroup } from '../../model/batch/committed-group.ts'
import type { StreamSegment } from '../../model/projection.ts'
import { nodeOfSegment, type SegmentId, segmentIdMs } from '../../model/segment-id.ts'
import type { Queryable } from '../postgres.ts'
import type { NodeIdentity } from '../under-lease.ts'

/** What a server had less of than this process had seen. */
export interface Loss {
  readonly what: 'segments' | Risen | 'lease'
  /** The node's segments that may be missing: after the one, up to the other. */
  readonly after: SegmentId
  readonly upTo: SegmentId
  /** Acknowledged events in them, as far as they are known. */
  readonly events: number
}

/** Numbers in PostgreSQL that never fall: of the control plane, and of this node's followers. */
export type Risen = 'control' | 'checkpoint' | 'catalog'

/** Commits that are remembered. Past that every second one of the older half is forgotten. */
export const REMEMBERED_MAX = 4_096
/** Compaction leaves rows of this age alone, so that each is found by its own id. */
const REMEMBERED_MS_MAX = COMPACT_AGE_MS / 2

interface Remembered extends StreamSegment {
  readonly lastId: SegmentId
  readonly events: number
}

const NO_SEGMENT = 0n as SegmentId

export class History {
  readonly #node: NodeIdentity
  readonly #identity: string
  #recent: Remembered[] = []
  readonly #risen = new Map<Risen, bigint>()

  /** `identity`: that under which the node number was claimed. */
  constructor(node: NodeIdentity, identity: string) {
    this.#node = node
    this.#identity = identity.toLowerCase()
  }

  /** A transaction was committed. */
  committed({ segments }: CommittedGroup): void {
    const [first, last] = [segments[0], segments.at(-1)]
    if (first === undefined || last === undefined) return
    const { streamId, segmentId } = first.runs?.[0] ?? first
    const { segmentId: lastId } = last.runs?.at(-1) ?? last
    const events = segments.reduce((sum, { eventCount }) => sum + eventCount, 0)
    this.#recent.push({ streamId, segmentId, lastId, events })
    if (this.#recent.length <= REMEMBERED_MAX) return
    const half = this.#recent.length / 2
    this.#recent = this.#recent.filter((_, index) => index >= half || index % 2 === 0)
  }

  /** PostgreSQL said that it has this, or that it is committed. */
  saw(what: Risen, value: bigint): void {
    if (value > (this.#risen.get(what) ?? 0n)) this.#risen.set(what, value)
  }

  /** The first difference, if there is one. Throws `StoreError`. */
  async findLoss(sql: Queryable): Promise<Loss | undefined> {
    const sinceMs = Date.now() - REMEMBERED_MS_MAX
    const recent = this.#recent.filter(({ segmentId }) => segmentIdMs(segmentId) >= sinceMs)
    const missing = new Set(await findMissing(sql, recent))
    const lost = recent.filter(({ segmentId }) => missing.has(segmentId))
    const [first, last] = [lost[0], lost.at(-1)]
    if (first !== undefined && last !== undefined) {
      const after = await this.#newestBefore(sql, first.segmentId)
      const events = lost.reduce((sum, one) => sum + one.events, 0)
      return { what: 'segments', after, upTo: last.lastId, events }
    }
    const what = await this.#findFallen(sql)
    return what && { what, after: NO_SEGMENT, upTo: NO_SEGMENT, events: 0 }
  }

  async #findFallen(sql: Queryable): Promise<Risen | 'lease' | undefined> {
    const { nodeId, epoch } = this.#node
    const control = await sql.query<{ version: string }>('SELECT version FROM control_version')
    const { rows } = await sql.query<
      Record<Exclude<Risen, 'control'> | 'epoch', string> & { identity: string }
    >(
      `SELECT
         COALESCE((SELECT segment_id FROM checkpoints WHERE node_id = $1), 0) AS checkpoint,
         COALESCE((SELECT segment_id FROM observe_checkpoints WHERE node_id = $1), 0) AS catalog,
         COALESCE((SELECT epoch FROM nodes WHERE node_id = $1), 0) AS epoch,
         (SELECT identity FROM nodes WHERE node_id = $1) AS identity`,
      [nodeId],
    )
    const [row] = rows
    if (row === undefined) return undefined
    const there = { ...row, control: control.rows[0]?.version ?? '0' }
    for (const [what, seen] of this.#risen) if (BigInt(there[what]) < seen) return what
    // A higher epoch is that of a process which took the number over: the lease tells of that.
    const isOurs = BigInt(row.epoch) === epoch && row.identity === this.#identity
    return BigInt(row.epoch) > epoch || isOurs ? undefined : 'lease'
  }

  async #newestBefore(sql: Queryable, segmentId: SegmentId): Promise<SegmentId> {
    const { rows } = await sql.query<{ id: string }>(
      `SELECT segment_id AS id FROM segments
        WHERE ${nodeOfSegment('segment_id')} = $1 AND segment_id < $2
        ORDER BY segment_id DESC LIMIT 1`,
      [this.#node.nodeId, String(segmentId)],
    )
    return BigInt(rows[0]?.id ?? '0') as SegmentId
  }
}

/**
 * Which segments are nowhere in the raw store, though nothing says that they were removed. One that
 * a merged row reaches over counts as there. Throws `StoreError`.
 */
export async function findMissing(
  sql: Queryable,
  segments: readonly StreamSegment[],
): Promise<SegmentId[]> {
  if (segments.length === 0) return []
  const { rows } = await sql.query<{ stream_id: number; id: string }>(
    `SELECT a.stream_id, a.segment_id AS id
       FROM unnest($1::integer[], $2::bigint[]) AS a (stream_id, segment_id)
      WHERE NOT EXISTS (SELECT 1 FROM segments s
              WHERE s.stream_id = a.stream_id AND s.segment_id = a.segment_id)
        AND NOT EXISTS (SELECT 1 FROM segment_runs r
              WHERE r.stream_id = a.stream_id AND r.segment_id = a.segment_id)
        AND NOT COALESCE((SELECT s.last_segment_id >= a.segment_id FROM segments s
              WHERE s.stream_id = a.stream_id AND s.segment_id < a.segment_id
                AND s.last_segment_id IS NOT NULL
              ORDER BY s.segment_id DESC LIMIT 1), false)
        AND NOT EXISTS (SELECT 1 FROM stream_storage m
              WHERE m.stream_id = a.stream_id AND m.removed_before > a.segment_id)`,
    [segments.map(({ streamId }) => streamId), segments.map(({ segmentId }) => String(segmentId))],
  )
  if (rows.length === 0) return []
  const deleted = await sql.query<{ stream_id: number }>(
    `SELECT stream_id FROM streams
      WHERE stream_id = ANY ($1::integer[]) AND deleted_at IS NOT NULL`,
    [rows.map((row) => row.stream_id)],
  )
  const gone = new Set(deleted.rows.map((row) => row.stream_id))
  return rows.filter((row) => !gone.has(row.stream_id)).map(({ id }) => BigInt(id) as SegmentId)
}
