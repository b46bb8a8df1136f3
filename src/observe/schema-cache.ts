/**
 * The streams that observe has in memory: those it knows, and those that wait to be loaded, with
 * the deltas to learn from once they are. Streams without changes are evicted, the least recently
 * used first.
 */
import { OBSERVE_CACHE_BYTES_MAX, OBSERVE_WAITING_BYTES_MAX } from '../limits.ts'
import type { SchemaDelta } from '../model/batch/schema-delta.ts'
import type { KnownSchema } from '../model/schema-changes.ts'
import type { SegmentId } from '../model/segment-id.ts'
import type { StreamId } from '../model/stream.ts'
import { type Skipped, StreamSchema } from './stream-schema.ts'

export interface Waiting {
  readonly streamId: StreamId
  readonly segmentId: SegmentId
  readonly delta: SchemaDelta
}

/** Rough bytes in memory of a delta's shape beside its leaves. */
const SHAPE_BYTES = 160

export class SchemaCache {
  readonly skipped: Skipped = { fields: 0, shapes: 0 }
  /** In the order of their last use. */
  readonly #known = new Map<StreamId, StreamSchema>()
  readonly #waiting = new Map<StreamId, Waiting[]>()
  #waitingBytes = 0

  get bytes(): number {
    let bytes = this.#waitingBytes
    for (const schema of this.#known.values()) bytes += schema.bytes
    return bytes
  }

  /** More waits to be loaded than may. */
  get isOverfull(): boolean {
    return this.#waitingBytes > OBSERVE_WAITING_BYTES_MAX
  }

  /** Learns from a segment. Undefined when its stream is to be loaded first: then it waits. */
  add(streamId: StreamId, segmentId: SegmentId, delta: SchemaDelta): StreamSchema | undefined {
    const schema = this.#known.get(streamId)
    if (schema !== undefined) {
      schema.add(segmentId, delta, this.skipped)
      return schema
    }
    const waiting = this.#waiting.get(streamId)
    if (waiting === undefined) this.#waiting.set(streamId, [{ streamId, segmentId, delta }])
    else waiting.push({ streamId, segmentId, delta })
    this.#waitingBytes += deltaBytes(delta)
    return undefined
  }

  /** Streams that wait to be loaded, or that others have changed. */
  unloaded(): StreamId[] {
    const stale = [...this.#known.values()].filter((schema) => schema.isStale)
    return [...this.#waiting.keys(), ...stale.map(({ streamId }) => streamId)]
  }

  /** Those of the streams that are not in memory. */
  missing(streamIds: readonly StreamId[]): StreamId[] {
    return [...new Set(streamIds)].filter((streamId) => !this.#known.has(streamId))
  }

  /** Takes what was loaded; returns what waited for it. Streams that are not there are deleted. */
  loaded(streamIds: readonly StreamId[], all: readonly KnownSchema[]): Waiting[] {
    for (const known of all) {
      const schema = this.#known.get(known.streamId)
      if (schema === undefined) this.#known.set(known.streamId, new StreamSchema(known))
      else schema.reload(known)
    }
    const waited: Waiting[] = []
    for (const streamId of streamIds) {
      const waiting = this.#waiting.get(streamId) ?? []
      this.#waiting.delete(streamId)
      for (const { delta } of waiting) this.#waitingBytes -= deltaBytes(delta)
      if (all.some((known) => known.streamId === streamId)) waited.push(...waiting)
      else this.forget(streamId)
    }
    return waited
  }

  /** Whether the segment is counted already. */
  has(streamId: StreamId, segmentId: SegmentId): boolean {
    // A stream that was just loaded and is not there is deleted: nothing to learn.
    return this.#known.get(streamId)?.has(segmentId) ?? true
  }

  isDescribed(streamId: StreamId, shape: string): boolean {
    return this.#known.get(streamId)?.isDescribed(shape) ?? true
  }

  describe(streamId: StreamId, segmentId: SegmentId, delta: SchemaDelta): void {
    const schema = this.#known.get(streamId)
    for (const shape of delta.shapes) schema?.describe(segmentId, shape, this.skipped)
  }

  /** A segment of the stream was passed over. */
  markPartial(streamId: StreamId): void {
    this.#known.get(streamId)?.markPartial()
  }

  changed(): StreamSchema[] {
    return [...this.#known.values()].filter((schema) => schema.hasChanges)
  }

  /** It is in use: of all it is the last to be forgotten. */
  touch(schema: StreamSchema): void {
    this.#known.delete(schema.streamId)
    this.#known.set(schema.streamId, schema)
  }

  forget(streamId: StreamId): void {
    this.#known.delete(streamId)
  }

  /** Forgets streams that were written, until the rest fits OBSERVE_CACHE_BYTES_MAX. */
  evict(): void {
    let bytes = this.bytes
    for (const schema of this.#known.values()) {
      if (bytes <= OBSERVE_CACHE_BYTES_MAX) return
      if (schema.hasChanges) continue
      bytes -= schema.bytes
      this.#known.delete(schema.streamId)
    }
  }

  clear(): void {
    this.#known.clear()
    this.#waiting.clear()
    this.#waitingBytes = 0
  }
}

function deltaBytes(delta: SchemaDelta): number {
  let bytes = 0
  for (const { leaves } of delta.shapes) {
    bytes += SHAPE_BYTES
    for (const leaf of leaves ?? []) bytes += leaf.length + 32
  }
  for (const path of delta.largePaths ?? []) bytes += path.length + 32
  return bytes
}
