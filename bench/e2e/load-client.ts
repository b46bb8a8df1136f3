/**
 * The load client, a process of its own so that its CPU can be told from the service's. The bench
 * forks it with a config as its argument, waits for `ready`, says `go` and gets the result.
 */
import type { LoadConfig, LoadMessage } from './load-config.ts'
import { buildRequests } from './load-requests.ts'
import { LoadRunner } from './load-runner.ts'

async function main(): Promise<void> {
  const config: LoadConfig = JSON.parse(process.argv[2] ?? '{}')
  const runner = new LoadRunner(config, buildRequests(config))
  await runner.connect()
  const go = new Promise((resolve) => process.once('message', resolve))
  await tell({ kind: 'ready' })
  await go
  await tell({ kind: 'done', result: await runner.run() })
  process.disconnect()
}

function tell(message: LoadMessage): Promise<void> {
  return new Promise((resolve, reject) => {
    process.send!(message, (error: Error | null) => (error === null ? resolve() : reject(error)))
  })
}

// A bench that dies must not leave its load running.
process.once('disconnect', () => process.exit())
await main()
