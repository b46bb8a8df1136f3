/**
 * Goal: a search reads only those segments that wait for the projection and may match; it finds
 * what it should in memory, in a spool, while an insert runs and after it.
 * Method: a real service that lets blocks wait for a minute; its counters say what was read.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { BATCH_BYTES_TARGET } from '../../../src/limits.ts'
import { SPOOL_BYTES_MIN } from '../../../src/materialize/live-buffers.ts'
import { Api, type EventPage, type Stream } from '../../support/api.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const SEGMENTS = 12
const EVENTS = 50

const dataDir = makeDataDir()
let service: Service
let api: Api

before(async () => {
  service = await Service.start({ dataDir, args: ['--materialize-delay-ms', '60000'] })
  api = new Api(service)
})

after(async () => {
  await service?.kill()
  await removeDataDir(dataDir)
})

/** Each request is a segment of its own; `pad` makes them larger. */
async function fill(pad = ''): Promise<Stream> {
  const stream = await api.createStream()
  for (let segment = 0; segment < SEGMENTS; segment++) {
    const lines = Array.from({ length: EVENTS }, (_, n) => {
      const message = `Line ${n} of batch${segment}`
      return JSON.stringify({ id: `s${segment}n${n}e`, segment, message, pad })
    })
    const answer = await api.ingest(stream.key, lines.join('\n'))
    assert.equal(answer.status, 200)
  }
  return stream
}

/** How many events match, and what became of the segments that waited. */
async function search({ id }: Stream, query: string) {
  const names = ['read', 'passed_over'] as const
  const count = async () => {
    const of = (result: string) => `ingest_search_waiting_segments_total{result="${result}"}`
    return await Promise.all(names.map((result) => api.metric(of(result))))
  }
  const before = await count()
  const text = await api.rest(`/v1/streams/${id}/search`, 'POST', { query, limit: 1_000 })
  const { events } = JSON.parse(text) as EventPage
  const now = await count()
  return [events.length, ...now.map((value, at) => value - before[at]!)]
}

/** Bytes of an event that make a request so large. */
const padded = (requestBytes: number) => 'x'.repeat(requestBytes / EVENTS)

for (const [place, pad] of [
  ['in memory', ''],
  ['in a spool', padded(Math.max((2 * SPOOL_BYTES_MIN) / SEGMENTS, BATCH_BYTES_TARGET / 2))],
] as const) {
  test(`blocks that wait ${place}: only those that may match are read`, async () => {
    const stream = await fill(pad)
    const [, , all] = await search(stream, 'id:nobody')
    assert.ok(all! >= SEGMENTS)
    // A request may become two segments.
    const most = all! / SEGMENTS
    for (const [query, events, requests] of [
      ['id:nobody', 0, 0],
      ['id:s7n3e', 1, 1],
      ['segment:5', EVENTS, 1],
      ['BATCH11 line', EVENTS, 1],
      ['id:(s1n1e OR s2n2e)', 2, 2],
      ['NOT id:nobody', SEGMENTS * EVENTS, SEGMENTS],
    ] as const) {
      const [found, read, passedOver] = await search(stream, query)
      assert.deepEqual([found, read! + passedOver!], [events, all], query)
      assert.ok(read! >= requests && read! <= requests * most, `${query}: ${read} of ${all}`)
    }
  })
}
