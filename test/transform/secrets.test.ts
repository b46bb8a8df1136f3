/**
 * Goal: what the scanner says depends on the value alone, and costs time in proportion to it.
 * Method: values at every offset and in every spelling; hostile values of n and 4n bytes. What it
 * finds and leaves is measured by `bench/redaction`, whose report is a test as well.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../bench/random.ts'
import { scanValue, spellEscaped, spellPlain } from '../../bench/redaction/report.ts'
import { drawSecret, SECRET_MAKERS } from '../../bench/redaction/samples.ts'
import { NO_SECRET, SECRET_KINDS, SecretScanner } from '../../workers/transform/secrets.ts'
import { testSeed } from '../decode/fuzzing.ts'

const seed = testSeed()
const random = new Random(seed)

test('a secret is found at every offset of its value and of its batch', (t) => {
  t.diagnostic(`seed ${seed}`)
  for (const name of Object.keys(SECRET_MAKERS)) {
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

test('every kind has a maker of samples, but for the vendors beyond the required ones', () => {
  const found = new Set<string>()
  for (const name of Object.keys(SECRET_MAKERS)) {
    const kind = scanValue(drawSecret(random, name), spellPlain)
    if (kind !== undefined) found.add(kind)
  }
  const extra = SECRET_KINDS.filter((kind) => !found.has(kind))
  assert.deepEqual(extra.sort(), [
    'brevo_key',
    'docker_token',
    'google_oauth',
    'groq_key',
    'heroku_key',
    'new_relic_key',
    'openrouter_key',
    'perplexity_key',
    'replicate_token',
    'square_token',
    'supabase_token',
    'xai_key',
  ])
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

function bestMs(value: Buffer, end: number): number {
  const scanner = new SecretScanner()
  let best = Number.POSITIVE_INFINITY
  for (let run = 0; run < 4; run++) {
    const start = performance.now()
    scanner.begin(value)
    scanner.scan(0, end)
    best = Math.min(best, performance.now() - start)
  }
  return best
}

test('hostile values cost time in proportion to their length', () => {
  for (const unit of HOSTILE) {
    const large = Buffer.from(
      `${unit.repeat(Math.ceil(400_000 / unit.length))}"\n${' '.repeat(16)}`,
    )
    const small = bestMs(large, 100_000)
    const whole = bestMs(large, 400_000)
    // Four times as long takes four times the time; what grew with the square would take 16.
    assert(whole < 8 * small + 5, `${JSON.stringify(unit)}: ${small} ms, then ${whole} ms`)
  }
})
