/**
 * Goal: events that come after a window of event time was decided are counted, and a verdict that
 * they change is told, once.
 * Method: decisions in memory, and a list of events that grows.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lookAgain } from '../../src/alerts/late-look.ts'
import { ALERT_LATE_LOOK_MS } from '../../src/limits.ts'
import { segmentIdAt } from '../../src/model/segment-id.ts'
import type { DecisionStore, OpenWindow } from '../../src/store/alerts/decision-store.ts'
import { CountedEvents, KeptDecisions, STREAM } from './counted-events.ts'

const MINUTE_MS = 60_000
const START_MS = Date.parse('2026-05-05T05:05:00Z')

function setUp() {
  const ask = new CountedEvents()
  const { rule } = new KeptDecisions(START_MS).add({ time_basis: 'event_time', delay: '30s' })
  const open: OpenWindow[] = [1, 2].map((n) => {
    return { rule, untilMs: START_MS + n * MINUTE_MS, outcome: 'clear', events: 1 }
  })
  ask.events = open.map(({ untilMs }) => ({ ms: untilMs - 1, service: 'a' }))
  const told: unknown[] = []
  const asked: unknown[][] = []
  const failed: unknown[] = []
  const decisions: Pick<DecisionStore, 'readOpen' | 'correct'> = {
    readOpen: async (...bounds) => {
      asked.push(bounds)
      return open
    },
    correct: async (_, { untilMs, outcome, events }, late) => {
      const at = open.findIndex((each) => each.untilMs === untilMs)
      open.splice(at, 1)
      told.push([untilMs, outcome, events, late.events, late.told?.kind, late.told?.reason])
      return true
    },
  }
  const look = () =>
    lookAgain(
      {
        ...{ decisions, ask, streamsOf: async () => [STREAM] },
        onFailed: (_, cause) => failed.push(cause),
      },
      START_MS,
      new AbortController().signal,
    )
  return { ask, told, asked, failed, look, open }
}

test('what came late is counted; a verdict that changes is told', async () => {
  const { ask, told, asked, look } = setUp()
  ask.events.push({ ms: START_MS + MINUTE_MS + 5, service: 'b' })
  await look()
  await look()
  assert.deepEqual(told, [
    [START_MS + MINUTE_MS, 'clear', 1, 0, undefined, undefined],
    [
      ...[START_MS + 2 * MINUTE_MS, 'breach', 2, 1, 'corrected'],
      '1 late events: clear became breach',
    ],
  ])
  assert.deepEqual(asked[0]?.slice(0, 2), [START_MS, ALERT_LATE_LOOK_MS])
})

test('a look that fails is tried again; what retention removed is not', async () => {
  const { ask, told, failed, look, open } = setUp()
  ask.fault = new Error('away')
  await look()
  assert.deepEqual([told.length, failed.length, open.length], [0, 1, 2])
  ask.fault = undefined
  ask.asOfMs = START_MS
  await look()
  assert.deepEqual([told.length, failed.length], [0, 1], 'the projection is behind')
  ask.asOfMs = Number.POSITIVE_INFINITY
  ask.removedBefore = segmentIdAt(START_MS + MINUTE_MS)
  await look()
  assert.equal(open.length, 0)
})
