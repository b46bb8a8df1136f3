/**
 * Goal: bytes and requests in flight have a bound; what is refused counts nothing; room that slow
 * bodies hold is there for others, and no body is cut while there is room.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IngestError } from '../../src/errors.ts'
import {
  InFlight,
  type InFlightRequest,
  SLOW_BODY_BYTES_PER_SECOND,
} from '../../src/http/in-flight.ts'
import { IN_FLIGHT_REQUESTS_MAX, SLOW_BODY_MS } from '../../src/limits.ts'

const overloaded = (error: unknown) => {
  assert(error instanceof IngestError)
  assert.deepEqual([error.code, error.retryAfterSeconds], ['overloaded', 1])
  return true
}

/** A bound with a clock that stands still, and requests that note how they were cut. */
function setUp(bytesMax: number) {
  const clock = { ms: 1_000 }
  const inFlight = new InFlight(bytesMax, () => clock.ms)
  const cuts: string[] = []
  const enter = (name: string, bytes: number): InFlightRequest => {
    const request: InFlightRequest = inFlight.enter(bytes, (error) => {
      cuts.push(`${name} ${error.code}`)
      request.leave()
    })
    return request
  }
  return { clock, inFlight, cuts, enter }
}

test('bytes up to the bound are taken, one more is refused and counts nothing', () => {
  const inFlight = new InFlight(100)
  const first = inFlight.enter(60)
  const second = inFlight.enter(0)
  second.hold(40)
  assert.throws(() => second.hold(41), overloaded)
  assert.throws(() => inFlight.enter(1), overloaded)
  assert.deepEqual([inFlight.bytes, inFlight.requests], [100, 2])
  first.leave()
  inFlight.enter(60)
  assert.deepEqual([inFlight.bytes, inFlight.requests], [100, 2])
  second.hold(10)
  assert.equal(inFlight.bytes, 70, 'what is held may shrink')
})

test('IN_FLIGHT_REQUESTS_MAX requests are taken, one more is refused', () => {
  const { clock, inFlight, cuts, enter } = setUp(100)
  const first = inFlight.enter(0)
  for (let i = 1; i < IN_FLIGHT_REQUESTS_MAX; i++) enter(String(i), 0)
  assert.throws(() => inFlight.enter(0), overloaded)
  first.leave()
  inFlight.enter(0)
  assert.equal(inFlight.requests, IN_FLIGHT_REQUESTS_MAX)
  clock.ms += SLOW_BODY_MS + 1
  inFlight.enter(0)
  assert.deepEqual(cuts, ['1 too_slow'], 'a slow one makes room for a request, too')
  assert.equal(inFlight.requests, IN_FLIGHT_REQUESTS_MAX)
})

test('a newcomer without room cuts slow bodies, the slowest first, no more than needed', () => {
  const { clock, inFlight, cuts, enter } = setUp(100)
  const slow = enter('slow', 40)
  enter('slowest', 30)
  const fast = enter('fast', 30)
  slow.received(1, false)
  clock.ms += SLOW_BODY_MS
  assert.throws(() => inFlight.enter(10), overloaded, 'everybody has SLOW_BODY_MS')
  fast.received(SLOW_BODY_BYTES_PER_SECOND, false)
  clock.ms += 101
  slow.received(1, false) // Now it is a byte's time behind.
  inFlight.enter(10)
  assert.deepEqual(cuts, ['slowest too_slow'])
  inFlight.enter(60)
  assert.deepEqual(cuts, ['slowest too_slow', 'slow too_slow'])
  assert.throws(() => inFlight.enter(1), overloaded, 'the fast one is left alone')
  assert.equal(inFlight.bytes, 100)
})

test('nobody is cut while there is room, nor when it would not make enough', () => {
  const { clock, inFlight, cuts, enter } = setUp(100)
  enter('slow', 40)
  const waits = enter('waits for us', 50)
  waits.received(1, true)
  const paused = enter('paused by us', 5)
  paused.paused()
  clock.ms += 60_000
  inFlight.enter(5)
  assert.throws(() => inFlight.enter(41), overloaded)
  assert.deepEqual(cuts, [])
  clock.ms += 101
  inFlight.enter(40)
  assert.deepEqual(cuts, ['slow too_slow'])
  paused.resumed()
  clock.ms += SLOW_BODY_MS
  assert.throws(() => inFlight.enter(5), overloaded, 'a pause does not count')
})

test('a body that was fast and then stops is slow after SLOW_BODY_MS, a growing one never', () => {
  const { clock, inFlight, cuts, enter } = setUp(100)
  const burst = enter('burst', 60)
  const steady = enter('steady', 40)
  burst.received(100 * SLOW_BODY_BYTES_PER_SECOND, false)
  for (let second = 1; second <= SLOW_BODY_MS / 1_000 + 1; second++) {
    clock.ms += 1_000
    steady.received(SLOW_BODY_BYTES_PER_SECOND, false)
  }
  steady.hold(50)
  assert.deepEqual(cuts, ['burst too_slow'], 'who grows makes room as well')
  assert.equal(inFlight.bytes, 50)
})

test('what the pool has of a request counts also when the request is over', () => {
  const inFlight = new InFlight(100)
  const request = inFlight.enter(60)
  request.queued(30)
  request.queued(20)
  request.leave()
  assert.deepEqual([inFlight.bytes, inFlight.requests], [50, 1])
  assert.throws(() => inFlight.enter(51), overloaded)
  request.unqueued(30)
  assert.deepEqual([inFlight.bytes, inFlight.requests], [20, 1])
  request.unqueued(20)
  assert.deepEqual([inFlight.bytes, inFlight.requests], [0, 0])
})

test('aborting a request frees only its bytes outside the pool, and counts only those', () => {
  const { clock, inFlight, cuts, enter } = setUp(100)
  const slow = enter('slow', 60)
  slow.queued(50)
  enter('slower', 40)
  clock.ms += SLOW_BODY_MS + 1
  assert.throws(() => inFlight.enter(51), overloaded, 'both would make 50')
  clock.ms += 101
  inFlight.enter(45)
  assert.deepEqual(cuts.sort(), ['slow too_slow', 'slower too_slow'])
  assert.equal(inFlight.bytes, 95)
  slow.unqueued(50)
  assert.equal(inFlight.bytes, 45)
})
