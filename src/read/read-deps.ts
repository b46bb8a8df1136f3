/** What reading needs of the stores: what is known of streams when a request begins. */

import type { SourceStream } from '../model/field-catalog.ts'
import type { Stream, StreamId } from '../model/stream.ts'

export interface ReadableStreams {
  readonly sources: readonly SourceStream[]
  /** Every event of theirs that was acknowledged before is in the projection. */
  readonly asOfMs: number
}

/** Streams that are being looked up: what is read by their ids need not wait for that. */
export interface StreamLookup {
  readonly ids: readonly StreamId[]
  /** In the order of `ids`; rejects where one is missing, and is awaited by who is given it. */
  readonly found: Promise<readonly Stream[]>
}

export type AskedStreams = readonly Stream[] | StreamLookup

/** Their catalogs and marks. Throws `StoreError`, and what the look-up throws. */
export type OpenStreams = (streams: AskedStreams) => Promise<ReadableStreams>

export async function foundOf(streams: AskedStreams): Promise<readonly Stream[]> {
  return isLookup(streams) ? await streams.found : streams
}

export function isLookup(streams: AskedStreams): streams is StreamLookup {
  return 'found' in streams
}
