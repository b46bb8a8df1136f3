/**
 * Goal: a batch that kills or hangs its worker is tried once more, then quarantined with its bytes,
 * or without them where they may hold secrets; everybody else's batches are done. A full pool
 * refuses.
 * Method: real threads with a worker (`bad-worker.ts`) that misbehaves on command.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { IngestError } from '../../src/errors.ts'
import { POOL_TASK_MS_MAX } from '../../src/limits.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { POOL_QUEUE_BATCHES_MAX } from '../../src/pool/fair-queue.ts'
import type { IngestTask, PoolTask } from '../../src/pool/messages.ts'
import { WorkerPool } from '../../src/pool/pool.ts'
import { quarantineTask } from '../../src/pool/quarantine.ts'
import { eventually, makeDirectory, removeDirectory } from '../store/temporary.ts'

const directory = makeDirectory()
const pools: WorkerPool[] = []

after(async () => {
  for (const pool of pools) await pool.stop()
  removeDirectory(directory)
})

const BAD_WORKER = fileURLToPath(new URL('./bad-worker.js', import.meta.url))
const FULL_WORKER = fileURLToPath(new URL('./full-worker.js', import.meta.url))
const REAL_WORKER = fileURLToPath(new URL('../../workers/main.js', import.meta.url))

interface Quarantined {
  readonly task: PoolTask
  readonly reason: string
}

function replayOf(pool: WorkerPool, payload: Uint8Array) {
  return pool.run({ kind: 'replay', streamId: 5, segments: [{ payload }] })
}

function createPool(options: { threads?: number; taskMsMax?: number; workerFile?: string } = {}) {
  const { threads = 1, taskMsMax = 30_000, workerFile = BAD_WORKER } = options
  const quarantined: Quarantined[] = []
  const pool = new WorkerPool({
    workerFile,
    threads,
    taskMsMax,
    quarantine: (task, reason) => quarantined.push({ task, reason }),
  })
  pools.push(pool)
  return { pool, quarantined }
}

function taskOf(command: string): IngestTask {
  const body = Buffer.from(command)
  const bytes = new Uint8Array(new SharedArrayBuffer(body.length + 17))
  bytes.set(body)
  bytes[body.length] = 0x0a
  return {
    kind: 'ingest',
    output: { block: new Uint8Array(8), payload: new Uint8Array(8) },
    batch: {
      streamId: 5 as StreamId,
      settings: { parseUserAgents: false, redactSensitive: false, redactFields: [] },
      receivedAtMs: 0,
      bytes,
      parts: [{ framing: 'ndjson', start: 0, end: body.length }],
    },
  }
}

const internal = (error: unknown) => {
  assert(error instanceof IngestError)
  assert.equal(error.code, 'internal')
  assert.match(error.message, /quarantined/)
  return true
}

const textOf = ({ task }: Quarantined) => {
  assert(task.kind === 'ingest')
  return Buffer.from(task.batch.bytes)
    .toString('latin1', 0, 12)
    .trim()
    .replace(/\n\0*$/, '')
}

for (const [command, reason] of [
  ['throw', /a bug of ours/],
  ['die', /exit/i],
] as const) {
  test(`a batch that makes its worker ${command} is quarantined with its bytes`, async () => {
    const { pool, quarantined } = createPool()
    const before = pool.run(taskOf('work'))
    const bad = pool.run(taskOf(command))
    const behind = pool.run(taskOf('work'))
    bad.catch(() => undefined)
    await Promise.all([before, behind])
    await assert.rejects(bad, internal)
    assert.deepEqual(quarantined.map(textOf), [command])
    assert.match(quarantined[0]!.reason, reason)
    await pool.run(taskOf('work'))
    assert.equal(pool.queueLength, 0)
  })
}

test('a batch that hangs is ended after its time, twice, and others go on meanwhile', async () => {
  const { pool, quarantined } = createPool({ threads: 2, taskMsMax: 300 })
  await pool.run(taskOf('work'))
  const hanging = pool.run(taskOf('hang'))
  hanging.catch(() => undefined)
  for (let i = 0; i < 20; i++) await pool.run(taskOf('work'))
  await assert.rejects(hanging, internal)
  assert.deepEqual(quarantined.map(textOf), ['hang'])
  await pool.run(taskOf('work'))
})

test('a batch may take POOL_TASK_MS_MAX, and then makes way for others', async (t) => {
  const ends: (() => void)[] = []
  const { setTimeout } = globalThis
  const start = (end: () => void, ms?: number) => {
    if (ms === POOL_TASK_MS_MAX) ends.push(end)
    return setTimeout(end, ms)
  }
  t.mock.method(globalThis, 'setTimeout', start as typeof setTimeout)
  const pool = new WorkerPool({ workerFile: BAD_WORKER, threads: 1, quarantine: () => undefined })
  pools.push(pool)
  const hanging = pool.run(taskOf('hang'))
  hanging.catch(() => undefined)
  const next = pool.run(taskOf('work'))
  await eventually('its time has begun', () => ends.length === 1)
  ends[0]?.()
  await next
  const before = ends.length
  await eventually('its second try has begun', () => ends.length > before)
  for (const end of ends) end()
  await assert.rejects(hanging, internal)
})

test('a batch that takes more memory than a worker may is quarantined', async () => {
  const { pool, quarantined } = createPool()
  await assert.rejects(pool.run(taskOf('allocate')), internal)
  assert.match(quarantined[0]!.reason, /memory/i)
  await pool.run(taskOf('work'))
})

test('a worker whose arena is full ends; the next batch has a fresh one', async () => {
  const { pool, quarantined } = createPool({ workerFile: FULL_WORKER })
  const large = (text: string) => taskOf(`{"text":"${'x'.repeat(200_000)}","a":"${text}"}`)
  await assert.rejects(pool.run(large('fill the arena')), internal)
  assert.match(quarantined[0]!.reason, /ARENA_BYTES_MAX/)
  const { batch } = await pool.run(large('and nothing else'))
  assert.equal(batch.parts[0]?.accepted, 1)
})

test('a worker that died by accident: the second try succeeds, without shared output', async () => {
  const { pool, quarantined } = createPool()
  const { batch } = await pool.run(taskOf(`once ${join(directory, 'mark')}`))
  assert.equal(quarantined.length, 0)
  assert.equal((batch as unknown as { hadOutput: boolean }).hadOutput, false)
  const first = await pool.run(taskOf('work'))
  assert.equal((first.batch as unknown as { hadOutput: boolean }).hadOutput, true)
})

test('several bad batches among many good ones: each good one is done', async () => {
  const { pool, quarantined } = createPool({ threads: 2 })
  const commands = Array.from({ length: 40 }, (_, i) => (i % 10 === 3 ? 'die' : 'work'))
  const results = await Promise.allSettled(commands.map((command) => pool.run(taskOf(command))))
  const outcomes = results.map(({ status }) => (status === 'fulfilled' ? 'work' : 'die'))
  assert.deepEqual(outcomes, commands)
  assert.equal(quarantined.length, 4)
})

test('runWhenIdle: asked for its task when its turn has come, and may have none', async () => {
  const { pool } = createPool()
  const order: string[] = []
  const first = pool.run(taskOf('sleep 100')).then(() => order.push('first'))
  const inTurn = pool.runWhenIdle(() => {
    order.push('asked')
    return taskOf('work')
  })
  const last = pool.run(taskOf('work')).then(() => order.push('last'))
  const nothing = pool.runWhenIdle(() => undefined)
  assert.equal(order.length, 0, 'not asked before its turn')
  assert((await inTurn) !== undefined)
  await Promise.all([first, last])
  assert.deepEqual([...order].sort(), ['asked', 'first', 'last'])
  assert(order.indexOf('asked') < order.indexOf('last'))
  assert.equal(await nothing, undefined)
  assert.equal(pool.hasIdleThread, true)
})

test('runWhenIdle: a task that cannot be made fails alone and gives its thread back', async () => {
  const { pool } = createPool()
  for (let i = 0; i < 3; i++) {
    const failing = pool.runWhenIdle(() => {
      throw new RangeError('no memory')
    })
    await assert.rejects(failing, /no memory/)
  }
  await pool.run(taskOf('work'))
  assert.deepEqual([pool.hasIdleThread, pool.queueLength], [true, 0])
})

test('POOL_QUEUE_BATCHES_MAX batches wait, one more is refused', async () => {
  const { pool } = createPool()
  assert.equal(pool.hasIdleThread, true)
  const running = [pool.run(taskOf('sleep 300'))]
  assert.equal(pool.hasIdleThread, false)
  while (running.length < POOL_QUEUE_BATCHES_MAX) running.push(pool.run(taskOf('work')))
  assert.equal(pool.queueLength, POOL_QUEUE_BATCHES_MAX - 1)
  await assert.rejects(pool.run(taskOf('work')), (error) => {
    assert(error instanceof IngestError)
    assert.equal(error.code, 'overloaded')
    return true
  })
  await Promise.all(running)
  assert.deepEqual([pool.queueLength, pool.hasIdleThread], [0, true])
  await pool.run(taskOf('work'))
})

test('isIngestBusy: no thread is idle, and not all of them only read', async () => {
  const { pool } = createPool({ workerFile: REAL_WORKER })
  const segment = (await pool.run({ ...taskOf('{"a":1}'), output: undefined })).batch.segments[0]!
  const replay = () => replayOf(pool, segment.payload.slice())
  const reading = replay()
  assert.deepEqual([pool.hasIdleThread, pool.isIngestBusy], [false, false])
  const ingesting = pool.run({ ...taskOf('{"a":1}'), output: undefined })
  assert.equal(pool.isIngestBusy, true)
  await Promise.all([reading, ingesting])
  assert.equal(pool.isIngestBusy, false)
  const inTurn = pool.runWhenIdle(() => taskOf('{"a":1}'))
  assert.equal(pool.isIngestBusy, true)
  await inTurn
  assert.equal(pool.isIngestBusy, false)
})

test('stop waits for what runs', async () => {
  const { pool } = createPool()
  await pool.run(taskOf('work'))
  const running = pool.run(taskOf('sleep 200'))
  await pool.stop()
  await running
})

test('the real worker: results come over whole, a damaged segment is quarantined', async () => {
  const { pool, quarantined } = createPool({ workerFile: REAL_WORKER })
  const task = taskOf('{"a":1}\n{"a":"x"}')
  const { batch } = await pool.run({ ...task, output: undefined })
  const [segment] = batch.segments
  assert.deepEqual([segment?.eventCount, batch.parts[0]?.accepted], [2, 2])
  const payload = Uint8Array.from(segment!.payload)
  const replayed = await replayOf(pool, payload)
  assert.deepEqual(
    Buffer.from(replayed.segments[0]!.block.bytes),
    Buffer.from(segment!.block.bytes),
  )
  const read = { payload, segmentId: '1', ingestedAtMs: 0, fromOrdinal: 1, toOrdinal: 2 }
  const { json } = await pool.run({ kind: 'read', reads: [{ ...read, newestFirst: false }] })
  assert.equal(JSON.parse(Buffer.from(json).toString()).payload.a, 'x')
  const query = { text: 'a:x', textFields: [], eventTime: undefined, limit: 10 }
  const reads = [{ ...read, fromOrdinal: 0, newestFirst: true }]
  const matched = await pool.run({ kind: 'match', reads, queries: [query], withRecords: true })
  assert.deepEqual([...matched.events.ordinal], [1])
  assert.deepEqual(Buffer.from(matched.events.json), Buffer.from(json))
  assert.deepEqual([...matched.queries[0]!.events], [0])
  const damaged = payload.slice(0, payload.length - 2)
  await assert.rejects(replayOf(pool, damaged), internal)
  assert.equal(quarantined.length, 1)
})

test('a review that nobody waits for any more is not begun', async () => {
  const { pool, quarantined } = createPool()
  const ahead = pool.run(taskOf('sleep 300'))
  const gone = new AbortController()
  const rules = { reads: [], redactFields: [], query: undefined }
  const review = pool.run({ kind: 'review', ...rules }, gone.signal)
  gone.abort()
  await assert.rejects(review, /nobody waits for this task/)
  await ahead
  // Its turn was given on, and the worker, which knows no reviews, did not see it.
  await pool.run(taskOf('next'))
  assert.equal(quarantined.length, 0)
  assert(pool.hasIdleThread)
})

test('quarantine files hold the bytes, are private, and are few', () => {
  const path = join(directory, 'quarantine')
  const task = taskOf('poison')
  const file = quarantineTask(path, task, 1_767_323_045_678)
  assert(file !== undefined && existsSync(file))
  assert.deepEqual(readFileSync(file), Buffer.from(task.batch.bytes))
  assert.deepEqual([statSync(file).mode & 0o777, statSync(path).mode & 0o777], [0o600, 0o700])
  for (let i = 1; i < 30; i++) quarantineTask(path, taskOf(`poison ${i}`), 1_767_323_045_678 + i)
  assert.equal(readdirSync(path).length, 16)
  assert.equal(quarantineTask(path, taskOf('more poison'), 1_767_323_099_999), undefined)
  assert(readdirSync(path).every((name) => !name.includes(':')))
})

test('equal bytes are quarantined once, whenever they come again', () => {
  const path = join(directory, 'tries')
  const damagedOf = (text: string, streamId: number): PoolTask => {
    return { kind: 'replay', streamId, segments: [{ payload: Buffer.from(text) }] }
  }
  const file = quarantineTask(path, damagedOf('damaged', 5), 1_767_323_045_678)
  for (let i = 1; i < 5; i++) {
    assert.equal(quarantineTask(path, damagedOf('damaged', 5), 1_767_323_045_678 + i), file)
  }
  assert.equal(readdirSync(path).length, 1)
  assert.notEqual(quarantineTask(path, damagedOf('damagec', 5), 1_767_323_045_678), file)
  const described: PoolTask = {
    kind: 'preview',
    sample: { kind: 'string', text: 'hunter2' },
    redactFields: [],
  }
  const first = quarantineTask(path, described, 0)
  assert.equal(quarantineTask(path, described, 1), first)
  const plainHash = createHash('sha256').update('hunter2').digest('hex')
  assert(!first?.includes(plainHash.slice(0, 8)), 'nor does the name let a secret be tried')
  assert.equal(readdirSync(path).length, 3)
})

test('quarantine files of what is not redacted yet hold a description instead of the bytes', () => {
  const secret = 'hunter2-hunter2'
  const { batch, ...rest } = taskOf(`{"password":"${secret}"}`)
  const settings = { ...batch.settings, redactSensitive: true, redactFields: [`x.${secret}`] }
  const part = { ...batch.parts[0]!, framing: 'bulk', options: { defaultIndex: secret } }
  const task = { ...rest, batch: { ...batch, settings, parts: [part] } }
  const sample = { kind: 'string', text: secret } as const
  const preview: PoolTask = { kind: 'preview', sample, redactFields: [] }
  const path = join(directory, 'described')
  const read = (of: PoolTask, nowMs: number) => {
    const file = quarantineTask(path, of, nowMs)
    assert(file !== undefined)
    assert(file.endsWith('.json'))
    assert.equal(statSync(file).mode & 0o777, 0o600)
    const text = readFileSync(file, 'utf8')
    assert(!text.includes('hunter2'), text)
    return JSON.parse(text)
  }
  const first = read(task, 0)
  const plainHash = createHash('sha256').update(batch.bytes).digest('hex')
  assert.deepEqual([first.kind, first.stream_id, first.bytes], ['ingest', '5', batch.bytes.length])
  assert.match(first.bytes_not_kept, /redact_sensitive/)
  assert.deepEqual(first.parts, [{ framing: 'bulk', bytes: part.end }])
  assert.notEqual(first.fingerprint, plainHash, 'a short secret cannot be tried against it')
  assert.equal(read(task, 1).fingerprint, first.fingerprint)
  assert.match(read(preview, 2).bytes_not_kept, /preview/)
})
