/**
 * Goal: findings do not depend on the draw, and are the same among many more events, of which some
 * stand for all.
 * Method: the scenarios by several seeds; then some with more events than are looked at.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { INCIDENTS, NOTHING, type Scenario } from '../../../bench/compare/scenarios.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { COMPARED_EVENTS_MAX } from '../../../src/read/compare/granules-read.ts'
import { ClickHouse } from '../../../src/store/clickhouse.ts'
import { ensureClickHouse } from '../../../src/store/migrations/run.ts'
import { openTestClickHouse } from '../../support/stores.ts'
import { hoursOf, ScriptedStreams } from './scripted-streams.ts'

const ALL = [...INCIDENTS, ...NOTHING]
const SEEDS = [11, 12, 13, 14, 15]
const EVENTS = 4_000
/** It has many events. */
const LARGE = [INCIDENTS[2]!]
const BATCH_EVENTS = 50_000

const closers: (() => Promise<void>)[] = []
let clickhouse: ClickHouse

before(async () => {
  const engine = await openTestClickHouse()
  closers.push(() => engine.close())
  clickhouse = new ClickHouse({ url: engine.url })
  closers.push(() => clickhouse.close())
  await ensureClickHouse(clickhouse)
})

after(async () => {
  for (const close of closers.reverse()) await close()
})

async function assertFound(streams: ScriptedStreams, scenarios: readonly Scenario[]) {
  for (const [index, { name, expected }] of scenarios.entries()) {
    const answer = await streams.compare({ window: hoursOf(index).window })
    const shown = `${name}: ${JSON.stringify(answer, undefined, 1)}`
    if (expected === undefined) assert.deepEqual(answer.findings, [], shown)
    else for (const part of expected) assert.match(answer.findings[0]?.text ?? '', part, shown)
  }
}

for (const seed of SEEDS) {
  test(`each scenario, by the seed ${seed}`, async () => {
    const streams = new ScriptedStreams(clickhouse, seed as StreamId)
    await streams.fill(ALL, EVENTS, seed)
    await assertFound(streams, ALL)
  })
}

test('some events stand for all, to find what is then counted exactly', async () => {
  const streams = new ScriptedStreams(clickhouse, 99 as StreamId)
  // On each side so many that one granule in two is read.
  const batches = Math.ceil((0.8 * COMPARED_EVENTS_MAX) / BATCH_EVENTS)
  for (let batch = 0; batch < batches; batch++) {
    await streams.fill(LARGE, BATCH_EVENTS, 100 + batch)
  }
  await assertFound(streams, LARGE)
  const hours = hoursOf(0)
  const { findings, ...answer } = await streams.compare({ window: hours.window })
  assert.equal(answer.estimated, true)
  const looked = answer.looked_at.events
  assert.ok(looked > 0 && looked < COMPARED_EVENTS_MAX * 1.3, String(looked))
  for (const { query, window, baseline } of findings) {
    assert.equal(await streams.count(query, hours.window), window.count, query)
    assert.equal(await streams.count(query, hours.baseline), baseline.count, query)
  }
})
