/**
 * The process's descriptors: connections must not take those that stores, files and workers need.
 *
 * When none is left, accept fails while the connection stays in the kernel's queue: the engine is
 * notified again and again, which takes a whole core, and nothing else can open anything. So some
 * are kept in reserve, and when the others are used up, the port is closed (the kernel refuses new
 * connections, open ones are served) until enough are free again. Meanwhile another process of this
 * machine may take the port, as no engine can keep it without accepting: that is then logged.
 *
 * The subtle part is to notice this in time and cheaply, as not every engine reports connections: a
 * new descriptor is the lowest free number, so a high one means that all below it are in use.
 */
import { closeSync, openSync, readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { DESCRIPTORS_RESERVED_MAX, LISTEN_RETRY_MS_MAX } from '../limits.ts'
import type { HttpServer } from './server.ts'

/** How often it is looked whether they are used up; and then, whether there is room again. */
export const DESCRIPTORS_CHECK_MS = 100
export const DESCRIPTORS_ROOM_MS = 1_000
/** How often that is logged, at most. */
export const DESCRIPTORS_LOG_MS = 60_000

/** For the log: none is repeated sooner than after DESCRIPTORS_LOG_MS. */
export interface DescriptorEvents {
  /** New connections are refused, for the first time or still. */
  readonly onShort: (details: { readonly limit: number; readonly reserved: number }) => void
  /** There are descriptors again, but the port cannot be regained: for the first time or still. */
  readonly onTaken: (reason: string) => void
  /** Connections are accepted again; reported once. */
  readonly onAvailable: () => void
}

const NOTHING = '/dev/null'

export class DescriptorGuard {
  readonly #server: Pick<HttpServer, 'pauseListening' | 'resumeListening'>
  readonly #events: DescriptorEvents
  readonly #limit: number
  readonly #reserved: number
  #reserve: number[] = []
  #isShort = false
  #isLooking = false
  #toldAtMs = Number.NEGATIVE_INFINITY
  #hasTold = false
  /** Why the port could not be regained. */
  #taken: string | undefined
  #nextLookMs = 0
  #retryMs = DESCRIPTORS_ROOM_MS
  #pauses = 0
  readonly #timer: NodeJS.Timeout

  /** Once the server listens. */
  static async start(
    server: Pick<HttpServer, 'pauseListening' | 'resumeListening'>,
    events: DescriptorEvents,
  ): Promise<DescriptorGuard> {
    const limit = readDescriptorLimit()
    return new DescriptorGuard(server, events, limit, limit - (await countDescriptors()))
  }

  private constructor(
    server: Pick<HttpServer, 'pauseListening' | 'resumeListening'>,
    events: DescriptorEvents,
    limit: number,
    free: number,
  ) {
    this.#server = server
    this.#events = events
    this.#limit = limit
    this.#reserved = Math.max(8, Math.min(DESCRIPTORS_RESERVED_MAX, Math.floor(free / 3)))
    this.#fillReserve()
    // Not unref'ed: while the port is closed, nothing else may keep the process going.
    this.#timer = setInterval(() => this.#check(), DESCRIPTORS_CHECK_MS)
  }

  /** Whether new connections are refused now. */
  get isShort(): boolean {
    return this.#isShort
  }

  /** How often they were. */
  get pauses(): number {
    return this.#pauses
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#freeReserve()
  }

  #check(): void {
    if (this.#isShort) return this.#lookForRoom()
    const next = tryOpenNothing()
    if (next !== undefined) closeSync(next)
    if (next !== undefined && next < this.#limit - this.#margin) return
    this.#isShort = true
    this.#pauses++
    // In this order: freed descriptors must not go to connections that wait in the queue.
    this.#server.pauseListening()
    this.#freeReserve()
    this.#nextLookMs = performance.now() + DESCRIPTORS_ROOM_MS
    this.#tell()
  }

  #tell(): void {
    const nowMs = performance.now()
    if (nowMs - this.#toldAtMs < DESCRIPTORS_LOG_MS) return
    this.#toldAtMs = nowMs
    this.#hasTold = true
    if (this.#taken !== undefined) this.#events.onTaken(this.#taken)
    else this.#events.onShort({ limit: this.#limit, reserved: this.#reserved })
  }

  /** Before the reserve is touched by a burst between two checks. */
  get #margin(): number {
    return Math.ceil(this.#reserved / 4)
  }

  #lookForRoom(): void {
    if (this.#isLooking || performance.now() < this.#nextLookMs) return
    this.#tell()
    this.#isLooking = true
    this.#nextLookMs = performance.now() + DESCRIPTORS_ROOM_MS
    this.#tryResume()
      .catch(() => undefined) // No descriptor to count them with: there is no room.
      .finally(() => {
        this.#isLooking = false
      })
  }

  async #tryResume(): Promise<void> {
    const free = this.#limit - (await countDescriptors())
    if (free < this.#reserved + 4 * this.#margin) return
    const failure = await this.#server.resumeListening()
    if (failure !== undefined) return this.#portIsTaken(failure)
    this.#fillReserve()
    this.#isShort = false
    this.#taken = undefined
    this.#retryMs = DESCRIPTORS_ROOM_MS
    if (this.#hasTold) this.#events.onAvailable()
    this.#hasTold = false
  }

  #portIsTaken(reason: string): void {
    this.#nextLookMs = performance.now() + this.#retryMs
    this.#retryMs = Math.min(2 * this.#retryMs, LISTEN_RETRY_MS_MAX)
    if (reason === this.#taken) return
    this.#taken = reason
    this.#toldAtMs = Number.NEGATIVE_INFINITY
    this.#tell()
  }

  #fillReserve(): void {
    while (this.#reserve.length < this.#reserved) {
      const descriptor = tryOpenNothing()
      if (descriptor === undefined) return
      this.#reserve.push(descriptor)
    }
  }

  #freeReserve(): void {
    for (const descriptor of this.#reserve.splice(0)) closeSync(descriptor)
  }
}

/** Undefined where there is no descriptor left. */
function tryOpenNothing(): number | undefined {
  try {
    return openSync(NOTHING, 'r')
  } catch {
    return undefined
  }
}

/** How many the process may have; infinite where that is not known. */
function readDescriptorLimit(): number {
  let limits: string
  try {
    limits = readFileSync('/proc/self/limits', 'latin1')
  } catch {
    return readReportedLimit()
  }
  const soft = /^Max open files +(\S+)/m.exec(limits)?.[1]
  return soft === undefined || soft === 'unlimited' ? Number.POSITIVE_INFINITY : Number(soft)
}

/** Without /proc. The report takes a while to make. */
function readReportedLimit(): number {
  const report = process.report?.getReport() as
    | { readonly userLimits?: { readonly open_files?: { readonly soft?: unknown } } }
    | undefined
  const soft = Number(report?.userLimits?.open_files?.soft)
  return Number.isFinite(soft) ? soft : Number.POSITIVE_INFINITY
}

/** Rejects when no descriptor is left to look with. */
async function countDescriptors(): Promise<number> {
  const folder = process.platform === 'linux' ? '/proc/self/fd' : '/dev/fd'
  return (await readdir(folder)).length
}
