/**
 * A node number of our own, for segment ids and per-node rows. Every commit asserts it in the
 * database (`assert_node_lease`), so a process that lost it cannot store anything under it, and
 * claiming it waits for the commits of its previous holder.
 *
 * The same data directory (identity) gets its old number back at once, since its lock makes sure
 * that no other process uses it. Else the claim takes the number of a node that has been gone for a
 * while: only the holder of its number brings what it committed past its checkpoint into the
 * projection, and where data directories do not outlive their process, no identity comes back. Else
 * it takes the lowest number never used; else one whose lease has only just expired, to which its
 * node may still return.
 *
 * A number whose newest id is from the future, because a clock was once wrong, is not used: new ids
 * would have to rise above it. Its lease is held nevertheless (`leftBehind`), by the node that
 * brings in what was committed under it and is not in the projection.
 */
import { CLOCK_LEAD_MS_MAX, NODE_LEASE_MS, NODE_LEASE_RENEW_MS } from '../../limits.ts'
import { NODE_ID_MAX, nodeOfSegment, SEGMENT_ID_MS_SHIFT } from '../../model/segment-id.ts'
import type { Postgres, Queryable } from '../postgres.ts'
import { StoreError } from '../store-error.ts'
import type { StoreLog } from '../store-log.ts'
import type { NodeIdentity } from '../under-lease.ts'
import { type ClockGuard, STORE_NOW_MS } from './clock-guard.ts'

/** A node whose lease ran out this long ago is gone; the next new one takes its number over. */
export const NODE_DEAD_MS = 120_000
/** Numbers of gone nodes whose remains one start takes care of, beside its own. */
export const NODES_LEFT_BEHIND_MAX = 8

export interface NodeLeaseOptions {
  readonly postgres: Postgres
  /** `DataDirectory.nodeIdentity`. */
  readonly identity: string
  readonly log: StoreLog
  /** Gets PostgreSQL's clock with every renewal. */
  readonly clock?: ClockGuard
  /** Called at most once: the number belongs to another process now; ingest must stop. */
  readonly onLost: () => void
  /** For tests. */
  readonly nodeIdMax?: number
  readonly renewMs?: number
}

interface Claimed extends NodeIdentity {
  readonly wasTakenOver: boolean
}

interface Claim extends Claimed {
  readonly liveNodes: number
  readonly leftBehind: readonly Claimed[]
}

/** The newest id of a node in `nodes`, as far as any of its segments are left. */
const NEWEST_SEGMENT = `COALESCE((SELECT s.segment_id FROM segments s
  WHERE ${nodeOfSegment('s.segment_id')} = nodes.node_id ORDER BY s.segment_id DESC LIMIT 1), 0)`
const CHECKPOINT = checkpointIn('checkpoints')
const OBSERVE_CHECKPOINT = checkpointIn('observe_checkpoints')
/** True of a node in `nodes` whose ids are further ahead than ids may be. */
const IS_FROM_FUTURE = `((GREATEST(${NEWEST_SEGMENT}, ${CHECKPOINT}, ${OBSERVE_CHECKPOINT})
  >> ${SEGMENT_ID_MS_SHIFT}) > ${STORE_NOW_MS} + ${CLOCK_LEAD_MS_MAX})`

/** Orders claims among themselves; any constant that nothing else of ours uses. */
const CLAIM_LOCK_KEY = '126943966294886'

export class NodeLease {
  readonly nodeId: number
  readonly epoch: bigint
  /** The number belonged to another, dead node: its segments past the checkpoint are ours now. */
  readonly wasTakenOver: boolean
  /** Numbers under which nothing more is committed: this node brings in what they have. */
  readonly leftBehind: readonly NodeLease[]
  readonly #options: NodeLeaseOptions
  #timer: NodeJS.Timeout | undefined
  #renewing: Promise<void> | undefined
  #isOver = false
  #failures = 0
  #liveNodes: number

  private constructor(options: NodeLeaseOptions, claim: Claim) {
    this.#options = options
    this.nodeId = claim.nodeId
    this.epoch = claim.epoch
    this.wasTakenOver = claim.wasTakenOver
    this.#liveNodes = claim.liveNodes
    this.leftBehind = claim.leftBehind.map((left) => {
      return new NodeLease(options, { ...left, liveNodes: claim.liveNodes, leftBehind: [] })
    })
    this.#schedule()
  }

  /** Nodes with a lease, this one among them, as of the last renewal. */
  get liveNodes(): number {
    return this.#liveNodes
  }

  /** Throws `StoreError`: `unavailable` also when every number is held by a living node. */
  static async claim(options: NodeLeaseOptions): Promise<NodeLease> {
    const { postgres, identity, log, nodeIdMax = NODE_ID_MAX } = options
    const claim = await postgres.transaction(async (client) => {
      await client.query('SELECT pg_advisory_xact_lock($1)', [CLAIM_LOCK_KEY])
      const claimed =
        (await claimOwn(client, identity)) ??
        (await claimExpired(client, identity, NODE_DEAD_MS)) ??
        (await claimUnused(client, identity, nodeIdMax)) ??
        (await claimExpired(client, identity, 0))
      if (claimed === undefined) return undefined
      const leftBehind = await claimLeftBehind(client, identity)
      return { ...claimed, leftBehind, liveNodes: await countLive(client) }
    })
    if (claim === undefined) {
      const text = `all ${nodeIdMax + 1} node numbers are in use`
      throw new StoreError('unavailable', `${text}; try again when a node has stopped`)
    }
    const { nodeId, epoch, wasTakenOver, leftBehind } = claim
    log.info({ nodeId, epoch: String(epoch), wasTakenOver }, 'claimed a node number')
    if (leftBehind.length > 0) {
      const nodeIds = leftBehind.map((left) => left.nodeId)
      log.warn(
        { nodeIds },
        'node numbers with ids from the future are left; their rest is brought in',
      )
    }
    return new NodeLease(options, claim)
  }

  /** Ends the renewal and gives the lease up; the number stays reserved for our identity. */
  async stop(): Promise<void> {
    for (const left of this.leftBehind) await left.stop()
    if (this.#isOver) return
    this.#end()
    await this.#renewing
    const text =
      'UPDATE nodes SET lease_until = clock_timestamp() WHERE node_id = $1 AND epoch = $2'
    const values = [this.nodeId, String(this.epoch)]
    // Without the database the lease runs out by itself.
    await this.#options.postgres.query(text, values).catch(() => undefined)
  }

  #end(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
  }

  #schedule(): void {
    const { renewMs = NODE_LEASE_RENEW_MS } = this.#options
    this.#timer = setTimeout(() => {
      this.#renewing = this.#renew()
    }, renewMs)
    this.#timer.unref()
  }

  async #renew(): Promise<void> {
    const { postgres, log, clock, onLost } = this.#options
    try {
      const askedAtMs = clock?.monotonicMs ?? 0
      const { rows, rowCount } = await postgres.query<{ readonly now_ms: number }>(
        `UPDATE nodes SET lease_until = clock_timestamp() + $3 * interval '1 millisecond'
          WHERE node_id = $1 AND epoch = $2 RETURNING ${STORE_NOW_MS} AS now_ms`,
        [this.nodeId, String(this.epoch), NODE_LEASE_MS],
      )
      if (rows[0] !== undefined) clock?.told(rows[0].now_ms, askedAtMs)
      this.#failures = 0
      this.#liveNodes = await countLive(postgres)
      if (rowCount === 0 && !this.#isOver) {
        this.#end()
        log.error({ nodeId: this.nodeId }, 'another process took our node number')
        onLost()
      }
    } catch (cause) {
      // The lease is not lost: as far as we know nobody took it, and commits assert it anyway.
      const reason = cause instanceof Error ? cause.message : String(cause)
      if (this.#failures++ === 0) log.warn({ reason }, 'could not renew the node lease; will retry')
    }
    if (!this.#isOver) this.#schedule()
  }
}

/** Counts processes: one of them may also hold numbers that were left behind. */
async function countLive(client: Queryable): Promise<number> {
  const { rows } = await client.query<{ readonly live: number }>(
    `SELECT count(DISTINCT identity)::integer AS live FROM nodes
      WHERE lease_until > clock_timestamp()`,
  )
  return Math.max(1, rows[0]?.live ?? 1)
}

interface ClaimRow {
  readonly node_id: number
  readonly epoch: string
}

async function claimOwn(client: Queryable, identity: string): Promise<Claimed | undefined> {
  // FOR UPDATE waits for every transaction that asserted the old epoch.
  const { rows } = await client.query<ClaimRow>(
    `SELECT node_id, epoch FROM nodes WHERE identity = $1 AND NOT ${IS_FROM_FUTURE}
      ORDER BY node_id LIMIT 1 FOR UPDATE`,
    [identity],
  )
  return rows[0] && (await advance(client, rows[0], { identity, wasTakenOver: false }))
}

async function claimUnused(
  client: Queryable,
  identity: string,
  nodeIdMax: number,
): Promise<Claimed | undefined> {
  const { rows } = await client.query<ClaimRow>(
    `INSERT INTO nodes (node_id, identity, epoch, lease_until)
     SELECT number, $1, 1, clock_timestamp() + $3 * interval '1 millisecond'
       FROM generate_series(0, $2::integer) AS number
      WHERE number NOT IN (SELECT node_id FROM nodes)
      ORDER BY number LIMIT 1
     RETURNING node_id, epoch`,
    [identity, nodeIdMax, NODE_LEASE_MS],
  )
  return rows[0] && { nodeId: rows[0].node_id, epoch: BigInt(rows[0].epoch), wasTakenOver: false }
}

/** A number whose lease expired at least `ms` ago, the longest expired first. */
async function claimExpired(
  client: Queryable,
  identity: string,
  ms: number,
): Promise<Claimed | undefined> {
  const { rows } = await client.query<ClaimRow>(
    `SELECT node_id, epoch FROM nodes
      WHERE lease_until < clock_timestamp() - $1 * interval '1 millisecond'
        AND NOT ${IS_FROM_FUTURE}
      ORDER BY lease_until LIMIT 1 FOR UPDATE`,
    [ms],
  )
  return rows[0] && (await advance(client, rows[0], { identity, wasTakenOver: true }))
}

/** Our own or long gone nodes' numbers with ids from the future and segments to bring in. */
async function claimLeftBehind(client: Queryable, identity: string): Promise<Claimed[]> {
  const { rows } = await client.query<ClaimRow>(
    `SELECT node_id, epoch FROM nodes
      WHERE (identity = $1 OR lease_until < clock_timestamp() - $2 * interval '1 millisecond')
        AND ${IS_FROM_FUTURE}
        AND ${NEWEST_SEGMENT} > LEAST(${CHECKPOINT}, ${OBSERVE_CHECKPOINT})
      ORDER BY node_id LIMIT $3 FOR UPDATE`,
    [identity, NODE_DEAD_MS, NODES_LEFT_BEHIND_MAX],
  )
  const claimed: Claimed[] = []
  for (const row of rows) claimed.push(await advance(client, row, { identity, wasTakenOver: true }))
  return claimed
}

function checkpointIn(table: 'checkpoints' | 'observe_checkpoints'): string {
  return `COALESCE((SELECT segment_id FROM ${table} c WHERE c.node_id = nodes.node_id), 0)`
}

async function advance(
  client: Queryable,
  row: ClaimRow,
  owner: { identity: string; wasTakenOver: boolean },
): Promise<Claimed> {
  const epoch = BigInt(row.epoch) + 1n
  await client.query(
    `UPDATE nodes SET identity = $2, epoch = $3, started_at = clock_timestamp(),
            lease_until = clock_timestamp() + $4 * interval '1 millisecond'
      WHERE node_id = $1`,
    [row.node_id, owner.identity, String(epoch), NODE_LEASE_MS],
  )
  return { nodeId: row.node_id, epoch, wasTakenOver: owner.wasTakenOver }
}
