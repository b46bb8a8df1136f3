/** One of the threads of `read-threads.ts`. `workerData`: the directory of the engine. */
import { parentPort, workerData } from 'node:worker_threads'
import { lowerReadThread } from './background-priority.ts'
import { type Connection, loadAddon } from './chdb-addon.ts'
import type { Read, ReadReply } from './read-threads.ts'

const FORMAT = 'TabSeparated'
/** Queries, searches and their probes take turns, each with a session of its own. */
const SPARES_MAX = 4

const addon = loadAddon()
lowerReadThread()
/** Prepared while nobody waits, by their sessions, the longest unused first. */
const preparedConnections = new Map<string, Connection>()
/** A connection keeps what was set on it, so one on which a read ran is closed. */
const used: Connection[] = []
let isClosed = false

function keyOf({ session }: Read): string {
  return session.join('\n')
}

/** A connection on which nothing but the read's session has been set. */
function prepare({ session }: Read): Connection {
  const connection = addon.CreateConnection(workerData)
  try {
    for (const sql of session) addon.QueryWithConnection(connection, sql, FORMAT)
    return connection
  } catch (cause) {
    addon.CloseConnection(connection)
    throw cause
  }
}

function takeSpare(read: Read): Connection | undefined {
  const spare = preparedConnections.get(keyOf(read))
  preparedConnections.delete(keyOf(read))
  return spare
}

function run(read: Read): ReadReply {
  try {
    const connection = takeSpare(read) ?? prepare(read)
    used.push(connection)
    for (const sql of read.own) addon.QueryWithConnection(connection, sql, FORMAT)
    const result = addon.QueryWithConnection(connection, read.sql, FORMAT)
    return { kind: 'result', bytes: new TextEncoder().encode(withoutMore(result)) }
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause)
    return { kind: 'failed', message: message.replace(/^Query failed: /, '') }
  }
}

/** How the engine's JSON begins and ends; within it no brace stands alone on a line. */
const JSON_START = '{\n'
const JSON_END = '\n}\n'

/**
 * The addon takes a result for text up to the first NUL. One that fills its memory to the last
 * byte, of 4096 bytes or so many pages, has none, and what lies behind it is read as well.
 */
function withoutMore(result: string): string {
  const end = result.startsWith(JSON_START) ? result.indexOf(JSON_END) : -1
  return end < 0 ? result : result.slice(0, end + JSON_END.length)
}

/** Most reads have the session of one of the last few. */
function prepareNext(read: Read): void {
  if (isClosed) return
  for (const connection of used.splice(0)) addon.CloseConnection(connection)
  const spare = takeSpare(read) ?? tryPrepare(read)
  if (spare === undefined) return
  preparedConnections.set(keyOf(read), spare)
  const [oldest] = preparedConnections
  if (preparedConnections.size <= SPARES_MAX || oldest === undefined) return
  preparedConnections.delete(oldest[0])
  addon.CloseConnection(oldest[1])
}

/** A read that asks for a session that cannot be had is told why. */
function tryPrepare(read: Read): Connection | undefined {
  try {
    return prepare(read)
  } catch {
    return undefined
  }
}

function reply(value: ReadReply): void {
  const transfer = value.kind === 'result' ? [value.bytes.buffer as ArrayBuffer] : []
  parentPort?.postMessage(value, transfer)
}

parentPort?.on('message', (read: Read | undefined) => {
  if (read === undefined) {
    isClosed = true
    for (const connection of [...preparedConnections.values(), ...used])
      addon.CloseConnection(connection)
    parentPort?.close()
    return
  }
  reply(run(read))
  // Once the reply is on its way: who waits for it is not woken before this thread's turn ends. The
  // next read may come first.
  setImmediate(() => prepareNext(read))
})

reply({ kind: 'ready' })
