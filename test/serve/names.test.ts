/** Goal: names that look alike are alike; what cannot be seen is refused by its code point. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IngestError } from '../../src/errors.ts'
import { readName, readOptionalName } from '../../src/read/body-fields.ts'

test('names as people write them are taken, in one form', () => {
  for (const name of ['web', 'web 2', 'Zürich', '日本語 ログ', 'логи', 'a_b-c.d/e', '🚀', 'नमस्ते']) {
    assert.equal(readName('name', name), name.normalize('NFC'))
  }
  assert.equal(readName('name', 'Zu\u0308rich'), 'Z\u00fcrich')
  assert.equal(readOptionalName('name', ''), '')
})

test('what cannot be seen is refused, and named', () => {
  for (const [character, code] of [
    ['\u0000', '0000'],
    ['\n', '000A'],
    ['\u007f', '007F'],
    ['\u00a0', '00A0'],
    ['\u00ad', '00AD'],
    ['\u034f', '034F'],
    ['\u180e', '180E'],
    ['\u200b', '200B'],
    ['\u200f', '200F'],
    ['\u2028', '2028'],
    ['\u202e', '202E'],
    ['\u2066', '2066'],
    ['\u2800', '2800'],
    ['\u3000', '3000'],
    ['\u3164', '3164'],
    ['\ufe0f', 'FE0F'],
    ['\ufeff', 'FEFF'],
    ['\ud800', 'D800'],
    ['\u{e0041}', 'E0041'],
  ] as const) {
    for (const name of [`${character}web`, `we${character}b`, `web${character}`]) {
      assert.throws(
        () => readName('name', name),
        (error: IngestError) => {
          assert.equal(error.code, 'malformed')
          assert.match(error.message, new RegExp(`must not hold the character U\\+${code} `))
          return true
        },
      )
    }
  }
})

test('spaces at the ends are refused', () => {
  for (const name of [' web', 'web ', ' web ']) {
    assert.throws(() => readName('name', name), IngestError)
    assert.throws(() => readOptionalName('name', name), /must not begin or end with a space/)
  }
})
