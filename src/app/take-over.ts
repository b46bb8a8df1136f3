/**
 * Does the work of nodes that are gone: brings in what they committed past their checkpoints, tries
 * again what they have set aside, and lets their numbers go. A few at a time, one more a round, so
 * that living nodes share them.
 */
import type { Follower } from '../follow/follower.ts'
import { NODES_TAKEN_OVER_MAX, TAKE_OVER_POLL_MS } from '../limits.ts'
import type { NodeLease } from '../store/raw/node-lease.ts'
import { StoreError } from '../store/store-error.ts'
import { isWorthLogging, reasonOf } from '../telemetry/log.ts'
import type { CellContext } from './cell-context.ts'

export interface TakeoverParts {
  readonly lease: Pick<NodeLease, 'takeOver'>
  /** Starts all that works for a number; `ending` gets what ends it. */
  readonly startFollowers: (
    lease: NodeLease,
    ending: (() => unknown)[],
  ) => Promise<readonly Follower[]>
  readonly observer: TakeoverObserver
  readonly pollMs: number
}

export interface TakeoverObserver {
  readonly onTaken: (lease: NodeLease) => void
  /** `returned`: its node is back, or a new one has its number. */
  readonly onEnded: (lease: NodeLease, how: 'done' | 'returned') => void
  readonly onError: (cause: unknown, failures: number) => void
}

/** Work that was taken over. */
interface Takeover {
  readonly lease: NodeLease
  readonly followers: readonly Follower[]
  readonly ending: (() => unknown)[]
}

export class Takeovers {
  readonly #parts: TakeoverParts
  readonly #all = new Set<Takeover>()
  /** Taken over, and lost before its followers had started. */
  readonly #lost = new WeakSet<NodeLease>()
  #timer: NodeJS.Timeout | undefined
  #round: Promise<void> | undefined
  #failures = 0
  #isStopping = false

  constructor(parts: TakeoverParts) {
    this.#parts = parts
  }

  get nodeIds(): readonly number[] {
    return [...this.#all].map(({ lease }) => lease.nodeId)
  }

  start(): void {
    this.#round = this.#run()
  }

  /** Gives up what is not done; another node goes on with it. */
  async stop(): Promise<void> {
    this.#isStopping = true
    clearTimeout(this.#timer)
    await this.#round
    for (const takeover of this.#all) await this.#end(takeover)
  }

  async #run(): Promise<void> {
    try {
      for (const takeover of this.#all) {
        if (await isDone(takeover)) await this.#end(takeover, 'done')
      }
      if (this.#all.size < NODES_TAKEN_OVER_MAX) await this.#takeOver()
      this.#failures = 0
    } catch (cause) {
      this.#parts.observer.onError(cause, ++this.#failures)
    }
    if (this.#isStopping) return
    this.#timer = setTimeout(() => this.start(), this.#parts.pollMs)
    this.#timer.unref()
  }

  async #takeOver(): Promise<void> {
    const { lease: own, startFollowers, observer } = this.#parts
    const onLost = () => this.#lose(lease)
    const lease: NodeLease | undefined = await own.takeOver(this.nodeIds, onLost)
    if (lease === undefined) return
    observer.onTaken(lease)
    const ending: (() => unknown)[] = []
    try {
      const followers = await startFollowers(lease, ending)
      const takeover = { lease, followers, ending }
      this.#all.add(takeover)
      if (this.#lost.has(lease)) await this.#end(takeover, 'returned')
    } catch (cause) {
      await endAll(ending)
      await lease.stop()
      // Its node came back meanwhile.
      if (cause instanceof StoreError && cause.kind === 'lease_lost') {
        observer.onEnded(lease, 'returned')
        return
      }
      throw cause
    }
  }

  #lose(lease: NodeLease | undefined): void {
    if (lease === undefined) return
    this.#lost.add(lease)
    const takeover = [...this.#all].find((each) => each.lease === lease)
    if (takeover === undefined) return
    this.#end(takeover, 'returned').catch((cause: unknown) => {
      this.#parts.observer.onError(cause, ++this.#failures)
    })
  }

  async #end(takeover: Takeover, how?: 'done' | 'returned'): Promise<void> {
    if (!this.#all.delete(takeover)) return
    const { lease, ending } = takeover
    await endAll(ending)
    await lease.stop({ isDone: how === 'done' })
    if (how !== undefined) this.#parts.observer.onEnded(lease, how)
  }
}

/** Nothing is under way, and nothing is left that a restart would find. */
async function isDone({ lease, followers }: Takeover): Promise<boolean> {
  return followers.every(({ isIdle }) => isIdle) && !(await lease.hasWork())
}

async function endAll(ending: (() => unknown)[]): Promise<void> {
  for (const end of ending.splice(0).reverse()) await end()
}

export function startTakeovers(
  { stores, log, metrics, stoppers }: CellContext,
  startFollowers: TakeoverParts['startFollowers'],
  pollMs = TAKE_OVER_POLL_MS,
): void {
  const count = metrics.tally(
    'ingest_takeovers_total',
    'Takeovers of the work of a node that is gone, by how far they are',
    'state',
    ['begun', 'done', 'returned'],
  )
  const takeovers = new Takeovers({
    lease: stores.lease,
    startFollowers,
    pollMs,
    observer: {
      onTaken: ({ nodeId }) => {
        count.add('begun')
        log.warn({ nodeId }, 'took over the work left of a node number that no node holds')
      },
      onEnded: ({ nodeId }, how) => {
        count.add(how)
        if (how === 'done') log.info({ nodeId }, 'the work left of a node number is done')
        else log.info({ nodeId }, 'a node number is in use again: its work is given back')
      },
      onError: (cause, failures) => {
        if (!isWorthLogging(failures)) return
        const reason = reasonOf(cause)
        log.warn(
          { reason, failures },
          'the work of nodes that are gone cannot be done now; will retry',
        )
      },
    },
  })
  metrics.gauge(
    'ingest_nodes_taken_over',
    'Nodes that are gone and whose work this node does now',
    () => takeovers.nodeIds.length,
  )
  takeovers.start()
  stoppers.push(() => takeovers.stop())
}
