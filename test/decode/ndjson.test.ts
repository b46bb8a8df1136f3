/** Goal: NDJSON is decoded line by line; whatever is wrong with a line stays in that line. */
import '../kernel/checked-kernels.ts'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DEPTH_MAX, EVENT_BYTES_MAX, REPLY_ERRORS_MAX } from '../../src/limits.ts'
import { decodePart, decodeParts } from './decode-part.ts'

test('each line is an event; blank lines and white space around do not count', () => {
  const { events, result } = decodePart('ndjson', '{"a":1}\r\n\n \t\r\n  {"b":2} \n{}\n\n{"c":[3]}')
  assert.deepEqual(events, ['{"a":1}', '{"b":2}', '{}', '{"c":[3]}'])
  assert.deepEqual([result.accepted, result.rejected, result.items], [4, 0, 4])
  assert.equal(result.lines, 7)
})

test('a bad line is rejected alone, by its index, line and reason', () => {
  const deep = `{"a":${'['.repeat(DEPTH_MAX)}${']'.repeat(DEPTH_MAX)}}`
  const lines = ['{"a":1}', '', '{"a":', '[1]', '"x"', '7', 'null', deep, '{"a":1}{}', '{"b":2}']
  const { events, result } = decodePart('ndjson', lines.join('\n'))
  assert.deepEqual(events, ['{"a":1}', '{"b":2}'])
  assert.deepEqual(
    result.rejects.map(({ index, line, code }) => [index, line, code]),
    [
      [1, 3, 'malformed'],
      [2, 4, 'not_an_object'],
      [3, 5, 'not_an_object'],
      [4, 6, 'not_an_object'],
      [5, 7, 'not_an_object'],
      [6, 8, 'too_deep'],
      [7, 9, 'malformed'],
    ],
  )
  assert.deepEqual(result.rejectedByCode, { malformed: 2, not_an_object: 4, too_deep: 1 })
  assert.equal(result.items, 9)
  assert.equal(result.acceptedBytes, 15, 'as sent: nothing ends the last line')
})

test('an event of EVENT_BYTES_MAX is taken, a byte more is rejected alone', () => {
  const event = (bytes: number) => `{"a":"${'x'.repeat(bytes - 8)}"}`
  const [fits, over] = [event(EVENT_BYTES_MAX), event(EVENT_BYTES_MAX + 1)]
  const { events, result } = decodePart('ndjson', `${over}\n${fits}\n{"a":1}\n${over}`)
  assert.deepEqual(
    events.map((text) => text.length),
    [EVENT_BYTES_MAX, 7],
  )
  assert.deepEqual(
    result.rejects.map(({ index, line, code }) => [index, line, code]),
    [
      [0, 1, 'too_large'],
      [3, 4, 'too_large'],
    ],
  )
})

test('REPLY_ERRORS_MAX rejects are described, all are counted', () => {
  const { result } = decodePart('ndjson', 'x\n'.repeat(REPLY_ERRORS_MAX + 5))
  assert.equal(result.rejects.length, REPLY_ERRORS_MAX)
  assert.equal(result.rejected, REPLY_ERRORS_MAX + 5)
  assert.equal(result.rejectedByCode.malformed, REPLY_ERRORS_MAX + 5)
})

test('messages name the place and never hold contents', () => {
  const { result } = decodePart('ndjson', '  {"secret":"hunter2" "b"}')
  assert.equal(result.rejects[0]?.message.includes('hunter2'), false)
  assert.match(
    result.rejects[0]?.message ?? '',
    /^invalid JSON at byte 23 of the line: expected ','/,
  )
})

test('lines after a document of the same batch are still lines', () => {
  const [, blank, last] = decodeParts([
    ['document', '{"a":\n1}'],
    ['ndjson', '\n \n'],
    ['ndjson', '\n{"b":2}\n\nx'],
  ])
  assert.deepEqual([blank?.events, blank?.result.items, blank?.result.lines], [[], 0, 2])
  assert.deepEqual(last?.events, ['{"b":2}'])
  assert.deepEqual([last?.result.lines, last?.result.rejects[0]?.line], [4, 4])
})
