/**
 * Goal: streams that send much are found, by what was sent between two looks and by nothing else.
 * Method: sums as the store would tell them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  busyStreams,
  PROMOTE_BYTES_MIN,
  PROMOTE_PERIOD_MS,
  PROMOTE_SHARE_MIN,
  Promoter,
} from '../../src/materialize/promoter.ts'
import type { StreamId } from '../../src/model/stream.ts'

const id = (n: number) => n as StreamId
const MUCH = 100 * PROMOTE_BYTES_MIN
const sums = (...bytes: readonly number[]) => new Map(bytes.map((sum, n) => [id(n + 1), sum]))

test('streams with a share of PROMOTE_SHARE_MIN are busy, the busiest first', () => {
  const share = (MUCH * PROMOTE_SHARE_MIN) / (1 - PROMOTE_SHARE_MIN)
  assert.deepEqual(busyStreams(sums(share * 1.01, MUCH), sums(0, 0)), [2, 1])
  assert.deepEqual(busyStreams(sums(share * 0.99, MUCH), sums(0, 0)), [2])
  assert.deepEqual(busyStreams(sums(MUCH + share * 1.01, 2 * MUCH), sums(MUCH, MUCH)), [2, 1])
})

test('PROMOTE_BYTES_MIN: the only stream is not busy when it sends little', () => {
  assert.deepEqual(busyStreams(sums(PROMOTE_BYTES_MIN - 1), sums(0)), [])
  assert.deepEqual(busyStreams(sums(PROMOTE_BYTES_MIN), sums(0)), [1])
})

test('the first look judges no stream; all that a new stream sent counts as recent', async () => {
  const looks = [sums(MUCH), sums(MUCH, MUCH), sums(MUCH, MUCH)]
  const asked: (readonly StreamId[])[] = []
  const told: (readonly StreamId[])[] = []
  const promoter = new Promoter({
    readSentBytes: async () => looks.shift() ?? sums(),
    promote: async (busy) => {
      asked.push(busy)
      return busy
    },
    onPromoted: (streams) => told.push(streams),
    onError: (cause) => assert.fail(String(cause)),
  })
  for (let round = 0; round < 3; round++) await promoter.round()
  assert.deepEqual([asked, told], [[[2]], [[2]]])
})

test('PROMOTE_PERIOD_MS: looks so often, also after a failure', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let looks = 0
  const errors: unknown[] = []
  const promoter = new Promoter({
    readSentBytes: async () => {
      looks++
      throw new Error('away')
    },
    promote: async () => [],
    onPromoted: () => undefined,
    onError: (cause) => errors.push(cause),
  })
  promoter.start()
  t.mock.timers.tick(PROMOTE_PERIOD_MS - 1)
  assert.equal(looks, 0)
  for (let period = 0; period < 2; period++) {
    t.mock.timers.tick(PROMOTE_PERIOD_MS)
    await new Promise((resolve) => setImmediate(resolve))
  }
  await promoter.stop()
  assert.deepEqual([looks, errors.length], [2, 2])
})
