/**
 * Goal: whatever fails in the engine, its places are given back: who comes later is served.
 * Method: an addon that fails when it is told to, many times more often than there are places.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Addon, Connection } from '../../src/embedded/chdb-addon.ts'
import { ClickHouseEngine, type Statement } from '../../src/embedded/clickhouse-engine.ts'
import type { Read, Reads } from '../../src/embedded/read-threads.ts'
import { ENGINE_PLACES_MAX, ENGINE_READS_MAX } from '../../src/limits.ts'
import { STORE_LANES, type StoreLane } from '../../src/store/store-lane.ts'

const STEPS = ['connect', 'set', 'run', 'close'] as const
type Step = (typeof STEPS)[number]

class FailingAddon implements Addon {
  failing: Step | undefined
  open = 0

  #fail(step: Step): void {
    if (step === this.failing) throw new Error(`${step} failed`)
  }

  CreateConnection(): Connection {
    this.#fail('connect')
    this.open++
    return {} as Connection
  }

  CloseConnection(): void {
    this.open--
    this.#fail('close')
  }

  async QueryAsyncConnection(_: Connection, sql: string) {
    this.#fail(sql.startsWith('SET') ? 'set' : 'run')
    return { bytes: new Uint8Array() }
  }

  QueryWithConnection(): never {
    throw new Error('reads have an addon of their own')
  }
}

/** The threads of reads, without threads: their runs fail, too. */
class FailingReads implements Reads {
  readonly #addon: FailingAddon
  runs = 0
  isClosed = false

  constructor(addon: FailingAddon) {
    this.#addon = addon
  }

  async run({ session, own, sql }: Read): Promise<Uint8Array> {
    this.runs++
    if (this.#addon.failing !== undefined) throw new Error(`${this.#addon.failing} failed`)
    return Buffer.from([...session, '|', ...own, '|', sql].join('\n'))
  }

  async close(): Promise<void> {
    this.isClosed = true
  }
}

async function open() {
  const addon = new FailingAddon()
  const reads = new FailingReads(addon)
  const parts = { addon, openReads: async () => reads }
  return { addon, reads, engine: await ClickHouseEngine.open('', '', SETTINGS, parts) }
}

const SETTINGS = { defaults: {}, bounds: {} }

function statement(lane: StoreLane, params = new Map<string, string>()): Statement {
  const signal = AbortSignal.timeout(2_000)
  const common = { database: undefined, settings: new Map(), queryId: '' }
  return { ...common, sql: 'run', params, lane, isInsert: lane === 'write', signal }
}

for (const step of STEPS) {
  test(`a ${step} that fails leaks no place`, async () => {
    const { addon, engine } = await open()
    const failures = STORE_LANES.length * ENGINE_PLACES_MAX
    addon.failing = step
    // With a parameter a session is not used again, but closed.
    const params = new Map([['p', 'x']])
    for (let n = 0; n < failures; n++) {
      const lane = STORE_LANES[n % STORE_LANES.length]!
      await assert.rejects(engine.run(statement(lane, params)), new RegExp(`${step} failed`))
    }
    addon.failing = undefined
    for (const lane of STORE_LANES) await engine.run(statement(lane))
    assert.equal(addon.open, 2, 'of all only the one of the engine and that of the insert')
    await engine.close(0)
    assert.equal(addon.open, 0)
  })
}

test('a read on a thread that fails leaks no place', async () => {
  const { addon, reads, engine } = await open()
  const read = { ...statement('read'), sql: 'SELECT 1 FORMAT JSON', database: 'd`b' }
  addon.failing = 'run'
  for (let n = 0; n < 2 * ENGINE_READS_MAX; n++) {
    await assert.rejects(engine.run(read), /run failed/)
  }
  addon.failing = undefined
  const sent = Buffer.from(await engine.run(read)).toString()
  assert.match(sent, /^USE `d\\`b`\n\|\nSET log_comment = '.*'\n\|\nSELECT 1 FORMAT JSON$/)
  assert.equal(addon.open, 1, 'that of the engine')
  await engine.close(0)
  assert.ok(reads.isClosed)
})

test('only reads of text run on the threads of reads', async () => {
  const { reads, engine } = await open()
  for (const [lane, sql, runs] of [
    ['read', 'SELECT 1 FORMAT Native', 0],
    ['write', 'SELECT 1 FORMAT JSON', 0],
    ['control', 'SELECT 1 FORMAT JSONEachRow', 0],
    ['read', "SELECT ' FORMAT JSON'", 0],
    ['read', "SELECT '\0' FORMAT JSON", 0],
    ['read', 'SELECT 1 \nFORMAT JSONEachRow', 1],
  ] as const) {
    reads.runs = 0
    await engine.run({ ...statement(lane), isInsert: false, sql })
    assert.equal(reads.runs, runs, sql)
  }
})
