/** Goal: a query's text searches for words, or for a substring where words would not be found. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  foldCase,
  isSpaceless,
  makeTextTest,
  placesOf,
  splitWords,
} from '../../src/language/words.ts'

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

const marked = (query: string, text: string) =>
  placesOf(makeTextTest(query), text).map(([start, end]) => text.slice(start, end))

test('where a text has what is looked for is told by its places', () => {
  assert.deepEqual(marked('timeout', 'Timeout, TIMEOUT timeouts'), ['Timeout', 'TIMEOUT'])
  assert.deepEqual(marked('timed out', 'timed-out; out timed out'), ['timed-out', 'timed out'])
  assert.deepEqual(marked('a a', 'a a a a a'), ['a a', 'a a'])
  assert.deepEqual(marked('重试', '请求timeout，重试3次'), ['重试'])
  assert.deepEqual(marked('{}', 'x{}{}'), ['{}', '{}'])
  assert.deepEqual(marked('', 'x'), [])
  // The sequence parts words, and the places are those of the text with it.
  assert.deepEqual(marked('debug', '\u001b[32mDEBUG\u001b[0m'), ['DEBUG'])
  // One letter folds to two characters.
  assert.deepEqual(marked('b', 'İİ b İ'), ['b'])
  assert.deepEqual(marked('İb', 'a İB c'), ['İB'])
})

test('a text has places just where it has the words', () => {
  const texts = fc.string({
    unit: fc.constantFrom('a', 'B', 'İ', ' ', '-', '重', '\u001b[1m', '\u212a', 'é'),
    maxLength: 12,
  })
  fc.assert(
    fc.property(texts, texts, (query, text) => {
      const test = makeTextTest(query)
      const folded = foldCase(text)
      const places = placesOf(test, text)
      if (test.kind === 'words') {
        const has = ` ${splitWords(folded).join(' ')} `.includes(` ${test.words.join(' ')} `)
        assert.equal(places.length > 0, has)
        for (const [start, end] of places) {
          assert.deepEqual(splitWords(foldCase(text.slice(start, end))), test.words)
        }
      } else if (test.kind === 'substring') {
        assert.equal(places.length > 0, folded.includes(test.text))
      }
    }),
  )
})
