/**
 * Goal: a review ends within its bounds and says so, where it goes on, and what is damaged; it ends
 * when its client goes away.
 * Method: the route on real rows, with the worker's own pipeline in the pool's place, slowed down
 * where time matters.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  REVIEW_DAMAGED_MAX,
  REVIEW_PATHS_HELD_MAX,
  REVIEW_PATHS_MAX,
  REVIEW_REST_MS_MAX,
  REVIEW_SAMPLED_MAX,
  REVIEW_SAMPLES_MAX,
  REVIEW_TASKS_MAX,
} from '../../src/limits.ts'
import { REVIEW_PAGE_EVENTS, REVIEW_REST_FACTOR } from '../../src/read/review-walk.ts'
import { MS_MAX, NOW_MS, RANGE, ReviewHarness } from './review-harness.ts'

let harness: ReviewHarness

before(async () => {
  harness = await ReviewHarness.start()
})

after(async () => {
  await harness?.close()
})

test('a damaged segment is told, and the others are looked at', async () => {
  const streamId = await harness.createStream()
  await harness.commit(streamId, 0, ['{"password":"a"}'])
  const broken = await harness.commit(streamId, 1, ['{"password":"b"}', '{"password":"c"}'])
  await harness.commit(streamId, 2, ['{"password":"d"}'])
  await harness.spoil(streamId, broken)
  const { json } = await harness.review(streamId, RANGE)
  assert.deepEqual([json.events, json.changed, json.partial, json.next], [2, 2, true, null])
  assert.deepEqual(json.partial_reasons, ['damaged'])
  assert.deepEqual(json.damaged, [{ segment_id: String(broken), events: 2 }])
  assert.equal(json.events_damaged, 2)
})

test('damaged segments that are named are bounded; all are counted', async () => {
  const streamId = await harness.createStream()
  for (let i = 0; i <= REVIEW_DAMAGED_MAX; i++) await harness.commit(streamId, i, ['{"a":1}'])
  await harness.spoil(streamId)
  const { json } = await harness.review(streamId, RANGE)
  assert.equal(json.damaged.length, REVIEW_DAMAGED_MAX)
  assert.equal(json.events_damaged, REVIEW_DAMAGED_MAX + 1)
})

test('paths are bounded: those with the most values are listed, the others counted', async () => {
  const streamId = await harness.createStream()
  const paths = REVIEW_PATHS_MAX + 30
  const event = Object.fromEntries(
    Array.from({ length: paths }, (_, i) => [`k${i}`, { password: 'x' }]),
  )
  await harness.commit(streamId, 0, [JSON.stringify(event), '{"k7":{"password":"x"}}'])
  const { json } = await harness.review(streamId, RANGE)
  assert.equal(json.changes.length, REVIEW_PATHS_MAX)
  assert.deepEqual(
    [json.changes[0].path, json.changes[0].values, json.changes[0].events],
    ['k7.password', 2, 2],
  )
  assert.deepEqual(json.more, { paths: 30, values: 30, at_least: false })
  assert.deepEqual(json.partial_reasons, ['paths'])
  assert(json.changes.every((row: { samples: unknown[] }) => row.samples.length > 0))
})

test('past the paths that are held, values are still counted', async () => {
  const streamId = await harness.createStream()
  const members = (from: number) =>
    Array.from({ length: REVIEW_PATHS_HELD_MAX / 2 }, (_, i) => [`k${from + i}`, { pin: 'x' }])
  const lines = [0, 1, 2].map((part) =>
    JSON.stringify(Object.fromEntries(members(part * REVIEW_PATHS_HELD_MAX))),
  )
  // In one task, and added up from several.
  for (const [i, rows] of [[lines], lines.map((line) => [line])].entries()) {
    for (const [j, row] of rows.entries()) await harness.commit(streamId, i * 100 + j, row)
    const range = { from: new Date(NOW_MS + i * 100).toISOString(), to: RANGE.to }
    const { json } = await harness.review(streamId, range)
    const values = (REVIEW_PATHS_HELD_MAX / 2) * 3
    assert.equal(json.changes.length, REVIEW_PATHS_MAX)
    assert.deepEqual(json.more, {
      paths: REVIEW_PATHS_HELD_MAX - REVIEW_PATHS_MAX,
      values: values - REVIEW_PATHS_MAX,
      at_least: true,
    })
    assert.equal(json.changed, 3)
  }
})

test('samples are bounded and differ', async () => {
  const streamId = await harness.createStream()
  const values = ['1', 'a', 'a b', '{}', 'x'.repeat(40), 'y'.repeat(99), 'zz'.repeat(99)]
  const lines = values.map((password) => JSON.stringify({ password }))
  await harness.commit(streamId, 0, lines)
  const [row] = (await harness.review(streamId, RANGE)).json.changes
  assert.equal(row.values, values.length)
  const samples = row.samples.map((sample: unknown) => JSON.stringify(sample))
  assert.equal(new Set(samples).size, REVIEW_SAMPLES_MAX)
})

test('of a path the first REVIEW_SAMPLED_MAX values are looked at for samples', async () => {
  for (const [before, samples] of [
    [REVIEW_SAMPLED_MAX - 1, 2],
    [REVIEW_SAMPLED_MAX, 1],
  ] as const) {
    const streamId = await harness.createStream()
    // In the middle, so that it is as far from the first value whichever way they are read.
    const alike = Array.from({ length: before }, () => '{"password":"a"}')
    await harness.commit(streamId, 0, [...alike, '{"password":1}', ...alike])
    const [row] = (await harness.review(streamId, RANGE)).json.changes
    assert.deepEqual([row.values, row.samples.length], [2 * before + 1, samples])
  }
})

test('more events than one page of the walk; many segments', async () => {
  const streamId = await harness.createStream()
  const lines = Array.from({ length: 6_000 }, (_, i) =>
    i % 100 === 0 ? '{"token":"t"}' : '{"a":1}',
  )
  for (let i = 0; i < 3; i++) await harness.commit(streamId, i, lines)
  const { json } = await harness.review(streamId, RANGE)
  assert(json.events > REVIEW_PAGE_EVENTS)
  assert.deepEqual([json.events, json.changed, json.next], [18_000, 180, null])
})

test('it ends when its time is over, tells what it has seen, and goes on from there', async () => {
  const streamId = await harness.createStream()
  const lines = Array.from({ length: 5_000 }, (_, i) => `{"password":"${i}","a":"${i}"}`)
  for (let i = 0; i < 4; i++) await harness.commit(streamId, i, lines)
  const from = harness.tasks
  harness.beforeTask = async () => {
    if (harness.tasks > from + 2) await sleep(3 * MS_MAX)
  }
  const startMs = performance.now()
  const { json } = await harness.review(streamId, RANGE)
  harness.hurry()
  assert(performance.now() - startMs < 2 * MS_MAX)
  assert.deepEqual(json.partial_reasons, ['time'])
  assert(json.events >= 5_000 && json.events < 20_000)
  const rest = await harness.review(streamId, { ...RANGE, before: json.next })
  assert.deepEqual([rest.json.events + json.events, rest.json.next], [20_000, null])
})

test('while ingest is busy it has one task at a time, and rests after each', async () => {
  const streamId = await harness.createStream()
  const lines = Array.from({ length: 8_000 }, () => '{"password":"p"}')
  for (let i = 0; i < 4; i++) await harness.commit(streamId, i, lines)
  const spans: { readonly startMs: number; endMs: number }[] = []
  harness.beforeTask = async () => {
    const span = { startMs: performance.now(), endMs: Number.POSITIVE_INFINITY }
    spans.push(span)
    await sleep(30)
    span.endMs = performance.now()
  }
  const most = async (isBusy: boolean) => {
    spans.length = 0
    harness.isIngestBusy = isBusy
    const { json } = await harness.review(streamId, RANGE)
    assert.deepEqual([json.events, json.partial], [32_000, false])
    return Math.max(
      ...spans.map(({ startMs }) => {
        return spans.filter((each) => each.startMs <= startMs && startMs < each.endMs).length
      }),
    )
  }
  const idle = await most(false)
  assert(idle > 1 && idle <= REVIEW_TASKS_MAX, `${idle} at a time`)
  assert.equal(await most(true), 1)
  harness.hurry()
  harness.isIngestBusy = false
  const pauses = spans.slice(1).map(({ startMs }, i) => startMs - spans[i]!.endMs)
  const least = 30 * REVIEW_REST_FACTOR - 5
  for (const pause of pauses) assert(pause > least && pause < REVIEW_REST_MS_MAX + 500, `${pause}`)
})

test('when nothing could be looked at in time, it is unavailable', async () => {
  const streamId = await harness.createStream()
  await harness.commit(streamId, 0, ['{"password":"a"}'])
  harness.beforeTask = () => sleep(2 * MS_MAX)
  const { status, json } = await harness.review(streamId, RANGE)
  harness.hurry()
  assert.equal(status, 503)
  assert.match(json.detail, /REVIEW_MS_MAX/)
})

test('a client that goes away ends it: no further task, and its place is free', async () => {
  const streamId = await harness.createStream()
  for (let i = 0; i < 6; i++) {
    await harness.commit(
      streamId,
      i,
      Array.from({ length: 5_000 }, () => '{"password":"p"}'),
    )
  }
  const from = harness.tasks
  let given: AbortSignal | undefined
  harness.beforeTask = async (_, signal) => {
    given = signal
    if (!signal.aborted) await once(signal, 'abort')
  }
  const gone = new AbortController()
  const asked = harness.review(streamId, RANGE, { signal: gone.signal })
  asked.catch(() => undefined)
  while (given === undefined) await sleep(5)
  // The only place is taken: another one waits for a while and is refused.
  assert.equal((await harness.review(streamId, RANGE)).status, 429)
  gone.abort()
  await assert.rejects(asked)
  while (harness.lane.running > 0) await sleep(5)
  harness.hurry()
  assert(given.aborted)
  assert(harness.tasks - from <= REVIEW_TASKS_MAX, `${harness.tasks - from} tasks`)
  assert.equal((await harness.review(streamId, RANGE)).status, 200)
})
