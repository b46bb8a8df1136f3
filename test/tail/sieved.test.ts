/**
 * Goal: what ingest has found for a stream's tails is sent without another look, in the order of
 * the commits; where something is missing of it, segments are matched as if nothing were there.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { AcceptedBatch } from '../../src/model/batch/accepted-batch.ts'
import type { CommittedGroup } from '../../src/model/batch/committed-group.ts'
import type { SievedEvents, WatchedQueries } from '../../src/model/batch/sieved-events.ts'
import { NO_SEGMENT_ID } from '../../src/model/batch/sieved-events.ts'
import { TAIL_SIEVE_REST_MS } from '../../src/tail/query-sets.ts'
import { waitFor } from '../http/raw-client.ts'
import { createHub, FakeStore, fakeMatch, OWN_NODE, STREAM } from './hub-harness.ts'

const BATCH = { streamId: STREAM } as unknown as AcceptedBatch
const soon = () => sleep(30)

/** As the worker does it, of texts that hold the query. */
function sieve({ setId, json }: WatchedQueries, events: readonly string[]): SievedEvents {
  const [, ...queries] = JSON.parse(json) as [object, ...string[]]
  const byQuery = queries.map((query) => {
    return events.flatMap((text, at) => (text.includes(query) ? [at] : []))
  })
  const ordinals = events.flatMap((_, at) => (byQuery.some((all) => all.includes(at)) ? [at] : []))
  const time = '1970-01-01T00:00:00.000Z'
  const records = ordinals.map((ordinal) => {
    const id = `${NO_SEGMENT_ID}-${ordinal}`
    const times = { ingested_at: time, event_time: time, event_time_source: 'receipt' }
    return Buffer.from(JSON.stringify({ id, ...times, text: events[ordinal] }))
  })
  let end = 0
  const found = {
    matches: Uint32Array.from(
      byQuery.flatMap((all) => [all.length, ...all.map((ordinal) => ordinals.indexOf(ordinal))]),
    ),
    ordinals: Uint32Array.from(ordinals),
    records: Buffer.concat(records),
    recordEnd: Uint32Array.from(records, ({ length }) => (end += length)),
  }
  return { setId, found }
}

function rig(options: Parameters<typeof createHub>[1] = {}) {
  const store = new FakeStore()
  let tasks = 0
  const made = createHub(store, {
    matchNow: (task) => {
      tasks++
      return fakeMatch(task)
    },
    ...options,
  })
  const { hub } = made
  /** As it is encoded now, to be committed later. */
  const encode = (events: readonly string[]) => {
    const watched = hub.tailQueriesFor(BATCH)?.[0]
    const sieved = watched && sieve(watched, events)
    return (changed = sieved) => {
      const { segmentId, eventCount, payload } = store.commit(OWN_NODE, events)
      const group = { segments: [{ streamId: STREAM, segmentId, eventCount }] }
      hub.add(group as unknown as CommittedGroup, [{ payload, sieved: [changed] }])
      return segmentId
    }
  }
  return { ...made, store, encode, tasks: () => tasks }
}

test('what ingest found is sent, with the id and the times that commit gave it', async () => {
  const { encode, open, tasks, store } = rig()
  const [one, two, all] = [open('x'), open('y'), open('')]
  await soon()
  const segmentId = encode(['a', 'x', 'xy'])()
  encode(['none'])()
  await soon()
  assert.deepEqual(one.writer.texts, ['x', 'xy'])
  assert.deepEqual(two.writer.texts, ['xy'])
  assert.deepEqual(all.writer.texts, ['a', 'x', 'xy', 'none'])
  const { data } = one.writer.messages[0]!
  assert.equal(data.id, `${segmentId}-1`)
  assert.equal(data.ingested_at, data.event_time)
  assert.notEqual(data.ingested_at, '1970-01-01T00:00:00.000Z')
  assert.equal(tasks() + store.reads, 0)
  await Promise.all([one.stop(), two.stop(), all.stop()])
})

test('a tail that came since has its segments matched; one that left does not matter', async () => {
  const { encode, open, tasks } = rig()
  const one = open('x')
  await soon()
  const early = encode(['x1', 'y1'])
  const two = open('y')
  await soon()
  early()
  await soon()
  assert.deepEqual([...one.writer.texts, ...two.writer.texts], ['x1', 'y1'])
  assert.equal(tasks(), 1)
  const late = encode(['x2', 'y2'])
  await two.stop()
  late()
  await soon()
  assert.deepEqual(one.writer.texts, ['x1', 'x2'])
  assert.equal(tasks(), 1)
  await one.stop()
})

test('it does not overtake segments of its node that are matched', async () => {
  let release: () => void = () => undefined
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  const { encode, open, commit, store } = rig({
    matchNow: async (task) => {
      await held
      return fakeMatch(task)
    },
  })
  const { writer, stop } = open()
  await soon()
  commit(['1'])
  await soon()
  encode(['2'])()
  commit(['3'])
  encode(['4'])()
  store.commit(2, ['of another node'])
  await sleep(300)
  assert.deepEqual(writer.texts, [])
  release()
  await sleep(300)
  assert.deepEqual(
    writer.texts.filter((text) => text !== 'of another node'),
    ['1', '2', '3', '4'],
  )
  assert.equal(writer.texts.length, 5)
  await stop()
})

test('what others commit does not hold it up', async () => {
  const { encode, open, store } = rig({ matchNow: () => new Promise(() => undefined) })
  const { writer, stop } = open()
  await soon()
  store.commit(2, ['of another node'])
  await sleep(300)
  encode(['own'])()
  await soon()
  assert.deepEqual(writer.texts, ['own'])
  const [, place = ''] = /id: \w*\.(\S+)/.exec(writer.text) ?? []
  const ids = Buffer.from(place, 'base64url')
  const nodes = [ids.readBigUInt64BE(0), ids.readBigUInt64BE(8)]
  assert.ok(!nodes.includes(store.segments[0]!.segmentId), 'the other one is still to come')
  await stop()
})

test('what costs too much is matched, and not tried again for TAIL_SIEVE_REST_MS', async () => {
  const { hub, encode, open, tasks } = rig()
  const { writer, stop } = open('x')
  await soon()
  const { setId } = hub.tailQueriesFor(BATCH)![0]!
  encode(['x'])({ setId, found: undefined })
  await soon()
  assert.deepEqual([writer.texts, tasks()], [['x'], 1])
  assert.equal(hub.tailQueriesFor(BATCH), undefined)
  await sleep(TAIL_SIEVE_REST_MS)
  assert.equal(hub.tailQueriesFor(BATCH)?.[0]?.setId, setId)
  await stop()
})

test('other text fields of the stream count at once', async () => {
  let setting = ['msg']
  const { hub, open, errors } = rig({
    findStreams: async (ids) => ids.map((streamId) => ({ streamId, textFields: setting }) as never),
  })
  const stream = { streamId: STREAM, textFields: setting } as never
  const { stop } = open('x', { stream })
  await soon()
  const told = () => JSON.parse(hub.tailQueriesFor(BATCH)![0]!.json)[0] as object
  assert.deepEqual(told(), ['msg'])
  setting = ['body']
  await waitFor(() => isDeepStrictEqual(told(), ['body']), 'body')
  assert.deepEqual(errors, [])
  await stop()
})

test('ingest is asked what it can tell, of streams that somebody watches', async () => {
  const { hub, open } = rig()
  assert.equal(hub.tailQueriesFor(BATCH), undefined)
  const one = open('x')
  await soon()
  const [{ json }] = hub.tailQueriesFor(BATCH) as [WatchedQueries]
  assert.deepEqual(JSON.parse(json), [[], 'x'])
  const owners = [{ streamId: STREAM, parts: 1 }]
  assert.equal(hub.tailQueriesFor({ ...BATCH, streamId: 0, owners } as never)?.[0]?.json, json)
  assert.equal(hub.tailQueriesFor({ ...BATCH, streamId: 8 } as never), undefined)
  for (const query of ['_id:1-1', 'a:1 _event_time:>=2026-01-01T00:00:00Z', 'NOT _ingested_at:*']) {
    const two = open(query)
    await soon()
    assert.equal(hub.tailQueriesFor(BATCH), undefined, query)
    await two.stop()
  }
  assert.equal(hub.tailQueriesFor(BATCH)?.[0]?.json, json)
  await one.stop()
  assert.equal(hub.tailQueriesFor(BATCH), undefined)
})
