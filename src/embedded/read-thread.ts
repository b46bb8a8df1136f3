/** One of the threads of `read-threads.ts`. `workerData`: the directory of the engine. */
import { parentPort, workerData } from 'node:worker_threads'
import { lowerReadThread } from './background-priority.ts'
import { type Connection, loadAddon } from './chdb-addon.ts'
import type { Read, ReadReply } from './read-threads.ts'

const FORMAT = 'TabSeparated'

const addon = loadAddon()
lowerReadThread()
/** For the next read: it is opened while nobody waits. */
let spare = open()
/** The session that the spare connection has been prepared for. */
let prepared: string | undefined

function open(): Connection {
  return addon.CreateConnection(workerData)
}

/** A connection keeps what was set on it: so that nothing reaches another read, it is replaced. */
function replaceSpare(): void {
  addon.CloseConnection(spare)
  prepared = undefined
  spare = open()
}

function prepare({ session }: Read): void {
  const wanted = session.join('\n')
  if (prepared === wanted) return
  if (prepared !== undefined) replaceSpare()
  for (const sql of session) addon.QueryWithConnection(spare, sql, FORMAT)
  prepared = wanted
}

function run(read: Read): ReadReply {
  try {
    prepare(read)
    for (const sql of read.own) addon.QueryWithConnection(spare, sql, FORMAT)
    const result = addon.QueryWithConnection(spare, read.sql, FORMAT)
    return { kind: 'result', bytes: new TextEncoder().encode(result) }
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause)
    return { kind: 'failed', message: message.replace(/^Query failed: /, '') }
  }
}

/** Most reads have the session of the read before. */
function prepareNext(read: Read): void {
  replaceSpare()
  try {
    prepare(read)
  } catch {
    // The next read that asks for this session is told why it cannot have it.
    replaceSpare()
  }
}

function reply(value: ReadReply): void {
  const transfer = value.kind === 'result' ? [value.bytes.buffer as ArrayBuffer] : []
  parentPort?.postMessage(value, transfer)
}

parentPort?.on('message', (read: Read | undefined) => {
  if (read === undefined) {
    addon.CloseConnection(spare)
    parentPort?.close()
    return
  }
  reply(run(read))
  // Once the reply is on its way: who waits for it is not woken before this thread's turn ends.
  setImmediate(() => prepareNext(read))
})

reply({ kind: 'ready' })
