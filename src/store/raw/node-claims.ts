/**
 * The SQL of node numbers: who may have one, and who does the work of one whose node is gone.
 *
 * To claim a number, or its work, is to raise its epoch. That waits for the commits of the holder
 * before, and nothing can be stored under the old epoch afterwards.
 *
 * A node without a lease for NODE_GONE_MS is gone. What it committed past its checkpoints is then
 * brought in by another node, which takes over its work and not its number: `identity` and
 * `lease_until` stay as they are, and `taken_until` is a lease of its own. So the number is as free
 * for its node and for new ones as it was; whoever claims it ends the takeover.
 */
import { CLOCK_LEAD_MS_MAX } from '../../limits.ts'
import { nodeOfSegment, SEGMENT_ID_MS_SHIFT } from '../../model/segment-id.ts'
import type { Postgres, Queryable } from '../postgres.ts'
import type { NodeIdentity } from '../under-lease.ts'
import { STORE_NOW_MS } from './clock-guard.ts'

/** Of a number that was claimed. */
export interface Claimed extends NodeIdentity {
  readonly wasTakenOver: boolean
  /** Ids begin at this time: what was decided of the time before stays true. */
  readonly closedMs: number
  /** For how long another process is still entitled to insert under it; below 0, since when not. */
  readonly heldMs: number
}

export interface Claimant {
  readonly identity: string
  readonly leaseMs: number
}

/** The newest id of a node in `nodes`, as far as any of its segments are left. */
const NEWEST_SEGMENT = `COALESCE((SELECT s.segment_id FROM segments s
  WHERE ${nodeOfSegment('s.segment_id')} = nodes.node_id ORDER BY s.segment_id DESC LIMIT 1), 0)`
const CHECKPOINT = checkpointIn('checkpoints')
const OBSERVE_CHECKPOINT = checkpointIn('observe_checkpoints')
/** True of a node in `nodes` whose ids are further ahead than ids may be. */
const IS_FROM_FUTURE = `((GREATEST(${NEWEST_SEGMENT}, ${CHECKPOINT}, ${OBSERVE_CHECKPOINT})
  >> ${SEGMENT_ID_MS_SHIFT}) > ${STORE_NOW_MS} + ${CLOCK_LEAD_MS_MAX})`
/** True of a node in `nodes` with segments to bring in, to try again, or to take out. */
const HAS_WORK = `(${NEWEST_SEGMENT} > LEAST(${CHECKPOINT}, ${OBSERVE_CHECKPOINT})
  OR EXISTS (SELECT 1 FROM set_aside_segments a WHERE a.node_id = nodes.node_id AND a.retry)
  OR EXISTS (SELECT 1 FROM lost_history l WHERE l.node_id = nodes.node_id
    AND l.settled_at IS NULL))`
/**
 * Whose work may be taken over by the identity $1, which holds the numbers $2: that of nodes
 * without a lease for $3 milliseconds (none where it is null), and what the identity itself has
 * left under another number. Of one process there is no other with its identity.
 */
const IS_TO_TAKE = `NOT nodes.node_id = ANY ($2::smallint[])
  AND (nodes.identity = $1 OR ${isBefore('nodes.lease_until', '$3')})
  AND (nodes.taken_until IS NULL OR nodes.taken_by = $1 OR ${isBefore('nodes.taken_until', '$3')})
  AND ${HAS_WORK}`

/** Orders claims among themselves; any constant that nothing else of ours uses. */
const CLAIM_LOCK_KEY = '126943966294886'

/** No claim is under way until the transaction ends, nor begins. */
export async function holdClaims(client: Queryable): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock_shared($1)', [CLAIM_LOCK_KEY])
}

/** Claims of one transaction come one after another. */
export async function lockClaims(client: Queryable): Promise<void> {
  await client.query('SELECT pg_advisory_xact_lock($1)', [CLAIM_LOCK_KEY])
}

const NEVER_HELD = Number.NEGATIVE_INFINITY

interface ClaimRow {
  readonly node_id: number
  readonly epoch: string
  readonly held_ms: number | null
}

/**
 * The latest closing mark of all nodes: a node that begins commits nothing below it. One from the
 * future is of a clock that was wrong, and binds nobody.
 */
const CLOSED_MS = `(SELECT COALESCE(max(closed_ms), 0) FROM nodes
  WHERE closed_ms <= ${STORE_NOW_MS} + ${CLOCK_LEAD_MS_MAX})`

/** Counts processes: what one does for nodes that are gone does not count. */
export async function countLive(client: Queryable): Promise<number> {
  const { rows } = await client.query<{ readonly live: number }>(
    `SELECT count(DISTINCT identity)::integer AS live FROM nodes
      WHERE lease_until > clock_timestamp()`,
  )
  return Math.max(1, rows[0]?.live ?? 1)
}

/** The number that the identity had. The data directory's lock says that nobody else uses it. */
export async function claimOwn(
  client: Queryable,
  claimant: Claimant,
): Promise<Claimed | undefined> {
  // FOR UPDATE waits for every transaction that asserted the old epoch.
  const { rows } = await client.query<ClaimRow>(
    `SELECT node_id, epoch, ${msUntil('taken_until')} AS held_ms FROM nodes
      WHERE identity = $1 AND NOT ${IS_FROM_FUTURE} ORDER BY node_id LIMIT 1 FOR UPDATE`,
    [claimant.identity],
  )
  return rows[0] && (await advance(client, rows[0], { ...claimant, wasTakenOver: false }))
}

export async function claimUnused(
  client: Queryable,
  { identity, leaseMs }: Claimant,
  nodeIdMax: number,
): Promise<Claimed | undefined> {
  const { rows } = await client.query<ClaimRow & { readonly closed_ms: string }>(
    `INSERT INTO nodes (node_id, identity, epoch, lease_until, closed_ms)
     SELECT number, $1, 1, clock_timestamp() + $3 * interval '1 millisecond', ${CLOSED_MS}
       FROM generate_series(0, $2::integer) AS number
      WHERE number NOT IN (SELECT node_id FROM nodes)
      ORDER BY number LIMIT 1
     RETURNING node_id, epoch, closed_ms`,
    [identity, nodeIdMax, leaseMs],
  )
  const [row] = rows
  if (row === undefined) return undefined
  const closedMs = Number(row.closed_ms)
  return { ...idsOf(row), wasTakenOver: false, heldMs: NEVER_HELD, closedMs }
}

/**
 * A number whose lease expired at least `ms` ago, the longest expired first. With 0 also one whose
 * work another node is doing: else that goes first.
 */
export async function claimExpired(
  client: Queryable,
  claimant: Claimant,
  ms: number,
): Promise<Claimed | undefined> {
  const { rows } = await client.query<ClaimRow>(
    `SELECT node_id, epoch, ${msUntil('GREATEST(lease_until, taken_until)')} AS held_ms FROM nodes
      WHERE ${isBefore('lease_until', '$1')}
        AND ($1 = 0 OR taken_until IS NULL OR taken_until < clock_timestamp())
        AND NOT ${IS_FROM_FUTURE}
      ORDER BY lease_until LIMIT 1 FOR UPDATE`,
    [ms],
  )
  return rows[0] && (await advance(client, rows[0], { ...claimant, wasTakenOver: true }))
}

async function advance(
  client: Queryable,
  row: ClaimRow,
  owner: Claimant & { readonly wasTakenOver: boolean },
): Promise<Claimed> {
  const epoch = BigInt(row.epoch) + 1n
  const { rows } = await client.query<{ readonly closed_ms: string }>(
    `UPDATE nodes SET identity = $2, epoch = $3, started_at = clock_timestamp(),
            lease_until = clock_timestamp() + $4 * interval '1 millisecond',
            taken_by = NULL, taken_until = NULL, is_closed = false, closed_ms = ${CLOSED_MS}
      WHERE node_id = $1 RETURNING closed_ms`,
    [row.node_id, owner.identity, String(epoch), owner.leaseMs],
  )
  const { wasTakenOver } = owner
  const closedMs = Number(rows[0]?.closed_ms ?? 0)
  return { nodeId: row.node_id, epoch, wasTakenOver, heldMs: row.held_ms ?? NEVER_HELD, closedMs }
}

/** A node that takes work over, and what it holds already. */
export interface Taker extends Claimant {
  readonly own: NodeIdentity
  readonly held: readonly number[]
  /** Since when a node without a lease is gone; undefined while that cannot be told. */
  readonly goneMs: number | undefined
}

/**
 * One takeover: of whoever is gone for longest, and last of what was given up. Of nodes that try at
 * once one gets it.
 */
export async function takeOver(postgres: Postgres, taker: Taker): Promise<Claimed | undefined> {
  const { identity, own, held, goneMs = null, leaseMs } = taker
  const whose = [identity, [own.nodeId, ...held], goneMs]
  // Mostly there is none, and nothing is written or locked to find that out.
  const { rows: found } = await postgres.query(
    `SELECT 1 FROM nodes WHERE ${IS_TO_TAKE} LIMIT 1`,
    whose,
  )
  if (found.length === 0) return undefined
  // By PostgreSQL's own clock our lease must hold: else that has jumped, or was stopped, and those
  // that seem gone have had no chance to renew theirs.
  const { rows } = await postgres.query<ClaimRow>(
    `UPDATE nodes SET epoch = epoch + 1, taken_by = $1, is_closed = true,
            taken_until = clock_timestamp() + $4 * interval '1 millisecond'
      WHERE node_id = (SELECT node_id FROM nodes WHERE ${IS_TO_TAKE}
                        ORDER BY GREATEST(lease_until, taken_until) LIMIT 1
                          FOR UPDATE SKIP LOCKED)
        AND EXISTS (SELECT 1 FROM nodes own WHERE own.node_id = $5 AND own.epoch = $6
                       AND own.lease_until > clock_timestamp())
     RETURNING node_id, epoch`,
    [...whose, leaseMs, own.nodeId, String(own.epoch)],
  )
  const [row] = rows
  if (row !== undefined) {
    const heldMs = -(goneMs ?? Infinity)
    return { ...idsOf(row), wasTakenOver: true, heldMs, closedMs: Infinity }
  }
  if (goneMs !== null) await endStuckCommits(postgres, goneMs)
  return undefined
}

/**
 * Fences nodes that are gone, whether or not they left any work: nothing is committed any more
 * under a number until it is claimed anew. Returns which. Throws `StoreError`.
 */
export async function fenceGone(
  postgres: Postgres,
  own: NodeIdentity,
  goneMs: number,
): Promise<number[]> {
  const isGone = `NOT nodes.is_closed AND ${isBefore('nodes.lease_until', '$1')}`
  const { rows: found } = await postgres.query(`SELECT 1 FROM nodes WHERE ${isGone}`, [goneMs])
  if (found.length === 0) return []
  const { rows } = await postgres.query<{ readonly node_id: number }>(
    `UPDATE nodes SET epoch = epoch + 1, is_closed = true
      WHERE node_id IN (SELECT node_id FROM nodes WHERE ${isGone} FOR UPDATE SKIP LOCKED)
        AND EXISTS (SELECT 1 FROM nodes own WHERE own.node_id = $2 AND own.epoch = $3
                       AND own.lease_until > clock_timestamp())
     RETURNING node_id`,
    [goneMs, own.nodeId, String(own.epoch)],
  )
  if (rows.length < found.length) await endStuckCommits(postgres, goneMs)
  return rows.map((row) => row.node_id)
}

/**
 * A process that was frozen amid a COPY keeps its row in `nodes` locked: PostgreSQL waits for the
 * rest, and no timeout ends that. So sessions are ended that have asserted a lease for longer than
 * a living node lets any statement take. What is committed or not is looked up by whoever wakes.
 */
async function endStuckCommits(postgres: Postgres, ms: number): Promise<void> {
  await postgres.query(
    `SELECT pg_terminate_backend(l.pid) FROM pg_locks l JOIN pg_stat_activity a USING (pid)
      WHERE l.locktype = 'relation' AND l.relation = 'nodes'::regclass
        AND l.mode = 'RowShareLock' AND a.datname = current_database()
        AND a.usename = current_user AND a.pid <> pg_backend_pid()
        AND ${isBefore('a.xact_start', '$1')}`,
    [ms],
  )
}

/** Whether a number that is held for its work has any left. */
export async function hasWork(client: Queryable, nodeId: number): Promise<boolean> {
  const { rows } = await client.query<{ readonly has_work: boolean }>(
    `SELECT ${HAS_WORK} AS has_work FROM nodes WHERE node_id = $1`,
    [nodeId],
  )
  return rows[0]?.has_work === true
}

function idsOf({ node_id: nodeId, epoch }: ClaimRow): NodeIdentity {
  return { nodeId, epoch: BigInt(epoch) }
}

function checkpointIn(table: 'checkpoints' | 'observe_checkpoints'): string {
  return `COALESCE((SELECT segment_id FROM ${table} c WHERE c.node_id = nodes.node_id), 0)`
}

/** SQL for whether a time was at least so many milliseconds ago; null where either is. */
function isBefore(time: string, ms: string): string {
  return `${time} < clock_timestamp() - ${ms} * interval '1 millisecond'`
}

function msUntil(time: string): string {
  return `(extract(epoch FROM ${time} - clock_timestamp()) * 1000)::float8`
}
