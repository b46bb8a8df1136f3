/**
 * Goal: no lane takes more connections of a store than its limit, however much is asked at once.
 * Method: servers on the loopback interface that take connections and never answer.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { CONNECTIONS } from '../../src/app/open-stores.ts'
import {
  CLICKHOUSE_CONTROL_CONNECTIONS_MAX,
  CLICKHOUSE_READ_CONNECTIONS_MAX,
  CLICKHOUSE_WRITE_CONNECTIONS_MAX,
  POSTGRES_CONTROL_CONNECTIONS_MAX,
  POSTGRES_READ_CONNECTIONS_MAX,
  POSTGRES_WRITE_CONNECTIONS_MAX,
} from '../../src/limits.ts'
import { ClickHouse } from '../../src/store/clickhouse.ts'
import { Postgres } from '../../src/store/postgres.ts'
import { eventually, recordingLog } from './temporary.ts'

const LANES = [
  ['read', POSTGRES_READ_CONNECTIONS_MAX, CLICKHOUSE_READ_CONNECTIONS_MAX],
  ['write', POSTGRES_WRITE_CONNECTIONS_MAX, CLICKHOUSE_WRITE_CONNECTIONS_MAX],
  ['control', POSTGRES_CONTROL_CONNECTIONS_MAX, CLICKHOUSE_CONTROL_CONNECTIONS_MAX],
] as const

/** Where it listens, and how many are connected. */
async function startSilentServer(t: TestContext) {
  const sockets: Socket[] = []
  const server = createServer((socket) => {
    sockets.push(socket)
    socket.on('error', () => undefined)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  const { port } = server.address() as AddressInfo
  return { port, connections: () => sockets.length }
}

async function assertMost(connections: () => number, max: number): Promise<void> {
  await eventually('all are connected', () => connections() >= max)
  await sleep(100)
  assert.equal(connections(), max)
}

for (const [lane, postgresMax, clickhouseMax] of LANES) {
  test(`${lane}: ${postgresMax} connections to PostgreSQL`, async (t) => {
    const { port, connections } = await startSilentServer(t)
    const url = `postgres://nobody@127.0.0.1:${port}/none`
    const connectionsMax = CONNECTIONS[lane].postgresMax
    const postgres = new Postgres({ url, log: recordingLog(), connectionsMax })
    for (let i = 0; i < postgresMax + 5; i++) postgres.query('SELECT 1').catch(() => undefined)
    await assertMost(connections, postgresMax)
  })

  test(`${lane}: ${clickhouseMax} connections to ClickHouse`, async (t) => {
    const { port, connections } = await startSilentServer(t)
    const url = `http://127.0.0.1:${port}/`
    const clickhouse = new ClickHouse({
      url,
      lane,
      connectionsMax: CONNECTIONS[lane].clickhouseMax,
    })
    for (let i = 0; i < clickhouseMax + 5; i++) {
      clickhouse.query('SELECT 1').catch(() => undefined)
    }
    await assertMost(connections, clickhouseMax)
    await clickhouse.close()
  })
}
