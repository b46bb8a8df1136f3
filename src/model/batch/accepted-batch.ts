/** What accept hands to the pool: bytes of requests, in parts. */
import type { StreamId, TransformSettings } from '../stream.ts'

/**
 * What the bytes of a batch are. `json` has the events as they are stored, if no transform changes
 * them; from `text`, which is UTF-8, and from `binary` events are generated.
 */
export type BatchInput = 'json' | 'text' | 'binary'

/** A range of a batch's bytes. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/**
 * Consecutive bytes of one request: whole lines, whole array elements, one document, whole bulk
 * actions with their documents, or whole log records.
 */
export interface Part extends ByteRange {
  /** How its events are delimited: the name of a decoder (`workers/decode/all-decoders.ts`). */
  readonly framing: string
  /** What else its decoder is told: plain data. */
  readonly options?: object | undefined
}

/** The parts of one stream in a mixed batch; they are consecutive. */
export type BatchOwner = { readonly streamId: StreamId; readonly parts: number }

export interface AcceptedBatch {
  /** `MIXED_STREAM` with `owners`. */
  readonly streamId: StreamId
  /** In a batch of several streams with the same settings: the owners of its parts, in order. */
  readonly owners?: readonly BatchOwner[]
  readonly settings: TransformSettings
  /** Receipt time of the newest byte, milliseconds since 1970. */
  readonly receivedAtMs: number
  readonly bytes: Uint8Array
  /** Of decoders that take the same input. */
  readonly parts: readonly Part[]
}

/** Shared memory for the bytes of one segment's block and payload. */
export interface SegmentOutput {
  readonly block: Uint8Array
  readonly payload: Uint8Array
  /** For the items of a bulk batch of one part. */
  readonly items?: Uint8Array
}
