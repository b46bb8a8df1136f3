/**
 * Goal: a large answer of the embedded engine, which is parsed in pieces, is what it would be in
 * one.
 * Method: the real engine, with texts that look like what stands between two rows.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startEmbeddedClickHouse } from '../../src/embedded/clickhouse.ts'
import type { EmbeddedStore } from '../../src/embedded/supervisor.ts'
import { MAIN_SLICE_CHARS } from '../../src/limits.ts'
import { ClickHouse, type EngineStats } from '../../src/store/clickhouse.ts'
import { MAIN_SLICE_ROWS } from '../../src/store/projection/reads/aggregate-store.ts'
import { makeDirectory, recordingLog, removeDirectory } from '../store/temporary.ts'

const dataDir = makeDirectory()
let store: EmbeddedStore
let clickHouse: ClickHouse

before(async () => {
  store = await startEmbeddedClickHouse({ dataDir, log: recordingLog() })
  clickHouse = new ClickHouse({ url: store.url, lane: 'read' })
})

after(async () => {
  await clickHouse?.close()
  await store?.stop()
  removeDirectory(dataDir)
})

const TEXT = '\n\t],\n},\n\t\t{"n": 1},\n\t\t{\n\t"data":\n\t[\n'

for (const rows of [0, 1, MAIN_SLICE_ROWS, 5 * MAIN_SLICE_ROWS]) {
  test(`${rows} rows`, async () => {
    let stats: EngineStats | undefined
    const found = await clickHouse.query(
      `SELECT number AS n, {text:String} AS text, [1, number] AS list, (1, {text:String}) AS pair,
         repeat('x', number % 200) AS filler
       FROM numbers({rows:UInt32})`,
      { text: TEXT, rows },
      { output_format_json_quote_64bit_integers: 0 },
      { onStats: (heard) => void (stats = heard) },
    )
    assert.deepEqual(
      found,
      Array.from({ length: rows }, (_, n) => {
        const filler = 'x'.repeat(n % 200)
        return { n, text: TEXT, list: [1, n], pair: [1, TEXT], filler }
      }),
    )
    if (rows > MAIN_SLICE_ROWS) assert.ok(JSON.stringify(found).length > 4 * MAIN_SLICE_CHARS)
    assert.equal(stats?.rowsRead, rows)
  })
}

test('an answer that fills a page of memory ends where it ends', async () => {
  // With statistics, whose numbers vary in length, these are of some 4096 bytes.
  for (let size = 3_885; size < 3_915; size++) {
    const [row] = await clickHouse.query<{ a: string }>(`SELECT repeat('x', ${size}) AS a`)
    assert.equal(row?.a.length, size)
  }
})
