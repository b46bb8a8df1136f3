/**
 * Goal: characters are in the classes that a reader would put them in.
 * Method: Unicode's categories and scripts as this Node.js has them, for every code point of the
 * scripts in use; where our ranges differ on purpose, the blocks are named.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  classOfCharacter,
  LETTER,
  LETTER_SPACELESS,
  SEPARATOR,
  SEPARATORS,
  SPACELESS,
} from '../../src/language/word-characters.ts'

const isBetween = (code: number, first: number, last: number) => code >= first && code <= last

/** Letterlike symbols: ℃, №, ™, ℹ. */
const isLetterlike = (code: number) => isBetween(code, 0x2100, 0x214f)

/** Scripts whose punctuation is not listed apart, so that it counts as letters. */
const isLetterAll = (code: number) => {
  const blocks = [
    ...[
      [0x2b0, 0x2ff],
      [0x370, 0x3ff],
      [0x480, 0x4ff],
      [0x6d5, 0x1cff],
      [0x1f00, 0x1fff],
    ],
    ...[
      [0x2c00, 0x2dff],
      [0x2e80, 0x2fdf],
      [0xa000, 0xabff],
      [0xfb00, 0xfdff],
      [0x218a, 0x218b],
    ],
    [0x10000, 0x1ffff],
  ]
  return blocks.some(([first, last]) => isBetween(code, first!, last!))
}

function* codePoints(): Generator<[code: number, character: string]> {
  for (let code = 0; code <= 0x10ffff; code++) {
    if (code < 0xd800 || code > 0xdfff) yield [code, String.fromCodePoint(code)]
  }
}

test('punctuation, symbols, spaces, controls and private use part words', () => {
  for (const [code, character] of codePoints()) {
    if (!/[\p{P}\p{S}\p{Z}\p{Cc}\p{Cf}\p{Co}]/u.test(character) || isLetterAll(code)) continue
    assert.equal(classOfCharacter(code), SEPARATOR, `U+${code.toString(16)} ${character}`)
  }
  const also = '،؟।።“”‘’—–→…、。，：；！？「」（）　\u00a0\u202f\u2007\u200b\ufeff\u00ad€£™\ufe0f'
  for (const character of also) assert.equal(classOfCharacter(character.codePointAt(0)!), 0)
  for (const character of '😀🚀✅⚠️①') assert.equal(classOfCharacter(character.codePointAt(0)!), 0)
})

test('letters and digits of every script make words', () => {
  for (const [code, character] of codePoints()) {
    if (!/[\p{L}\p{Nd}]/u.test(character) || isLetterlike(code) || code === 0x2e2f) continue
    assert.notEqual(classOfCharacter(code), SEPARATOR, `U+${code.toString(16)} ${character}`)
  }
})

test('scripts without spaces between words are told apart', () => {
  const scripts = 'Han Hira Kana Bopo Thai Laoo Khmr Mymr Tibt'.split(' ')
  const spaceless = new RegExp(`[${scripts.map((name) => `\\p{sc=${name}}`).join('')}]`, 'u')
  for (const [code, character] of codePoints()) {
    if (!/\p{L}/u.test(character) || isLetterlike(code) || code === 0x2e2f) continue
    // Signs of several scripts at once, and additions past the first plane.
    const isCommon = isBetween(code, 0x3000, 0x30ff) || code === 0xff70 || code > 0x10000
    if (isCommon || isBetween(code, 0xff9e, 0xff9f)) continue
    const expected = spaceless.test(character) ? LETTER_SPACELESS : LETTER
    assert.equal(classOfCharacter(code), expected, `U+${code.toString(16)} ${character}`)
  }
  for (const character of '東京ーあアㄅไທក') {
    assert.equal(classOfCharacter(character.codePointAt(0)!), LETTER_SPACELESS, character)
  }
})

test('the ranges are in order and apart', () => {
  for (const ranges of [SEPARATORS, SPACELESS]) {
    for (const [at, [first, last]] of ranges.entries()) {
      assert.ok(first <= last)
      assert.ok(first > (ranges[at - 1]?.[1] ?? 0))
    }
  }
})
