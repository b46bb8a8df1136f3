/**
 * Which streams are behind: single ones, whose segments are read from the raw store while the
 * others stay live, or all of the node at once. A stream that is behind has nothing waiting in
 * memory.
 */
import { MIXED_STREAM } from '../model/mixed-runs.ts'
import { type SegmentId, segmentIdMs } from '../model/segment-id.ts'
import type { StreamId } from '../model/stream.ts'
import type { CatchUp } from './catch-up.ts'
import { covers, type LagKey, ownerOf, type SourceKey } from './source-key.ts'

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

  /** Whose segments are behind; `MIXED_STREAM` for anybody's, undefined for all. */
  get owners(): readonly StreamId[] | undefined {
    if (this.isAll) return undefined
    return [...this.#lags.keys()].flatMap((key) => (key === 'all' ? [] : [ownerOf(key)]))
  }

  /** What these segments are brought in by, if they are behind. */
  of(source: SourceKey): Lag | undefined {
    const lag = this.#lags.get('all') ?? this.#lags.get(source)
    return lag ?? (covers(MIXED_STREAM, source) ? this.#lags.get(MIXED_STREAM) : undefined)
  }

  /** Returns whose place it takes. */
  begin(lag: Lag): LagKey[] {
    const replaced = [...this.#lags.keys()].filter((key) => isWithin(lag.key, key))
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

  /** The lowest of `checkpoint` and of what is behind, of `key` alone or of all. */
  checkpoint(checkpoint: SegmentId, of: LagKey = 'all'): SegmentId {
    let lowest = checkpoint
    for (const { key, cursor } of this.#lags.values()) {
      if (isWithin(of, key) && cursor < lowest) lowest = cursor
    }
    return lowest
  }

  /** The same of what may concern these streams. */
  checkpointOf(streamIds: readonly StreamId[], checkpoint: SegmentId): SegmentId {
    let lowest = checkpoint
    for (const { key, cursor } of this.#lags.values()) {
      const owner = key === 'all' ? MIXED_STREAM : ownerOf(key)
      const isTheirs = owner === MIXED_STREAM || streamIds.includes(owner)
      if (isTheirs && cursor < lowest) lowest = cursor
    }
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

function isWithin(key: LagKey, other: LagKey): boolean {
  return other === 'all' ? key === 'all' : covers(key, other)
}
