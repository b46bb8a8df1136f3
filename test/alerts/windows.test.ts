/** Goal: each window is due once, in order, and what is given up is told as one gap. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { planWindows } from '../../src/alerts/windows.ts'
import { ALERT_DUE_MS_MAX, ALERT_DUE_WINDOWS_MAX } from '../../src/limits.ts'
import { rounds } from '../support/fuzzing.ts'

const MINUTE_MS = 60_000
const DAY_MS = 86_400_000
const START_MS = Date.parse('2026-05-05T05:05:00Z')

test('windows follow one another without a break, however often is looked', () => {
  const looks = fc.array(fc.nat(5 * MINUTE_MS), { maxLength: 30 })
  fc.assert(
    fc.property(
      looks,
      fc.constantFrom(10_000, MINUTE_MS),
      fc.nat(MINUTE_MS),
      (gaps, everyMs, delayMs) => {
        let cursorMs = START_MS
        let closedMs = START_MS
        for (const gapMs of gaps) {
          closedMs += gapMs
          const { gap, ends } = planWindows({ everyMs, delayMs, cursorMs }, closedMs)
          assert.equal(gap, undefined)
          for (const end of ends) {
            assert.equal(end, cursorMs + everyMs)
            assert.ok(end + delayMs <= closedMs)
            cursorMs = end
          }
          assert.ok(cursorMs + everyMs + delayMs > closedMs, 'none is left')
        }
      },
    ),
    { numRuns: rounds(200) },
  )
})

test('after three days one gap, and the rest is decided', () => {
  const minutes = planWindows(
    { everyMs: MINUTE_MS, delayMs: 0, cursorMs: START_MS },
    START_MS + 3 * DAY_MS + 1,
  )
  assert.equal(minutes.ends.length, ALERT_DUE_WINDOWS_MAX)
  const firstMs = START_MS + 3 * DAY_MS - ALERT_DUE_WINDOWS_MAX * MINUTE_MS
  assert.deepEqual(minutes.gap, { afterMs: START_MS, untilMs: firstMs })
  assert.equal(minutes.ends[0], firstMs + MINUTE_MS)
  const hours = planWindows(
    { everyMs: 60 * MINUTE_MS, delayMs: 0, cursorMs: Date.parse('2026-05-05T05:00:00Z') },
    START_MS + 3 * DAY_MS,
  )
  assert.equal(hours.ends.length, ALERT_DUE_MS_MAX / (60 * MINUTE_MS))
  assert.equal(hours.gap?.untilMs, hours.ends[0]! - 60 * MINUTE_MS)
})

test('nothing is due before it is closed, nor what is decided', () => {
  const rule = { everyMs: MINUTE_MS, delayMs: 5_000, cursorMs: START_MS }
  const due = (closedMs: number) => planWindows(rule, closedMs).ends
  assert.deepEqual(due(0), [])
  assert.deepEqual(due(START_MS + MINUTE_MS + 4_999), [])
  assert.deepEqual(due(START_MS + MINUTE_MS + 5_000), [START_MS + MINUTE_MS])
})
