/** What reading needs of the stores: what is known of streams when a request begins. */
import type { Stream } from '../model/stream.ts'
import type { SourceStream } from '../store/projection/compile/row-source.ts'

export interface ReadableStreams {
  readonly sources: readonly SourceStream[]
  /** Every event of theirs that was acknowledged before is in the projection. */
  readonly asOfMs: number
}

/** The catalogs and the marks of `streams`. Throws `StoreError`. */
export type OpenStreams = (streams: readonly Stream[]) => Promise<ReadableStreams>
