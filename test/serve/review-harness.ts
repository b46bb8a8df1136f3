/** Reviews on real rows, with the worker's own pipeline in the pool's place. */
import { LANE_WAITING_MAX } from '../../src/limits.ts'
import type { ReviewedEvents, ReviewRequest } from '../../src/model/redact/redaction.ts'
import { SCHEMA_CAPS_DEFAULT } from '../../src/model/schema.ts'
import { makeSegmentId, type SegmentId, segmentIdMs } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { Lane } from '../../src/read/lane.ts'
import { redactReviewRoutes } from '../../src/serve/redact-routes.ts'
import { EventStore } from '../../src/store/raw/event-store.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import { ReviewPipeline } from '../../workers/review.ts'
import { batchOf } from '../workers/batch-of.ts'
import { RestHarness, startDatabase, type TestDatabase } from './rest-harness.ts'

export const NOW_MS = Date.parse('2026-05-05T05:05:05Z')
export const RANGE = { from: '2026-05-05T05:00:00Z', to: '2026-05-05T06:00:00Z' }
/** How long a review may take here. */
export const MS_MAX = 1_500
const SETTINGS = {
  retentionMs: 1e12,
  maxStoredBytes: null,
  rateBudget: null,
  byteBudget: null,
  schemaCaps: SCHEMA_CAPS_DEFAULT,
  parseUserAgents: false,
  redactSensitive: false,
  redactFields: ['headers.cookies'],
  textFields: ['message'],
  otlpContext: 'drop' as const,
}

const nothing = async () => {}

export class ReviewHarness {
  readonly database: TestDatabase
  rest!: RestHarness
  /** Of one place. */
  readonly lane = new Lane({
    name: 'redaction reviews',
    places: () => 1,
    waitingMax: LANE_WAITING_MAX,
    waitMsMax: 100,
  })
  /** What stands before the worker; a test may slow it down. */
  beforeTask: (request: ReviewRequest, signal: AbortSignal) => Promise<void> = nothing
  tasks = 0
  isIngestBusy = false
  #streams = 0

  private constructor(database: TestDatabase) {
    this.database = database
  }

  static async start(): Promise<ReviewHarness> {
    const harness = new ReviewHarness(await startDatabase())
    const { postgres } = harness.database
    const pipeline = new ReviewPipeline()
    harness.rest = await RestHarness.start(postgres, ({ resolveToken, control: streams }) =>
      redactReviewRoutes({
        resolveToken,
        streams,
        lane: harness.lane,
        events: new EventStore(postgres),
        nowMs: () => NOW_MS,
        msMax: MS_MAX,
        shouldYieldToIngest: () => harness.isIngestBusy,
        reviewSegments: async (asked, signal): Promise<ReviewedEvents> => {
          harness.tasks++
          const request = structuredClone(asked)
          await harness.beforeTask(request, signal)
          return pipeline.run(request)
        },
      }),
    )
    return harness
  }

  async close(): Promise<void> {
    try {
      await this.rest.close()
    } finally {
      await this.database.close()
    }
  }

  /** Has tasks run at once again. */
  readonly hurry = (): void => {
    this.beforeTask = nothing
  }

  async createStream(): Promise<StreamId> {
    const settings = { ...SETTINGS, name: `reviewed-${++this.#streams}` }
    return (await this.rest.control.createStream('owner', settings)).streamId
  }

  /** A row with these events, received so many milliseconds after NOW_MS. */
  async commit(streamId: StreamId, laterMs: number, lines: string[]): Promise<SegmentId> {
    const id = makeSegmentId({ ms: NOW_MS + laterMs, node: 1, counter: 0 })
    const [segment] = new IngestPipeline().run(batchOf(lines.join('\n'))).segments
    const sql = 'INSERT INTO segments VALUES ($1, $2, $3, $4, $5, $5, $6)'
    await this.database.postgres.query(sql, [
      streamId,
      String(id),
      new Date(segmentIdMs(id)),
      lines.length,
      lines.join('\n').length,
      Buffer.from(segment!.payload),
    ])
    return id
  }

  /** Makes payloads of the stream unreadable: of one segment, or of all. */
  async spoil(streamId: StreamId, segmentId?: SegmentId): Promise<void> {
    const sql = `UPDATE segments SET payload = $3
      WHERE stream_id = $1 AND ($2::bigint IS NULL OR segment_id = $2)`
    const id = segmentId === undefined ? null : String(segmentId)
    await this.database.postgres.query(sql, [streamId, id, Buffer.of(99)])
  }

  review(
    streamId: StreamId,
    body: unknown,
    options: { token?: string; signal?: AbortSignal } = {},
  ) {
    return this.rest.call('POST', `/v1/streams/${streamId}/redact/review`, { body, ...options })
  }
}
