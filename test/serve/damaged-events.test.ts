/**
 * Goal: a damaged segment costs its own events and no others, and the list says so.
 * Method: real rows, of which one is spoiled, and the worker's own reader.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { formatEventId } from '../../src/model/event-id.ts'
import { SCHEMA_CAPS_DEFAULT } from '../../src/model/schema.ts'
import { makeSegmentId, type SegmentId, segmentIdMs } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { eventRoutes } from '../../src/serve/event-routes.ts'
import { EventStore } from '../../src/store/raw/event-store.ts'
import { IngestPipeline } from '../../workers/ingest.ts'
import { SegmentReader } from '../../workers/read-segment.ts'
import { batchOf } from '../workers/batch-of.ts'
import { RestHarness, startDatabase, type TestDatabase } from './rest-harness.ts'

const NOW_MS = Date.parse('2026-05-05T05:05:05Z')
const SETTINGS = {
  name: 'web',
  retentionMs: 1e9,
  maxStoredBytes: null,
  rateBudget: null,
  byteBudget: null,
  schemaCaps: SCHEMA_CAPS_DEFAULT,
  parseUserAgents: false,
  redactSensitive: false,
  redactFields: [],
  textFields: [],
  otlpContext: 'drop' as const,
}

let database: TestDatabase
let rest: RestHarness

before(async () => {
  database = await startDatabase()
  const reader = new SegmentReader()
  rest = await RestHarness.start(database.postgres, ({ resolveToken, control: streams }) =>
    eventRoutes({
      resolveToken,
      streams,
      events: new EventStore(database.postgres),
      readSegments: async (reads) => {
        return { json: reader.run(structuredClone(reads)), damaged: reader.damaged }
      },
    }),
  )
})

after(async () => {
  await rest.close().finally(() => database.close())
})

async function commit(streamId: StreamId, laterMs: number, lines: string[]): Promise<SegmentId> {
  const id = makeSegmentId({ ms: NOW_MS + laterMs, node: 1, counter: 0 })
  const [segment] = new IngestPipeline().run(batchOf(lines.join('\n'))).segments
  await database.postgres.query('INSERT INTO segments VALUES ($1, $2, $3, $4, $5, $5, $6)', [
    streamId,
    String(id),
    new Date(segmentIdMs(id)),
    lines.length,
    lines.join('\n').length,
    Buffer.from(segment!.payload),
  ])
  return id
}

const idsOf = (json: { events: { id: string }[] }) => json.events.map((event) => event.id)
const ids = (segmentId: SegmentId, ...ordinals: number[]) =>
  ordinals.map((ordinal) => formatEventId({ segmentId, ordinal }))

test('a damaged segment is left out of a page, which says so and goes on behind it', async () => {
  const { streamId } = await rest.control.createStream('owner', SETTINGS)
  const path = `/v1/streams/${streamId}/events`
  const first = await commit(streamId, 0, ['{"i":0}'])
  const broken = await commit(streamId, 1, ['{"i":1}', '{"i":2}', '{"i":3}'])
  const last = await commit(streamId, 2, ['{"i":4}'])
  const sql = 'UPDATE segments SET payload = $3 WHERE stream_id = $1 AND segment_id = $2'
  await database.postgres.query(sql, [streamId, String(broken), Buffer.of(99)])

  const all = await rest.call('GET', path)
  assert.equal(all.status, 200)
  assert.deepEqual(idsOf(all.json), [...ids(last, 0), ...ids(first, 0)])
  assert.deepEqual(all.json.damaged, [{ segment_id: String(broken), events: 3 }])
  const page = await rest.call('GET', `${path}?limit=2&before=${ids(last, 0)[0]}`)
  assert.deepEqual(page.json, {
    events: [],
    next: ids(broken, 1)[0],
    previous: ids(broken, 2)[0],
    damaged: [{ segment_id: String(broken), events: 2 }],
  })
  const further = await rest.call('GET', `${path}?limit=2&before=${page.json.next}`)
  assert.deepEqual(idsOf(further.json), ids(first, 0))
  assert.deepEqual(further.json.damaged, [{ segment_id: String(broken), events: 1 }])
  const one = await rest.call('GET', `${path}/${ids(broken, 1)[0]}`)
  assert.equal(one.status, 500)
})
