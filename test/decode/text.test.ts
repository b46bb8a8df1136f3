/** Goal: each non-empty line of text becomes `{"message": line}`, valid JSON whatever it holds. */
import '../kernel/checked-kernels.ts'

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { EVENT_BYTES_MAX } from '../../src/limits.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'
import { decodePart } from './decode-part.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

test('lines, line ends and blank ones', () => {
  const { events, result } = decodePart('text', 'one\r\n\n\r\n  two \n\rthree\r\r\nlast')
  assert.deepEqual(
    events.map((text) => JSON.parse(text).message),
    ['one', '  two ', '\rthree\r', 'last'],
  )
  assert.deepEqual([result.accepted, result.items, result.lines], [4, 4, 6])
})

test('any line is read back as it was sent', () => {
  const line = fc
    .string({ unit: 'binary', minLength: 1, maxLength: 80 })
    .map((text) => Buffer.from(text.replace(/[\n\r]/g, '')).toString() || 'x')
  fc.assert(
    fc.property(fc.array(line, { minLength: 1, maxLength: 8 }), (lines) => {
      const { events } = decodePart('text', lines.join('\n'))
      assert.deepEqual(
        events.map((text) => JSON.parse(text)),
        lines.map((message) => ({ message })),
      )
    }),
    fuzzed(seed, 1_000, 300),
  )
})

test('every control character is escaped as JSON asks', () => {
  for (let byte = 0; byte < 0x80; byte++) {
    if (byte === 0x0a) continue // It ends a line.
    const line = `some words ${String.fromCharCode(byte)} and more`
    const { events } = decodePart('text', line)
    assert.equal(JSON.parse(events[0]!).message, line)
    const isEscaped = byte < 0x20 || byte === 0x22 || byte === 0x5c
    assert.equal(events[0]!.includes(line), !isEscaped)
  }
})

test('an escape at every place of a line, which ends anywhere', () => {
  const words = 'words of the log, é and ü and 日本, some more of them, and an end'
  const lines = []
  for (let at = 0; at <= words.length; at++) {
    for (const sign of ['"', '\\', '\u0001', '\t\r', '""']) {
      lines.push(`${words.slice(0, at)}${sign}${words.slice(at)}`, words.slice(0, at) + sign + sign)
    }
  }
  const { events, result } = decodePart('text', lines.join('\n'))
  const asText = lines.map((line) => JSON.stringify({ message: line.replace(/\r$/, '') }))
  assert.deepEqual(events, asText)
  assert.equal(result.acceptedBytes, Buffer.byteLength(lines.join('\n')))
})

test('more lines than there was room for, some of them blank, some too long', () => {
  const tooLong = 'x'.repeat(EVENT_BYTES_MAX + 1)
  const lines = Array.from({ length: 3_001 }, (_, i) => {
    if (i % 1_000 === 500) return tooLong
    return i % 7 === 3 ? '' : `${i} ${'"\u0002'.repeat(i % 50)}`
  })
  const { events, result } = decodePart('text', lines.join('\n'))
  const taken = lines.filter((line) => line !== '' && line !== tooLong)
  assert.deepEqual(
    events,
    taken.map((message) => JSON.stringify({ message })),
  )
  assert.deepEqual([result.accepted, result.rejected, result.lines], [taken.length, 3, 3_001])
  assert.deepEqual(
    result.rejects.map(({ line }) => line),
    [501, 1_501, 2_501],
  )
})

test('a line of EVENT_BYTES_MAX is taken even if it grows; one byte more is rejected alone', () => {
  const fits = '\u0001'.repeat(EVENT_BYTES_MAX)
  const { events, result } = decodePart('text', `${fits}\r\n${fits}x\nrest`)
  assert.deepEqual([result.accepted, result.rejected], [2, 1])
  const { index, line, code } = result.rejects[0]!
  assert.deepEqual([index, line, code], [1, 2, 'too_large'])
  assert.equal(JSON.parse(events[0]!).message, fits)
})
