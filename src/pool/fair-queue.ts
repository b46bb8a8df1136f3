/**
 * Decides which task gets the next free thread. Tasks wait in lanes, by purpose, and in each lane
 * by owner (mostly a stream).
 *
 * A lane has a share of the threads' time, which matters only while other lanes have tasks too: the
 * lane that has used the least of its share is next. An idle lane does not save up time. Within a
 * lane the owners take turns, each with its oldest task, however many tasks an owner has.
 *
 * So a task that is alone in its lane, such as a stream's single event, waits for about one task
 * of other lanes. One of many in a lane waits for about one task of each other stream in it.
 */
import { IngestError } from '../errors.ts'
import { POOL_QUEUE_REBUILDS_MAX, POOL_QUEUE_REVIEWS_MAX } from '../limits.ts'

/**
 * Batches of events that wait for a worker or are worked on, of small requests and of others each.
 * A stream that has none among them finds room until there are twice as many.
 */
export const POOL_QUEUE_BATCHES_MAX = 1_024
/** Pages of the event list and previews of redaction that wait for a worker. */
export const POOL_QUEUE_READS_MAX = 256
/** Tasks that match what was just committed with live tails; there is one at a time. */
export const POOL_QUEUE_TAILS_MAX = 4

/**
 * `small`: shared batches. `ingest`: batches of one stream. `read`: a client waits for stored
 * events. `review`: the same for many stored events, which takes long anyway. `tail`: newly
 * committed events, for live tails. `rebuild`: replay and compaction, for which no client waits.
 */
export type LaneName = 'small' | 'ingest' | 'read' | 'review' | 'tail' | 'rebuild'

/** A task's position in the queue; `of` is its owner. */
export interface QueueKey {
  readonly lane: LaneName
  readonly of: number | string
}

interface Lane {
  /** Its part of the threads' time while all lanes have tasks. */
  readonly share: number
  readonly tasksMax: number
  readonly limit: string
  /** The threads that it may use, perhaps shared with other lanes. */
  readonly crew: ThreadQuota
  /** Waiting tasks by owner; the owner whose turn it is comes first. */
  readonly waiting: Map<number | string, (() => void)[]>
  length: number
  /** Tasks on a thread. */
  running: number
  /** Milliseconds used, divided by the share: comparable between lanes. */
  used: number
}

interface ThreadQuota {
  readonly threadsMax: number
  running: number
}

/** A task that hung, or had to wait for a processor, must not cost its lane all its turns. */
const CHARGE_MS_MAX = 1_000
/** About how long the threads' work on events is averaged over. */
const LOAD_MS = 1_000

export class FairQueue {
  readonly #threads: number
  readonly #lanes: Readonly<Record<LaneName, Lane>>
  readonly #all: readonly Lane[]
  /** `used` of the lane that had the last turn: an idle lane resumes from here. */
  #now = 0
  #running = 0
  #waiting = 0
  /** Threads' time for events, as of `#loadAt`; older time has less weight. */
  #loadMs = 0
  #loadAt = performance.now()

  constructor(threads: number) {
    this.#threads = threads
    const all: ThreadQuota = { threadsMax: threads, running: 0 }
    // A page takes longer than a batch, so pages and reviews together leave a thread to others.
    const readers: ThreadQuota = { threadsMax: Math.max(1, threads - 1), running: 0 }
    const lane = (share: number, tasksMax: number, limit: string, crew = all): Lane => {
      const waiting = new Map<number | string, (() => void)[]>()
      return { share, tasksMax, limit, crew, waiting, length: 0, running: 0, used: 0 }
    }
    this.#lanes = {
      small: lane(4, POOL_QUEUE_BATCHES_MAX, 'POOL_QUEUE_BATCHES_MAX'),
      ingest: lane(4, POOL_QUEUE_BATCHES_MAX, 'POOL_QUEUE_BATCHES_MAX'),
      read: lane(2, POOL_QUEUE_READS_MAX, 'POOL_QUEUE_READS_MAX', readers),
      tail: lane(1, POOL_QUEUE_TAILS_MAX, 'POOL_QUEUE_TAILS_MAX', readers),
      review: lane(1, POOL_QUEUE_REVIEWS_MAX, 'POOL_QUEUE_REVIEWS_MAX', readers),
      rebuild: lane(2, POOL_QUEUE_REBUILDS_MAX, 'POOL_QUEUE_REBUILDS_MAX'),
    }
    this.#all = Object.values(this.#lanes)
  }

  /** How many tasks wait. */
  get length(): number {
    return this.#waiting
  }

  get hasIdleThread(): boolean {
    return this.#running < this.#threads
  }

  /** How many ingest tasks wait or run. */
  get ingesting(): number {
    const { small, ingest } = this.#lanes
    return small.length + small.running + ingest.length + ingest.running
  }

  /** The share of the threads' time, 0 to 1, that ingest had in about the last second. */
  get ingestLoad(): number {
    const now = performance.now()
    this.#loadMs *= Math.exp((this.#loadAt - now) / LOAD_MS)
    this.#loadAt = now
    return Math.min(1, this.#loadMs / (this.#threads * LOAD_MS))
  }

  /**
   * Throws `overloaded` when the lane is full. An owner with nothing waiting in the lane is
   * accepted until the lane holds twice its bound, so the owners that filled it are refused first.
   */
  assertRoom({ lane: name, of }: QueueKey): void {
    const { length, running, waiting, tasksMax, limit } = this.#lanes[name]
    const tasks = length + running
    if (tasks < tasksMax || (tasks < 2 * tasksMax && !waiting.has(of))) return
    throw new IngestError('overloaded', `${tasksMax} batches are waiting (${limit})`)
  }

  /** Undefined when a thread is free now; else a promise that resolves when one is. */
  take({ lane: name, of }: QueueKey): Promise<void> | undefined {
    const lane = this.#lanes[name]
    if (lane.running + lane.length === 0) lane.used = Math.max(lane.used, this.#now)
    if (this.hasIdleThread && hasThreads(lane)) {
      this.#start(lane)
      return undefined
    }
    return new Promise((resolve) => {
      const line = lane.waiting.get(of)
      if (line === undefined) lane.waiting.set(of, [resolve])
      else line.push(resolve)
      lane.length++
      this.#waiting++
    })
  }

  /** Gives back the thread that a task of this place used for `ms`. */
  give({ lane: name }: QueueKey, ms: number): void {
    const lane = this.#lanes[name]
    lane.running--
    lane.crew.running--
    this.#running--
    const charged = Math.min(ms, CHARGE_MS_MAX)
    lane.used += charged / lane.share
    if (name === 'small' || name === 'ingest') this.#loadMs += charged
    while (this.hasIdleThread) {
      const next = this.#nextLane()
      if (next === undefined) return
      this.#start(next)
      takeFirst(next)()
      this.#waiting--
    }
  }

  #start(lane: Lane): void {
    this.#now = Math.max(this.#now, lane.used)
    lane.running++
    lane.crew.running++
    this.#running++
  }

  #nextLane(): Lane | undefined {
    let next: Lane | undefined
    for (const lane of this.#all) {
      if (lane.length === 0 || !hasThreads(lane)) continue
      if (next === undefined || lane.used < next.used) next = lane
    }
    return next
  }
}

function hasThreads({ crew }: Lane): boolean {
  return crew.running < crew.threadsMax
}

/** Takes the task whose turn it is; its owner goes to the end of the queue with the rest. */
function takeFirst(lane: Lane): () => void {
  const [first] = lane.waiting
  const [of, line] = first!
  const task = line.shift()!
  lane.waiting.delete(of)
  if (line.length > 0) lane.waiting.set(of, line)
  lane.length--
  return task
}
