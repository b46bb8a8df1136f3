/**
 * What falls behind, and is caught up, by itself: the segments of a stream, or in the table that
 * streams share those that came alone in their rows, by stream. A large body of a stream without a
 * table of its own is such rows: were they one with the rows of several streams, all of those would
 * wait for it.
 */
import { MIXED_STREAM } from '../model/mixed-runs.ts'
import type { StreamId } from '../model/stream.ts'

/** The rows of one stream in the table that streams share. */
type SharedKey = `shared ${number}`

/** `MIXED_STREAM`: rows of several streams. */
export type SourceKey = StreamId | SharedKey

/** `all`: everything of this node. */
export type LagKey = SourceKey | 'all'

export function sourceOf({
  streamId,
  runs,
}: {
  readonly streamId: StreamId
  readonly runs?: readonly { readonly streamId: StreamId }[] | undefined
}): SourceKey {
  const [only, ...others] = runs ?? []
  return only === undefined || others.length > 0 ? streamId : `shared ${only.streamId}`
}

/** Whose they are; `MIXED_STREAM` for rows of several. */
export function ownerOf(key: SourceKey): StreamId {
  return typeof key === 'string' ? (Number(key.slice('shared '.length)) as StreamId) : key
}

/** The stream whose table they are in; `MIXED_STREAM` for the one that is shared. */
export function tableOf(key: SourceKey): StreamId {
  return typeof key === 'string' ? MIXED_STREAM : key
}

/** Whether what falls behind as `key` takes the segments of `source` with it. */
export function covers(key: LagKey, source: SourceKey): boolean {
  if (key === 'all' || key === source) return true
  return key === MIXED_STREAM && typeof source === 'string'
}
