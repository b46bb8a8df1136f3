/**
 * Goal: ISO 8601 date-times become the moments that JavaScript's Date says, to the nanosecond.
 * Method: random moments in every spelling against Date; each damaged text must be refused.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { arena } from '../../workers/kernel/arena.ts'
import { kernels } from '../../workers/kernel/kernels.ts'
import { Timestamp } from '../../workers/tape/timestamps.ts'
import { testSeed } from '../support/fuzzing.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const bytes = arena.buffer(1_000)
const timestamp = new Timestamp()

/** Parsed in the midst of digits, which must not be read. */
function parse(text: string): { ms: number; nanos: number } | undefined {
  const length = bytes.write(`77${text}77`)
  if (!timestamp.tryRead(bytes, 2, length - 2)) return undefined
  return { ms: timestamp.ms, nanos: timestamp.nanos }
}

const YEAR_1900 = Date.UTC(1900, 0, 1)
const YEAR_2262 = Date.UTC(2262, 0, 1)
const pad = (value: number) => String(value).padStart(2, '0')

interface Spelling {
  readonly separator: string
  readonly digits: string
  readonly point: string
  readonly zone: string
  readonly zoneMinutes: number
}

const zone = fc.oneof(
  fc.constantFrom('Z', 'z', '').map((text) => ({ zone: text, zoneMinutes: 0 })),
  fc
    .tuple(fc.constantFrom('+', '-'), fc.nat(23), fc.nat(59), fc.nat(2))
    .map(([sign, hours, minutes, form]) => {
      const shown = form === 2 ? '' : `${form === 0 ? ':' : ''}${pad(minutes)}`
      const size = hours * 60 + (form === 2 ? 0 : minutes)
      return { zone: `${sign}${pad(hours)}${shown}`, zoneMinutes: sign === '-' ? -size : size }
    }),
)
const spelling: fc.Arbitrary<Spelling> = fc
  .tuple(
    fc.constantFrom('T', ' ', 't'),
    fc.string({ unit: fc.constantFrom(...'0123456789'), maxLength: 15 }),
    fc.constantFrom('.', ','),
    zone,
  )
  .map(([separator, digits, point, rest]) => ({ separator, digits, point, ...rest }))

test('valid date-times are the moments that Date says, with nanoseconds', () => {
  const seconds = fc.integer({ min: YEAR_1900 / 1000, max: YEAR_2262 / 1000 - 1 })
  fc.assert(
    fc.property(seconds, spelling, (second, { separator, digits, point, zone, zoneMinutes }) => {
      const [date, clock] = new Date(second * 1000).toISOString().slice(0, 19).split('T')
      const fraction = digits === '' ? '' : point + digits
      const text = `${date}${separator}${clock}${fraction}${zone}`
      const nanos = Number(digits.slice(0, 9).padEnd(9, '0'))
      const ms = second * 1000 - zoneMinutes * 60_000 + Math.floor(nanos / 1e6)
      assert.deepEqual(parse(text), { ms, nanos: nanos % 1e6 }, text)
    }),
    { seed, numRuns: 3_000 },
  )
})

test('seconds may be missing, second 60 is the next minute', () => {
  const at = (text: string) => parse(text)?.ms
  assert.equal(at('2026-01-02T03:04'), Date.UTC(2026, 0, 2, 3, 4))
  assert.equal(at('2026-01-02T03:04Z'), Date.UTC(2026, 0, 2, 3, 4))
  assert.equal(at('2026-01-02 03:04+01'), Date.UTC(2026, 0, 2, 2, 4))
  assert.equal(at('2016-12-31T23:59:60Z'), Date.UTC(2017, 0, 1))
})

test('every day of the calendar is taken, and no day that it does not have', () => {
  for (const year of [1900, 1904, 1999, 2000, 2023, 2024, 2100, 2261]) {
    for (let month = 0; month <= 13; month++) {
      for (let day = 0; day <= 32; day++) {
        const date = new Date(Date.UTC(year, month - 1, day))
        const exists = date.getUTCMonth() === month - 1 && date.getUTCDate() === day
        const text = `${year}-${pad(month)}-${pad(day)}T00:00:00Z`
        const isDay = exists && date.getUTCFullYear() === year
        assert.deepEqual(parse(text), isDay ? { ms: date.getTime(), nanos: 0 } : undefined, text)
      }
    }
  }
})

test('milliseconds since 1970 and nanoseconds beyond them, as a Collector writes them', () => {
  const ms = fc.integer({ min: 100_000_000_000, max: YEAR_2262 - 1 })
  fc.assert(
    fc.property(ms, fc.nat(999_999), fc.boolean(), (at, nanos, isPadded) => {
      const beyond = isPadded ? String(nanos).padStart(6, '0') : String(nanos)
      assert.deepEqual(parse(`${at}.${beyond}`), { ms: at, nanos })
    }),
    { seed, numRuns: 1_000 },
  )
  const at = 1_732_604_400_123
  assert.deepEqual(parse('1732604400123.456789'), { ms: at, nanos: 456_789 })
  assert.deepEqual(parse('1732604400123.45'), { ms: at, nanos: 45 })
  assert.deepEqual(parse('1732604400123.0'), { ms: at, nanos: 0 })
})

const INVALID = [
  '1732604400123',
  '1732604400123.',
  '1732604400123.4567890',
  '1732604400123.45x',
  '1732604400123,456789',
  '1732604400.123456',
  '17326044001.123456',
  '17326044001234.567',
  '0732604400123.456789',
  '9214646400000.0',
  '-1732604400123.4567',
  '1732604400123.-45678',
  '',
  '2026-01-02',
  '2026-01-02T03',
  '2026-01-02T0304:05Z',
  '20260102T030405Z',
  '2026-01-02T03:04:5Z',
  '2026-01-02T03:04:Z.',
  '2026-01-02T03:04:05.Z',
  '2026-01-02T03:04:05.1.2Z',
  '2026-01-02T24:00:00Z',
  '2026-01-02T03:60:00Z',
  '2026-01-02T03:04:61Z',
  '2026-01-02T03:04:05Q',
  '2026-01-02T03:04:05ZZ',
  '2026-01-02T03:04:05+',
  '2026-01-02T03:04:05+1',
  '2026-01-02T03:04:05+24:00',
  '2026-01-02T03:04:05+01:60',
  '2026-01-02T03:04:05+01:0',
  '2026-01-02T03:04:05+01-00',
  '2026-01-02T03:04:05 Z',
  ' 2026-01-02T03:04:05Z',
  '2026-01-02T03:04:05Z ',
  '2026/01/02T03:04:05Z',
  '2026-01-02_03:04:05Z',
  '1899-12-31T23:59:59Z',
  '2262-01-01T00:00:00Z',
  '+026-01-02T03:04:05Z',
  '2026-1-02T03:04:05.1Z',
  `2026-01-02T03:04:05.${'1'.repeat(50)}Z`,
  'Fri Jan 02 2026 03:04:05',
  '1767323045678901234',
]

test('what is no date-time is refused', () => {
  for (const text of INVALID) assert.equal(parse(text), undefined, text)
  const valid = '2026-01-02T03:04:05.678+01:30'
  for (let i = 0; i < 19; i++) {
    for (const byte of ['x', '/', ':', ' ', '\0', '-']) {
      if (byte === valid[i] || (i === 10 && byte === ' ')) continue
      const text = valid.slice(0, i) + byte + valid.slice(i + 1)
      assert.equal(parse(text), undefined, JSON.stringify(text))
    }
  }
})

test('nanoseconds since 1970 are written as BigInt has them, 0 without a time', () => {
  const ms = fc.integer({ min: YEAR_1900 - 86_400_000, max: YEAR_2262 + 86_400_000 })
  const edges = fc.constantFrom(0, -1, 1, 65_535, 65_536, -65_536, -65_537, 2 ** 32, -(2 ** 32))
  const time = fc.tuple(fc.oneof(ms, edges), fc.nat(999_999), fc.nat(2))
  const [times, nanos, shapes] = [arena.float64(60), arena.int32(60), arena.int32(60)]
  const sources = arena.uint8(60)
  const out = arena.buffer(500)
  const facts = arena.addresses(10)
  facts.set([times, nanos, sources, shapes, shapes].map(({ byteOffset }) => byteOffset))
  fc.assert(
    fc.property(fc.array(time, { maxLength: 50 }), fc.nat(5), (some, first) => {
      for (const [i, [at, beyond, source]] of some.entries()) {
        times[first + i] = at
        nanos[first + i] = beyond
        sources[first + i] = source
      }
      out.fill(7)
      const missing = kernels.writeTimes(facts.byteOffset, first, some.length, out.byteOffset)
      assert.equal(missing, some.filter(([, , source]) => source === 0).length)
      for (const [i, [at, beyond, source]] of some.entries()) {
        const expected = source === 0 ? 0n : BigInt(at) * 1_000_000n + BigInt(beyond)
        assert.equal(out.readBigInt64LE(8 * i), expected)
      }
      assert.equal(out[8 * some.length], 7)
    }),
    { seed, numRuns: 1_000 },
  )
})

test('what was a date once is no date where it is not one', () => {
  assert.equal(parse('\0\0\0\0\0\0\0\0\0\0T03:04:05Z'), undefined)
  assert.equal(parse('2026-01-02T03:04:05Z')?.ms, Date.UTC(2026, 0, 2, 3, 4, 5))
  assert.equal(parse('2026-01-32T03:04:05Z'), undefined)
  assert.equal(parse('2026-01-02T03:04:06Z')?.ms, Date.UTC(2026, 0, 2, 3, 4, 6))
})
