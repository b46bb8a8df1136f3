/** Blocks of one insert, on their way from the raw store. */
import type { EncodedBlock } from '../model/batch/encoded-block.ts'
import type { LoadedRow, RowSegment } from '../model/stored-row.ts'
import type { StreamId } from '../model/stream.ts'

/** A row of the raw store, and what of it is not in the projection. */
export interface AbsentRow {
  readonly row: LoadedRow
  readonly absent: readonly RowSegment[]
}

export class PendingInsert {
  /** `MIXED_STREAM`: for the table that streams share. */
  readonly streamId: StreamId
  /** Whose segments its blocks are of. */
  readonly sources: AbsentRow[] = []
  readonly blocks: EncodedBlock[] = []
  rows = 0
  bytes = 0

  constructor(streamId: StreamId) {
    this.streamId = streamId
  }

  add(source: AbsentRow, block: EncodedBlock): void {
    this.sources.push(source)
    this.blocks.push(block)
    this.rows += block.rows
    this.bytes += block.bytes.length
  }
}
