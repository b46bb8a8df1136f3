/**
 * Stores of a test's own, behind ports as external ones are, and services on them: for tests that
 * hold a store up, change it below the service, or have two nodes. They start on a copy of what a
 * service left, where the run of all tests has one: to make them anew takes longer.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startEmbeddedClickHouse } from '../../src/embedded/clickhouse.ts'
import { startEmbeddedPostgres } from '../../src/embedded/postgres.ts'
import type { EmbeddedStore } from '../../src/embedded/supervisor.ts'
import { recordingLog } from '../store/temporary.ts'
import { NOT_EMBEDDED, realClickHouseFor, shareRealClickHouse } from './real-clickhouse.ts'
import { copyTemplate, makeDataDir, removeDataDir, Service } from './service.ts'
import { openTcpFront, type TcpFront } from './store-socket.ts'

type OwnStore = Pick<EmbeddedStore, 'url' | 'pid' | 'stop'>

export class OwnStores {
  readonly postgres: OwnStore
  readonly clickHouse: OwnStore
  readonly postgresFront: TcpFront
  readonly clickHouseFront: TcpFront
  readonly #dir: string
  /** The first admin token, once there is one. */
  #token: string | undefined

  private constructor(dir: string, stores: OwnStore[], fronts: TcpFront[]) {
    this.#dir = dir
    ;[this.postgres, this.clickHouse] = stores as [OwnStore, OwnStore]
    ;[this.postgresFront, this.clickHouseFront] = fronts as [TcpFront, TcpFront]
    const tokenFile = join(dir, 'admin-token')
    if (existsSync(tokenFile)) this.#token = readFileSync(tokenFile, 'utf8').trim()
  }

  static async start(): Promise<OwnStores> {
    const dir = makeDataDir()
    copyTemplate(dir)
    const options = { dataDir: dir, log: recordingLog() }
    const real = await realClickHouseFor(dir)
    const postgres = await startEmbeddedPostgres(options)
    const clickHouse = real ? await realStore(real) : await startEmbeddedClickHouse(options)
    const urls = [postgres.url, real?.SLUICE_CLICKHOUSE_URL ?? clickHouse.url]
    return new OwnStores(dir, [postgres, clickHouse], await Promise.all(urls.map(openTcpFront)))
  }

  /** What a service is told of them. */
  get env(): Readonly<Record<string, string>> {
    return {
      SLUICE_POSTGRES_URL: this.postgresFront.url,
      SLUICE_CLICKHOUSE_URL: this.clickHouseFront.url,
      ...(NOT_EMBEDDED && { SLUICE_REBUILD_PROJECTION: 'true' }),
    }
  }

  async startService(dataDir: string): Promise<Service> {
    const token = this.#token
    const service = await Service.start({ dataDir, env: this.env, ...(token && { token }) })
    this.#token = service.token
    return service
  }

  /** When no service runs on them any more. */
  async close(): Promise<void> {
    for (const front of [this.postgresFront, this.clickHouseFront]) await front.close()
    for (const store of [this.clickHouse, this.postgres]) await store.stop()
    await removeDataDir(this.#dir)
  }
}

/** A database on the server of TEST_REAL_CLICKHOUSE, which goes on without us. */
async function realStore(env: { readonly SLUICE_CLICKHOUSE_URL: string }): Promise<OwnStore> {
  const { watcherUrl = '', pid } = (await shareRealClickHouse()) ?? {}
  const { pathname } = new URL(env.SLUICE_CLICKHOUSE_URL)
  return { url: watcherUrl + pathname.slice(1), pid: () => pid, stop: () => Promise.resolve() }
}
