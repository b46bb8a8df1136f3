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
/** The session that it has been prepared for. */
let prepared: string | undefined
/** Nothing but that session has been set on it. */
let isClean = true
let isClosed = false

function open(): Connection {
  return addon.CreateConnection(workerData)
}

/** A connection keeps what was set on it, so one on which a read ran is not used again. */
function prepare({ session }: Read): void {
  const wanted = session.join('\n')
  if (!isClean || (prepared !== undefined && prepared !== wanted)) {
    addon.CloseConnection(spare)
    spare = open()
    prepared = undefined
  }
  if (prepared === wanted) return
  isClean = false
  for (const sql of session) addon.QueryWithConnection(spare, sql, FORMAT)
  isClean = true
  prepared = wanted
}

function run(read: Read): ReadReply {
  try {
    prepare(read)
    isClean = false
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
  if (isClosed) return
  try {
    prepare(read)
  } catch {
    // A read that asks for this session is told why it cannot have it.
    isClean = false
  }
}

function reply(value: ReadReply): void {
  const transfer = value.kind === 'result' ? [value.bytes.buffer as ArrayBuffer] : []
  parentPort?.postMessage(value, transfer)
}

parentPort?.on('message', (read: Read | undefined) => {
  if (read === undefined) {
    isClosed = true
    addon.CloseConnection(spare)
    parentPort?.close()
    return
  }
  reply(run(read))
  // Once the reply is on its way: who waits for it is not woken before this thread's turn ends. The
  // next read may come first.
  setImmediate(() => prepareNext(read))
})

reply({ kind: 'ready' })
