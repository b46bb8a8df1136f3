import assert from 'node:assert/strict'
import { test } from 'node:test'
import { finishAggregate } from '../../../../src/store/projection/reads/finish-aggregate.ts'

const AT = { Int64: 0, UInt64: 1, Float64: 2 }
type Case = readonly [int64: string | null, uint64: string | null, float64: string | null]

const MINIMA: readonly (readonly [Case, string])[] = [
  [['9007199254740993', null, '9007199254740992'], '9007199254740992'],
  [['9007199254740992', null, '9007199254740992.0'], '9007199254740992'],
  [['-3', null, '-3.5'], '-3.5'],
  [[null, '18446744073709551615', null], '18446744073709551615'],
  [[null, null, '1e300'], '1e300'],
  [[null, null, null], 'null'],
]
const MAXIMA: readonly (readonly [Case, string])[] = [
  [['9007199254740993', null, '9007199254740992'], '9007199254740993'],
  [['9007199254740991', null, '9007199254740992'], '9007199254740992'],
  [['7', '18446744073709551614', '18446744073709551615'], '18446744073709551615'],
]

test('the least and the greatest of integers and floats are told apart past 2^53', () => {
  for (const [values, least] of MINIMA) {
    assert.equal(finishAggregate({ fn: 'min', at: AT, quantile: 0 }, values), least)
  }
  for (const [values, greatest] of MAXIMA) {
    assert.equal(finishAggregate({ fn: 'max', at: AT, quantile: 0 }, values), greatest)
  }
})
