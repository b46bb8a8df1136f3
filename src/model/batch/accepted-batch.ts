/** What accept hands to the pool: bytes of requests, in parts. */
import type { StreamId, TransformSettings } from '../stream.ts'
import type { BulkItemFields } from './bulk-items.ts'

/** How the events of a part are delimited. */
export const FRAMINGS = [
  'ndjson',
  'array',
  'document',
  'text',
  'bulk',
  'otlp-protobuf',
  'otlp-json',
] as const
export type Framing = (typeof FRAMINGS)[number]

/**
 * Parts of one kind may share a batch: those whose input holds the events as JSON, those whose
 * events are generated from text, and those whose input is binary.
 */
export const BATCH_KINDS = {
  ndjson: 'json',
  array: 'json',
  document: 'json',
  bulk: 'json',
  text: 'generated',
  'otlp-json': 'generated',
  'otlp-protobuf': 'binary',
} as const satisfies Record<Framing, string>

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
  readonly framing: Framing
  /** Bulk: what each item of the reply holds. */
  readonly itemFields?: BulkItemFields | undefined
  /** Bulk: the index in the request's path, for actions that name none. */
  readonly defaultIndex?: string | undefined
  /** OTLP protobuf: where a part after the first begins in its request. */
  readonly resume?: OtlpResume | undefined
  /** OTLP protobuf: the messages around the part's last record go on in the next part. */
  readonly continues?: boolean | undefined
}

/** A part of an OTLP request that begins between two records of one ScopeLogs message. */
export interface OtlpResume {
  /** The Resource and the InstrumentationScope messages, in the batch's bytes before the part. */
  readonly resource: ByteRange
  readonly scope: ByteRange | undefined
  /** Bytes that remain, from the part's start, of the ScopeLogs and ResourceLogs messages. */
  readonly scopeLogsBytes: number
  readonly resourceLogsBytes: number
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
  readonly parts: readonly Part[]
}

/** Shared memory for the bytes of one segment's block and payload. */
export interface SegmentOutput {
  readonly block: Uint8Array
  readonly payload: Uint8Array
  /** For the items of a bulk batch of one part. */
  readonly items?: Uint8Array
}
