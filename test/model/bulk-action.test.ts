/** Goal: bytes alone tell actions from documents, in time linear in the line. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  BULK_OPERATIONS,
  bulkActionAt,
  bulkOperation,
  bulkValueStart,
} from '../../src/model/bulk-action.ts'
import { modelOperation } from '../decode/bulk-model.ts'
import { cpuNow } from '../support/cpu-time.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

function operationOf(line: string): string | undefined {
  const action = bulkActionAt(Buffer.from(`${line}\n{"index":{}}\n`), 0)
  return action < 0 ? undefined : BULK_OPERATIONS[bulkOperation(action)]
}

test('the operation may stand anywhere at the top level', () => {
  for (const [line, operation] of [
    ['{"index":{}}', 'index'],
    ['{"create":{"_index":"x"}}', 'create'],
    [' \t{ "update" :\r{}}\r', 'update'],
    ['{"attempts":0,"delete":{}}', 'delete'],
    ['{"a":{"b":[1,"}"]},"b":"\\"","create":{},"index":{}}', 'create'],
    ['{"index":null,"create":{}}', 'create'],
    ['{"index":{ broken', 'index'],
  ] as const) {
    assert.equal(operationOf(line), operation, line)
  }
})

test('what has no such key with an object is no action', () => {
  for (const line of [
    '',
    '  ',
    'x',
    '[{"index":{}}]',
    '{"index":[]}',
    '{"index":"x"}',
    '{"Index":{}}',
    '{"indexes":{}}',
    '{"inde":{}}',
    '{"\\u0069ndex":{}}',
    '{"a":{"index":{}}}',
    '{"a":"index\\":{}"}',
    '{"a":1 "index":{}}',
    '{"a":1}{"index":{}}',
    '{"a',
    '{"a\\',
    '{"index"',
    '{"index":',
    '{index:{}}',
  ]) {
    assert.equal(operationOf(line), undefined, line)
  }
})

test('the position is where the object of the operation begins', () => {
  const line = '{"a":[1], "index" : {"_id":"1"}}\n'
  assert.equal(bulkValueStart(bulkActionAt(Buffer.from(line), 0)), line.indexOf('{"_id"'))
})

test('any line is judged as a tokenizer judges it', () => {
  const piece = fc.constantFrom(
    ...['{', '}', '[', ']', '"', ',', ':', '\\', ' ', 'x', '1', '"a"', '"a":', '"index":{', '{"'],
    ...['"index"', '"create":', '"delete":{}', '"update":{}}', '"index":[],', '"a":"b",'],
  )
  const line = fc.array(piece, { maxLength: 14 }).map((pieces) => pieces.join(''))
  fc.assert(
    fc.property(line, fc.boolean(), (text, isObject) => {
      const whole = isObject ? `{${text}` : text
      assert.equal(operationOf(whole), modelOperation(whole))
    }),
    fuzzed(seed, 20_000, 400),
  )
})

test('hostile lines take linear time', () => {
  const size = 4_000_000
  for (const line of [
    `{"a":${'['.repeat(size)}`,
    `{${'"a":1,'.repeat(size / 6)}`,
    `{"${'\\"'.repeat(size / 2)}`,
    `${' '.repeat(size)}`,
    `{"a":${'"index":{'.repeat(size / 9)}`,
  ]) {
    const startedAt = cpuNow()
    assert.equal(operationOf(line), undefined)
    assert(cpuNow() - startedAt < 1_000)
  }
})
