/** Asks the embedded ClickHouse of a running service past the service. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ClickHouse } from '../../src/store/clickhouse.ts'
import { unixClickHouseUrl } from '../../src/store/clickhouse-address.ts'
import { querySettings } from '../../src/store/projection/query-bounds.ts'
import { ENGINE_KEY_FILE } from './engine-key.ts'
import type { EngineRow } from './rows.ts'

/** Flags of Node for the service, without which there is no client for its engine. */
export const ENGINE_FLAGS: readonly string[] = [
  '--import',
  fileURLToPath(new URL('./engine-key.js', import.meta.url)),
]

const QUERY_MS_MAX = 30_000

export interface EngineAnswer {
  readonly rows: readonly EngineRow[]
  /** By its own clock, milliseconds. */
  readonly engineMs: number
}

export class EngineClient {
  readonly #clickhouse: ClickHouse

  /** `dataDirectory`: of a service that was started with `ENGINE_FLAGS`. */
  constructor(dataDirectory: string) {
    const key = readFileSync(join(dataDirectory, ENGINE_KEY_FILE), 'utf8')
    const basic = Buffer.from(key.replace(/^Basic /, ''), 'base64').toString()
    const [user = '', password = ''] = basic.split(':')
    const socket = join(dataDirectory, 'clickhouse', 'http.sock')
    this.#clickhouse = new ClickHouse({
      url: unixClickHouseUrl(user, password, socket),
      lane: 'read',
    })
  }

  /** With the bounds that the service sets for its own queries. */
  async ask(sql: string): Promise<EngineAnswer> {
    let engineMs = Number.NaN
    const rows = await this.#clickhouse.query<EngineRow>(sql, {}, querySettings(QUERY_MS_MAX), {
      onStats: (stats) => {
        engineMs = stats.engineMs
      },
    })
    return { rows, engineMs }
  }

  close(): Promise<void> {
    return this.#clickhouse.close()
  }
}
