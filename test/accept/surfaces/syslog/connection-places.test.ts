/**
 * Goal: there are so many connections of syslog, in all and from one address; a silent one gives
 * its place when it is needed, and never before.
 * Method: places without sockets, and a clock of the test's.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  ConnectionPlaces,
  type Place,
} from '../../../../src/accept/surfaces/syslog/connection-places.ts'
import {
  SYSLOG_ADDRESS_CONNECTIONS_MAX,
  SYSLOG_CONNECTIONS_MAX,
  SYSLOG_HALVES_BYTES_MAX,
  SYSLOG_IDLE_MS_MAX,
} from '../../../../src/limits.ts'

function setUp() {
  const clock = { nowMs: 1_000_000 }
  const closed: string[] = []
  const places = new ConnectionPlaces(() => clock.nowMs)
  const place = (address: string, heardAtMs = clock.nowMs): Place => {
    return { address, heardAtMs, close: () => void closed.push(address) }
  }
  return { clock, closed, places, place }
}

test('from one address', () => {
  const { places, place, closed } = setUp()
  const first = place('a')
  assert.equal(places.tryTake(first), undefined)
  for (let i = 1; i < SYSLOG_ADDRESS_CONNECTIONS_MAX; i++) places.tryTake(place('a'))
  assert.equal(places.tryTake(place('a')), 'address_connections')
  assert.equal(places.tryTake(place('b')), undefined)
  places.leave(first)
  places.leave(first)
  assert.equal(places.tryTake(place('a')), undefined)
  assert.equal(places.tryTake(place('a')), 'address_connections')
  assert.deepEqual(closed, [])
})

test('of all', () => {
  const { places, place, clock, closed } = setUp()
  const silent = place('silent')
  places.tryTake(silent)
  for (let i = 1; i < SYSLOG_CONNECTIONS_MAX; i++) places.tryTake(place(`${i % 100}`, 1_000_001))
  assert.equal(places.size, SYSLOG_CONNECTIONS_MAX)
  assert.equal(places.tryTake(place('more')), 'connections')
  clock.nowMs += SYSLOG_IDLE_MS_MAX
  assert.equal(places.tryTake(place('more')), undefined)
  assert.deepEqual(closed, ['silent'])
  places.leave(silent)
  assert.equal(places.size, SYSLOG_CONNECTIONS_MAX)
})

test('halves of messages', () => {
  const { places } = setUp()
  assert.equal(places.tryGrowHalves(SYSLOG_HALVES_BYTES_MAX), true)
  assert.equal(places.tryGrowHalves(1), false)
  assert.equal(places.tryGrowHalves(-1), true)
  assert.equal(places.tryGrowHalves(1), true)
})
