/**
 * Goal: the lanes of the service have the places, the lines and the waits that the limits say.
 * Method: work that never ends, or ends when the test says so; the timers are the test's.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  ALERT_QUERIES_MAX,
  ALERT_QUERY_WAIT_MS_MAX,
  INGEST_BUSY_SHARE,
  LANE_WAIT_MS_MAX,
  LANE_WAITING_MAX,
  LISTS_MAX,
  MANAGEMENT_MAX,
  QUERIES_BUSY_MAX,
  QUERIES_EMBEDDED_MAX,
  QUERIES_MAX,
  REVIEWS_MAX,
} from '../../src/limits.ts'
import type { Lane } from '../../src/read/lane.ts'
import {
  createLanes,
  INGEST_FULL_SHARE,
  ingestIsBusy,
  ingestNeedsAllCores,
} from '../../src/read/lanes.ts'

const NEVER = new AbortController().signal
const turn = () => new Promise((resolve) => setImmediate(resolve))

/** Work of one asker that ends when told; what became of it. */
function ask(lane: Lane): { end: () => void; outcome: () => string } {
  let end: () => void = () => undefined
  let outcome = ''
  lane
    .run(1, NEVER, () => new Promise<void>((resolve) => (end = resolve)))
    .then(
      () => (outcome = 'done'),
      (cause: unknown) => (outcome = String(cause)),
    )
  return { end: () => end(), outcome: () => outcome }
}

const idle = createLanes(() => 0, false)
const LANES = [
  ['queries', idle.queries, QUERIES_MAX],
  ['queries, embedded', createLanes(() => 0, true).queries, QUERIES_EMBEDDED_MAX],
  ['queries, embedded, busy', createLanes(() => INGEST_BUSY_SHARE, true).queries, QUERIES_BUSY_MAX],
  ['queries, busy', createLanes(() => 1, false).queries, QUERIES_MAX],
  ['lists', idle.lists, LISTS_MAX],
  ['reviews', idle.reviews, REVIEWS_MAX],
  ['management', idle.management, MANAGEMENT_MAX],
] as const

for (const [name, lane, placesMax] of LANES) {
  test(`${name}: places, then LANE_WAITING_MAX wait for LANE_WAIT_MS_MAX`, async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
    const all = Array.from({ length: placesMax + LANE_WAITING_MAX }, () => ask(lane))
    await turn()
    assert.deepEqual([lane.running, lane.waiting], [placesMax, LANE_WAITING_MAX])
    assert.ok(all.every(({ outcome }) => outcome() === ''))
    const oneMore = ask(lane)
    await turn()
    assert.match(oneMore.outcome(), new RegExp(`${LANE_WAITING_MAX} more wait`))
    assert.deepEqual([lane.running, lane.waiting], [placesMax, LANE_WAITING_MAX])

    t.mock.timers.tick(LANE_WAIT_MS_MAX - 1)
    await turn()
    assert.equal(lane.waiting, LANE_WAITING_MAX)
    t.mock.timers.tick(1)
    await turn()
    assert.deepEqual([lane.running, lane.waiting], [placesMax, 0])
    const late = all.slice(placesMax).map(({ outcome }) => outcome())
    const text = new RegExp(`none ended within ${LANE_WAIT_MS_MAX} ms`)
    for (const outcome of late) assert.match(outcome, text)
    for (const { end } of all) end()
  })
}

test('queries of rules: ALERT_QUERIES_MAX, waiting ALERT_QUERY_WAIT_MS_MAX', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  const lane = createLanes(() => 0, true).alerts
  const all = Array.from({ length: ALERT_QUERIES_MAX + 1 }, () => ask(lane))
  await turn()
  assert.deepEqual([lane.running, lane.waiting], [ALERT_QUERIES_MAX, 1])
  t.mock.timers.tick(ALERT_QUERY_WAIT_MS_MAX - 1)
  await turn()
  assert.equal(lane.waiting, 1)
  t.mock.timers.tick(1)
  await turn()
  assert.match(all.at(-1)!.outcome(), /none ended within/)
  for (const { end } of all) end()
  const busy = createLanes(() => INGEST_BUSY_SHARE, true).alerts
  const more = [ask(busy), ask(busy)]
  await turn()
  assert.deepEqual([busy.running, busy.waiting], [QUERIES_BUSY_MAX, 1])
  more[0]!.end()
  await turn()
  more[1]!.end()
})

test('ingest is busy from INGEST_BUSY_SHARE on', () => {
  assert.equal(ingestIsBusy(INGEST_BUSY_SHARE - 0.001), false)
  assert.equal(ingestIsBusy(INGEST_BUSY_SHARE), true)
})

test('events leave a read a second thread below INGEST_FULL_SHARE', () => {
  assert.deepEqual([0, INGEST_FULL_SHARE - 0.01].map(ingestNeedsAllCores), [false, false])
  assert.deepEqual([INGEST_FULL_SHARE, 1].map(ingestNeedsAllCores), [true, true])
})
