/** One of the threads of `read-threads.ts`. `workerData`: the directory of the engine. */
import { parentPort, workerData } from 'node:worker_threads'
import { lowerReadThread } from './background-priority.ts'
import { type Connection, loadAddon } from './chdb-addon.ts'
import type { ReadReply } from './read-threads.ts'

const FORMAT = 'TabSeparated'

const addon = loadAddon()
lowerReadThread()
/** For the next read: it is opened while nobody waits. */
let spare = open()

function open(): Connection {
  return addon.CreateConnection(workerData)
}

function run(statements: readonly string[]): ReadReply {
  try {
    let result = ''
    for (const sql of statements) result = addon.QueryWithConnection(spare, sql, FORMAT)
    return { kind: 'result', bytes: new TextEncoder().encode(result) }
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause)
    return { kind: 'failed', message: message.replace(/^Query failed: /, '') }
  }
}

function reply(value: ReadReply): void {
  const transfer = value.kind === 'result' ? [value.bytes.buffer as ArrayBuffer] : []
  parentPort?.postMessage(value, transfer)
}

parentPort?.on('message', (statements: readonly string[] | undefined) => {
  if (statements !== undefined) reply(run(statements))
  // No setting or parameter of a read reaches the next one.
  addon.CloseConnection(spare)
  if (statements === undefined) parentPort?.close()
  else spare = open()
})

reply({ kind: 'ready' })
