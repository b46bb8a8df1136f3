/** A raw store and a projection in memory, whose operations fail when a script says so. */
import assert from 'node:assert/strict'
import type { SetAside } from '../../src/materialize/catch-up.ts'
import { REPLAY_AHEAD_EVENTS } from '../../src/materialize/catch-up.ts'
import type { MaterializeStores } from '../../src/materialize/materializer.ts'
import type { CommittedSegment } from '../../src/model/batch/committed-group.ts'
import type { EncodedBlock } from '../../src/model/batch/encoded-block.ts'
import { MIXED_STREAM } from '../../src/model/mixed-runs.ts'
import type { BlockSpool, LiveMark, StreamSegment } from '../../src/model/projection.ts'
import { makeSegmentId, type SegmentId } from '../../src/model/segment-id.ts'
import { type LoadedRow, placeSegments, type SegmentPart } from '../../src/model/stored-row.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { SPOOL_INSERT_ROWS } from '../../src/store/projection/projection-store.ts'
import { StoreError } from '../../src/store/store-error.ts'
import { someBlock } from '../commit/some-segments.ts'

/** How an operation goes: `lost` takes effect, later even, and its caller hears of an error. */
export type Fate = 'ok' | 'fails' | 'lost'

/** The store refuses, and not for what the data is. */
export class RefusedError extends StoreError {
  constructor() {
    const details = { clickHouseCode: 497, clickHouseName: 'ACCESS_DENIED' }
    super('other', 'clickhouse: not enough privileges', details)
  }
}

export class BadDataError extends StoreError {
  constructor() {
    const details = { clickHouseCode: 117, clickHouseName: 'INCORRECT_DATA' }
    super('bad_data', 'clickhouse: the data cannot be stored', details)
  }
}

export class AwayError extends Error {
  readonly retryable = true
}

const NO_DELTA = { shapes: [], shapesSkipped: 0, largePaths: [] }

const turn = () => new Promise((resolve) => setImmediate(resolve))

export class FakeStores implements MaterializeStores {
  readonly raw: Omit<LoadedRow, 'payload'>[] = []
  /** Inserted segments in the order of their inserts, in whichever table. */
  readonly projected: StreamSegment[] = []
  /** Blocks of each insert into a stream's table. */
  readonly inserts: number[] = []
  /** Blocks of each insert into the shared one. */
  readonly sharedInserts: number[] = []
  readonly checkpoints: SegmentId[] = []
  readonly liveMarks: (LiveMark | undefined)[] = []
  /** What was set aside, and is asked to be tried again. */
  readonly aside = new Map<SegmentId, SetAside>()
  readonly retries = new Set<SegmentId>()
  fate: (operation: keyof MaterializeStores) => Fate = () => 'ok'
  /** Bytes that each block has beyond its stamped columns. */
  blockBytes = 0
  rowsPerBlock = 1
  /** Room of each spool that is opened; without it there is none. */
  spoolBytes: (() => number) | undefined
  openSpools = 0
  #running = 0
  #ids = 0

  /** What is committed, run by run. */
  get committed(): StreamSegment[] {
    return this.raw.flatMap(({ segments }) => segments)
  }

  /** Commits a segment; returns what commit hands on. */
  commit(streamId: number, ms = 1_000): CommittedSegment {
    const stored = { streamId: streamId as StreamId, segmentId: this.#nextId(ms) }
    this.#store(stored, [{ ...stored, eventCount: this.rowsPerBlock }])
    return { ...stored, eventCount: 1, block: this.#block(), delta: NO_DELTA }
  }

  /** Commits a mixed segment with a run of so many events for each of these streams. */
  commitMixed(streams: readonly (readonly [streamId: number, events: number])[]): CommittedSegment {
    const runs = streams.map(([streamId, eventCount]) => {
      return { streamId: streamId as StreamId, segmentId: this.#nextId(1_000), eventCount }
    })
    const stored = { streamId: MIXED_STREAM, segmentId: runs[0]!.segmentId }
    this.#store(stored, runs)
    const eventCount = runs.reduce((sum, { eventCount }) => sum + eventCount, 0)
    const block = this.#block(eventCount)
    const committed = runs.map((run) => ({ ...run, delta: NO_DELTA }))
    return { ...stored, runs: committed, eventCount, block, delta: NO_DELTA }
  }

  /** Rows are as large as rows are; their events are not there. */
  #store(row: StreamSegment, segments: Parameters<typeof placeSegments>[0]): void {
    const eventCount = REPLAY_AHEAD_EVENTS
    this.raw.push({ ...row, eventCount, segments: placeSegments(segments) })
  }

  #nextId(ms: number): SegmentId {
    return makeSegmentId({ ms, node: 1, counter: this.#ids++ })
  }

  #block(rows = this.rowsPerBlock): EncodedBlock {
    return someBlock(rows, this.blockBytes)
  }

  async readAfter(after: SegmentId, limit: number, streamId?: StreamId, which = 'own') {
    const isWanted = ({ segmentId, segments, ...row }: Omit<LoadedRow, 'payload'>) => {
      const isMixed = row.streamId === MIXED_STREAM
      const isAlone = isMixed && segments.length === 1 && segments[0]!.streamId === streamId
      const isTheirs = which === 'alone' ? isAlone : row.streamId === streamId
      return segmentId > after && (streamId === undefined || isTheirs)
    }
    const found = this.raw.filter(isWanted).slice(0, limit)
    await this.#meet('readAfter')
    return found.map((stored) => ({ ...stored, payload: new Uint8Array(1) }))
  }

  async settleInserts(): Promise<void> {
    await this.#meet('settleInserts')
    while (this.#running > 0) await turn()
  }

  async findPresent(segments: readonly StreamSegment[]) {
    await this.#meet('findPresent')
    const present = segments.filter(({ streamId, segmentId }) => {
      return this.projected.some((is) => is.streamId === streamId && is.segmentId === segmentId)
    })
    return new Set(present.map(({ segmentId }) => segmentId))
  }

  async rebuild(_row: LoadedRow, part: SegmentPart): Promise<EncodedBlock> {
    await this.#meet('rebuild')
    return this.#block(part.counts.reduce((sum, count) => sum + count, 0))
  }

  async insert(streamId: StreamId, blocks: readonly Uint8Array[]): Promise<void> {
    const inserted = blocks.flatMap((block) => this.#stamped(streamId, block))
    const inserts = streamId === MIXED_STREAM ? this.sharedInserts : this.inserts
    await this.#insert(inserted, () => inserts.push(blocks.length))
  }

  tryOpenSpool(streamId: StreamId): BlockSpool | undefined {
    assert.notEqual(streamId, MIXED_STREAM)
    if (this.spoolBytes === undefined) return undefined
    const spooled: StreamSegment[] = []
    let room = this.spoolBytes()
    let spooledBytes = 0
    let isOpen = true
    this.openSpools++
    const end = () => {
      assert(isOpen, 'a spool ends once')
      isOpen = false
      this.openSpools--
    }
    return {
      rowsMax: SPOOL_INSERT_ROWS,
      append: (blocks) => {
        const start = spooledBytes
        for (const block of blocks) {
          assert(isOpen && room >= 0)
          room -= block.length
          if (room < 0) throw new AwayError('ENOSPC')
          spooled.push({ streamId, segmentId: stampOf(block, 0) })
          spooledBytes += block.length
        }
        return start
      },
      tryRead: () => false,
      insert: () => {
        end()
        return this.#insert(spooled, () => this.inserts.push(spooled.length))
      },
      release: end,
    }
  }

  /** What was stamped into a block is what is inserted; each row of a run is stamped alike. */
  #stamped(streamId: StreamId, block: Uint8Array): StreamSegment[] {
    if (streamId !== MIXED_STREAM) return [{ streamId, segmentId: stampOf(block, 0) }]
    const runs = new Map(
      this.raw.flatMap(({ segments }) => segments.map((run) => [run.segmentId, run])),
    )
    const stamped: StreamSegment[] = []
    for (let row = 0, run = runs.get(stampOf(block, 0)); run !== undefined; ) {
      const { segmentId } = run
      for (const end = row + run.eventCount; row < end; row++) {
        assert.equal(stampOf(block, row), segmentId)
      }
      stamped.push({ streamId: run.streamId, segmentId })
      run = runs.get(stampOf(block, row))
    }
    return stamped
  }

  async #insert(inserted: readonly StreamSegment[], onWritten: () => unknown): Promise<void> {
    const fate = this.fate('insert')
    if (fate === 'fails') throw new AwayError('insert')
    this.#running++
    const write = async () => {
      for (let i = 0; i < 3; i++) await turn()
      this.projected.push(...inserted)
      onWritten()
      this.#running--
    }
    if (fate === 'ok') return write()
    void write()
    throw new AwayError('insert: no answer')
  }

  async setAside(segments: readonly SetAside[]): Promise<void> {
    await this.#meet('setAside')
    for (const each of segments) {
      this.aside.set(each.segmentId, each)
      this.retries.delete(each.segmentId)
    }
  }

  async readRetries() {
    if (this.retries.size > 0) await this.#meet('readRetries')
    return [...this.retries].map((id): LoadedRow => {
      const { streamId, segmentId } = this.aside.get(id)!
      const segments = this.raw.flatMap((row) => row.segments.filter((one) => one.segmentId === id))
      const eventCount = REPLAY_AHEAD_EVENTS
      return { streamId, segmentId, eventCount, segments, payload: new Uint8Array(1) }
    })
  }

  async forgetSetAside(segments: readonly StreamSegment[]): Promise<void> {
    await this.#meet('forgetSetAside')
    for (const { segmentId } of segments) {
      this.aside.delete(segmentId)
      this.retries.delete(segmentId)
    }
  }

  async writeCheckpoint(segmentId: SegmentId, live?: LiveMark): Promise<void> {
    await this.#meet('writeCheckpoint')
    this.checkpoints.push(segmentId)
    this.liveMarks.push(live)
  }

  async #meet(operation: keyof MaterializeStores): Promise<void> {
    await turn()
    if (this.fate(operation) !== 'ok') throw new AwayError(operation)
  }
}

function stampOf(bytes: Uint8Array, row: number): SegmentId {
  const { buffer, byteOffset, byteLength } = bytes
  return Buffer.from(buffer, byteOffset, byteLength).readBigInt64LE(row * 8) as SegmentId
}
