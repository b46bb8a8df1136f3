/**
 * The border between threads: runs tasks on Piscina workers, behind a bounded queue.
 *
 *   batcher --task--> pool --result--> batcher, serve, materialize
 *
 * Guarantees: a task that kills its worker, or hangs it for POOL_TASK_MS_MAX, is tried once more by
 * itself; then it is quarantined: counted, its bytes kept for a post-mortem, and refused. It never
 * loops. A full queue refuses (`overloaded`); nothing waits without a bound.
 */
import { randomInt } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Piscina } from 'piscina'
import { IngestError } from '../errors.ts'
import { POOL_QUEUE_BATCHES_MAX, POOL_TASK_MS_MAX } from '../limits.ts'
import type {
  CompactResult,
  CompactTask,
  IngestResult,
  IngestTask,
  PoolResult,
  PoolTask,
  PreviewResult,
  PreviewTask,
  ReadResult,
  ReadTask,
  ReplayResult,
  ReplayTask,
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
  /** Hears how long each task took, in seconds, queueing excluded. */
  readonly onTaskSeconds?: (kind: PoolTask['kind'], seconds: number) => void
  readonly taskMsMax?: number
}

/** Megabytes of old space a worker may use; a batch needs a few dozen at most. */
const WORKER_HEAP_MB_MAX = 256
/**
 * Megabytes of its young space. A task leaves little garbage; Node's own bound of 48 is memory that
 * a worker would take and never give back.
 */
const WORKER_YOUNG_MB_MAX = 16
/** After a task that killed its thread. */
const RETRY_DELAY_MS = 500
const CLOSE_MS_MAX = 10_000

export class WorkerPool {
  readonly #options: PoolOptions
  readonly #piscina: Piscina<PoolTask, PoolResult>
  /** Tasks taken and not finished. */
  #running = 0
  /** Ingest tasks among them. */
  #ingesting = 0
  /** Tasks on a thread. */
  #started = 0
  readonly #waiting: (() => void)[] = []
  #onIdleThread: () => void = () => undefined

  constructor(options: PoolOptions) {
    this.#options = options
    this.#piscina = new Piscina({
      filename: options.workerFile,
      workerData: { hashSeed: randomInt(2 ** 32) } satisfies WorkerData,
      minThreads: options.threads,
      maxThreads: options.threads,
      maxQueue: POOL_QUEUE_BATCHES_MAX,
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

  /** Has `listener` told whenever a task, of whatever kind, has left its thread. */
  watchIdle(listener: () => void): void {
    this.#onIdleThread = listener
  }

  /** True when a task given now starts at once. */
  get hasIdleThread(): boolean {
    return this.#running < this.#options.threads
  }

  /** True when every thread is busy and a batch of events is among what they do, or waits. */
  get isIngestBusy(): boolean {
    return !this.hasIdleThread && this.#ingesting > 0
  }

  /** Tasks waiting for a thread. */
  get queueLength(): number {
    return Math.max(0, this.#running - this.#options.threads)
  }

  /** Resolves with what the worker made of the task. Rejects with an `IngestError`. */
  run(task: IngestTask): Promise<IngestResult>
  run(task: ReplayTask): Promise<ReplayResult>
  run(task: ReadTask): Promise<ReadResult>
  run(task: CompactTask): Promise<CompactResult>
  run(task: SplitTask): Promise<SplitResult>
  run(task: PreviewTask): Promise<PreviewResult>
  async run(task: PoolTask): Promise<PoolResult> {
    this.#assertRoom()
    const ingesting = task.kind === 'ingest' ? 1 : 0
    this.#running++
    this.#ingesting += ingesting
    try {
      return await this.#runTwice(task)
    } finally {
      this.#running--
      this.#ingesting -= ingesting
      this.#onIdleThread()
    }
  }

  /**
   * Like `run`, but what is to be done is asked for when a thread is there for it, in line with the
   * tasks that came before. Undefined when there is nothing to be done then.
   */
  async runInTurn(supply: () => IngestTask | undefined): Promise<IngestResult | undefined> {
    this.#assertRoom()
    this.#running++
    this.#ingesting++
    try {
      await this.#takeThread()
      let task: IngestTask | undefined
      try {
        task = supply()
      } finally {
        if (task === undefined) this.#giveThread() // Also when it throws.
      }
      return task && ((await this.#runTwice(task, true)) as IngestResult)
    } finally {
      this.#running--
      this.#ingesting--
      this.#onIdleThread()
    }
  }

  #assertRoom(): void {
    if (this.#running < POOL_QUEUE_BATCHES_MAX) return
    const text = `${POOL_QUEUE_BATCHES_MAX} batches are waiting (POOL_QUEUE_BATCHES_MAX)`
    throw new IngestError('overloaded', text)
  }

  /** Waits for running tasks, then ends the threads. */
  async stop(): Promise<void> {
    await this.#piscina.close()
  }

  /** Resolves when a thread is free, first come, first served. */
  #takeThread(): Promise<void> | undefined {
    if (this.#started < this.#options.threads) {
      this.#started++
      return undefined
    }
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #giveThread(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#started--
    else next()
  }

  /** `hasThread`: the caller has taken one for the first attempt. */
  async #runTwice(task: PoolTask, hasThread = false): Promise<PoolResult> {
    let reason = ''
    for (let attempt = 0; attempt < 2; attempt++) {
      const abort = new AbortController()
      // The deadline is for the work: waiting for a thread is not the task's fault.
      if (attempt > 0 || !hasThread) await this.#takeThread()
      const startedAt = performance.now()
      let timer: NodeJS.Timeout | undefined
      try {
        // Aborting a task ends its thread; Piscina then starts a fresh one.
        timer = setTimeout(() => abort.abort(), this.#options.taskMsMax ?? POOL_TASK_MS_MAX)
        // The second time without shared output: the first thread may not have ended yet.
        const again = task.kind === 'ingest' ? { ...task, output: undefined } : task
        const given = attempt === 0 ? task : again
        const result = await this.#piscina.run(given, { signal: abort.signal })
        this.#options.onTaskSeconds?.(task.kind, (performance.now() - startedAt) / 1000)
        return result
      } catch (cause) {
        reason = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)
      } finally {
        clearTimeout(timer)
        this.#giveThread()
      }
      // Its thread is being ended, and may have shared buffers in its hands until it has.
      await sleep(RETRY_DELAY_MS)
    }
    this.#options.quarantine(task, reason)
    throw new IngestError('internal', 'a worker could not process the batch; it was quarantined')
  }
}
