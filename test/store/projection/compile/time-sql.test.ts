/**
 * Goal: the engine takes the same texts for times as `tryReadTime` does, and for the same moments.
 * Method: random texts that are nearly times or are, in the real engine.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { makeScalar, tryReadTime } from '../../../../src/language/scalar.ts'
import { SqlParams } from '../../../../src/store/projection/compile/sql-params.ts'
import { timeRange } from '../../../../src/store/projection/compile/time-sql.ts'
import { ProjectionHarness } from '../../../block/projection-harness.ts'
import { testSeed } from '../../../support/fuzzing.ts'

const harness = new ProjectionHarness()
const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const two = (max: number) => fc.nat(max).map((n) => String(n).padStart(2, '0'))
const YEARS = [
  '1899',
  '1900',
  '1969',
  '1970',
  '2000',
  '2023',
  '2024',
  '2100',
  '2261',
  '2262',
  '220',
]
const zone = fc.oneof(
  fc.constantFrom('Z', 'z', '', 'UTC', '+0000', '+24:00', '+00:00', '-23:59', '+23:59', '+14:00'),
  fc.tuple(fc.constantFrom('+', '-'), two(24), two(60)).map(([sign, h, m]) => `${sign}${h}:${m}`),
)
const fraction = fc.oneof(
  fc.constantFrom('', '.', '.0', '.999999999', '.0000000001', ',5'),
  fc.stringMatching(/^[0-9]{1,9}$/).map((digits) => `.${digits}`),
)
const timeText = fc
  .tuple(
    fc.oneof(
      fc.constantFrom(...YEARS),
      fc.nat(400).map((n) => String(1880 + n)),
    ),
    two(13),
    two(32),
    fc.constantFrom('T', 't', ' ', '_', '  '),
    two(24),
    two(60),
    two(61),
    fraction,
    zone,
  )
  .map(([year, month, day, t, h, m, s, part, z]) => {
    return `${year}-${month}-${day}${t}${h}:${m}:${s}${part}${z}`
  })

test('times are read as the language reads them', async () => {
  const good = fc.tuple(two(11), two(27), two(23), two(59)).map(([month, day, h, m]) => {
    const from1 = (text: string) => String(Number(text) + 1).padStart(2, '0')
    return `2024-${from1(month)}-${from1(day)}T${h}:${m}:60.25-01:30`
  })
  const texts = fc.sample(fc.oneof(timeText, timeText, good), { seed, numRuns: 4_000 })
  texts.push('2024-02-29T00:00:00Z', '2023-02-29T00:00:00Z', '1900-01-01T00:00:00+23:59')
  texts.push('2261-12-31T23:59:60.999999999-23:59', '2100-02-29T00:00:00Z', '2000-02-29T12:00:00z')
  const bounds = texts.filter((text) => tryReadTime(text) !== undefined).slice(0, 40)
  assert.ok(bounds.length > 20, String(bounds.length))
  for (const text of bounds) {
    const value = makeScalar({ start: 0, end: 0 }, text, false)
    const params = new SqlParams()
    const low = timeRange('text', { value, isInclusive: false }, undefined, params)
    const both = timeRange(
      'text',
      { value, isInclusive: true },
      { value, isInclusive: true },
      params,
    )
    const all = params.add('Array(String)', texts)
    const rows = await harness.clickhouse.query<{ above: number; equal: number }>(
      `SELECT ifNull(${low}, false) AS above, ifNull(${both}, false) AS equal
       FROM (SELECT arrayJoin(${all}) AS text)`,
      params.values,
    )
    for (const [at, candidate] of texts.entries()) {
      const ns = tryReadTime(candidate)
      const bound = value.timeNs!
      assert.equal(
        Boolean(rows[at]!.above),
        ns !== undefined && ns > bound,
        `${candidate} > ${text}`,
      )
      assert.equal(Boolean(rows[at]!.equal), ns === bound, `${candidate} = ${text}`)
    }
  }
})
