/**
 * A process with the engine in it, as the host's: reads one after another on one thread, with no
 * pause, and prints what each was told. The directory is its argument. Killed at its end: handlers
 * of exit wait for the engine.
 */
import { writeSync } from 'node:fs'
import { loadAddon } from '../../src/embedded/chdb-addon.ts'
import { ReadThreads } from '../../src/embedded/read-threads.ts'

const directory = process.argv[2] ?? ''
const SQL = `SELECT getSetting('max_block_size') AS block, getSetting('max_threads') AS threads
  FORMAT JSONEachRow`

loadAddon().CreateConnection(directory)
const threads = await ReadThreads.open(directory)

async function read(session: readonly string[], own: readonly string[]): Promise<string> {
  try {
    return Buffer.from(await threads.run({ session, own, sql: SQL }))
      .toString()
      .trim()
  } catch (cause) {
    return (cause as Error).message.slice(0, 'Code: 115'.length)
  }
}

const told: string[] = []
for (let n = 0; n < 100; n++) {
  told.push(await read(['SET max_threads = 3'], ['SET max_block_size = 1001']))
  told.push(await read(['SET max_threads = 3'], ['SET max_block_size = 1002']))
  told.push(await read(['SET max_threads = 3'], []))
  told.push(await read(['SET max_threads = 4', 'SET nope = 1'], []))
  told.push(await read(['SET max_block_size = 1003'], ['SET max_threads = 5']))
  for (const n of [6, 7, 8, 9]) told.push(await read([`SET max_threads = ${n}`], []))
}
await threads.close()
writeSync(1, JSON.stringify(told))
process.kill(process.pid, 'SIGKILL')
