/** Blocks of one stream that wait for their insert: coalescing them is concatenation. */
import type { EncodedBlock } from '../model/batch.ts'
import type { StreamId } from '../model/stream.ts'
import type { Outstanding } from './progress.ts'

export class StreamBuffer {
  readonly streamId: StreamId
  readonly blocks: Uint8Array[] = []
  readonly entries: Outstanding[] = []
  rows = 0
  bytes = 0
  /** When its oldest block came, on the monotonic clock in milliseconds. */
  readonly sinceMs: number

  constructor(streamId: StreamId, sinceMs: number) {
    this.streamId = streamId
    this.sinceMs = sinceMs
  }

  add(block: EncodedBlock, entry: Outstanding): void {
    this.blocks.push(block.bytes)
    this.entries.push(entry)
    this.rows += block.rows
    this.bytes += block.bytes.length
  }
}
