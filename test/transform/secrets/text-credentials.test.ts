/**
 * Goal: a credential is found by the shape of what carries it; masks, templates and prose of the
 * same names stay. It costs time in proportion to the text, whatever that says.
 * Method: the samples of `bench/redaction/text-samples.ts`, alone, within a line, spelled; texts
 * of one unit over and over.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Random } from '../../../bench/random.ts'
import { drawText } from '../../../bench/redaction/generator.ts'
import { scanValue, spellEscaped, spellPlain } from '../../../bench/redaction/measure-values.ts'
import { SETTING_LINES, TEXT_CREDENTIALS, TEXT_LOOK_ALIKES } from '../../../bench/redaction/sets.ts'
import { isPlaceholderValue } from '../../../workers/transform/secrets/value-placeholders.ts'
import { cpuNow } from '../../support/cpu-time.ts'
import { testSeed } from '../../support/fuzzing.ts'

const random = new Random(testSeed())

const LINES: readonly string[] = ['#', '2025-11-21 10:00:00 INFO ü: # ', '{"a":"b"} "#"', 'x\n#\ny']

test('every shape is found, in every line and spelling', () => {
  for (const sample of TEXT_CREDENTIALS) {
    for (const line of LINES) {
      // A query within quotes ends there; so do these.
      const text = line.replace('#', () => drawText(random, sample))
      assert.notEqual(scanValue(text, spellPlain), undefined, sample)
      assert.notEqual(scanValue(text, spellEscaped), undefined, sample)
      const json = JSON.stringify({ line: text })
      assert.notEqual(scanValue(json, spellPlain), undefined, `JSON of ${sample}`)
    }
  }
})

test('a line of a configuration file is found, as a line alone or of several', () => {
  for (const sample of SETTING_LINES) {
    for (const line of ['#', '[prod]\n#\nregion = x', 'a: 1\r\n#\r\n', '# x\n\t#']) {
      const text = line.replace(/#(?! x)/, () => drawText(random, sample))
      assert.notEqual(scanValue(text, spellPlain), undefined, text)
      assert.notEqual(scanValue(text, spellEscaped), undefined, text)
    }
    const within = `the line ${drawText(random, sample)} was read`
    // A name of two words says enough wherever it is.
    if (!sample.includes('_') && !sample.includes('.')) {
      assert.equal(scanValue(within, spellPlain), undefined, within)
    }
  }
})

test('Basic is found at the start of a value, and anywhere if 16 bytes follow', () => {
  for (const given of ['u:p', 'admin:Ab1']) {
    const text = `Basic ${Buffer.from(given).toString('base64')}`
    assert.equal(scanValue(text, spellPlain), 'authorization')
  }
  const long = Buffer.from('somebody:letmein').toString('base64')
  assert.equal(scanValue(`sent basic ${long} again`, spellPlain), 'authorization')
})

test('masks, templates and prose stay', () => {
  for (const sample of TEXT_LOOK_ALIKES) {
    for (const line of LINES) {
      const text = line.replace('#', () => sample)
      assert.equal(scanValue(text, spellPlain), undefined, text)
      assert.equal(scanValue(text, spellEscaped), undefined, text)
    }
  }
})

test('every sample with a placeholder in the place of its secret stays', () => {
  for (const placeholder of ['<value>', '********', '[REDACTED]', 'xxxx-xxxx-xxxx']) {
    for (const sample of TEXT_CREDENTIALS) {
      const text = sample.replace(/#$|#(?=[^\w#])|[~^]/g, () => placeholder)
      if (text.includes(placeholder) && !sample.includes('ab/cd~')) {
        assert.equal(scanValue(text, spellPlain), undefined, text)
      }
    }
  }
})

test('placeholders are told from secrets', () => {
  const placeholders =
    '*** xxx XXXX-XXXX-XXXX \u2022\u2022 0000 $(VAR) ' +
    '%VAR% $VAR $db_password {{var}} <password> ' +
    '[REDACTED] (redacted) REDACTED FILTERED YOUR_KEY your-token-here my_secret API_KEY changeme ' +
    'password Password null %s %(password)s #{pass} @PASSWORD@ __PASSWORD__ sk-*** %2A%2A%2A'
  const template = `$${'{var}'}`
  for (const text of [template, ...placeholders.split(' ')]) assert(isPlaceholderValue(text), text)
  const secrets = 'hunter2 $D7b7pass p%40ss x1y 1234 Tr0ub4dor&3 correct-horse-battery guest'
  for (const text of secrets.split(' ')) assert(!isPlaceholderValue(text), text)
})

const HOSTILE: readonly string[] = [
  'Authorization: ',
  'Authorization: Basic ',
  'Cookie: a=',
  'Cookie:a=b;',
  'a=a=',
  'token=',
  '?token=',
  'PWD=a;',
  'password=a host=',
  '@@@',
  ';;;;',
  'a:b@tcp(',
  'jdbc:oracle:thin:a/@',
  '%253A',
  '%40',
  'token%3D',
  '://a:b/',
  '://a:1/c@',
  ' -u a:',
  ' --user a:b',
  "'token' : ",
  ':"[\' "',
  'Basic a:',
  " by '",
  "(token 'a",
  'user=a password=',
  'user: a, password: ',
  'password                                 =',
  'api_token = a',
  '\npassword = a',
]

/** How long the first `length` bytes take, at best of three runs. */
function bestMs(text: string, length: number): number {
  const value = text.slice(0, length)
  let best = Number.POSITIVE_INFINITY
  for (let run = 0; run < 3; run++) {
    const start = cpuNow()
    scanValue(value, spellPlain)
    best = Math.min(best, cpuNow() - start)
  }
  return best
}

test('hostile texts cost time in proportion to their length', () => {
  for (const unit of HOSTILE) {
    const text = unit.repeat(Math.ceil(160_000 / unit.length))
    let isLinear = false
    for (let tries = 0; tries < 5 && !isLinear; tries++) {
      isLinear = bestMs(text, 160_000) < 8 * bestMs(text, 40_000) + 1
    }
    assert(isLinear, unit)
  }
})
