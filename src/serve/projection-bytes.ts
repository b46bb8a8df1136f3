/** Keeps the projection's figures for a few seconds: pages that show usage ask repeatedly. */
import type { StreamId } from '../model/stream.ts'

export type ReadBytes = (streamId: StreamId) => Promise<number | null>

const KEEP_MS = 5_000
const STREAMS_MAX = 1_000

interface Kept {
  readonly bytes: Promise<number | null>
  readonly untilMs: number
}

/** Calls `read` at most once every KEEP_MS per stream; an unknown figure is asked for again. */
export function cachedForSeconds(read: ReadBytes, nowMs: () => number): ReadBytes {
  const kept = new Map<StreamId, Kept>()
  return (streamId) => {
    const known = kept.get(streamId)
    if (known !== undefined && known.untilMs > nowMs()) return known.bytes
    if (kept.size >= STREAMS_MAX) kept.clear()
    const bytes = read(streamId)
    const forget = () => void kept.delete(streamId)
    bytes.then((value) => value ?? forget(), forget)
    kept.set(streamId, { bytes, untilMs: nowMs() + KEEP_MS })
    return bytes
  }
}
