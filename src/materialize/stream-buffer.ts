/** Blocks for one table that wait for their insert: coalescing them is concatenation. */
import type { EncodedBlock } from '../model/batch/encoded-block.ts'
import type { BlockSpool } from '../model/projection.ts'
import type { StreamId } from '../model/stream.ts'
import { type JoinableBlock, joinBlocks } from './join-blocks.ts'
import type { Outstanding } from './progress.ts'
import type { SourceKey } from './source-key.ts'
import type { WaitingBlock } from './waiting-blocks.ts'

/** In our own memory. */
interface KeptBlock extends JoinableBlock {
  readonly waiting: WaitingBlock | undefined
  readonly entry: Outstanding
}

export class StreamBuffer {
  /** `MIXED_STREAM`: blocks with rows of several. */
  readonly streamId: StreamId
  blocks: KeptBlock[] = []
  /** Where the other blocks are. */
  spool: BlockSpool | undefined
  entries: Outstanding[] = []
  /** Those of its blocks that can be looked into. */
  waiting: WaitingBlock[] = []
  /** Of `Waiting`. */
  turn = 0
  rows = 0
  bytes = 0
  /** Of `blocks`, which are in our own memory. */
  keptBytes = 0
  /** When its oldest block came, on the monotonic clock in milliseconds. */
  readonly sinceMs: number

  constructor(streamId: StreamId, sinceMs: number) {
    this.streamId = streamId
    this.sinceMs = sinceMs
  }

  add(block: EncodedBlock, entry: Outstanding, waiting: WaitingBlock | undefined): void {
    const { bytes, rows, pieces } = block
    this.blocks.push({ bytes, rows, pieces, starts: waiting?.starts, waiting, entry })
    this.entries.push(entry)
    if (waiting !== undefined) this.waiting.push(waiting)
    this.rows += rows
    this.bytes += bytes.length
    this.keptBytes += bytes.length
  }

  /** Bytes of the blocks in our own memory, by whose they are. */
  *keptBySource(): Generator<readonly [source: SourceKey, bytes: number]> {
    for (const { entry, bytes } of this.blocks) yield [entry.source, bytes.length]
  }

  /** Takes out the blocks of one source, which are all in our own memory, and returns them. */
  takeOut(source: SourceKey): readonly KeptBlock[] {
    const out = this.blocks.filter(({ entry }) => entry.source === source)
    if (out.length === 0) return out
    const gone = new Set(out.map(({ waiting }) => waiting))
    this.blocks = this.blocks.filter(({ entry }) => entry.source !== source)
    this.entries = this.entries.filter((entry) => entry.source !== source)
    this.waiting = this.waiting.filter((waiting) => !gone.has(waiting))
    for (const { rows, bytes } of out) {
      this.rows -= rows
      this.bytes -= bytes.length
      this.keptBytes -= bytes.length
    }
    return out
  }

  /** Moves the blocks to the spool; they are nobody's any more. Throws as `append` does. */
  moveTo(spool: BlockSpool, release: (block: Uint8Array) => void): void {
    this.spool = spool
    const start = spool.append(joinBlocks(this.blocks))
    for (const { bytes, waiting } of this.blocks.splice(0)) {
      waiting?.moveTo(spool, start)
      release(bytes)
    }
    this.keptBytes = 0
  }
}
