/** Goal: buckets are of steps that people read easily, have no holes, and are bounded. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AUTO_BUCKETS_MAX, QUERY_BUCKETS_MAX, QUERY_CELLS_MAX } from '../../src/limits.ts'
import { readAggregateRequest } from '../../src/read/aggregate/aggregate-request.ts'
import {
  bucketSeconds,
  bucketTime,
  formatStep,
  planBuckets,
} from '../../src/read/aggregate/buckets.ts'

const ns = (text: string) => BigInt(Date.parse(text)) * 1_000_000n
const range = (from: string, to: string) => ({ fromNs: ns(from), toNs: ns(to) })
const DAY_NS = 86_400_000_000_000n

test('steps and starts of ranges that people ask for', () => {
  const cases = [
    ['2026-01-31T11:00:00Z', '2026-01-31T12:00:00Z', '30s', 120],
    ['2026-01-31T11:00:10Z', '2026-01-31T12:00:10Z', '1m', 61],
    ['2026-01-31T11:59:00Z', '2026-01-31T12:00:00Z', '500ms', 120],
    ['2026-01-31T11:59:59.99Z', '2026-01-31T12:00:00Z', '1ms', 10],
    ['2026-01-30T12:00:00Z', '2026-01-31T12:00:00Z', '15m', 96],
    ['2026-01-24T12:00:00Z', '2026-01-31T12:00:00Z', '2h', 84],
    ['2025-01-31T00:00:00Z', '2026-01-31T00:00:00Z', '5d', 74],
    ['0001-01-01T00:00:00Z', '9999-01-01T00:00:00Z', '2000d', 108],
  ] as const
  for (const [from, to, step, count] of cases) {
    const buckets = planBuckets('b', 'auto', range(from, to))
    assert.deepEqual([formatStep(buckets.stepMs), buckets.count], [step, count], `${from} ${to}`)
  }
})

test('every moment of the range is in one of the buckets, and none is empty of it', () => {
  const ranges = fc
    .tuple(
      fc.bigInt(-300n * 365n * DAY_NS, 300n * 365n * DAY_NS),
      fc.bigInt(1n, 40n * 365n * DAY_NS),
    )
    .map(([fromNs, lengthNs]) => ({ fromNs, toNs: fromNs + lengthNs }))
    .filter(({ fromNs, toNs }) => fromNs > -(2n ** 63n) && toNs < 2n ** 63n)
  fc.assert(
    fc.property(ranges, (one) => {
      const buckets = planBuckets('b', 'auto', one)
      const { startMs, stepMs, count } = buckets
      assert.ok(count >= 1 && count <= AUTO_BUCKETS_MAX)
      assert.ok(BigInt(startMs) * 1_000_000n <= one.fromNs)
      assert.equal(startMs % stepMs, startMs < 0 ? -0 : 0)
      const seconds = Array.from({ length: count }, (_, at) => bucketSeconds(buckets, at, one))
      assert.ok(seconds.every((each) => each > 0))
      const all = seconds.reduce((sum, each) => sum + each, 0)
      const length = Number(one.toNs - one.fromNs) / 1e9
      assert.ok(Math.abs(all - length) <= length * 1e-9)
    }),
  )
})

test('a step may be named; one that is none, or makes too many buckets, is refused', () => {
  const hour = range('2026-01-31T11:00:00Z', '2026-01-31T12:00:00Z')
  const buckets = planBuckets('b', '20m', hour)
  assert.deepEqual([buckets.count, bucketTime(buckets, 1)], [3, '2026-01-31T11:20:00.000Z'])
  for (const step of ['', '5', 'm', '0m', '-5m', '1.5h', '5M', '5y', '367d', '99999999999s']) {
    assert.throws(() => planBuckets('b', step, hour), /"b" must be "auto" or a step/, step)
  }
  assert.equal(planBuckets('b', '4s', hour).count, 900)
  assert.throws(() => planBuckets('b', '3s', hour), new RegExp(`over ${QUERY_BUCKETS_MAX} .*"30s"`))
})

test('groups and buckets together are bounded', () => {
  const body = { from: '-1h', group_by: ['a', { bucket: '10s' }] }
  const limit = Math.floor(QUERY_CELLS_MAX / 361)
  assert.doesNotThrow(() => readAggregateRequest({ ...body, limit }, 0))
  assert.throws(() => readAggregateRequest({ ...body, limit: limit + 1 }, 0), /QUERY_CELLS_MAX/)
})
