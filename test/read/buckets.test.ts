/** Goal: buckets are of steps that people read easily, have no holes, and are bounded. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { AUTO_BUCKETS_MAX, QUERY_BUCKETS_MAX, QUERY_CELLS_MAX } from '../../src/limits.ts'
import { readAggregateRequest } from '../../src/read/aggregate/aggregate-request.ts'
import { bucketSeconds, bucketTime, planBuckets } from '../../src/read/aggregate/buckets.ts'

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
    assert.deepEqual([buckets.step, buckets.count], [step, count], `${from} ${to}`)
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
  for (const step of ['', '5', 'm', '0m', '-5m', '1.5h', '13M', '5y', '367d', '99999999999s']) {
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

/** Starts in the zone, as far as they are told. */
function startsIn(timeZone: string, step: string, from: string, to: string): string[] {
  const buckets = planBuckets('b', step, range(from, to), timeZone)
  return Array.from({ length: buckets.count }, (_, index) => bucketTime(buckets, index))
}

test('days begin at midnight by the clocks of the zone, also when these are changed', () => {
  assert.deepEqual(
    startsIn('Europe/Berlin', '1d', '2026-03-28T12:00:00Z', '2026-03-30T12:00:00Z'),
    [
      '2026-03-28T00:00:00.000+01:00',
      '2026-03-29T00:00:00.000+01:00',
      '2026-03-30T00:00:00.000+02:00',
    ],
  )
  // In Havana clocks are put from 0:00 to 1:00, and from 1:00 to 0:00.
  assert.deepEqual(
    startsIn('America/Havana', '1d', '2026-03-07T12:00:00Z', '2026-03-09T12:00:00Z'),
    [
      '2026-03-07T00:00:00.000-05:00',
      '2026-03-08T01:00:00.000-04:00',
      '2026-03-09T00:00:00.000-04:00',
    ],
  )
  assert.deepEqual(
    startsIn('America/Havana', '1d', '2026-11-01T04:30:00Z', '2026-11-02T12:00:00Z'),
    ['2026-11-01T00:00:00.000-04:00', '2026-11-02T00:00:00.000-05:00'],
  )
})

test('hours that come twice are two buckets, those that are skipped none', () => {
  assert.deepEqual(
    startsIn('Europe/Berlin', '1h', '2026-10-25T00:00:00Z', '2026-10-25T02:30:00Z'),
    [
      '2026-10-25T02:00:00.000+02:00',
      '2026-10-25T02:00:00.000+01:00',
      '2026-10-25T03:00:00.000+01:00',
    ],
  )
  assert.deepEqual(
    startsIn('Europe/Berlin', '6h', '2026-03-28T23:30:00Z', '2026-03-29T10:30:00Z'),
    [
      '2026-03-29T00:00:00.000+01:00',
      '2026-03-29T06:00:00.000+02:00',
      '2026-03-29T12:00:00.000+02:00',
    ],
  )
  assert.deepEqual(
    startsIn('Asia/Kathmandu', '1h', '2026-03-28T23:30:00Z', '2026-03-29T00:30:00Z'),
    ['2026-03-29T05:00:00.000+05:45', '2026-03-29T06:00:00.000+05:45'],
  )
})

test('weeks begin on Mondays, months on their first, in any zone', () => {
  assert.deepEqual(startsIn('UTC', '1w', '2026-01-31T11:00:00Z', '2026-02-03T00:00:00Z'), [
    '2026-01-26T00:00:00.000Z',
    '2026-02-02T00:00:00.000Z',
  ])
  assert.deepEqual(startsIn('UTC', '1M', '2026-01-31T11:00:00Z', '2026-03-01T00:00:00Z'), [
    '2026-01-01T00:00:00.000Z',
    '2026-02-01T00:00:00.000Z',
  ])
  assert.deepEqual(
    startsIn('America/New_York', '3M', '2026-01-31T11:00:00Z', '2026-07-02T00:00:00Z'),
    [
      '2026-01-01T00:00:00.000-05:00',
      '2026-04-01T00:00:00.000-04:00',
      '2026-07-01T00:00:00.000-04:00',
    ],
  )
})

const ZONES = [
  ...['Europe/Berlin', 'America/New_York', 'America/Havana', 'Asia/Kathmandu', 'Pacific/Apia'],
  ...['Australia/Lord_Howe', 'America/Sao_Paulo', 'Asia/Beirut', 'Africa/Casablanca', 'UTC'],
]
const STEPS = ['1h', '2h', '6h', '12h', '1d', '2d', '1w', '1M', '3M', '30m', 'auto']

test('by any clock, buckets have the whole range and no moment twice', () => {
  const day = fc.integer({ min: 0, max: 60 * 365 })
  const input = fc.tuple(
    fc.constantFrom(...ZONES),
    fc.constantFrom(...STEPS),
    day,
    fc.bigInt(1n, 40n * DAY_NS),
    fc.bigInt(0n, DAY_NS),
  )
  fc.assert(
    fc.property(input, ([zone, step, days, lengthNs, offsetNs]) => {
      const fromNs = BigInt(days) * DAY_NS + offsetNs
      const one = { fromNs, toNs: fromNs + lengthNs }
      if (step === '30m' && lengthNs > 20n * DAY_NS) return
      const buckets = planBuckets('b', step, one, zone)
      const seconds = Array.from({ length: buckets.count }, (_, at) => {
        return bucketSeconds(buckets, at, one)
      })
      assert.ok(
        seconds.every((each) => each > 0),
        `${seconds}`,
      )
      const all = seconds.reduce((sum, each) => sum + each, 0)
      const length = Number(lengthNs) / 1e9
      assert.ok(Math.abs(all - length) <= length * 1e-9)
      // Each begins where the clocks of the zone show a whole step.
      for (let at = 1; at < buckets.count; at++) {
        const [, hour, minute] = /T(\d\d):(\d\d)/.exec(bucketTime(buckets, at)) ?? []
        // Or later, where clocks are put forward at midnight, by an hour at most.
        const isWhole = hour === '00' || (hour === '01' && minute === '00')
        if (/[dwM]/.test(buckets.step)) assert.ok(isWhole, bucketTime(buckets, at))
      }
    }),
  )
})

test('zones that there are not are refused, others known by any of their names', () => {
  const hour = range('2026-01-31T11:00:00Z', '2026-01-31T12:00:00Z')
  for (const zone of ['', 'Mars/Olympus', 'Europe', "UTC'; --", 'x'.repeat(1_000)]) {
    assert.throws(() => planBuckets('b', '1h', hour, zone), /"time_zone" must be a time zone/)
  }
  assert.equal(planBuckets('b', '1h', hour, 'europe/berlin').timeZone, 'Europe/Berlin')
  assert.equal(planBuckets('b', '1h', hour, 'Etc/UTC').timeZone, 'UTC')
})
