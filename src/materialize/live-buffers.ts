/**
 * Blocks that wait for their inserts, by table, within the bounds of memory and of spools. A
 * block's bytes count until its insert has ended.
 */
import {
  MATERIALIZE_BUFFER_BYTES_MAX,
  MATERIALIZE_INSERTS_MAX,
  MATERIALIZE_SMALL_BYTES_MAX,
} from '../limits.ts'
import type { EncodedBlock } from '../model/batch/encoded-block.ts'
import { MIXED_STREAM } from '../model/mixed-runs.ts'
import type { BlockSpool } from '../model/projection.ts'
import type { SegmentId } from '../model/segment-id.ts'
import type { StreamId } from '../model/stream.ts'
import { isFull, pickInsert } from './pick-insert.ts'
import type { Outstanding } from './progress.ts'
import { covers, type LagKey, type SourceKey, tableOf } from './source-key.ts'
import { StreamBuffer } from './stream-buffer.ts'
import { WaitingBlocks } from './waiting-blocks.ts'

/** Bytes of one stream's waiting blocks from which on they are spooled, where that is possible. */
export const SPOOL_BYTES_MIN = 4 * 1024 * 1024
/** Spooled blocks of all streams; beyond it segments are replayed as well. */
export const SPOOL_BYTES_MAX = 320 * 1024 * 1024

export interface LiveBuffersOptions {
  readonly tryOpenSpool: (streamId: StreamId) => BlockSpool | undefined
  /** Takes back blocks that nothing uses any more. */
  readonly release: (block: Uint8Array) => void
}

export class LiveBuffers {
  /** What has room here, until its insert has ended. */
  readonly waiting = new WaitingBlocks()
  readonly #options: LiveBuffersOptions
  /** In the order in which their oldest blocks came. */
  readonly #buffers = new Set<StreamBuffer>()
  /** Those of them that take more. */
  readonly #open = new Map<StreamId, StreamBuffer>()
  /** Of blocks in our own memory. */
  #keptBytes = 0
  #spooledBytes = 0
  #turns = 0

  constructor(options: LiveBuffersOptions) {
    this.#options = options
  }

  /** Bytes of blocks that wait, spooled or not, and of those being inserted. */
  get bytes(): number {
    return this.#keptBytes + this.#spooledBytes
  }

  get isEmpty(): boolean {
    return this.#buffers.size === 0
  }

  /** Whether a block of this many bytes may be added. */
  hasRoom(source: SourceKey, bytes: number): boolean {
    if (this.#keptBytes + bytes > MATERIALIZE_BUFFER_BYTES_MAX) return false
    const buffer = this.#open.get(tableOf(source))
    // What is kept of it is going to be spooled as well.
    const spooledBytes = this.#spooledBytes + (buffer?.keptBytes ?? 0) + bytes
    return buffer?.spool === undefined || spooledBytes <= SPOOL_BYTES_MAX
  }

  /** What has the most bytes where `bytes` find no room; undefined when nothing has any. */
  largest(bytes: number): SourceKey | undefined {
    const sums = new Map<SourceKey, number>()
    const add = (source: SourceKey, counted: number) => {
      if (counted > 0) sums.set(source, (sums.get(source) ?? 0) + counted)
    }
    const isKept = this.#keptBytes + bytes > MATERIALIZE_BUFFER_BYTES_MAX
    for (const buffer of this.#buffers) {
      if (!isKept) add(buffer.streamId, buffer.bytes - buffer.keptBytes)
      else for (const [source, kept] of buffer.keptBySource()) add(source, kept)
    }
    return [...sums].sort(([, a], [, b]) => b - a)[0]?.[0]
  }

  /**
   * Adds a block, with the ids of the segments in it; true when its insert is due. Throws the
   * system's error when the stream's blocks cannot be spooled: then they must be dropped.
   */
  add(block: EncodedBlock, entry: Outstanding, segmentIds: readonly SegmentId[]): boolean {
    const streamId = tableOf(entry.source)
    let buffer = this.#open.get(streamId)
    if (buffer === undefined || isFull(buffer)) {
      const turn = buffer?.turn ?? 0 // More of it waits.
      buffer = new StreamBuffer(streamId, performance.now())
      buffer.turn = turn
      this.#open.set(streamId, buffer)
      this.#buffers.add(buffer)
    }
    const waiting = this.waiting.add(segmentIds, block)
    buffer.add(block, entry, waiting)
    this.#keptBytes += block.bytes.length
    if (buffer.keptBytes >= SPOOL_BYTES_MIN && streamId !== MIXED_STREAM) this.#spool(buffer)
    return isFull(buffer)
  }

  /** What one stream has that is due, or what several have that is small; the caller inserts it. */
  takeDue(delayMs: number): StreamBuffer[] {
    const nowMs = performance.now()
    const due: StreamBuffer[] = []
    let takenBytes = 0
    let keptBytes = this.#keptBytes
    while (due.length < MATERIALIZE_INSERTS_MAX) {
      const next = pickInsert(this.#buffers, { nowMs, delayMs, keptBytes })
      if (next === undefined) break
      takenBytes += next.bytes
      keptBytes -= next.keptBytes
      if (due.length > 0 && takenBytes > MATERIALIZE_SMALL_BYTES_MAX) break
      due.push(next)
      this.#remove(next)
      this.#turns++
      for (const buffer of this.#buffers) {
        if (buffer.streamId === next.streamId) buffer.turn = this.#turns
      }
    }
    return due
  }

  /** Moves what a buffer that was taken keeps to its spool. Throws like `add`. */
  fillSpool(spool: BlockSpool, buffer: StreamBuffer): void {
    const { keptBytes } = buffer
    buffer.moveTo(spool, this.#options.release)
    this.#keptBytes -= keptBytes
    this.#spooledBytes += keptBytes
  }

  /** The insert of a buffer that was taken has ended. If it failed, somebody may still read it. */
  end(buffer: StreamBuffer, isInserted: boolean): void {
    this.#keptBytes -= buffer.keptBytes
    this.#spooledBytes -= buffer.bytes - buffer.keptBytes
    for (const waiting of buffer.waiting) this.waiting.remove(waiting)
    if (isInserted) this.#release(buffer)
  }

  /** Drops what waits of `key`. */
  drop(key: LagKey): void {
    for (const buffer of [...this.#buffers]) {
      if (typeof key === 'string' && key !== 'all') this.#dropFrom(buffer, key)
      if (!covers(key, buffer.streamId) && buffer.rows > 0) continue
      this.#remove(buffer)
      this.end(buffer, true)
      buffer.spool?.release()
    }
  }

  #dropFrom(buffer: StreamBuffer, source: SourceKey): void {
    if (buffer.streamId !== tableOf(source)) return
    for (const { bytes, waiting } of buffer.takeOut(source)) {
      this.#keptBytes -= bytes.length
      if (waiting !== undefined) this.waiting.remove(waiting)
      this.#options.release(bytes)
    }
  }

  #remove(buffer: StreamBuffer): void {
    this.#buffers.delete(buffer)
    if (this.#open.get(buffer.streamId) === buffer) this.#open.delete(buffer.streamId)
  }

  #release({ blocks }: StreamBuffer): void {
    for (const { bytes } of blocks) this.#options.release(bytes)
  }

  /**
   * Moves the buffer's blocks to its spool, if it has or gets one. A few MiB at a time: blocks that
   * are moved together are joined.
   */
  #spool(buffer: StreamBuffer): void {
    if (this.#spooledBytes + buffer.keptBytes > SPOOL_BYTES_MAX) return
    const spool = buffer.spool ?? this.#options.tryOpenSpool(buffer.streamId)
    if (spool !== undefined) this.fillSpool(spool, buffer)
  }
}
