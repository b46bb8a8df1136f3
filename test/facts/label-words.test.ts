/** Goal: words of levels and names of services are told apart, however alike their bytes are. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LEVELS, readLevel, SPELLED_LEVELS } from '../../src/model/event-labels.ts'
import { NAMES_KEPT_MAX, ServiceNames } from '../../workers/facts/service-names.ts'
import { levelOfText, NO_LEVEL } from '../../workers/tape/level-words.ts'

const levelOf = (text: string) => levelOfText(Buffer.from(`"${text}"`), 1, 1 + text.length)

test('each spelling is its level, in any case, and no part or extension of it is', () => {
  const known = new Map<string, string>(SPELLED_LEVELS)
  for (const [spelling, level] of SPELLED_LEVELS) {
    assert.equal(levelOf(spelling), LEVELS.indexOf(level) + 1, spelling)
    assert.equal(levelOf(spelling.toUpperCase()), LEVELS.indexOf(level) + 1, spelling)
    for (const other of [`${spelling}x`, spelling.slice(0, -1), `\0${spelling}`, `${spelling}\0`]) {
      if (!known.has(other)) assert.equal(levelOf(other), NO_LEVEL, JSON.stringify(other))
    }
  }
  assert.equal(levelOf(''), NO_LEVEL)
})

test('what is around a word does not count, as the model says', () => {
  const around = ['', ' ', '\t', '[', ']', '(', ')', '<', '>', ':', '\u001b[32m', '[0m', '\u001b']
  const words = ['info', 'WARN', 'e', '30', 'x', '', 'in[0mfo', '[1;2', 'é']
  for (const word of words) {
    for (const before of around) {
      for (const after of [...around, ' '.repeat(62)]) {
        const text = `${before}${word}${after}`
        const bytes = Buffer.from(text)
        const level = readLevel((path) =>
          path === 'level' ? { isNumber: false, text } : undefined,
        )
        const expected = level === undefined ? NO_LEVEL : LEVELS.indexOf(level) + 1
        assert.equal(levelOfText(bytes, 0, bytes.length), expected, JSON.stringify(text))
      }
    }
  }
  assert.equal(levelOf('\u001b[32minfo\u001b[39m'), LEVELS.indexOf('info') + 1)
  assert.equal(levelOf('[ERROR]'), LEVELS.indexOf('error') + 1)
})

test('names with the same length and the same few bytes have numbers of their own', () => {
  const names = new ServiceNames()
  const find = (text: string) => names.find(Buffer.from(text), 0, text.length)
  names.begin()
  const texts = Array.from({ length: 1_000 }, (_, i) => `s${String(i).padStart(4, '0')}-api-s`)
  const numbers = texts.map(find)
  assert.equal(new Set(numbers).size, texts.length)
  assert.deepEqual(texts.toReversed().map(find).toReversed(), numbers)
  const shown = numbers.map((number) => Buffer.from(names.nameOf(number)).toString())
  assert.deepEqual(shown, texts)
})

test('names past NAMES_KEPT_MAX are forgotten, and what comes then is new', () => {
  const names = new ServiceNames()
  const find = (text: string) => names.find(Buffer.from(text), 0, text.length)
  names.begin()
  for (let i = 0; i <= NAMES_KEPT_MAX; i++) find(`service-${i}`)
  names.begin()
  assert.equal(names.count, 1)
  assert.equal(Buffer.from(names.nameOf(find('service-7'))).toString(), 'service-7')
})
