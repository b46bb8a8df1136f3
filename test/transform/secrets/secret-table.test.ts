/**
 * Goal: any line of the table of formats is found, bounded and linear, whoever adds it.
 * Method: samples drawn from the line's own pattern, alone and in every surrounding; cut and grown
 * ones against JavaScript's expressions of the whole table; the line's beginnings, repeated.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../../bench/random.ts'
import { scanValue, spellPlain } from '../../../bench/redaction/measure-values.ts'
import { SURROUNDINGS } from '../../../bench/redaction/sets.ts'
import {
  SECRET_FORMATS,
  type SecretFormat,
} from '../../../workers/transform/secrets/format-matcher.ts'
import {
  type PatternStep,
  parsePatterns,
} from '../../../workers/transform/secrets/secret-pattern.ts'
import { SECRET_TABLE } from '../../../workers/transform/secrets/secret-table.ts'
import { NO_SECRET, SecretScanner } from '../../../workers/transform/secrets/secrets.ts'
import { cpuNow } from '../../support/cpu-time.ts'
import { testSeed } from '../../support/fuzzing.ts'

const seed = testSeed()
const random = new Random(seed)
const ALNUM = /[A-Za-z0-9]/
/** What a class without an upper bound gets more than it has to. */
const MORE_BYTES = 12
/** The value in which the cost of a line is taken, and what a byte of it may cost. */
const HOSTILE_BYTES = 60_000
const BYTE_NS_MAX = 600

function drawStep({ literal, members, min, max }: PatternStep): string {
  if (literal.length > 0) return Buffer.from(literal).toString()
  const chars = [...members.keys()].filter((byte) => members[byte] === 1).map(toChar)
  // Neither side of a token may be taken for the text around it.
  const plain = chars.filter((char) => ALNUM.test(char))
  const count = Math.min(max, min + random.below(MORE_BYTES))
  return Array.from({ length: count }, () => random.pick(plain.length > 0 ? plain : chars)).join('')
}

function toChar(byte: number): string {
  return String.fromCharCode(byte)
}

function drawFormat({ behind, steps }: SecretFormat): string {
  return [...behind, ...steps].map(drawStep).join('')
}

/** Some are no sample: letters alone, or a word of placeholders. */
function drawFound(format: SecretFormat): string | undefined {
  for (let tries = 0; tries < 20; tries++) {
    const text = drawFormat(format)
    if (scanValue(text, spellPlain) !== undefined) return text
  }
  return undefined
}

test('a sample of each line is found, alone and in every surrounding', (t) => {
  t.diagnostic(`seed ${seed}`)
  for (const format of SECRET_FORMATS) {
    const text = drawFound(format)
    assert(text !== undefined, `${format.kind}: ${drawFormat(format)}`)
    for (const surrounding of SURROUNDINGS) {
      const value = surrounding.replace('#', () => text)
      assert.notEqual(scanValue(value, spellPlain), undefined, `${format.kind} in ${surrounding}`)
    }
  }
})

const WHOLE = SECRET_TABLE.flatMap(([, ...patterns]) => patterns).map((pattern) => {
  // No word may go on on either side, nor behind it what the last class has.
  return new RegExp(`(?<![\\w])(?:${pattern})(?!\\w)`)
})
const JWT = /ey[\w-]{10,}\./

test('what is found cut, grown or in a word is what an expression of the table finds', () => {
  for (const format of SECRET_FORMATS) {
    const text = drawFormat(format)
    const at = random.below(text.length)
    const changed = [
      text.slice(0, -1),
      text.slice(1),
      `x${text}`,
      `${text}A`,
      `_${text}_`,
      text.slice(0, at) + text.slice(at + 1),
      `${text.slice(0, at)} ${text.slice(at)}`,
    ]
    for (const value of changed) {
      const kind = scanValue(value, spellPlain)
      // What stands behind a scheme or the name of a secret, or is a JWT, is found by other means.
      if (kind === undefined || kind === 'authorization' || JWT.test(value)) continue
      if (kind === 'assignment') continue
      assert(
        WHOLE.some((expression) => expression.test(value)),
        `${format.kind}: ${kind} in ${value} of ${text}`,
      )
    }
  }
})

/** At best of three runs, or of one that is cheap enough. */
function costNs(value: Buffer): number {
  const scanner = new SecretScanner()
  let best = Number.POSITIVE_INFINITY
  for (let run = 0; run < 3 && best * 1e6 >= BYTE_NS_MAX * HOSTILE_BYTES; run++) {
    const start = cpuNow()
    scanner.begin(value)
    scanner.scan(0, HOSTILE_BYTES)
    best = Math.min(best, cpuNow() - start)
  }
  return (best * 1e6) / HOSTILE_BYTES
}

test('no line costs more than time in proportion, whatever of it is repeated', () => {
  for (const format of SECRET_FORMATS) {
    const text = drawFormat(format)
    const head = text.slice(0, 4)
    for (const unit of [head, `${head}-`, `${text.slice(0, -1)}-`, `${text.slice(0, 24)}.`]) {
      const repeated = unit.repeat(Math.ceil(HOSTILE_BYTES / unit.length))
      const value = Buffer.from(`${repeated.slice(0, HOSTILE_BYTES)}"\n${' '.repeat(16)}`)
      let cost = costNs(value)
      // Once more, should the machine have been busy.
      for (let tries = 0; tries < 3 && cost > BYTE_NS_MAX; tries++) cost = costNs(value)
      assert(cost < BYTE_NS_MAX, `${format.kind}: ${cost} ns a byte of ${unit}`)
    }
  }
})

test('all of them at once, in a value that each goes on in, are linear as well', () => {
  const heads = SECRET_FORMATS.map((format) => drawFormat(format).slice(0, 8)).join('-')
  const filler = 'a'.repeat(1_000)
  const unit = `${heads}-${filler}`
  const value = Buffer.from(
    `${unit.repeat(Math.ceil(HOSTILE_BYTES / unit.length)).slice(0, HOSTILE_BYTES)}"\n`,
  )
  assert.equal(new SecretScanner().scan(0, 0), NO_SECRET)
  assert(costNs(Buffer.concat([value, Buffer.alloc(16)])) < 4 * BYTE_NS_MAX)
})

test('a pattern that would have to go back is no pattern', () => {
  const unclear = ['ab[a-z]{2,9}c', 'ab\\w{3,}[A-Z]', 'ab{3}', 'a|b', 'ab[a-z]{3,600}', 'ab.']
  for (const pattern of unclear) assert.throws(() => parsePatterns(pattern), pattern)
  assert.equal(parsePatterns('a(?:b|cd|)_[0-9]{2,}').length, 3)
})
