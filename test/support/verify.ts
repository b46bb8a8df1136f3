/**
 * What must hold of the stores whatever happened under load: every acknowledged event is in both
 * exactly once, nothing refused is in either, and an unanswered request is there whole or not.
 */
import assert from 'node:assert/strict'
import type { Api, EventRecord } from './api.ts'
import { BUCKET_EVENTS, eventId, type Load, type Writer } from './load.ts'

export interface Verified {
  readonly events: number
  /** Unanswered requests that were stored all the same. */
  readonly storedUnanswered: number
}

const CATCH_UP_MS_MAX = 120_000

/** Call it when the load has stopped and the service runs. */
export async function verify(api: Api, load: Load): Promise<Verified> {
  assert.deepEqual(load.surprises.slice(0, 5), [], 'answers that should not have been given')
  let events = 0
  let storedUnanswered = 0
  const streamIds = new Set(load.writers.map((writer) => writer.stream.id))
  for (const streamId of streamIds) {
    const records = await api.events(streamId)
    assertDescending(records)
    const counts = countIds(records)
    const writers = load.writers.filter((writer) => writer.stream.id === streamId)
    for (const writer of writers) storedUnanswered += checkWriter(writer, counts)
    const known = writers.flatMap((writer) => writer.sent.map((request) => request.eventCount))
    assert.ok(records.length <= known.reduce((sum, count) => sum + count, 0))
    const { events: counted } = await api.usage(streamId)
    assert.equal(counted, records.length, 'usage counts what is stored')
    await checkProjection(api, streamId, writers, records)
    events += records.length
  }
  return { events, storedUnanswered }
}

/** Ids of a page's events fall strictly: newest first, none twice. */
function assertDescending(records: readonly EventRecord[]): void {
  let last: readonly [bigint, number] | undefined
  for (const { id } of records) {
    const [segment = '', ordinal = ''] = id.split('-')
    const at = [BigInt(segment), Number(ordinal)] as const
    if (last !== undefined) {
      const isBelow = at[0] < last[0] || (at[0] === last[0] && at[1] < last[1])
      assert.ok(isBelow, `${id} comes after ${last[0]}-${last[1]}`)
    }
    last = at
  }
}

/** By our own id, which text lines hold as their message. */
function countIds(records: readonly EventRecord[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { payload } of records) {
    const id = String(payload.id ?? payload.message)
    counts.set(id, (counts.get(id) ?? 0) + 1)
  }
  for (const [id, count] of counts) assert.equal(count, 1, `${id} is stored ${count} times`)
  return counts
}

/** Returns how many of the writer's unanswered requests are stored. */
function checkWriter(writer: Writer, counts: ReadonlyMap<string, number>): number {
  let storedUnanswered = 0
  for (const { firstEvent, eventCount, outcome } of writer.sent) {
    let stored = 0
    for (let event = firstEvent; event < firstEvent + eventCount; event++) {
      stored += counts.get(eventId(writer.name, event)) ?? 0
    }
    const what = `${writer.name}: ${outcome} request from event ${firstEvent}`
    if (outcome === 'acknowledged') assert.equal(stored, eventCount, what)
    else if (outcome === 'refused' && writer.kind !== 'idempotent') assert.equal(stored, 0, what)
    else assert.ok(stored === 0 || stored === eventCount, `${what}: ${stored} of ${eventCount}`)
    if (outcome === 'unanswered' && stored > 0) storedUnanswered++
  }
  return storedUnanswered
}

/** The analytics store has the same events: as many, none twice, the same in each bucket. */
async function checkProjection(
  api: Api,
  streamId: string,
  writers: readonly Writer[],
  records: readonly EventRecord[],
): Promise<void> {
  await api.untilProjected(streamId, CATCH_UP_MS_MAX)
  const { total } = await api.count(streamId)
  assert.equal(total, records.length, 'the projection holds as many events as the raw store')
  if (total === 0) return
  const isText = writers[0]?.kind === 'text'
  // The largest groups come first, so the first one tells of all.
  const name = isText ? 'message' : 'id'
  const ids = await api.count(streamId, { group_by: name, limit: 1 })
  assert.equal(ids.rows[0]?.count, 1, `twice in the projection: ${ids.rows[0]?.[name]}`)
  assert.equal(ids.total, total, 'every event has an id')
  if (isText) return
  for (const writer of writers) {
    const expected = new Map<number, number>()
    for (const { payload } of records) {
      if (payload.writer !== writer.name) continue
      const bucket = Math.floor(Number(payload.event) / BUCKET_EVENTS)
      expected.set(bucket, (expected.get(bucket) ?? 0) + 1)
    }
    const query = `writer="${writer.name}"`
    const counted = await api.count(streamId, { query, group_by: 'bucket' })
    assert.ok(expected.size <= 1_000, 'one answer holds all groups')
    const found = new Map(counted.rows.map((row) => [Number(row.bucket), row.count]))
    assert.deepEqual(sorted(found), sorted(expected), writer.name)
  }
}

function sorted(counts: ReadonlyMap<number, number>): [number, number][] {
  return [...counts].sort((a, b) => a[0] - b[0])
}
