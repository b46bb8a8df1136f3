/**
 * Goal: what one node acknowledged is found by the next search on another; what retention removed
 * is not found any more; many searches at once, and clients that go away, end in answers; without
 * ClickHouse the raw store answers, and says how far.
 * Method: two services on stores of the test's own.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ClickHouse } from '../../../src/store/clickhouse.ts'
import { Postgres } from '../../../src/store/postgres.ts'
import { eventually, recordingLog } from '../../store/temporary.ts'
import { Api, type EventRecord, type Stream } from '../../support/api.ts'
import { ONLY_LONG } from '../../support/fuzzing.ts'
import { OwnStores } from '../../support/own-stores.ts'
import { makeDataDir, removeDataDir, type Service } from '../../support/service.ts'

const TURNS = ONLY_LONG ? 30 : 60
const SEARCHES = ONLY_LONG ? 100 : 200
const dataDirs = [makeDataDir(), makeDataDir()] as const
let stores: OwnStores
const nodes: Service[] = []
let apis: [Api, Api]
let postgres: Postgres

before(async () => {
  stores = await OwnStores.start()
  for (const dataDir of dataDirs) nodes.push(await stores.startService(dataDir))
  apis = [new Api(nodes[0]!), new Api(nodes[1]!)]
  postgres = new Postgres({ url: stores.postgres.url, log: recordingLog() })
})

after(async () => {
  await postgres?.end()
  for (const service of nodes) await service.kill()
  await stores?.close()
  for (const path of dataDirs) await removeDataDir(path)
})

interface Found {
  readonly events: readonly EventRecord[]
  readonly complete: boolean
  readonly reason: string | null
}

async function search(api: Api, stream: Stream, body: object): Promise<Found> {
  return JSON.parse(await api.rest(`/v1/streams/${stream.id}/search`, 'POST', body)) as Found
}

test('what one node acknowledged, the other finds', async () => {
  const stream = await apis[0].createStream()
  await eventually('the other node knows the key', async () => {
    return (await apis[1].ingest(stream.key, '{"n":-1}')).status === 200
  })
  for (let n = 0; n < TURNS; n++) {
    const [writer, reader] = n % 2 === 0 ? apis : apis.toReversed()
    const answer = await writer!.ingest(stream.key, JSON.stringify([{ n }, { n, twin: true }]))
    assert.equal(answer.status, 200)
    const { events, complete } = await search(reader!, stream, { query: `n:${n}` })
    assert.ok(complete)
    assert.equal(events.length, 2, `event ${n}`)
  }
  const { events } = await search(apis[0], stream, { query: 'twin:true', limit: 1_000 })
  assert.deepEqual(
    events.map(({ payload }) => payload.n),
    Array.from({ length: TURNS }, (_, n) => TURNS - 1 - n),
  )
})

test('what retention removed is not found, at once', async () => {
  const [api] = apis
  const stream = await api.createStream()
  for (let n = 0; n < 10; n++) await api.ingest(stream.key, `{"n":${n}}`)
  await api.untilCounted(stream.id, 10, 30_000)
  const { events } = await search(api, stream, { query: 'n:*' })
  const mark = events[4]!.id.split('-')[0]
  await postgres.query(
    `INSERT INTO stream_storage (stream_id, removed_before) VALUES ($1, $2)
     ON CONFLICT (stream_id) DO UPDATE SET removed_before = excluded.removed_before`,
    [Number(stream.id), mark],
  )
  for (const query of ['n:*', '']) {
    const left = await search(api, stream, { query })
    assert.deepEqual(left.events, events.slice(0, 5))
  }
})

test('many searches at once end in answers or refusals, and those given up end, too', {
  skip: ONLY_LONG,
}, async () => {
  const [api] = apis
  const stream = await api.createStream()
  const events = Array.from({ length: 5_000 }, (_, n) => ({ n, text: `word${n} other` }))
  await api.ingest(stream.key, JSON.stringify(events))
  const url = `${api.url}/v1/streams/${stream.id}/search`
  const headers = { authorization: `Bearer ${api.token}`, 'content-type': 'application/json' }
  const body = JSON.stringify({ query: 'text:/(o|w)+r.*9$/ OR NOT *:x9', limit: 1_000 })
  const statuses = await Promise.all(
    Array.from({ length: SEARCHES }, async (_, n) => {
      const signal = n % 2 === 0 ? AbortSignal.timeout(20 + n) : AbortSignal.timeout(60_000)
      try {
        const answer = await fetch(url, { method: 'POST', headers, body, signal })
        await answer.text()
        return answer.status
      } catch {
        return n % 2 === 0 ? 0 : -1
      }
    }),
  )
  assert.ok(
    statuses.every((status) => [0, 200, 429].includes(status)),
    statuses.join(' '),
  )
  assert.ok(statuses.includes(200))
  const clickhouse = new ClickHouse({ url: stores.clickHouse.url })
  await eventually('nothing is left running', async () => {
    const rows = await clickhouse.query<{ query: string }>(
      "SELECT query FROM system.processes WHERE query LIKE '%toString(segment) AS id%'",
    )
    return rows.every(({ query }) => query.includes('system.processes'))
  })
  await clickhouse.close()
  assert.equal((await search(api, stream, { query: 'n:4999' })).events.length, 1)
})

test('without ClickHouse the raw store answers', async () => {
  const [api] = apis
  const stream = await api.createStream()
  for (let n = 0; n < 20; n++) await api.ingest(stream.key, `[{"n":${n}},{"odd":${n % 2}}]`)
  await api.untilCounted(stream.id, 40, 30_000)
  await stores.clickHouseFront.close()
  const { events, complete } = await search(api, stream, { query: 'odd:1' })
  assert.ok(complete, 'it is few enough to be looked through')
  assert.equal(events.length, 10)
  assert.equal((await search(api, stream, {})).events.length, 40)
})
