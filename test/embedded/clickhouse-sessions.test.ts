/**
 * Goal: inserts use the embedded engine's connections again, and nothing of one reaches the next.
 * Method: the real engine; a column that is filled with what a setting is during the insert.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startEmbeddedClickHouse } from '../../src/embedded/clickhouse.ts'
import type { EmbeddedStore } from '../../src/embedded/supervisor.ts'
import { ClickHouse } from '../../src/store/clickhouse.ts'
import { makeDirectory, recordingLog, removeDirectory } from '../store/temporary.ts'

const dataDir = makeDirectory()
let store: EmbeddedStore
let clickHouse: ClickHouse

before(async () => {
  store = await startEmbeddedClickHouse({ dataDir, log: recordingLog() })
  clickHouse = new ClickHouse({ url: store.url })
})

after(async () => {
  await clickHouse?.close()
  await store?.stop()
  removeDirectory(dataDir)
})

/** A Native block: one column `n`, one row. */
const BLOCK = Buffer.from('\x01\x01\x01n\x05UInt8\x07', 'latin1')

test('settings of one insert do not reach the next on its connection', async () => {
  await clickHouse.command(
    `CREATE TABLE told (n UInt8, setting String DEFAULT toString(getSetting('max_block_size')))
      ENGINE = Memory`,
  )
  const insert = (settings: Record<string, string>, blocks = [BLOCK]) => {
    return clickHouse.insertNative('INSERT INTO told (n) FORMAT Native', blocks, { settings })
  }
  const sizes = ['1001', '1002', '1001', '1003', '1004', '1005', '1006', '1002']
  for (const size of sizes) {
    await insert({ max_block_size: size })
    await insert({})
    // A failed one's connection is not used again.
    await assert.rejects(insert({ max_block_size: size }, [Buffer.from('no block')]))
  }
  await Promise.all(sizes.map((size) => insert({ max_block_size: size })))
  const rows = await clickHouse.query<{ setting: string; n: number }>(
    'SELECT setting, toUInt32(count()) AS n FROM told GROUP BY setting ORDER BY setting',
  )
  const [preset, ...others] = rows.reverse()
  assert.equal(preset?.n, sizes.length, 'those without a setting of their own')
  const expected = new Map<string, number>()
  for (const size of sizes) expected.set(size, (expected.get(size) ?? 0) + 2)
  assert.deepEqual(new Map(others.map(({ setting, n }) => [setting, n])), expected)
})
