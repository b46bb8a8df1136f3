/**
 * Goal: whatever fails in the engine, its places are given back: who comes later is served.
 * Method: an addon that fails when it is told to, many times more often than there are places.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Addon,
  ClickHouseEngine,
  type Connection,
  type Statement,
} from '../../src/embedded/clickhouse-engine.ts'
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

  StreamQuery(): never {
    throw new Error('run failed')
  }

  async StreamFetch(): Promise<never> {
    throw new Error('not asked for')
  }

  StreamCancel(): void {}
}

const SETTINGS = { defaults: {}, bounds: {} }

function statement(lane: StoreLane, params = new Map<string, string>()): Statement {
  const signal = AbortSignal.timeout(2_000)
  const common = { database: undefined, settings: new Map(), queryId: '' }
  return { ...common, sql: 'run', params, lane, isInsert: lane === 'write', signal }
}

for (const step of STEPS) {
  test(`a ${step} that fails leaks no place`, async () => {
    const addon = new FailingAddon()
    const engine = await ClickHouseEngine.open('', '', SETTINGS, addon)
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
    assert.equal(addon.open, 3, 'of all only the two of the engine and that of the insert')
    await engine.close(0)
    assert.equal(addon.open, 0)
  })
}

test('a stream that cannot be begun leaks no place', async () => {
  const addon = new FailingAddon()
  const engine = await ClickHouseEngine.open('', '', SETTINGS, addon)
  for (let n = 0; n < 2 * ENGINE_READS_MAX; n++) {
    await assert.rejects(
      engine.stream(statement('read'), async () => true),
      /run failed/,
    )
  }
  await engine.run(statement('read'))
  assert.equal(addon.open, 2)
})
