/**
 * Which streams get a projection table of their own: the few that send the most, and all while
 * there are few. The rest share one table (`MIXED_STREAM`), however many they are.
 *
 * An insert costs ClickHouse the same for ten events as for a thousand, so it is inserts that must
 * stay few. In a table of its own each path is a column, which queries read faster; that is for
 * those who have much to be queried.
 */
import {
  BUSY_STREAM_SHARE_MIN,
  BUSY_STREAMS_COUNTED_MAX,
  BUSY_STREAMS_MAX,
  BUSY_STREAMS_PERIOD_MS,
} from '../../limits.ts'
import type { StreamId } from '../../model/stream.ts'

export class BusyStreams {
  readonly #nowMs: () => number
  #since: number
  /** Bytes by stream in this period. */
  #bytes = new Map<StreamId, number>()
  /** In the last period. */
  #streams = 0
  #busy: ReadonlySet<StreamId> = new Set()

  /** `nowMs`: monotonic. */
  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs
    this.#since = nowMs()
  }

  note(streamId: StreamId, bytes: number): void {
    this.#roll()
    const known = this.#bytes.get(streamId)
    if (known === undefined && this.#bytes.size >= BUSY_STREAMS_COUNTED_MAX) return
    this.#bytes.set(streamId, (known ?? 0) + bytes)
  }

  isBusy(streamId: StreamId): boolean {
    this.#roll()
    const areFew = Math.max(this.#streams, this.#bytes.size) <= BUSY_STREAMS_MAX
    return areFew || this.#busy.has(streamId)
  }

  /** Begins a new period when this one is over, and judges by what came in it. */
  #roll(): void {
    const now = this.#nowMs()
    const age = now - this.#since
    if (age < BUSY_STREAMS_PERIOD_MS) return
    this.#since = now
    const last = age < 2 * BUSY_STREAMS_PERIOD_MS ? this.#bytes : new Map<StreamId, number>()
    this.#streams = last.size
    let total = 0
    for (const bytes of last.values()) total += bytes
    const most = [...last].filter(([, bytes]) => bytes >= total * BUSY_STREAM_SHARE_MIN)
    most.sort(([, a], [, b]) => b - a)
    this.#busy = new Set(most.slice(0, BUSY_STREAMS_MAX).map(([streamId]) => streamId))
    this.#bytes = new Map()
  }
}
