/** The real engine with projection tables as the service makes them, and the way into them. */
import assert from 'node:assert/strict'
import { after, before } from 'node:test'
import { joinBlocks } from '../../src/materialize/join-blocks.ts'
import { stampBlock } from '../../src/materialize/stamp.ts'
import type { AcceptedBatch } from '../../src/model/batch/accepted-batch.ts'
import type { EncodedBatch } from '../../src/model/batch/encoded-batch.ts'
import type { EncodedBlock } from '../../src/model/batch/encoded-block.ts'
import { MIXED_STREAM } from '../../src/model/mixed-runs.ts'
import type { SegmentId } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { ClickHouse } from '../../src/store/clickhouse.ts'
import { ensureClickHouse } from '../../src/store/migrations/run.ts'
import { ProjectionStore } from '../../src/store/projection/projection-store.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import { openTcpFront, type TcpFront } from '../support/store-socket.ts'
import { openTestClickHouse, type TestStore } from '../support/stores.ts'
import { batchOf } from '../workers/batch-of.ts'

/** What the engine prints 64-bit and special numbers as, so that nothing is lost in JSON. */
const EXACT = {
  output_format_json_quote_64bit_integers: 1,
  output_format_json_quote_denormals: 1,
} as const

export class ProjectionHarness {
  #engine: TestStore | undefined
  #front: TcpFront | undefined
  #clickhouse: ClickHouse | undefined
  #store: ProjectionStore | undefined
  #streams = 0
  #segments = 1_767_323_045_678n << 21n

  /** Starts the engine before the file's tests and stops it after them. */
  constructor() {
    before(async () => {
      this.#engine = await openTestClickHouse()
      this.#front = await openTcpFront(this.#engine.url)
      this.#clickhouse = new ClickHouse({ url: this.#engine.url })
      await ensureClickHouse(this.#clickhouse)
      this.#store = new ProjectionStore(this.#clickhouse, { nodeId: 1, epoch: 1n })
    })
    after(async () => {
      await this.#clickhouse?.close()
      await this.#front?.close()
      await this.#engine?.close()
    })
  }

  get clickhouse(): ClickHouse {
    return this.#clickhouse!
  }

  newStream(): StreamId {
    return ++this.#streams as StreamId
  }

  /** Stamps and inserts the blocks of all batches in one INSERT; returns their segment ids. */
  async insert(streamId: StreamId, ...batches: readonly EncodedBatch[]): Promise<SegmentId[]> {
    const blocks = batches.flatMap(({ segments }) => segments.map(({ block }) => block))
    const ids = this.#stamp(blocks)
    await this.#store!.insert(streamId, joinBlocks(blocks, 0))
    return ids
  }

  /** The same with each block as it is: the engine reads one after the other. */
  async insertApart(streamId: StreamId, batches: readonly EncodedBatch[]): Promise<SegmentId[]> {
    const blocks = batches.flatMap(({ segments }) => segments.map(({ block }) => block))
    const ids = this.#stamp(blocks)
    await this.#store!.insert(
      streamId,
      blocks.map(({ bytes }) => bytes),
    )
    return ids
  }

  #stamp(blocks: readonly EncodedBlock[]): SegmentId[] {
    return blocks.map((block) => {
      const id = ++this.#segments as SegmentId
      stampBlock(block, id)
      return id
    })
  }

  /** Encodes one event a line with a fresh pipeline and inserts them. */
  async insertLines(streamId: StreamId, lines: readonly string[]): Promise<SegmentId[]> {
    return this.insert(streamId, new IngestPipeline().run(batchOf(lines.join('\n'))))
  }

  /** The same for the table that small streams share; it has the events of one segment. */
  async insertShared(streamId: StreamId, lines: readonly string[]): Promise<SegmentId> {
    return this.insertSharedBatch(streamId, batchOf(lines.join('\n')))
  }

  /** The same for any batch of one part. */
  async insertSharedBatch(streamId: StreamId, batch: AcceptedBatch): Promise<SegmentId> {
    const [id] = await this.insertSharedBatches(streamId, [batch])
    return id!
  }

  /** Of several, each a block of its own, in one INSERT. */
  async insertSharedBatches(
    streamId: StreamId,
    batches: readonly AcceptedBatch[],
  ): Promise<SegmentId[]> {
    const owners = [{ streamId, parts: 1 }]
    const encoded = batches.map((batch) => {
      return new IngestPipeline().run({ ...batch, streamId: MIXED_STREAM, owners })
    })
    assert(encoded.every(({ segments }) => segments.length === 1))
    return this.insertApart(MIXED_STREAM, encoded)
  }

  /** The engine's raw answer. */
  async native(sql: string): Promise<Buffer> {
    const url = new URL(this.#front!.url)
    const authorization = `Basic ${btoa(`${url.username}:${url.password}`)}`
    const reply = await fetch(url.origin, { method: 'POST', body: sql, headers: { authorization } })
    const bytes = Buffer.from(await reply.arrayBuffer())
    if (!reply.ok) throw new Error(bytes.toString())
    return bytes
  }

  /** Rows of a SELECT over the stream's table, 64-bit integers quoted. */
  async select<Row>(streamId: StreamId, columns: string, rest = ''): Promise<Row[]> {
    return this.clickhouse.query<Row>(
      `SELECT ${columns} FROM ${this.clickhouse.database}.events_${streamId} ${rest}
        ORDER BY segment_id, ordinal`,
      {},
      EXACT,
    )
  }
}
