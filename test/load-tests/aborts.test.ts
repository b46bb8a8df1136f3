/** Goal: a run beside clients that go away fails when they leave something, and says what. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { load } from './modules.ts'

interface Report {
  readonly inFlightBytes: number
  readonly inFlightRequests: number
  readonly growthMib: number
}

const { judgeAborts, memoryOf } = await load<{
  judgeAborts(report: Report, growthMibMax: number): string[]
  memoryOf(samples: readonly number[]): Readonly<Record<string, number>>
}>('support/aborts.mjs')

test('memory at the start, in the middle and at the end', () => {
  const growing = Array.from({ length: 100 }, (_, i) => 100 + i)
  assert.deepEqual(memoryOf(growing), {
    startMib: 105,
    middleMib: 150,
    endMib: 190,
    growthMib: 40,
  })
  assert.equal(memoryOf([200]).growthMib, 0)
})

test('what is left in flight and memory that grows are failures', () => {
  const fine = { inFlightBytes: 0, inFlightRequests: 0, growthMib: 128 }
  assert.deepEqual(judgeAborts(fine, 128), [])
  const bad = { inFlightBytes: 5, inFlightRequests: 1, growthMib: 129 }
  assert.deepEqual(judgeAborts(bad, 128), [
    '5 bytes are left in flight',
    '1 requests are left in flight',
    'memory grew by 129 MiB in the second half',
  ])
})
