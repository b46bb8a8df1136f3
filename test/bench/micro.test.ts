/** Goal: no bench rots. Method: run each of them once on a small batch. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBatch } from '../../bench/bench.ts'
import { MICRO_BENCHES } from '../../bench/registry.ts'
import { runMicroBenches } from '../../bench/run-micro.ts'

test('every bench runs once without an error, or says why it cannot', async () => {
  const results = await runMicroBenches({ events: 50, timeMs: 0 })
  assert.equal(results.length, MICRO_BENCHES.length)
  for (const result of results) {
    if ('skipped' in result) assert.match(result.name, /simdjson/)
    else assert(result.microsPerEvent > 0, result.name)
  }
})

test('a filter keeps the baseline, which the multiples need', async () => {
  const results = await runMicroBenches({ events: 20, timeMs: 0, filter: 'gunzip' })
  assert.deepEqual(
    results.map(({ name }) => name),
    ['decode/json-parse', 'decode/gunzip'],
  )
})

test('names are unique and a batch holds its lines', () => {
  const names = MICRO_BENCHES.map(({ name }) => name)
  assert.equal(new Set(names).size, names.length)
  const { lines, body } = createBatch('json', { count: 3 })
  assert.equal(body.toString(), `${lines.join('\n')}\n`)
})
