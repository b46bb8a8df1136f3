/**
 * Goal: what the scanner says depends on the value alone, and costs time in proportion to it.
 * Method: values at every offset and in every spelling; hostile values of n and 4n bytes. What it
 * finds and leaves is measured by `bench/redaction`, whose report is a test as well.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../../bench/random.ts'
import { drawText } from '../../../bench/redaction/generator.ts'
import { scanValue, spellEscaped, spellPlain } from '../../../bench/redaction/measure-values.ts'
import {
  drawSecret,
  FIELD_SECRETS,
  TEXT_CREDENTIALS,
  VALUE_SECRETS,
} from '../../../bench/redaction/sets.ts'
import {
  NO_SECRET,
  SECRET_KINDS,
  SecretScanner,
} from '../../../workers/transform/secrets/secrets.ts'
import { cpuNow } from '../../support/cpu-time.ts'
import { testSeed } from '../../support/fuzzing.ts'

const seed = testSeed()
const random = new Random(seed)

test('a secret is found at every offset of its value and of its batch', (t) => {
  t.diagnostic(`seed ${seed}`)
  for (const name of VALUE_SECRETS.keys()) {
    const secret = drawSecret(random, name)
    for (let offset = 0; offset < 36; offset++) {
      const value = `${'lorem ipsum dolor sit amet, consectetur'.slice(0, offset)} ${secret}`
      assert.notEqual(scanValue(value, spellPlain), undefined, `${name} at ${offset}`)
    }
  }
})

test('a value is judged by itself: its neighbours neither hide nor complete it', () => {
  const scanner = new SecretScanner()
  const secret = drawSecret(random, 'github')
  const bytes = Buffer.from(`x@y${secret}://a:b@c PRIVATE KEY${' '.repeat(16)}`)
  scanner.begin(bytes)
  const start = 3
  const end = start + secret.length
  assert.notEqual(scanner.scan(start, end), NO_SECRET)
  assert.equal(scanner.scan(start, end - 1), NO_SECRET)
  assert.equal(scanner.scan(start + 1, end), NO_SECRET)
  assert.equal(scanner.scan(end + 3, end + 6), NO_SECRET)
})

test('every kind has a maker of samples', () => {
  const found = new Set<string>()
  for (let round = 0; round < 40; round++) {
    for (const name of VALUE_SECRETS.keys()) {
      const kind = scanValue(drawSecret(random, name), spellPlain)
      if (kind !== undefined) found.add(kind)
    }
  }
  for (const [, , patterns] of FIELD_SECRETS) {
    const kind = scanValue(drawText(random, patterns), spellPlain)
    if (kind !== undefined) found.add(kind)
  }
  for (const sample of TEXT_CREDENTIALS) {
    const kind = scanValue(drawText(random, sample), spellPlain)
    if (kind !== undefined) found.add(kind)
  }
  assert.deepEqual(
    SECRET_KINDS.filter((kind) => !found.has(kind)),
    [],
  )
})

test('a token that touches more of its alphabet is another word', () => {
  const key = drawSecret(random, 'aws')
  for (const value of [`x${key}`, `${key}A`, `_${key}`, `${key}_`, `0${key}`]) {
    assert.equal(scanValue(value, spellPlain), undefined)
    assert.equal(scanValue(value, spellEscaped), undefined)
  }
  for (const value of [key, `/${key}/`, `-${key}-`, `=${key}=`, `.${key}.`, `"${key}"`]) {
    assert.equal(scanValue(value, spellPlain), 'aws_access_key', value.replace(key, '#'))
    assert.equal(scanValue(value, spellEscaped), 'aws_access_key', value.replace(key, '#'))
  }
})

/** Repeated to any length: each byte of them begins some candidate. */
const HOSTILE = [
  `AK${'IA'}`,
  'eyeyey',
  'ey.',
  `ey${'a'.repeat(17)}.`,
  'sk-',
  `sk-${'proj'}-`,
  `sk-T3${'BlbkFJ'}-`,
  `gh${'p'}_-`,
  `xox${'b'}-`,
  'SG.',
  `gl${'c'}_/`,
  'a://b:c',
  'a://@',
  '://:@@',
  '-----BEGIN ',
  'PRIVATE KEY',
  'A PRIVATE KEY-',
  '-----END PRIVATE KEY',
  'Bearer a ',
  'Basic  ',
  'Bearer\u0020\u0020',
  '%20',
  '\u001b[0m',
  '\\u0000',
  '.=~/+-',
  'hooks.slack.com/',
]

/** How long the first `end` bytes take, at best of some runs. */
function bestMs(value: Buffer, end: number, scan: 'scan' | 'scanEscaped'): number {
  const scanner = new SecretScanner()
  let best = Number.POSITIVE_INFINITY
  for (let run = 0; run < 3; run++) {
    const start = cpuNow()
    scanner.begin(value)
    scanner[scan](0, end)
    best = Math.min(best, cpuNow() - start)
  }
  return best
}

/** Four times as long takes four times the time; what grew with the square would take 16. */
function isLinear(value: Buffer, scan: 'scan' | 'scanEscaped'): boolean {
  for (let tries = 0; tries < 5; tries++) {
    if (bestMs(value, 160_000, scan) < 8 * bestMs(value, 40_000, scan) + 1) return true
  }
  return false
}

/** Repeated and cut to 160,000 bytes, with what stands behind a value in a batch. */
function longValue(unit: string): Buffer {
  const text = unit.repeat(Math.ceil(160_000 / unit.length)).slice(0, 160_000)
  return Buffer.from(`${text}"\n${' '.repeat(16)}`)
}

test('hostile values cost time in proportion to their length', () => {
  for (const unit of HOSTILE) {
    assert(isLinear(longValue(unit), 'scan'), JSON.stringify(unit))
  }
})

test('so do hostile values that are spelled, and spelled once more', () => {
  // Units of an even length, so that no cut leaves half an escape: 16 bytes or a divisor.
  const spelled = ['\\\\', '\\\\u0041\\n', '\\\\x22\\\\033', '\\/', '\\\\\\/a://b:c@d']
  for (const unit of [...spelled, ...HOSTILE.filter((each) => each.includes('\\'))]) {
    const value = longValue(JSON.stringify(unit).slice(1, -1).padEnd(16, '@'))
    assert(isLinear(value, 'scanEscaped'), JSON.stringify(unit))
  }
})

test('a secret is found in JSON within JSON within a string, in any spelling of it', () => {
  const spellings: ((value: string) => string)[] = [
    (value) => JSON.stringify({ v: value }),
    (value) => JSON.stringify({ v: value }).replaceAll('/', '\\/'),
    (value) => JSON.stringify({ v: value }).replaceAll('"', '\\u0022').replaceAll('+', '\\u002B'),
    (value) => JSON.stringify({ v: value }).replaceAll('\\', '\\x5C').replaceAll('"', '\\x22'),
  ]
  const secrets = ['url-password', 'slack-webhook', 'github', 'pem-cut-head', 'fly', 'basic']
  for (const name of secrets) {
    for (const inner of spellings) {
      for (const outer of [(value: string) => value, ...spellings]) {
        const secret = drawSecret(random, name)
        const value = outer(inner(secret))
        assert.notEqual(scanValue(value, spellPlain), undefined, `${name} in ${value}`)
      }
    }
  }
})

test('prose behind Bearer and Basic is none, and placeholders in a URL are no password', () => {
  for (const value of [
    'Applied Basic AuthenticationEntryPoint to /actuator',
    'Bearer OAuth2AuthorizationServerConfiguration',
    'basic shop-authentication-provider-v2 loaded',
    'postgres://app:$DB_PASSWORD@db/shop',
    'postgres://%(user)s:%(password)s@%(host)s/shop',
    'postgres://app:***HIDDEN***@db/shop',
  ]) {
    assert.equal(scanValue(value, spellPlain), undefined, value)
  }
  for (const value of [
    `Bearer ${random.hex(32)}.`,
    'Basic dXNlcjpob3JzZWJhdHRlcnk=.',
    'Basic c3ZjOlltQzlKcjdhRmg=', // One digit, few capitals.
    'Basic dXNlcjphYWFpaWFhaWE=', // Neither digits nor many capitals.
    `postgres://app:$${'D'}b7pass@db/shop`,
    'postgres://app:p%40ss@db/shop',
  ]) {
    assert.notEqual(scanValue(value, spellPlain), undefined, value)
  }
})
