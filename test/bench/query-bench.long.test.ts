/**
 * Goal: `npm run bench:query` compares equal work: each row's request and its SQL say the same.
 * Method: both over a small corpus, with a real service and its own engine.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { countStored, createStream } from '../../bench/e2e/rest.ts'
import { type RunningService, startService } from '../../bench/e2e/service.ts'
import { ENGINE_FLAGS, EngineClient } from '../../bench/query/engine-client.ts'
import { isMustMet, measureRows, type Subject } from '../../bench/query/measure-rows.ts'
import { queryCorpus } from '../../bench/query/query-corpus.ts'
import { formatResult } from '../../bench/query/report.ts'
import { RestClient } from '../../bench/query/rest-client.ts'
import { QUERY_ROWS } from '../../bench/query/rows.ts'
import { takeTurn } from '../../bench/query/turn.ts'
import { eventually } from '../store/temporary.ts'
import { someOf } from '../support/fuzzing.ts'

const EVENTS = 4_000

let service: RunningService
let subject: Subject

before(async () => {
  service = await startService({ nodeFlags: ENGINE_FLAGS, isDataKept: false })
  const rest = new RestClient(service)
  const engine = new EngineClient(service.dataDirectory)
  const stream = await createStream(service, 'bench', {})
  const fromMs = Date.now()
  const headers = { 'x-api-key': stream.key, 'content-type': 'application/x-ndjson' }
  await rest.post('/v1/ingest', queryCorpus(EVENTS).join('\n'), headers)
  await eventually('they are projected', async () => {
    return (await countStored(service, [stream])).projectionEvents === EVENTS
  })
  const scene = { table: `sluice.events_${stream.id}`, fromMs, toMs: Date.now() + 1 }
  subject = { rest, engine, stream, scene }
})

after(async () => {
  subject?.rest.close()
  await subject?.engine.close()
  await service?.stop()
})

test('a row asks the service and the engine for the same, and for something', async () => {
  const { rest, engine, stream, scene } = subject
  for (const row of someOf(QUERY_ROWS)) {
    const { answer } = await rest.post(
      row.isAtRoot ? row.path : `/v1/streams/${stream.id}${row.path}`,
      row.body(scene),
    )
    const { rows, engineMs } = await engine.ask(row.sql(scene))
    const told = row.told(answer as object)
    assert.deepEqual(told, row.toldByEngine(rows), row.name)
    assert.ok(told.length > 0 && told.flat().every((value) => value !== 0), row.name)
    assert.ok(engineMs > 0, row.name)
  }
})

test('the rows are timed, the first page after ingest among them, and told by name', async () => {
  const measured = someOf(QUERY_ROWS)
  const rows = await measureRows(subject, { rows: measured, runs: 1, hasFirst: true })
  const names = rows.map(({ name }) => name)
  assert.deepEqual(names, [...measured.map(({ name }) => name), 'first'])
  assert.ok(rows.every(({ rest }) => rest.medianMs > 0))
  const different = rows.filter(({ isEqual }) => !isEqual)
  assert.deepEqual(different, [])
  const rowsOf = { settled: rows, loaded: rows }
  const acknowledged = { p99Without: 10, p99With: 14, rate: 1_000 }
  const text = formatResult({ events: EVENTS, rowsOf, acknowledged })
  for (const name of names) assert.match(text, new RegExp(`^${name} `, 'm'))
  assert.match(text, /1\.40 x, must 1\.3: MISSED/)
})

test('a must holds by its time or by the engine’s', () => {
  const of = (ms: number, engineMs?: number) => {
    const timing = (value: number) => ({ medianMs: value, bestMs: value })
    const engine = engineMs === undefined ? undefined : timing(engineMs)
    const row = { name: 'x', mustMs: 40, goalMs: 20, isEqual: true }
    return isMustMet({ ...row, rest: timing(ms), engine })
  }
  assert.equal(of(40), true)
  assert.equal(of(41), false)
  assert.equal(of(65, 40), true)
  assert.equal(of(66, 40), false)
})

test('a turn begins when its command runs its arguments, and ends with the measuring', async () => {
  assert.equal(await takeTurn('env', async () => 7), 7)
  await assert.rejects(
    takeTurn('env', async () => {
      throw new Error('measured nothing')
    }),
    /measured nothing/,
  )
})
