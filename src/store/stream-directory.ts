/**
 * What a cell asks the control plane about streams. The two may be in different databases, so no
 * statement names tables of both: a cell passes the answers to its own statements as parameters.
 */
import type { SchemaCaps } from '../model/schema.ts'
import type { StreamId } from '../model/stream.ts'

export interface StreamDirectory {
  /** Live streams, by pages. */
  pageLive(): AsyncIterable<readonly LiveStream[]>
  /** Live streams with a cap, by pages. */
  pageCapped(): AsyncIterable<readonly CappedStream[]>
  /** Streams that were deleted and whose data is not known to be gone, by pages. */
  pageDeleted(): AsyncIterable<readonly DeletedStream[]>
  /** Those of the streams that exist or existed, each with whether it is deleted. */
  findDeleted(streamIds: readonly StreamId[]): Promise<ReadonlyMap<StreamId, boolean>>
  /** The schema caps of those of the streams that are live. */
  findSchemaCaps(streamIds: readonly StreamId[]): Promise<ReadonlyMap<StreamId, SchemaCaps>>
  /** The text fields of those of the streams that are live. */
  findTextFields(streamIds: readonly StreamId[]): Promise<ReadonlyMap<StreamId, readonly string[]>>
  /** Deletes what is left of deleted streams except their ids. May be repeated. */
  markPurged(streamIds: readonly StreamId[]): Promise<void>
}

export interface LiveStream {
  readonly streamId: StreamId
  readonly retentionMs: number
}

export interface CappedStream {
  readonly streamId: StreamId
  readonly maxStoredBytes: number
}

export interface DeletedStream {
  readonly streamId: StreamId
  /** Since 1970. */
  readonly deletedMs: number
  /** How long ago that is, by the control plane's own clock. */
  readonly ageMs: number
}
