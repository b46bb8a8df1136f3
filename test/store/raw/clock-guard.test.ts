/**
 * Goal: a clock that is ahead is noticed in the moment it steps, also between two comparisons, and
 * no id is ever given out that is further ahead than CLOCK_LEAD_MS_MAX.
 * Method: both clocks are variables.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CLOCK_LEAD_MS_MAX } from '../../../src/limits.ts'
import { SegmentIdGenerator, segmentIdMs } from '../../../src/model/segment-id.ts'
import type { QueryResult } from '../../../src/store/postgres.ts'
import { ClockGuard } from '../../../src/store/raw/clock-guard.ts'

const START_MS = Date.parse('2026-01-01T00:00:00Z')
const YEARS_MS = 10 * 365 * 86_400_000

function setUp() {
  const clocks = { wall: START_MS, monotonic: 500, store: START_MS }
  const guard = new ClockGuard({
    nowMs: () => clocks.wall,
    monotonicMs: () => clocks.monotonic,
  })
  const pass = (ms: number) => {
    for (const name of ['wall', 'monotonic', 'store'] as const) clocks[name] += ms
  }
  const query = async <Row>(): Promise<QueryResult<Row>> => {
    return { rows: [{ now_ms: clocks.store }], rowCount: 1 } as unknown as QueryResult<Row>
  }
  return { clocks, guard, pass, compare: () => guard.compare({ query }) }
}

test('before the first comparison nothing is refused', () => {
  const { guard } = setUp()
  assert.equal(guard.isAhead, false)
  assert.equal(guard.leadMs, 0)
})

test('a start is refused beyond the bound, and the text says what to do', async () => {
  const { clocks, guard, compare } = setUp()
  clocks.wall += CLOCK_LEAD_MS_MAX
  await compare()
  assert.equal(guard.isAhead, false, 'the bound itself is allowed')
  clocks.wall += 1
  await assert.rejects(compare(), (error: Error) => {
    assert.match(error.message, /this machine's clock says 2026-01-01T00:01:00.001Z/)
    assert.match(error.message, /PostgreSQL's 2026-01-01T00:00:00.000Z/)
    assert.match(error.message, /CLOCK_LEAD_MS_MAX.*NTP.*start again/)
    return true
  })
  clocks.wall = START_MS - YEARS_MS
  await compare() // Behind: events get early times, and nothing is poisoned.
  assert.equal(guard.leadMs, -YEARS_MS)
})

test('a step is seen at once, without asking, and forgiven when it is undone', async () => {
  const { clocks, guard, pass, compare } = setUp()
  await compare()
  pass(3_600_000)
  assert.equal(guard.leadMs, 0)
  clocks.wall += YEARS_MS
  assert.equal(guard.isAhead, true)
  clocks.wall -= YEARS_MS
  assert.equal(guard.isAhead, false)
})

test('after a suspension the next comparison puts it right', async () => {
  const { clocks, guard, compare } = setUp()
  await compare()
  clocks.wall += 8 * 3_600_000
  clocks.store += 8 * 3_600_000
  assert.equal(guard.isAhead, true, 'the monotonic clock stood still')
  guard.told(clocks.store, clocks.monotonic)
  assert.equal(guard.isAhead, false)
})

test('no id is further ahead than allowed, whatever the clock says', async () => {
  const { clocks, guard, pass, compare } = setUp()
  await compare()
  const ids = new SegmentIdGenerator(
    1,
    () => guard.nowMs,
    undefined,
    () => guard.latestMs,
  )
  assert.equal(segmentIdMs(ids.next()), START_MS)
  assert.equal(ids.isAhead, false)
  clocks.wall += YEARS_MS
  assert.equal(ids.isAhead, true)
  const id = ids.next() // As if it had stepped between the question and here.
  assert.ok(segmentIdMs(id) <= START_MS + CLOCK_LEAD_MS_MAX)
  clocks.wall -= YEARS_MS
  assert.equal(ids.isAhead, false)
  assert.ok(ids.next() > id)
  pass(CLOCK_LEAD_MS_MAX + 1_000)
  assert.equal(segmentIdMs(ids.next()), clocks.wall, 'times are right again')
})

test('ids above a poisoned one are known for what they are', async () => {
  const { clocks, guard, compare } = setUp()
  await compare()
  const poisoned = new SegmentIdGenerator(1, () => clocks.wall + YEARS_MS).next()
  const ids = new SegmentIdGenerator(
    1,
    () => guard.nowMs,
    poisoned,
    () => guard.latestMs,
  )
  assert.equal(guard.isAhead, false)
  assert.equal(ids.isAhead, true)
  assert.equal(ids.lastMs, START_MS + YEARS_MS)
})
