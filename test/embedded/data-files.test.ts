/**
 * Goal: data handed over in a file arrives as data that was sent does, and whoever may not name a
 * file cannot have one read.
 * Method: the embedded engine, a client with files and one without, blocks of many sizes.
 */
import assert from 'node:assert/strict'
import { readdirSync, readlinkSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { startEmbeddedClickHouse } from '../../src/embedded/clickhouse.ts'
import type { EmbeddedStore } from '../../src/embedded/supervisor.ts'
import { ClickHouse } from '../../src/store/clickhouse.ts'
import { InsertSpool } from '../../src/store/insert-spool.ts'
import { DATA_FILE_HEADER, type MemoryFile, MemoryFiles } from '../../src/store/memory-files.ts'
import { eventually, makeDirectory, recordingLog, removeDirectory } from '../store/temporary.ts'
import { openTcpFront } from '../support/store-socket.ts'

const dataDir = makeDirectory()
let store: EmbeddedStore
let sending: ClickHouse
let sharing: ClickHouse

before(async () => {
  store = await startEmbeddedClickHouse({ dataDir, log: recordingLog() })
  sending = new ClickHouse({ url: store.url })
  sharing = new ClickHouse({ url: store.url, dataFiles: MemoryFiles.tryOpenShared() })
  await sending.command('CREATE TABLE shared (n Int64) ENGINE = MergeTree ORDER BY n')
})

after(async () => {
  await sharing?.close()
  await sending?.close()
  await store?.stop()
  removeDirectory(dataDir)
})

const INSERT = 'INSERT INTO shared (n) FORMAT Native'

/** A Native block of one Int64 column. */
function block(from: number, rows: number): Buffer {
  const head = [1]
  let rest = rows
  for (; rest > 0x7f; rest >>>= 7) head.push((rest & 0x7f) | 0x80)
  const values = BigInt64Array.from({ length: rows }, (_, i) => BigInt(from + i))
  const name = [rest, 1, 0x6e, 5]
  return Buffer.concat([
    Buffer.from([...head, ...name]),
    Buffer.from('Int64'),
    Buffer.from(values.buffer),
  ])
}

const total = async () => {
  const [row] = await sending.query<{ count: number; sum: number }>(
    'SELECT toUInt32(count()) AS count, toFloat64(sum(n)) AS sum FROM shared',
  )
  return row
}

/** Memory files that this process has open. */
function openFiles(): number {
  const links = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return ''
    }
  })
  return links.filter((link) => link.includes(`sluice-insert-${process.pid}-`)).length
}

test('blocks of every size, one after another and at once, each once', async (t) => {
  if (MemoryFiles.tryOpenShared() === undefined) return t.skip('no room in /dev/shm, or no Linux')
  let next = 0
  const insert = async (...rows: number[]) => {
    const blocks = rows.map((count) => {
      next += count
      return block(next - count, count)
    })
    await sharing.insertNative(INSERT, blocks)
  }
  await insert(300_000, 1, 40_000)
  await insert(1) // The file is longer than what is in it now.
  await insert(2, 3, 4)
  await Promise.all([insert(5), insert(60_000), insert(7), insert(8)])
  assert.deepEqual(await total(), { count: next, sum: (next * (next - 1)) / 2 })
  assert(openFiles() >= 1 && openFiles() <= 2, `${openFiles()} files are kept`)
})

test('a file of an insert that failed is not used again', async (t) => {
  if (MemoryFiles.tryOpenShared() === undefined) return t.skip('no room in /dev/shm, or no Linux')
  const before = await total()
  const kept = openFiles()
  const broken = block(0, 100).subarray(0, 300)
  for (let i = 0; i < 5; i++) await assert.rejects(sharing.insertNative(INSERT, [broken]))
  assert(openFiles() <= kept)
  assert.deepEqual(await total(), before)
  await sharing.insertNative(INSERT, [block(0, 1)])
  assert.equal((await total())?.count, (before?.count ?? 0) + 1)
})

test('a spool takes blocks as they come; what fails or is given up leaves no file', async (t) => {
  if (MemoryFiles.tryOpenShared() === undefined) return t.skip('no room in /dev/shm, or no Linux')
  assert.equal(sending.tryOpenSpool(), undefined, 'without files there are none')
  const before = await total()
  const [first, second, third, broken] = Array.from({ length: 4 }, () => sharing.tryOpenSpool()!)
  const open = openFiles()
  for (let i = 0; i < 50; i++) for (const spool of [first, second]) spool!.append([block(i, 1_000)])
  const [some, more] = [block(0, 10), block(5, 10)]
  assert.equal(third!.append([some, some]), 0)
  const start = third!.append([more])
  const read = Buffer.alloc(more.length)
  assert.ok(third!.tryRead(start, read) && read.equals(more), 'what waits can be read')
  assert.throws(() => third!.tryRead(start + 1, read), RangeError)
  third!.release()
  assert.equal(third!.tryRead(0, read), false, 'its file may be another one by now')
  broken!.append([block(0, 100).subarray(0, 300)])
  await Promise.all([sharing.insertNative(INSERT, first!), sharing.insertNative(INSERT, second!)])
  await assert.rejects(sharing.insertNative(INSERT, broken!))
  for (const spool of [first, broken]) assert.equal(spool!.tryRead(0, read), false)
  assert.equal((await total())?.count, (before?.count ?? 0) + 100_000)
  assert.equal(openFiles(), open - 2, 'two are kept, of four')
})

test('a spool that could not be written is not used again', () => {
  const ended: string[] = []
  const files = { give: () => ended.push('given') } as unknown as MemoryFiles
  const file = {
    bytes: 0,
    appendAll: ([bytes]: Uint8Array[]) => assert.ok(bytes!.length < 10, 'ENOSPC'),
    close: () => ended.push('closed'),
  } as unknown as MemoryFile
  const good = new InsertSpool(files, file)
  good.append([block(0, 1).subarray(0, 9)])
  good.release()
  const full = new InsertSpool(files, file)
  assert.throws(() => full.append([block(0, 10)]), /ENOSPC/)
  full.release()
  assert.deepEqual(ended, ['given', 'closed'])
})

test('files that are unused for a while are closed', async (t) => {
  const files = MemoryFiles.tryOpenShared(100)
  if (files === undefined) return t.skip('no room in /dev/shm, or no Linux')
  const others = openFiles()
  const taken = [files.take(), files.take()]
  for (const file of taken) files.give(file)
  assert.equal(files.take(), taken[1])
  assert.equal(openFiles(), others + 2)
  await eventually('the other one is closed', () => openFiles() === others + 1)
  files.give(taken[1]!)
  await eventually('both are closed', () => openFiles() === others)
})

test('no other file can be named, and none without the password', async () => {
  const front = await openTcpFront(store.url)
  after(() => front.close())
  const url = new URL(front.url)
  const ask = async (file: string, password: string) => {
    const response = await fetch(`http://${url.host}/?query=${encodeURIComponent(INSERT)}`, {
      method: 'POST',
      headers: {
        Authorization: `Basic ${btoa(`${decodeURIComponent(url.username)}:${password}`)}`,
        [DATA_FILE_HEADER]: file,
      },
    })
    return { status: response.status, text: await response.text() }
  }
  const password = decodeURIComponent(url.password)
  for (const file of [
    '/etc/passwd',
    '/proc/1/environ',
    "/proc/1/fd/1' OR",
    '/proc/self/fd/0',
    '',
  ]) {
    const { status, text } = await ask(file, password)
    assert.equal(status, 400, text)
  }
  assert.equal((await ask('/proc/1/fd/1', 'wrong')).status, 403)
})
