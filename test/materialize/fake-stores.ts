/** A raw store and a projection in memory, whose operations fail when a script says so. */
import type { MaterializeStores } from '../../src/materialize/materializer.ts'
import type { CommittedSegment, EncodedBlock } from '../../src/model/batch.ts'
import { makeSegmentId, type SegmentId } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { someBlock } from '../commit/some-segments.ts'

/** How an operation goes: `lost` takes effect, later even, and its caller hears of an error. */
export type Fate = 'ok' | 'fails' | 'lost'

export class AwayError extends Error {
  readonly retryable = true
}

const turn = () => new Promise((resolve) => setImmediate(resolve))

export class FakeStores implements MaterializeStores {
  readonly raw: { readonly streamId: StreamId; readonly segmentId: SegmentId }[] = []
  /** Inserted segments in the order of their inserts, by stream. */
  readonly projected: { readonly streamId: StreamId; readonly segmentId: SegmentId }[] = []
  readonly inserts: number[] = []
  readonly checkpoints: SegmentId[] = []
  fate: (operation: keyof MaterializeStores) => Fate = () => 'ok'
  /** Bytes that each block has beyond its stamped columns. */
  blockBytes = 0
  rowsPerBlock = 1
  #running = 0

  /** Commits a segment; returns what commit hands on. */
  commit(streamId: number, ms = 1_000): CommittedSegment {
    const segmentId = makeSegmentId({ ms, node: 1, counter: this.raw.length })
    const stored = { streamId: streamId as StreamId, segmentId }
    this.raw.push(stored)
    const delta = { shapes: [], shapesSkipped: 0 }
    return { ...stored, eventCount: 1, block: this.#block(), delta }
  }

  #block(): EncodedBlock {
    return someBlock(this.rowsPerBlock, this.blockBytes)
  }

  async readAfter(after: SegmentId, limit: number) {
    const found = this.raw.filter(({ segmentId }) => segmentId > after).slice(0, limit)
    await this.#meet('readAfter')
    return found.map((stored) => ({ ...stored, payload: new Uint8Array(1) }))
  }

  async settleInserts(): Promise<void> {
    await this.#meet('settleInserts')
    while (this.#running > 0) await turn()
  }

  async findPresent(streamId: StreamId, ids: readonly SegmentId[]) {
    await this.#meet('findPresent')
    const own = this.projected.filter((each) => each.streamId === streamId)
    return new Set(own.map(({ segmentId }) => segmentId).filter((id) => ids.includes(id)))
  }

  async rebuild(): Promise<EncodedBlock> {
    await this.#meet('rebuild')
    return this.#block()
  }

  async insert(streamId: StreamId, blocks: readonly Uint8Array[]): Promise<void> {
    const fate = this.fate('insert')
    if (fate === 'fails') throw new AwayError('insert')
    // What was stamped into the blocks is what is inserted.
    const ids = blocks.map((block) => Buffer.from(block).readBigInt64LE(0) as SegmentId)
    this.#running++
    const write = async () => {
      for (let i = 0; i < 3; i++) await turn()
      for (const segmentId of ids) this.projected.push({ streamId, segmentId })
      this.inserts.push(blocks.length)
      this.#running--
    }
    if (fate === 'ok') return write()
    void write()
    throw new AwayError('insert: no answer')
  }

  async writeCheckpoint(segmentId: SegmentId): Promise<void> {
    await this.#meet('writeCheckpoint')
    this.checkpoints.push(segmentId)
  }

  async #meet(operation: keyof MaterializeStores): Promise<void> {
    await turn()
    if (this.fate(operation) !== 'ok') throw new AwayError(operation)
  }
}
