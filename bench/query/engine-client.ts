/** Asks the embedded ClickHouse of a running service past the service. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ClickHouseClient, createClient } from '@clickhouse/client'
import { parseClickHouseUrl, unixClickHouseUrl } from '../../src/store/clickhouse-address.ts'
import { querySettings } from '../../src/store/projection/query-bounds.ts'
import { LANE_HEADER, type StoreLane } from '../../src/store/store-lane.ts'
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

/** By the client library, as every build's engine understands it. */
export class EngineClient {
  readonly #client: ClickHouseClient

  /** `dataDirectory`: of a service that was started with `ENGINE_FLAGS`. */
  constructor(dataDirectory: string) {
    const key = readFileSync(join(dataDirectory, ENGINE_KEY_FILE), 'utf8')
    const basic = Buffer.from(key.replace(/^Basic /, ''), 'base64').toString()
    const [user = '', password = ''] = basic.split(':')
    const socket = join(dataDirectory, 'clickhouse', 'http.sock')
    const { url, agent } = parseClickHouseUrl(unixClickHouseUrl(user, password, socket), 1)
    const lane: StoreLane = 'read'
    this.#client = createClient({
      url,
      ...(agent && { http_agent: agent }),
      http_headers: { [LANE_HEADER]: lane },
    })
  }

  /** With the bounds that the service sets for its own queries. */
  async ask(sql: string): Promise<EngineAnswer> {
    const settings = { wait_end_of_query: 1, ...querySettings(QUERY_MS_MAX) } as const
    const result = await this.#client.query({
      query: sql,
      format: 'JSON',
      clickhouse_settings: settings,
    })
    const { data, statistics } = await result.json<EngineRow>()
    return { rows: data, engineMs: (statistics?.elapsed ?? Number.NaN) * 1_000 }
  }

  close(): Promise<void> {
    return this.#client.close()
  }
}
