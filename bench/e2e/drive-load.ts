/** Runs the load client in a process of its own and keeps its CPU apart from the service's. */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import type { LoadConfig, LoadMessage, LoadResult } from './load-config.ts'

const CLIENT = fileURLToPath(new URL('./load-client.js', import.meta.url))
const READY_MS_MAX = 120_000

/**
 * Builds the requests, connects, calls `onReady` (the place to read the clocks) and runs the load.
 */
export async function driveLoad(config: LoadConfig, onReady: () => void): Promise<LoadResult> {
  const client = fork(CLIENT, [JSON.stringify(config)], { execArgv: [] })
  try {
    const ready = await nextMessage(client, READY_MS_MAX)
    if (ready.kind !== 'ready') throw new Error('the load client spoke out of turn')
    onReady()
    client.send('go')
    // The client bounds itself: its sending time, and the time it waits for the last answers.
    const done = await nextMessage(client, config.secondsMax * 1_000 + READY_MS_MAX)
    if (done.kind !== 'done') throw new Error('the load client spoke out of turn')
    return done.result
  } finally {
    client.kill()
  }
}

function nextMessage(client: ChildProcess, timeoutMs: number): Promise<LoadMessage> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) =>
      settle(() => reject(new Error(`client exited: ${code}`)))
    const onMessage = (message: unknown) => settle(() => resolve(message as LoadMessage))
    const timer = setTimeout(
      () => settle(() => reject(new Error(`load client silent for ${timeoutMs / 1_000} s`))),
      timeoutMs,
    )
    function settle(outcome: () => void): void {
      clearTimeout(timer)
      client.off('exit', onExit)
      client.off('message', onMessage)
      outcome()
    }
    client.once('exit', onExit)
    client.once('message', onMessage)
  })
}
