/**
 * Goal: an incident that is hidden in events is the first finding; where there is none, nothing is
 * found; and a finding's query counts just what the finding says.
 * Method: scripted scenarios in one table of the real engine, an hour each and the one before it.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { StreamId } from '../../../src/model/stream.ts'
import { ClickHouse } from '../../../src/store/clickhouse.ts'
import { ensureClickHouse } from '../../../src/store/migrations/run.ts'
import { INCIDENTS, NOTHING } from '../../support/compare-scenarios.ts'
import { openTestClickHouse } from '../../support/stores.ts'
import { hoursOf, ScriptedStreams } from './scripted-streams.ts'

const EVENTS = 1_500
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
  await streams.fill(ALL, EVENTS)
})

after(async () => {
  for (const close of closers.reverse()) await close()
})

for (const [index, { name, expected }] of ALL.entries()) {
  test(`${expected === undefined ? 'nothing' : 'first'}: ${name}`, async () => {
    const { findings, ...rest } = await streams.compare({ window: hoursOf(index).window })
    const shown = JSON.stringify({ findings, rest }, undefined, 1)
    if (process.env.SHOW) console.log(name, findings.map(f => f.text + ' | same ' + f.same + ' | also ' + f.also), process.env.SHOW > '1' ? rest : '')
    if (expected === undefined) assert.deepEqual(findings, [], shown)
    else for (const part of expected) assert.match(findings[0]?.query ?? '', part, shown)
  })
}
