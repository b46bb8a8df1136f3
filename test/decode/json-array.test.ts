/** Goal: arrays and documents are taken as a whole or not at all, an event on one line each. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEPTH_MAX, EVENT_BYTES_MAX, REPLY_ERRORS_MAX } from '../../src/limits.ts'
import { cpuNow } from '../support/cpu-time.ts'
import { decodePart, decodeParts } from './decode-part.ts'

test('elements are events, whatever white space is between them', () => {
  const { events, result } = decodePart('array', ' {"a":1} ,\r\n\t{"b":[1,\n2]}\n,{}')
  assert.deepEqual(events, ['{"a":1}', '{"b":[1, 2]}', '{}'])
  assert.deepEqual([result.accepted, result.items, result.lines], [3, 3, 3])
})

test('a document over several lines is stored on one, its strings untouched', () => {
  const { events, result } = decodePart('document', '\n{\n  "a\\n": "x\\ny",\r\n  "b": [\n]\n}\n')
  assert.deepEqual(events, ['{   "a\\n": "x\\ny",\r   "b": [ ] }'])
  assert.deepEqual([result.accepted, result.lines], [1, 6])
})

test('elements that are no events are rejected alone, by index and line', () => {
  const deep = `{"a":${'['.repeat(DEPTH_MAX)}",]}"${']'.repeat(DEPTH_MAX)}}`
  const large = `{"a":"${'x'.repeat(EVENT_BYTES_MAX)}"}`
  const { events, result } = decodePart('array', `{"a":1},\n7,\n${deep},[{}],\n\n${large},{"b":2}`)
  assert.deepEqual(events, ['{"a":1}', '{"b":2}'])
  assert.deepEqual(
    result.rejects.map(({ index, line, code }) => [index, line, code]),
    [
      [1, 2, 'not_an_object'],
      [2, 3, 'too_deep'],
      [3, 3, 'not_an_object'],
      [4, 5, 'too_large'],
    ],
  )
})

test('a syntax error anywhere fails the part: nothing of it is stored', () => {
  const bad = ['{"a":1},', ',{"a":1}', '{"a":1} {"b":2}', '{"a":1},{"b"', '', ' \n ', '{"a":1}]']
  bad.push('{"a":1},,{"b":2}', '{"a":"x', '{"a":1}}', 'nul', '{"a":\u00a01}', '[', '{"a":[1}')
  for (const body of bad) {
    const [part, next] = decodeParts([
      ['array', body],
      ['array', '{"next":1}'],
    ])
    assert.equal(part?.result.fatal?.code, 'malformed', body)
    assert.deepEqual([part?.events, part?.result.accepted, part?.result.acceptedBytes], [[], 0, 0])
    assert.deepEqual(next?.events, ['{"next":1}'], body)
  }
})

test('the error names the line and never its contents', () => {
  const [, { result }] = decodeParts([
    ['document', '{"a":\n1}'],
    ['document', '{\n"secret":\n"hunter2" x}'],
  ]) as [unknown, { result: { fatal?: { line: number; message: string } } }]
  assert.equal(result.fatal?.line, 3)
  assert.match(result.fatal?.message ?? '', /^invalid JSON: expected ',' or the closing bracket$/)
  const cut = decodePart('document', '{"a":{\n"b":1')
  assert.match(cut.result.fatal?.message ?? '', /the body ends inside a value/)
})

test('a value cannot be completed by the part after it', () => {
  for (const [head, tail] of [
    ['{"a":1', ',"b":2}'],
    ['{"a":', '{}}'],
    ['{"a":[', ']}'],
    ['{"a"', ':1}'],
  ] as const) {
    const [part] = decodeParts([
      ['document', head],
      ['document', tail],
    ])
    assert.match(part?.result.fatal?.message ?? '', /the body ends inside a value/, head)
  }
})

test('many rejects in a long array cost no search for lines that are not reported', () => {
  const count = 200_000
  const startedAt = cpuNow()
  const { result } = decodePart('array', Array.from({ length: count }, () => '\n1').join(','))
  assert.deepEqual([result.rejected, result.rejects.length], [count, REPLY_ERRORS_MAX])
  assert(cpuNow() - startedAt < 3_000)
})
