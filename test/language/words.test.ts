/** Goal: a query's text searches for words, or for a substring where words would not be found. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isSpaceless, makeTextTest } from '../../src/language/words.ts'

test('letters of scripts without spaces are distinguished from all others', () => {
  for (const text of [
    '日本',
    'ひらがな',
    'カタカナ',
    'ㄅ',
    'ไทย',
    'ລາວ',
    'ខ្មែរ',
    'မြန်',
    'བོད',
    '々',
    'ー',
  ]) {
    assert.equal(isSpaceless(text), true, text)
    assert.equal(isSpaceless(`error ${text}`), true, text)
  }
  const others = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 {}=+\\;:,.-_'
  for (const character of [...others, 'Zürich', 'ошибка', 'σφάλμα', 'خطأ', 'שגיאה', '한국어']) {
    assert.equal(isSpaceless(character), false, character)
  }
})

test('words in any case, a substring without spaces between words, or nothing', () => {
  assert.deepEqual(makeTextTest('Timed out'), { kind: 'words', words: ['timed', 'out'] })
  assert.deepEqual(makeTextTest('scope'), { kind: 'words', words: ['scope'] })
  assert.deepEqual(makeTextTest('p99=5'), { kind: 'words', words: ['p99', '5'] })
  assert.deepEqual(makeTextTest('Error 日本'), { kind: 'substring', text: 'error 日本' })
  assert.deepEqual(makeTextTest('{}'), { kind: 'substring', text: '{}' })
  assert.deepEqual(makeTextTest(''), { kind: 'empty' })
})
