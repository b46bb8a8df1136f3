/**
 * Which streams are behind: single ones, whose segments are read from the raw store while the
 * others stay live, or all of the node at once. A stream that is behind has nothing waiting in
 * memory.
 */
import { type SegmentId, segmentIdMs } from '../model/segment-id.ts'
import type { StreamId } from '../model/stream.ts'
import type { CatchUp } from './catch-up.ts'

/** `MIXED_STREAM` for mixed segments. */
export type LagKey = StreamId | 'all'

export interface Lag {
  readonly key: LagKey
  readonly catchUp: CatchUp
  /** Its segments up to here are in the projection. */
  cursor: SegmentId
  /** Nothing before this segment is missing, where that is known. */
  readonly from: SegmentId | undefined
  /** Its newest segment that commit has forwarded. */
  newest: SegmentId
  /** When it may be tried again after a failure, on the monotonic clock. */
  notBeforeMs: number
}

export class Lags {
  /** In the order of their turns. */
  readonly #lags = new Map<LagKey, Lag>()

  get size(): number {
    return this.#lags.size
  }

  get isAll(): boolean {
    return this.#lags.has('all')
  }

  /** What the stream's segments are brought in by, if it is behind. */
  of(streamId: StreamId): Lag | undefined {
    return this.#lags.get('all') ?? this.#lags.get(streamId)
  }

  /** Returns whose place it takes. */
  begin(lag: Lag): LagKey[] {
    const replaced = lag.key === 'all' ? [...this.#lags.keys()] : []
    for (const key of replaced) this.#lags.delete(key)
    this.#lags.set(lag.key, lag)
    return replaced
  }

  end({ key }: Lag): void {
    this.#lags.delete(key)
  }

  /** Whether it is still what brings its segments in. */
  isCurrent(lag: Lag): boolean {
    return this.#lags.get(lag.key) === lag
  }

  /** Whose turn it is; undefined while all that are behind wait after a failure. */
  next(nowMs: number): Lag | undefined {
    for (const lag of this.#lags.values()) {
      if (lag.notBeforeMs > nowMs) continue
      this.#lags.delete(lag.key)
      this.#lags.set(lag.key, lag)
      return lag
    }
    return undefined
  }

  /** The lowest of `checkpoint` and of what is behind. */
  checkpoint(checkpoint: SegmentId): SegmentId {
    let lowest = checkpoint
    for (const { cursor } of this.#lags.values()) if (cursor < lowest) lowest = cursor
    return lowest
  }

  /** Receipt time of the oldest missing segment. `isFailing`: whether a lag makes no progress. */
  oldestMs(isFailing: (key: LagKey) => boolean): number | undefined {
    let oldest: number | undefined
    for (const { key, cursor, from, newest } of this.#lags.values()) {
      if (newest <= cursor && !isFailing(key)) continue
      // The cursor may be on a segment of long ago, when nothing came since.
      const ms = Math.max(segmentIdMs(from ?? cursor), segmentIdMs(cursor))
      oldest = Math.min(oldest ?? ms, ms)
    }
    return oldest
  }
}
