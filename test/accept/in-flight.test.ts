/** Goal: bytes and requests in flight have a bound; what is refused counts nothing. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InFlight } from '../../src/accept/in-flight.ts'
import { IngestError } from '../../src/errors.ts'
import { IN_FLIGHT_REQUESTS_MAX } from '../../src/limits.ts'

const overloaded = (error: unknown) => {
  assert(error instanceof IngestError)
  assert.deepEqual([error.code, error.retryAfterSeconds], ['overloaded', 1])
  return true
}

test('bytes up to the bound are taken, one more is refused and counts nothing', () => {
  const inFlight = new InFlight(100)
  inFlight.enter(60)
  inFlight.enter(0)
  inFlight.grow(40)
  assert.throws(() => inFlight.grow(1), overloaded)
  assert.throws(() => inFlight.enter(1), overloaded)
  assert.deepEqual([inFlight.bytes, inFlight.requests], [100, 2])
  inFlight.leave(60)
  inFlight.enter(60)
  assert.deepEqual([inFlight.bytes, inFlight.requests], [100, 2])
})

test('IN_FLIGHT_REQUESTS_MAX requests are taken, one more is refused', () => {
  const inFlight = new InFlight(1)
  for (let i = 0; i < IN_FLIGHT_REQUESTS_MAX; i++) inFlight.enter(0)
  assert.throws(() => inFlight.enter(0), overloaded)
  inFlight.leave(0)
  inFlight.enter(0)
  assert.equal(inFlight.requests, IN_FLIGHT_REQUESTS_MAX)
})
