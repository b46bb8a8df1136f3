/**
 * Goal: of few groups many windows are asked for together, and whatever is asked together is what
 * each window has by itself.
 * Method: events in a list, counted.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askWindows } from '../../../src/alerts/asking/ask-windows.ts'
import type { SeenWindow } from '../../../src/alerts/decide-window.ts'
import { readRuleSettings } from '../../../src/alerts/rule-settings.ts'
import { CountedEvents, STREAM } from '../counted-events.ts'

const MINUTE_MS = 60_000
const ENDS = Array.from({ length: 2_000 }, (_, n) => (n + 1) * MINUTE_MS)
const settings = readRuleSettings({
  ...{ group_by: ['service'], condition: { op: '>', value: 3 }, window: '1m' },
})

async function askAll(source: CountedEvents, ends: readonly number[]): Promise<SeenWindow[]> {
  const question = { rules: [settings], streams: [STREAM], ends, timeoutMs: 1_000 }
  const all: SeenWindow[] = []
  for await (const [seen] of askWindows(source, question, new AbortController().signal)) {
    all.push(seen!)
  }
  return all
}

function eventsOf(services: number): CountedEvents {
  const source = new CountedEvents()
  source.events = Array.from({ length: 4_000 }, (_, n) => {
    return { ms: n * 30_000, service: `service-${(n * 7) % services}` }
  })
  return source
}

for (const [services, queries] of [
  [3, 2],
  [100, 2],
  // Too many for the first: then 100 windows at a time.
  [120, 21],
] as const) {
  test(`2,000 windows of ${services} groups are asked for in ${queries} queries`, async () => {
    const source = eventsOf(services)
    const all = await askAll(source, ENDS)
    assert.equal(source.asked.length, queries)
    assert.equal(all.length, ENDS.length)
    for (const at of [0, 1, 999, 1_000, 1_999]) {
      assert.deepEqual([all[at]], await askAll(source, [ENDS[at]!]))
    }
  })
}
