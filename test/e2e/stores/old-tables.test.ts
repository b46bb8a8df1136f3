/**
 * Goal: tables from before there were columns for level and service get them when the service
 * starts: `_level` and `_service` are right from the first question on, while events come in, and
 * nothing is lost or doubled.
 * Method: a real service whose tables lose the columns while it is stopped: one of a stream's own
 * and the one that streams share. Each question counts by the column and by the field at once.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { startEmbeddedClickHouse } from '../../../src/embedded/clickhouse.ts'
import { ClickHouse } from '../../../src/store/clickhouse.ts'
import { recordingLog } from '../../store/temporary.ts'
import { Api, NDJSON_TYPE, type Stream } from '../../support/api.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const OLD_EVENTS = 600
/** The first eight have tables of their own. */
const STREAMS = 9
const WRITES_MS = 8_000

const dataDir = makeDataDir()
let service: Service | undefined

after(async () => {
  await service?.kill()
  await removeDataDir(dataDir)
})

const LEVELS = ['info', 'WARNING', 'error', 'debug'] as const

function eventsFrom(first: number, count: number): string {
  const events = Array.from({ length: count }, (_, at) => {
    const n = first + at
    return JSON.stringify({ n, level: LEVELS[n % 4], service: `s${n % 3}`, message: 'x' })
  })
  return events.join('\n')
}

async function send(api: Api, { key }: Stream, first: number, count: number): Promise<void> {
  const body = eventsFrom(first, count)
  const { status } = await api.ingest(key, body, { 'content-type': NDJSON_TYPE })
  assert.equal(status, 200)
}

/** What the tables of earlier versions lacked. */
async function dropColumns(): Promise<readonly string[]> {
  const engine = await startEmbeddedClickHouse({ dataDir, log: recordingLog() })
  const clickhouse = new ClickHouse({ url: engine.url })
  try {
    const tables = await clickhouse.query<{ name: string }>(
      "SELECT name FROM system.tables WHERE database = 'sluice' AND startsWith(name, 'events_')",
    )
    for (const { name } of tables) {
      const dropped = ['level', 'service', 'context'].map((column) => `DROP COLUMN ${column}`)
      const sql = `ALTER TABLE sluice.${name} ${dropped.join(', ')}`
      await clickhouse.command(`${sql} SETTINGS mutations_sync = 2`)
    }
    return tables.map(({ name }) => name)
  } finally {
    await clickhouse.close()
    await engine.stop()
  }
}

/** By the column and by the field, of the same rows. */
const PAIRS = [
  ['_level:info', 'level=info'],
  ['_level:warn', 'level=WARNING'],
  ['_level:error', 'level=error'],
  ['_service:s0', 'service=s0'],
  ['_service:s2 _level:debug', 'service=s2 level=debug'],
  ['NOT _service:s1', 'NOT service=s1'],
] as const

/** Resolves with the number of events. */
async function assertRight(api: Api, stream: Stream): Promise<number> {
  const aggregates = PAIRS.flatMap(([column, field], at) => [
    { fn: 'count', query: column, as: `column${at}` },
    { fn: 'count', query: field, as: `field${at}` },
  ])
  const last = { fn: 'max', field: 'n', as: 'last' }
  const { rows, total } = await api.count(stream.id, { aggregates: [...aggregates, last] })
  for (const [at, [column]] of PAIRS.entries()) {
    const { [`column${at}`]: byColumn, [`field${at}`]: byField } = rows[0]!
    assert.equal(byColumn, byField, `${column} of ${total}`)
    assert.ok(Number(byColumn) > 0, column)
  }
  assert.equal(Number(rows[0]!.last) + 1, total, 'each once')
  return total
}

test('old tables get the columns at the start, before anybody asks; events come', async () => {
  service = await Service.start({ dataDir })
  const before = new Api(service)
  const streams: Stream[] = []
  for (let n = 0; n < STREAMS; n++) streams.push(await before.createStream())
  const asked = [streams[0]!, streams.at(-1)!]
  for (const stream of asked) {
    await send(before, stream, 0, OLD_EVENTS)
    await before.untilCounted(stream.id, OLD_EVENTS)
  }
  await service.stop()
  assert.deepEqual((await dropColumns()).toSorted(), ['events_0', `events_${asked[0]!.id}`])

  service = await Service.start({ dataDir })
  const api = new Api(service)
  const sent = asked.map(() => OLD_EVENTS)
  for (const stream of asked) assert.equal(await assertRight(api, stream), OLD_EVENTS)
  assert.match(service.output, /columns for level and service/)

  const untilMs = performance.now() + WRITES_MS
  const writers = asked.map(async (stream, index) => {
    while (performance.now() < untilMs) {
      await send(api, stream, sent[index]!, 50)
      sent[index]! += 50
      await sleep(20)
    }
  })
  let rounds = 0
  while (performance.now() < untilMs) {
    for (const stream of asked) assert.ok((await assertRight(api, stream)) >= OLD_EVENTS)
    rounds++
  }
  await Promise.all(writers)
  assert.ok(rounds > 3)
  for (const [index, stream] of asked.entries()) {
    await api.untilCounted(stream.id, sent[index]!)
    assert.equal(await assertRight(api, stream), sent[index])
  }
})
