/**
 * Goal: no row that may have a large integer is left unseen, and rows that were seen and do not
 * change any more are not looked at again.
 * Method: a stream of events on a random clock, some with a large integer; queries of random
 * ranges, whose probes look at the events that are there. Compared with looking at all of them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { PathTypes } from '../../../../src/model/field-catalog.ts'
import type { StreamId } from '../../../../src/model/stream.ts'
import type { RowLeg } from '../../../../src/store/projection/compile/row-source.ts'
import { SqlParams } from '../../../../src/store/projection/compile/sql-params.ts'
import {
  KnownLargeIntegers,
  LargeIntegers,
} from '../../../../src/store/projection/reads/large-integers.ts'
import { fuzzed, testSeed } from '../../../support/fuzzing.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const STREAM = 7 as StreamId
const START_MS = Date.UTC(2026, 0, 1, 23, 30)
const MINUTE_MS = 60_000
const present = { own: new Set([STREAM]), hasShared: false }

const types: PathTypes = { scalars: ['Int64', 'UInt64'], arrays: [] } as unknown as PathTypes
const LEG = {
  fields: { typesOf: () => types, textFields: [], paths: [] },
  stream: '7',
} as unknown as RowLeg

interface Range {
  readonly fromMs: number
  readonly toMs: number
}

/** A query of one column: the range that it looks at for large integers, if it does. */
function ask(
  known: KnownLargeIntegers,
  range: Range & { readonly wholeUntilMs: number },
  hasLarge: (probed: Range) => boolean,
): { readonly probed: Range | undefined; readonly reads: boolean } {
  const large = new LargeIntegers(known, [STREAM], range)
  const { typesOf } = large.leaveOut(LEG).fields
  if (typesOf(['n'] as never).scalars.includes('UInt64')) return { probed: undefined, reads: true }
  if (!large.mustProbe) return { probed: undefined, reads: false }
  const params = new SqlParams()
  assert.match(large.probeSql({ database: 'd', present }, params) ?? '', /UInt64/)
  const times = Object.entries(params.values).flatMap(([, value]) => {
    return /^[0-9]{13}$/.test(String(value)) ? [Number(value)] : []
  })
  const [fromMs, toMs] = times as [number, number]
  const found = hasLarge({ fromMs, toMs })
  large.remember(found)
  return { probed: { fromMs, toMs }, reads: found }
}

const step = fc.record({
  passedMs: fc.integer({ min: 0, max: 20 * MINUTE_MS }),
  /** How late the projection is, and a clock's difference, both below what is unsure. */
  lagMs: fc.integer({ min: 0, max: MINUTE_MS }),
  skewMs: fc.integer({ min: 0, max: MINUTE_MS }),
  isLarge: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  fromMs: fc.integer({ min: -90 * MINUTE_MS, max: 90 * MINUTE_MS }),
  lengthMs: fc.integer({ min: 1, max: 120 * MINUTE_MS }),
})

test('a range with a large integer always reads them', () => {
  const property = fc.property(fc.array(step, { minLength: 1, maxLength: 30 }), (steps) => {
    const known = new KnownLargeIntegers()
    const large: number[] = []
    let nowMs = START_MS
    for (const { passedMs, lagMs, skewMs, isLarge, fromMs, lengthMs } of steps) {
      nowMs += passedMs
      // It was received by a node whose clock is behind, and was not in the projection before.
      if (isLarge) large.push(nowMs - skewMs)
      const range = { fromMs: START_MS + fromMs, toMs: START_MS + fromMs + lengthMs }
      const hasLarge = (probed: Range) => {
        return large.some((ms) => ms >= probed.fromMs && ms < probed.toMs)
      }
      const { reads } = ask(known, { ...range, wholeUntilMs: nowMs - lagMs }, hasLarge)
      if (hasLarge(range)) assert.ok(reads)
    }
  })
  fc.assert(property, fuzzed(seed, 3_000, 4_000))
})

test('old rows are looked at once', () => {
  const known = new KnownLargeIntegers()
  const at = (minutes: number) => START_MS + minutes * MINUTE_MS
  const none = () => false
  const probed = (from: number, to: number, whole: number) => {
    const range = { fromMs: at(from), toMs: at(to), wholeUntilMs: at(whole) }
    return ask(known, range, none).probed
  }
  const first = probed(0, 10, 30)
  assert.ok(first && first.fromMs < at(0) && first.toMs === at(11), 'and a day before')
  assert.equal(probed(0, 10, 30), undefined)
  assert.equal(probed(5, 9, 30), undefined)
  const further = probed(0, 20, 30)
  assert.deepEqual(further, { fromMs: at(11), toMs: at(21) }, 'only what is new')
  const now = probed(0, 30, 30)
  assert.ok(now && now.fromMs === at(21) && now.toMs > at(30))
  const later = probed(0, 31, 31)
  assert.equal(later?.fromMs, at(28), 'the last two minutes are not sure')
})

test('where rows may change nothing is remembered', () => {
  const known = new KnownLargeIntegers()
  const range = { fromMs: START_MS, toMs: START_MS + MINUTE_MS, wholeUntilMs: 0 }
  for (let again = 0; again < 2; again++) assert.ok(ask(known, range, () => false).probed)
})
