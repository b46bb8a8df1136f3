/**
 * The stores of a whole run of the tests, and one service, in a process that `scripts/test.mjs`
 * starts: prints what to put into the environment of tests as JSON. When whoever started it closes
 * its stdin, or is gone, all ends and its directories are removed.
 */
import { execFileSync } from 'node:child_process'
import { startEmbeddedClickHouse } from '../../src/embedded/clickhouse.ts'
import { startEmbeddedPostgres } from '../../src/embedded/postgres.ts'
import type { EmbeddedStore } from '../../src/embedded/supervisor.ts'
import { Postgres } from '../../src/store/postgres.ts'
import { makeDirectory, recordingLog, removeDirectory } from '../store/temporary.ts'
import { shareRealClickHouse } from './real-clickhouse.ts'
import { makeDataDir, removeDataDir, Service } from './service.ts'
import { migrate, TEMPLATE } from './stores.ts'

// Ctrl-C is for the whole group of processes; ours are ended in their order.
process.on('SIGINT', () => undefined)
const dataDir = makeDirectory()
/** Of a service that has been started and stopped: tests start on copies of it. */
const template = makeDataDir()
const serviceDir = makeDataDir()
const log = recordingLog()
const [postgres, clickhouse, service] = await Promise.all([
  startPostgres(),
  startClickHouse(),
  startService(),
])

/** The one of TEST_REAL_CLICKHOUSE ends when this process does. */
async function startClickHouse(): Promise<Pick<EmbeddedStore, 'url' | 'stop'>> {
  const url = (await shareRealClickHouse())?.watcherUrl
  if (url === undefined) return startEmbeddedClickHouse({ dataDir, log })
  return { url, stop: () => Promise.resolve() }
}

async function startPostgres(): Promise<EmbeddedStore> {
  const store = await startEmbeddedPostgres({ dataDir, log })
  const control = new Postgres({ url: store.url, log })
  await control.query(`CREATE DATABASE ${TEMPLATE}`)
  await control.end()
  const url = new URL(store.url)
  url.pathname = `/${TEMPLATE}`
  await migrate(url.href)
  return store
}

async function startService(): Promise<Service> {
  const firstDir = makeDataDir()
  const first = await Service.start({ dataDir: firstDir })
  await first.stop()
  // Four fifths of it are log files that nothing was written to: as holes they cost copies nothing.
  execFileSync('cp', ['-a', '--sparse=always', `${firstDir}/.`, template])
  await removeDataDir(firstDir)
  process.env.TEST_DATA = template
  return await Service.start({ dataDir: serviceDir })
}

const environment = {
  TEST_POSTGRES: postgres.url,
  TEST_CLICKHOUSE: clickhouse.url,
  TEST_DATA: template,
  TEST_REAL_CLICKHOUSE: process.env.TEST_REAL_CLICKHOUSE,
  TEST_SERVICE: `${service.url} ${service.token}`,
}
process.stdout.write(`${JSON.stringify(environment)}\n`)
process.stdin.resume().once('close', async () => {
  await Promise.all([postgres.stop(), clickhouse.stop(), service.stop()])
  removeDirectory(dataDir)
  await removeDataDir(serviceDir)
  await removeDataDir(template)
})
