/** Goal: few streams are all busy; of many, those with a large share, judged anew all the time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BusyStreams } from '../../../src/accept/batching/busy-streams.ts'
import {
  BUSY_STREAM_SHARE_MIN,
  BUSY_STREAMS_COUNTED_MAX,
  BUSY_STREAMS_MAX,
  BUSY_STREAMS_PERIOD_MS,
} from '../../../src/limits.ts'
import type { StreamId } from '../../../src/model/stream.ts'

function setUp() {
  let nowMs = 1_000
  const streams = new BusyStreams(() => nowMs)
  const send = (count: number, bytes: (id: number) => number = () => 100) => {
    for (let id = 1; id <= count; id++) streams.note(id as StreamId, bytes(id))
  }
  const pass = (periods = 1) => {
    nowMs += periods * BUSY_STREAMS_PERIOD_MS
  }
  const busy = (count: number) => {
    const ids = Array.from({ length: count }, (_, index) => index + 1)
    return ids.filter((id) => streams.isBusy(id as StreamId))
  }
  return { send, pass, busy }
}

const MANY = BUSY_STREAMS_MAX * 20
const firstOnes = Array.from({ length: BUSY_STREAMS_MAX }, (_, index) => index + 1)

test('few streams are all busy, the next one ends it', () => {
  const { send, pass, busy } = setUp()
  assert.equal(busy(MANY).length, MANY, 'nobody sends')
  send(BUSY_STREAMS_MAX)
  assert.equal(busy(MANY).length, MANY)
  send(BUSY_STREAMS_MAX + 1)
  assert.deepEqual(busy(MANY), [])
  pass()
  assert.deepEqual(busy(MANY).length, BUSY_STREAMS_MAX)
})

test('of many equal ones none is busy', () => {
  const { send, pass, busy } = setUp()
  send(MANY)
  pass()
  assert.deepEqual(busy(MANY), [])
})

test('of many the few with much are busy, also in the next period, until they have little', () => {
  const { send, pass, busy } = setUp()
  const most = MANY * 100
  send(MANY, (id) => (id <= BUSY_STREAMS_MAX + 3 ? most - id : 1))
  pass()
  send(MANY)
  assert.deepEqual(busy(MANY), firstOnes)
  pass()
  assert.deepEqual(busy(MANY), [])
})

test('a share below the least is not enough', () => {
  const { send, pass, busy } = setUp()
  const others = MANY - 1
  const least = (BUSY_STREAM_SHARE_MIN * others) / (1 - BUSY_STREAM_SHARE_MIN)
  send(MANY, (id) => (id === 1 ? least * 1.01 : 1))
  pass()
  send(MANY, (id) => (id === 1 ? least * 0.99 : 1))
  assert.deepEqual(busy(MANY), [1])
  pass()
  send(MANY)
  assert.deepEqual(busy(MANY), [])
})

test('what was long ago does not count', () => {
  const { send, pass, busy } = setUp()
  send(MANY)
  pass(2)
  assert.equal(busy(MANY).length, MANY)
})

test('BUSY_STREAMS_COUNTED_MAX streams are counted in a period; who comes later is not', () => {
  for (const [others, isCounted] of [
    [BUSY_STREAMS_COUNTED_MAX - 1, true],
    [BUSY_STREAMS_COUNTED_MAX, false],
  ] as const) {
    const { send, pass, busy } = setUp()
    send(others, () => 1)
    send(others + 1, (id) => (id > others ? 10 * BUSY_STREAMS_COUNTED_MAX : 0))
    pass()
    assert.deepEqual(busy(others + 1), isCounted ? [others + 1] : [])
  }
})
