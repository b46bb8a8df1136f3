/**
 * A process of its own that starts PostgreSQL, and ClickHouse unless a second argument says
 * `postgres`, for tests that kill it. First argument: directory.
 */
import { startEmbeddedClickHouse } from '../../src/embedded/clickhouse.ts'
import { startEmbeddedPostgres } from '../../src/embedded/postgres.ts'
import { recordingLog } from '../store/temporary.ts'

const dataDir = process.argv[2] ?? ''
const log = recordingLog()
const postgres = await startEmbeddedPostgres({ dataDir, log })
const isAlone = process.argv[3] === 'postgres'
const clickHouse = isAlone ? undefined : await startEmbeddedClickHouse({ dataDir, log })
process.stdout.write(
  `${JSON.stringify({
    postgres: { url: postgres.url, pid: postgres.pid() },
    clickHouse: clickHouse && { url: clickHouse.url, pid: clickHouse.pid() },
  })}\n`,
)
setInterval(() => undefined, 60_000)
