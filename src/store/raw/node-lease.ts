/**
 * A node number of our own, for segment ids and per-node rows. Every commit asserts it in the
 * database (`assert_node_lease`), so a process that lost it cannot store anything under it, and
 * claiming it waits for the commits of its previous holder.
 *
 * The same data directory (identity) gets its old number back at once, since its lock makes sure
 * that no other process uses it. Else the claim takes the number of a node that has been gone for a
 * while: where data directories do not outlive their process, no identity comes back, and each
 * number costs every read a little. Else it takes the lowest number never used; else one whose
 * lease has only just expired, to which its node may still return. A number whose newest id is from
 * the future, because a clock was once wrong, is not used: new ids would have to rise above it.
 *
 * The work that is left of a number that nobody holds is done by a living node (`takeOver`), under
 * a lease of the same kind.
 *
 * ClickHouse knows nothing of epochs, so inserts are fenced by time. A process sends one only while
 * it is entitled to (`assertHeld`): at most NODE_LEASE_MS after it last asked for a renewal, by its
 * own clocks, with the connection in hand. What it sends then begins in ClickHouse within
 * INSERT_ARRIVAL_MS_MAX or never: the server closes connections that are silent. Whoever gets the
 * number of another process asks ClickHouse what runs and what is there only after that
 * (`untilQuiet`); a gone node's last insert is past it. This assumes that at least one of the
 * process's clocks, monotonic and of the day, went on while it was frozen, and that no proxy before
 * ClickHouse holds a request back.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import {
  INSERT_ARRIVAL_MS_MAX,
  NODE_GONE_MS,
  NODE_LEASE_MS,
  NODE_LEASE_RENEW_MS,
} from '../../limits.ts'
import { NODE_ID_MAX } from '../../model/segment-id.ts'
import type { Postgres } from '../postgres.ts'
import { StoreError } from '../store-error.ts'
import type { StoreLog } from '../store-log.ts'
import type { NodeIdentity } from '../under-lease.ts'
import { ClockGuard, STORE_NOW_MS } from './clock-guard.ts'
import {
  type Claimed,
  claimExpired,
  claimOwn,
  claimUnused,
  countLive,
  fenceGone,
  hasWork,
  lockClaims,
  takeOver,
} from './node-claims.ts'

/** A node whose lease ran out this long ago will hardly return: a new one gets its number. */
export const NODE_DEAD_MS = 120_000

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
  readonly times?: Partial<LeaseTimes>
}

/** What a node says of its ids: `commit/closing-mark.ts`. */
export interface Closing {
  /** No id of a time before this will ever be committed any more; never falls. */
  readonly closedMs: number
  /** Nor any other. */
  readonly isOver: boolean
}

export interface LeaseTimes {
  readonly leaseMs: number
  readonly renewMs: number
  readonly goneMs: number
  readonly arrivalMs: number
}

const TIMES: LeaseTimes = {
  leaseMs: NODE_LEASE_MS,
  renewMs: NODE_LEASE_RENEW_MS,
  goneMs: NODE_GONE_MS,
  arrivalMs: INSERT_ARRIVAL_MS_MAX,
}

/** When a renewal was asked for. */
interface Moment {
  readonly monotonicMs: number
  readonly nowMs: number
}

export class NodeLease implements NodeIdentity {
  readonly nodeId: number
  readonly epoch: bigint
  /** The number was another node's. */
  readonly wasTakenOver: boolean
  /** Another process held it, or its work, and may have left something under way. */
  readonly isInherited: boolean
  /** Ids begin at this time: `Claimed`. */
  readonly closedMs: number
  #closing: Closing | undefined
  readonly #options: NodeLeaseOptions
  readonly #times: LeaseTimes
  readonly #clock: ClockGuard
  /** Whether nothing is committed under it: it is held for the work that is left. */
  readonly #isForWork: boolean
  readonly #quietAtMs: number
  #timer: NodeJS.Timeout | undefined
  #renewing: Promise<void> | undefined
  #renewedAt: Moment
  /** PostgreSQL's clock at the last renewal. */
  #storeMs: number | undefined
  /** Since when it was renewed without a break, on the monotonic clock. */
  #steadySinceMs: number
  #isOver = false
  #isLost = false
  #failures = 0
  #liveNodes = 1

  private constructor(
    options: NodeLeaseOptions,
    claimed: Claimed,
    parts: { readonly askedAt: Moment; readonly isForWork: boolean },
  ) {
    this.#options = options
    this.#times = { ...TIMES, ...options.times }
    this.#clock = options.clock ?? new ClockGuard()
    this.nodeId = claimed.nodeId
    this.epoch = claimed.epoch
    this.wasTakenOver = claimed.wasTakenOver
    this.isInherited = Number.isFinite(claimed.heldMs)
    this.closedMs = claimed.closedMs
    this.#isForWork = parts.isForWork
    this.#renewedAt = parts.askedAt
    this.#steadySinceMs = parts.askedAt.monotonicMs
    this.#quietAtMs = performance.now() + claimed.heldMs + this.#times.arrivalMs
    this.#schedule()
  }

  /** Nodes with a lease, this one among them, as of the last renewal. */
  get liveNodes(): number {
    return this.#liveNodes
  }

  /** Throws `StoreError`: `unavailable` also when every number is held by a living node. */
  static async claim(options: NodeLeaseOptions): Promise<NodeLease> {
    const { postgres, identity, log, nodeIdMax = NODE_ID_MAX } = options
    const { leaseMs } = { ...TIMES, ...options.times }
    const claimant = { identity, leaseMs }
    const askedAt = momentOf(options.clock ?? new ClockGuard())
    const [claimed, liveNodes] = await postgres.transaction(async (client) => {
      await lockClaims(client)
      const claimed =
        (await claimOwn(client, claimant)) ??
        (await claimExpired(client, claimant, NODE_DEAD_MS)) ??
        (await claimUnused(client, claimant, nodeIdMax)) ??
        (await claimExpired(client, claimant, 0))
      return [claimed, await countLive(client)]
    })
    if (claimed === undefined) {
      const text = `all ${nodeIdMax + 1} node numbers are in use`
      throw new StoreError('unavailable', `${text}; try again when a node has stopped`)
    }
    const { nodeId, epoch, wasTakenOver } = claimed
    log.info({ nodeId, epoch: String(epoch), wasTakenOver }, 'claimed a node number')
    const lease = new NodeLease(options, claimed, { askedAt, isForWork: false })
    lease.#liveNodes = liveNodes
    return lease
  }

  /**
   * The work of a node that is gone, or what we ourselves have left under another number; undefined
   * where there is none. `held`: what was taken over before. `onLost`: the node is back, or a new
   * one has its number. Throws `StoreError`.
   */
  async takeOver(held: readonly number[], onLost: () => void): Promise<NodeLease | undefined> {
    const { postgres, identity } = this.#options
    const { leaseMs, goneMs } = this.#times
    const askedAt = momentOf(this.#clock)
    // While PostgreSQL was away nobody could renew a lease: then all get as long again.
    const isSteady = askedAt.monotonicMs - this.#steadySinceMs >= goneMs
    const taken = await takeOver(postgres, {
      ...{ identity, leaseMs, held, own: this },
      goneMs: isSteady ? goneMs : undefined,
    })
    const options = { ...this.#options, onLost }
    return taken && new NodeLease(options, taken, { askedAt, isForWork: true })
  }

  /** From now on the lease is renewed with what this says. */
  closeBy(closing: Closing): void {
    this.#closing = closing
  }

  /**
   * Publishes the closing mark if somebody waits for a later one than is published: `wanted_ms`.
   * Throws `StoreError`.
   */
  async publishIfWanted(): Promise<void> {
    if (this.#isOver || this.#closing === undefined) return
    await this.#options.postgres.query(
      `UPDATE nodes SET closed_ms = ${closedSql('$3')}
        WHERE node_id = $1 AND epoch = $2 AND closed_ms < (SELECT wanted_ms FROM closing_wanted)`,
      [this.nodeId, String(this.epoch), this.#closing.closedMs],
    )
  }

  /** Fences nodes that are gone; returns which. Throws `StoreError`. */
  async fenceGone(): Promise<number[]> {
    const { goneMs } = this.#times
    if (this.#clock.monotonicMs - this.#steadySinceMs < goneMs) return []
    return await fenceGone(this.#options.postgres, this, goneMs)
  }

  /** Whether anything is left to do for a number that is held for its work. Throws `StoreError`. */
  hasWork(): Promise<boolean> {
    return hasWork(this.#options.postgres, this.nodeId)
  }

  /**
   * Resolves while this process is entitled to insert into ClickHouse. To be called with the
   * connection in hand, just before the first byte. Throws `StoreError`.
   */
  async assertHeld(): Promise<void> {
    // A renewal that was under way may have been asked for long ago.
    for (let tries = 0; tries < 2 && !this.#isOver && !this.#isFresh; tries++) await this.#renew()
    if (!this.#isOver && this.#isFresh) return
    const text = `node number ${this.nodeId}`
    if (this.#isLost) throw new StoreError('lease_lost', `${text} belongs to another process`)
    throw new StoreError('unavailable', `the lease on ${text} could not be renewed`)
  }

  get #isFresh(): boolean {
    return this.#msSince(this.#renewedAt) < this.#times.leaseMs
  }

  #msSince({ monotonicMs, nowMs }: Moment): number {
    return Math.max(this.#clock.monotonicMs - monotonicMs, this.#clock.nowMs - nowMs)
  }

  /** Resolves when no insert can come any more that another process sent under the number. */
  async untilQuiet(): Promise<void> {
    const leftMs = this.#quietAtMs - performance.now()
    if (leftMs > 0) await sleep(leftMs, undefined, { ref: false })
  }

  /**
   * Ends the renewal and gives the lease up; the number stays reserved for our identity. `isDone`:
   * nothing is under way of the work that the number was held for.
   */
  async stop({ isDone = false } = {}): Promise<void> {
    if (this.#isOver) return
    this.#end()
    await this.#renewing
    const text = this.#isForWork
      ? `UPDATE nodes SET taken_until = CASE WHEN $3 THEN NULL ELSE clock_timestamp() END
          WHERE node_id = $1 AND epoch = $2`
      : `UPDATE nodes SET lease_until = clock_timestamp(), is_closed = $3
          WHERE node_id = $1 AND epoch = $2`
    const isEnd = this.#isForWork ? isDone : this.#closing?.isOver === true
    const values = [this.nodeId, String(this.epoch), isEnd]
    // Without the database the lease runs out by itself.
    await this.#options.postgres.query(text, values).catch(() => undefined)
  }

  #end(): void {
    this.#isOver = true
    clearTimeout(this.#timer)
  }

  #schedule(): void {
    this.#timer = setTimeout(async () => {
      await this.#renew()
      if (!this.#isOver) this.#schedule()
    }, this.#times.renewMs)
    this.#timer.unref()
  }

  /** Never rejects. */
  #renew(): Promise<void> {
    this.#renewing ??= this.#tryRenew().finally(() => {
      this.#renewing = undefined
    })
    return this.#renewing
  }

  async #tryRenew(): Promise<void> {
    const { postgres, log } = this.#options
    try {
      const askedAt = momentOf(this.#clock)
      const { rows, rowCount } = await postgres.query<{ readonly now_ms: number }>(
        `UPDATE nodes SET ${this.#isForWork ? 'taken_until' : 'lease_until'}
            = clock_timestamp() + $3 * interval '1 millisecond',
            closed_ms = ${closedSql('$4')}
          WHERE node_id = $1 AND epoch = $2 RETURNING ${STORE_NOW_MS} AS now_ms`,
        [this.nodeId, String(this.epoch), this.#times.leaseMs, this.#closing?.closedMs ?? null],
      )
      if (rows[0] !== undefined) this.#renewed(askedAt, rows[0].now_ms)
      this.#failures = 0
      if (rowCount === 0 && !this.#isOver) this.#lose()
      if (!this.#isForWork) this.#liveNodes = await countLive(postgres)
    } catch (cause) {
      // The lease is not lost: as far as we know nobody took it, and commits assert it anyway.
      const reason = cause instanceof Error ? cause.message : String(cause)
      if (this.#failures++ > 0 || this.#isForWork) return
      log.warn({ reason }, 'could not renew the node lease; will retry')
    }
  }

  #renewed(askedAt: Moment, storeMs: number): void {
    this.#clock.told(storeMs, askedAt.monotonicMs)
    const passedMs = this.#storeMs === undefined ? 0 : storeMs - this.#storeMs
    // Also where it is PostgreSQL's clock that went on: all other leases have run out with it.
    if (Math.max(this.#msSince(this.#renewedAt), passedMs) > this.#times.leaseMs) {
      this.#steadySinceMs = askedAt.monotonicMs
    }
    this.#renewedAt = askedAt
    this.#storeMs = storeMs
  }

  #lose(): void {
    const { log, onLost } = this.#options
    this.#end()
    this.#isLost = true
    // Of work that was taken over that is no misfortune: its node is back.
    if (!this.#isForWork) {
      log.error({ nodeId: this.nodeId }, 'another process took our node number')
    }
    onLost()
  }
}

/** SQL for the mark to publish: one of the future would bind whoever starts next. */
function closedSql(ms: string): string {
  const most = `LEAST(${ms}::float8, ${STORE_NOW_MS})::bigint`
  return `CASE WHEN ${ms}::float8 IS NULL THEN closed_ms ELSE ${most} END`
}

function momentOf({ monotonicMs, nowMs }: ClockGuard): Moment {
  return { monotonicMs, nowMs }
}
