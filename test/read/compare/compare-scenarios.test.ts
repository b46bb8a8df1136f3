/**
 * Goal: an incident that is hidden in events is the first finding; where there is none, nothing is
 * found; a finding's query counts just what the finding says, and its examples are such events.
 * Method: scripted scenarios in one table of the real engine, an hour each and the one before it.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { INCIDENTS, NOTHING } from '../../../bench/compare/scenarios.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { ClickHouse } from '../../../src/store/clickhouse.ts'
import { ensureClickHouse } from '../../../src/store/migrations/run.ts'
import { someOf } from '../../support/fuzzing.ts'
import { openTestClickHouse } from '../../support/stores.ts'
import { hoursOf, ScriptedStreams } from './scripted-streams.ts'

const EVENTS = 1_500
const SEED = 1
const ALL = [...INCIDENTS, ...NOTHING]

const closers: (() => Promise<void>)[] = []
let streams: ScriptedStreams

before(async () => {
  const engine = await openTestClickHouse()
  closers.push(() => engine.close())
  const clickhouse = new ClickHouse({ url: engine.url })
  closers.push(() => clickhouse.close())
  await ensureClickHouse(clickhouse)
  streams = new ScriptedStreams(clickhouse, 7 as StreamId)
  await streams.fill(ALL, EVENTS, SEED)
})

after(async () => {
  for (const close of closers.reverse()) await close()
})

for (const [index, { name, expected }] of someOf([...ALL.entries()])) {
  test(`${expected === undefined ? 'nothing' : 'first'}: ${name}`, async () => {
    const hours = hoursOf(index)
    const answer = await streams.compare({ window: hours.window })
    const { findings } = answer
    const shown = JSON.stringify(answer, undefined, 1)
    assert.deepEqual([answer.complete, answer.estimated], [true, false])
    if (expected === undefined) return assert.deepEqual(findings, [], shown)
    for (const part of expected) assert.match(findings[0]?.text ?? '', part, shown)
    for (const { query, window, baseline, examples, direction } of findings) {
      assert.equal(await streams.count(query, hours.window), window.count, query)
      assert.equal(await streams.count(query, hours.baseline), baseline.count, query)
      assert.equal(examples.length, 3)
      const side = direction === 'more' ? hours.window : hours.baseline
      const ids = examples.map(({ id }) => `_id:${id}`).join(' OR ')
      assert.equal(await streams.count(`(${query}) (${ids})`, side), 3, query)
    }
  })
}

test('a range that is drawn some minutes late is explained as well', async () => {
  const late = 6 * 60_000
  for (const [index, { name, expected }] of someOf([...INCIDENTS.entries()])) {
    const { window } = hoursOf(index)
    const from = new Date(Date.parse(window.from) + late).toISOString()
    const { findings, ...rest } = await streams.compare({ window: { ...window, from } })
    const told = findings.map(({ text }) => text)
    const shown = `${name}: ${JSON.stringify({ told, rest }, undefined, 1)}`
    // Nothing is new that began before the range.
    for (const part of expected!.filter(({ source }) => !/ is (new|gone)/.test(source))) {
      assert.match(told[0] ?? '', part, shown)
    }
  }
})

test('one range by two queries: shares are compared, not rates', async () => {
  const { window } = hoursOf(0)
  const query = 'service:payments'
  const baseline = { query: 'NOT service:payments' }
  const { findings, ...rest } = await streams.compare({ query, window, baseline })
  const told = findings.map(({ text }) => text)
  const shown = JSON.stringify({ told, rest }, undefined, 1)
  assert.match(told[0] ?? '', /(error|500).* of the events instead of /, shown)
  // That is what they were chosen by.
  assert.ok(!told.some((text) => text.includes('payments')), shown)
})

test('fields that are asked for, and a baseline without events', async () => {
  const { window } = hoursOf(5)
  const asked = await streams.compare({ window, fields: ['region', 'version'] })
  assert.deepEqual(asked.looked_at.fields.toSorted(), ['region', 'version'])
  assert.match(asked.findings[0]!.text, /^version="2\.0\.0" is new/)
  const empty = await streams.compare({ window, baseline: { query: 'region:none' } })
  assert.deepEqual(empty.findings, [])
  assert.match(empty.whole.text, /no events in the baseline/)
})
