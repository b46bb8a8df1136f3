/**
 * The boundary between threads: runs tasks on Piscina workers, in turns (`turns.ts`).
 *
 *   batcher --task--> pool --result--> batcher, serve, materialize
 *
 * Guarantees: a task that kills its worker, or hangs it for POOL_TASK_MS_MAX, is tried once more,
 * alone. Then it is quarantined: counted, its bytes kept for a post-mortem, and refused, so it
 * never loops. A full queue refuses (`overloaded`); every wait is bounded.
 */
import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Piscina } from 'piscina'
import { IngestError } from '../errors.ts'
import { POOL_TASK_MS_MAX } from '../limits.ts'
import { FairQueue, type QueueKey } from './fair-queue.ts'
import type {
  CompactResult,
  CompactTask,
  DescribeResult,
  DescribeTask,
  IngestResult,
  IngestTask,
  MatchResult,
  MatchTask,
  PoolResult,
  PoolTask,
  PreviewResult,
  PreviewTask,
  ReadResult,
  ReadTask,
  ReplayResult,
  ReplayTask,
  ReviewResult,
  ReviewTask,
  SplitResult,
  SplitTask,
  WorkerData,
} from './messages.ts'

export interface PoolOptions {
  /** The compiled worker entry, a path. */
  readonly workerFile: string
  readonly threads: number
  /** Keeps what a quarantined task held. Must not throw. */
  readonly quarantine: (task: PoolTask, reason: string) => void
  /** Called with the seconds that each task took, without queueing. */
  readonly onTaskSeconds?: (kind: PoolTask['kind'], seconds: number) => void
  readonly taskMsMax?: number
}

/** Megabytes of old space that a worker may use; a batch needs a few dozen at most. */
const WORKER_HEAP_MB_MAX = 256
/**
 * Megabytes of a worker's young space. A task leaves little garbage, and with Node's default of 48
 * a worker would take that much and never give it back.
 */
const WORKER_YOUNG_MB_MAX = 16
/** Wait before the second attempt, after a task killed its thread. */
const RETRY_DELAY_MS = 500
const CLOSE_MS_MAX = 10_000
const SHARED: QueueKey = { lane: 'small', of: 'shared' }

/** How a task is to be run. */
interface Wanted {
  readonly place: QueueKey
  /** The caller has taken a thread for the first attempt. */
  readonly hasThread?: boolean
  readonly signal?: AbortSignal | undefined
  readonly onWorked?: ((ms: number) => void) | undefined
}

export class WorkerPool {
  readonly #options: PoolOptions
  readonly #piscina: Piscina<PoolTask, PoolResult>
  readonly #turns: FairQueue
  #onIdleThread: () => void = () => undefined

  constructor(options: PoolOptions) {
    this.#options = options
    this.#turns = new FairQueue(options.threads)
    this.#piscina = new Piscina({
      filename: options.workerFile,
      workerData: { hashSeed: randomInt(2 ** 32) } satisfies WorkerData,
      minThreads: options.threads,
      maxThreads: options.threads,
      maxQueue: options.threads, // Tasks are handed to Piscina only when a thread is free.
      idleTimeout: Number.POSITIVE_INFINITY,
      resourceLimits: {
        maxOldGenerationSizeMb: WORKER_HEAP_MB_MAX,
        maxYoungGenerationSizeMb: WORKER_YOUNG_MB_MAX,
      },
      recordTiming: false,
      workerHistogram: false,
      closeTimeout: CLOSE_MS_MAX,
    })
    // Piscina reports a dying idle worker here and starts another; without a listener Node throws.
    this.#piscina.on('error', () => undefined)
  }

  /** Calls `listener` whenever a task of any kind has left its thread. */
  watchIdle(listener: () => void): void {
    this.#onIdleThread = listener
  }

  /** True when an ingest task would start at once. */
  get hasIdleThread(): boolean {
    return this.#turns.hasIdleThread
  }

  /** True when every thread is busy and at least one ingest task runs or waits. */
  get isIngestBusy(): boolean {
    return !this.hasIdleThread && this.#turns.ingesting > 0
  }

  /** The share of the threads' time, 0 to 1, that ingest had in about the last second. */
  get ingestLoad(): number {
    return this.#turns.ingestLoad
  }

  /** Tasks waiting for a thread. */
  get queueLength(): number {
    return this.#turns.length
  }

  /**
   * Resolves with the task's result. Rejects with an `IngestError`. A task that `signal` cancels
   * while it waits for a thread is never started. `onWorked` gets the time that a thread worked.
   */
  run(task: IngestTask): Promise<IngestResult>
  run(task: ReplayTask): Promise<ReplayResult>
  run(task: DescribeTask): Promise<DescribeResult>
  run(task: ReadTask): Promise<ReadResult>
  run(task: MatchTask, signal?: AbortSignal, onWorked?: (ms: number) => void): Promise<MatchResult>
  run(task: CompactTask): Promise<CompactResult>
  run(task: SplitTask): Promise<SplitResult>
  run(task: PreviewTask): Promise<PreviewResult>
  run(task: ReviewTask, signal: AbortSignal): Promise<ReviewResult>
  async run(
    task: PoolTask,
    signal?: AbortSignal,
    onWorked?: (ms: number) => void,
  ): Promise<PoolResult> {
    const place = queueKeyOf(task)
    this.#turns.assertRoom(place)
    try {
      return await this.#runTwice(task, { place, signal, onWorked })
    } finally {
      this.#onIdleThread()
    }
  }

  /**
   * Like `run`, but the task is created only when a thread is free for it. Undefined when there is
   * nothing to do by then. `streamId`: the stream of a batch of its own; absent for a shared batch
   * of small requests.
   */
  async runWhenIdle(
    makeTask: () => IngestTask | undefined,
    streamId?: number,
  ): Promise<IngestResult | undefined> {
    const place: QueueKey = streamId === undefined ? SHARED : { lane: 'ingest', of: streamId }
    this.#turns.assertRoom(place)
    try {
      await this.#turns.take(place)
      let task: IngestTask | undefined
      try {
        task = makeTask()
      } finally {
        if (task === undefined) this.#turns.give(place, 0) // Also when it throws.
      }
      return task && ((await this.#runTwice(task, { place, hasThread: true })) as IngestResult)
    } finally {
      this.#onIdleThread()
    }
  }

  /** Waits for running tasks, then ends the threads. */
  async stop(): Promise<void> {
    await this.#piscina.close()
  }

  async #runTwice(task: PoolTask, wanted: Wanted): Promise<PoolResult> {
    const { place, hasThread, signal } = wanted
    let reason = ''
    for (let attempt = 0; attempt < 2; attempt++) {
      const abort = new AbortController()
      // The deadline is for the work: waiting for a thread is not the task's fault.
      if (attempt > 0 || hasThread !== true) await this.#turns.take(place)
      if (signal?.aborted === true) {
        this.#turns.give(place, 0)
        throw new IngestError('unavailable', 'nobody waits for this task any more')
      }
      const startedAt = performance.now()
      let timer: NodeJS.Timeout | undefined
      try {
        // Aborting a task ends its thread; Piscina then starts a fresh one.
        timer = setTimeout(() => abort.abort(), this.#options.taskMsMax ?? POOL_TASK_MS_MAX)
        // The second attempt has no shared output: the first thread may not have ended yet.
        const again = task.kind === 'ingest' ? { ...task, output: undefined } : task
        const given = attempt === 0 ? task : again
        const result = await this.#piscina.run(given, { signal: abort.signal })
        this.#options.onTaskSeconds?.(task.kind, (performance.now() - startedAt) / 1000)
        return result
      } catch (cause) {
        reason = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)
      } finally {
        clearTimeout(timer)
        const workedMs = performance.now() - startedAt
        this.#turns.give(place, workedMs)
        wanted.onWorked?.(workedMs)
      }
      // Its thread is being terminated, and may use shared buffers until then.
      await sleep(RETRY_DELAY_MS)
    }
    this.#options.quarantine(task, reason)
    throw new IngestError('internal', 'a worker could not process the batch; it was quarantined')
  }
}

function queueKeyOf(task: PoolTask): QueueKey {
  switch (task.kind) {
    case 'ingest': {
      const { streamId, owners } = task.batch
      return { lane: 'ingest', of: owners?.length === 1 ? owners[0]!.streamId : streamId }
    }
    case 'replay':
    case 'describe':
      return { lane: 'rebuild', of: task.streamId }
    case 'compact':
    case 'split':
      return { lane: 'rebuild', of: task.kind }
    case 'match':
      return { lane: task.isTail === true ? 'tail' : 'read', of: task.kind }
    case 'read':
    case 'preview':
      return { lane: 'read', of: task.kind }
    case 'review':
      return { lane: 'review', of: task.kind }
  }
}
