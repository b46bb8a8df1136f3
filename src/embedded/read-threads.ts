/**
 * The threads on which the embedded engine runs reads, each one read at a time. All that works for
 * a read, from parsing its statement on, is made by its thread and has its low priority
 * (`background-priority.ts`): on libuv's pool, which inserts use too, only the engine's threads
 * could be lowered, and only once they were found.
 */
import { Worker } from 'node:worker_threads'

/** A statement, and what is run before it on its connection, which no other read uses. */
export interface Read {
  /** Statements that most reads begin with: they may be run before there is a read. */
  readonly session: readonly string[]
  /** Statements for this read alone, after those. */
  readonly own: readonly string[]
  readonly sql: string
}

export interface Reads {
  /** The result of `sql`. Rejects with the engine's own message. */
  run(read: Read): Promise<Uint8Array>
  /** Precondition: nothing runs. */
  close(): Promise<void>
}

/** What a thread answers. */
export type ReadReply =
  | { readonly kind: 'ready' }
  | { readonly kind: 'result'; readonly bytes: Uint8Array }
  | { readonly kind: 'failed'; readonly message: string }

/** Threads are made when a read finds none that is free, and stay. */
export class ReadThreads implements Reads {
  readonly #path: string
  /** The last to end its read comes first: its memory is warm. */
  readonly #free: ReadThread[] = []

  private constructor(path: string) {
    this.#path = path
  }

  /** `path`: the engine's directory, which is open in this process. Resolves with one thread. */
  static async open(path: string): Promise<ReadThreads> {
    const threads = new ReadThreads(path)
    threads.#free.push(await ReadThread.start(path))
    return threads
  }

  async run(read: Read): Promise<Uint8Array> {
    const thread = this.#takeFree() ?? (await ReadThread.start(this.#path))
    try {
      return await thread.run(read)
    } finally {
      if (!thread.hasEnded) this.#free.push(thread)
    }
  }

  /** One may have ended while nothing ran on it. */
  #takeFree(): ReadThread | undefined {
    let thread = this.#free.pop()
    while (thread?.hasEnded) thread = this.#free.pop()
    return thread
  }

  async close(): Promise<void> {
    await Promise.all(this.#free.splice(0).map((thread) => thread.end()))
  }
}

/** It copies results and does little else: a young generation of 48 MB would be for nothing. */
const LIMITS = { maxYoungGenerationSizeMb: 4 }

class ReadThread {
  readonly #worker: Worker
  readonly #ended: Promise<void>
  #reply: ((reply: ReadReply) => void) | undefined
  hasEnded = false

  private constructor(path: string) {
    const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
    const entry = new URL(`./read-thread.${extension}`, import.meta.url)
    this.#worker = new Worker(entry, { workerData: path, resourceLimits: LIMITS })
    this.#worker.on('message', (reply: ReadReply) => this.#settle(reply))
    let message = 'a thread of reads ended'
    // Its exit follows, and tells: until then it would be taken for one that can go on.
    this.#worker.on('error', (cause) => {
      message = `a thread of reads failed: ${cause.message}`
    })
    this.#ended = new Promise((resolve) => {
      this.#worker.once('exit', () => {
        this.hasEnded = true
        this.#settle({ kind: 'failed', message })
        resolve()
      })
    })
  }

  static async start(path: string): Promise<ReadThread> {
    const thread = new ReadThread(path)
    await thread.#replied()
    return thread
  }

  async run(read: Read): Promise<Uint8Array> {
    const replied = this.#replied()
    this.#worker.postMessage(read)
    const reply = await replied
    return reply.kind === 'result' ? reply.bytes : new Uint8Array()
  }

  async end(): Promise<void> {
    this.#worker.postMessage(undefined)
    await this.#ended
  }

  async #replied(): Promise<ReadReply> {
    const reply = await new Promise<ReadReply>((resolve) => {
      this.#reply = resolve
    })
    if (reply.kind === 'failed') throw new Error(reply.message)
    return reply
  }

  #settle(reply: ReadReply): void {
    this.#reply?.(reply)
    this.#reply = undefined
  }
}
