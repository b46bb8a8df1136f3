/**
 * Goal: within JSON that a string holds, the values of secret names are replaced and not one byte
 * else, however deep strings lie in strings, wherever the text is cut off, and in linear time.
 * Method: tables; random JSON against `JSON.parse` and `JSON.stringify`; the same written with the
 * places of its secrets, cut at every character; random names in every spelling of their quotes;
 * hostile text of n and 4n bytes.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Random } from '../../../bench/random.ts'
import { spellEscaped, spellPlain } from '../../../bench/redaction/measure-values.ts'
import { drawSecret } from '../../../bench/redaction/sets.ts'
import { arena } from '../../../workers/kernel/arena.ts'
import { judgeName, NO_NAME } from '../../../workers/transform/names/secret-names.ts'
import {
  DENYLISTED_SEGMENTS,
  FLAG_WORDS,
  KEY_KINDS,
  KEY_WORDS,
  NEUTRAL_WORDS,
  PIN_WORDS,
  PLURALS,
  SECRET_PAIRS,
  SECRET_WORDS,
  SID_WORDS,
} from '../../../workers/transform/names/secret-words.ts'
import { InnerJson } from '../../../workers/transform/redact/inner-json.ts'
import { firstInnerKey } from '../../../workers/transform/redact/inner-keys.ts'
import { NO_SECRET, SecretScanner } from '../../../workers/transform/secrets/secrets.ts'
import { cpuNow } from '../../support/cpu-time.ts'
import { forMilliseconds, fuzzed, testSeed } from '../../support/fuzzing.ts'
import { REDACT, transformed, Worker } from '../transform-harness.ts'

const seed = testSeed()
const random = new Random(seed)
const SECRET = drawSecret(random, 'github')
const json = JSON.stringify

/** What becomes of `message`. */
function redacted(message: string, spell: (value: string) => string = spellPlain): string {
  return JSON.parse(transformed(`{"message":"${spell(message)}"}`, REDACT)).message
}

const HEX = String.raw`{\x22password\x22:\x22a\x5C\x22b\x22,\x22c\x22:\x22d\x22}`
const NET = String.raw`{\u0022token\u0022:\u0022x\u0022,\u0022a\u0022:1}`

const IN_PLACE: readonly (readonly [name: string, before: string, after: string])[] = [
  ['an object', '{"password":"x","user":"bob"}', '{"password":"[REDACTED]","user":"bob"}'],
  [
    'behind a prefix',
    '2026-01-01 INFO request body={"password":"x","user":"bob"} took 3 ms',
    '2026-01-01 INFO request body={"password":"[REDACTED]","user":"bob"} took 3 ms',
  ],
  ['several', '{"pwd":"x"} {"pwd":"y"}', '{"pwd":"[REDACTED]"} {"pwd":"[REDACTED]"}'],
  [
    'other types',
    '{"pin":12,"otp":true,"cvv":-1.5e3,"ssn":null,"secret":{"a":"}"},"cookie":["]"],"a":1}',
    '{"pin":null,"otp":null,"cvv":null,"ssn":null,"secret":null,"cookie":null,"a":1}',
  ],
  ['empty string', '{"password":"","a":""}', '{"password":"[REDACTED]","a":""}'],
  ['printed', '{\n  "a": [\n\t{ "pin" : 7 }\n  ]\n}', '{\n  "a": [\n\t{ "pin" : null }\n  ]\n}'],
  ['a line of it', '  "password": "x",', '  "password": "[REDACTED]",'],
  ['quotes inside', '{"token":"a\\"b\\\\","c":"\\\\"}', '{"token":"[REDACTED]","c":"\\\\"}'],
  ['cut off', '{"user":"bob","password":"hunte', '{"user":"bob","password":"[REDACTED]'],
  ['a number cut off', 'x {"pin":12', 'x {"pin":null'],
  ['an object cut off', '{"secret":{"a":{"b":"c"},"d', '{"secret":null'],
  ['cut off at its value', '{"password":"', '{"password":"'],
  ['cut off in null', '{"password":nul', '{"password":nul'],
  [
    'cut off within',
    `{"a":${json('{"b":1,"password":"hun')},"c":2}`,
    `{"a":${json('{"b":1,"password":"[REDACTED]')},"c":2}`,
  ],
  [
    'in a string in a string',
    json({ a: json({ b: json({ pwd: 'x', c: 1 }), token: 5 }), d: [1] }),
    json({ a: json({ b: json({ pwd: '[REDACTED]', c: 1 }), token: null }), d: [1] }),
  ],
  [
    'Python',
    "{'password': 'x', u'token': b'y'}",
    "{'password': '[REDACTED]', u'token': b'[REDACTED]'}",
  ],
  ['Python, both quotes', `{'pin': "it's", 'a': 1}`, `{'pin': "[REDACTED]", 'a': 1}`],
  ['Python, escaped', `{'pin': 'it\\'s "', 'a': 1}`, `{'pin': '[REDACTED]', 'a': 1}`],
  ['Ruby', '{"pwd"=>"x", :token=>"y"}', '{"pwd"=>"[REDACTED]", :token=>"[REDACTED]"}'],
  ['JavaScript', "{ password: 'x', a: [ 1 ] }", "{ password: '[REDACTED]', a: [ 1 ] }"],
  ['Rust', 'User { id: 1, password: "x" }', 'User { id: 1, password: "[REDACTED]" }'],
  ['nginx', `POST "${HEX}" 200`, `POST "${HEX.replace(String.raw`a\x5C\x22b`, '[REDACTED]')}" 200`],
  ['quotes as numbers', NET, NET.replace('x', '[REDACTED]')],
  [
    'a secret value',
    json({ a: 'b', k: SECRET, c: [1] }),
    json({ a: 'b', k: '[REDACTED]', c: [1] }),
  ],
  [
    'a secret value within',
    json({ a: json({ k: `see ${SECRET}`, pin: 1 }), b: 'c' }),
    json({ a: json({ k: '[REDACTED]', pin: null }), b: 'c' }),
  ],
  [
    'a secret in the text within',
    json({ a: `${SECRET} ${json({ k: SECRET })}`, b: 'c' }),
    json({ a: '[REDACTED]', b: 'c' }),
  ],
  ['a secret elsewhere', `${SECRET} {"password":"x","a":1}`, '[REDACTED]'],
  ['a secret in an array', json({ a: [SECRET] }), '[REDACTED]'],
]

/** What is JSON in no way or by half is not looked for in every spelling. */
const isJson = (name: string) =>
  !/^(Python|Ruby|JavaScript|Rust|nginx|quotes as|cut off in null)/.test(name)

for (const [name, before, after] of IN_PLACE) {
  test(`in place: ${name}`, () => {
    assert.equal(redacted(before), after)
    assert.equal(redacted(after), after)
    if (isJson(name)) assert.equal(redacted(before, spellEscaped), after)
  })
}

test('what is no member of an object stays', () => {
  for (const message of [
    'password: "x"',
    'invalid "password": "too short"',
    '{"a":1}, password: "x"',
    '{"a":"say \\"password\\": now"}',
    '{"token_count":1,"author":"x","a":{"b":"password"}}',
    '{"password":null,"secret":[REDACTED]}',
    '{password=x, token=y} password=x',
    // Between these apostrophes is the name of a secret, too.
    '{"a{\'":{"Api-Key":null},"b":{"password":null,"c\':":"{}"}}',
    '{"level":"info","time":"12:30:45","url":"http://a:80/"}',
  ]) {
    assert.equal(redacted(message), message)
  }
})

test('raw text beside it is cleared, and only values under other keys are listed', () => {
  const settings = { ...REDACT, redactFields: ['message.user'] }
  const line = json({ _raw: 't', a: [{ m: json({ pin: 1, user: 'u' }) }], message: '{"user":"u"}' })
  const after = { _raw: null, a: [{ m: json({ pin: null, user: 'u' }) }], message: '{"user":"u"}' }
  assert.equal(transformed(line, settings), json(after))
})

test('a root log that is JSON once it is redacted goes as a whole', () => {
  assert.equal(transformed(json({ log: '{"pwd":"a\nb"}' }), REDACT), '{"log":"[REDACTED]"}')
  assert.equal(
    transformed(json({ log: '{"pwd":"a\nb' }), REDACT),
    json({ log: '{"pwd":"[REDACTED]' }),
  )
})

/** The plain way: what is an object is parsed, redacted and written again. */
function redactText(text: string): string {
  if (!text.startsWith('{')) return text
  return json(redactValue(JSON.parse(text)))
}

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }
const NAMES = ['password', 'Api-Key', 'access_token', 'x.cookie', 'PIN']

function redactValue(value: Json): Json {
  if (typeof value === 'string') return redactText(value)
  if (Array.isArray(value)) return value.map(redactValue)
  if (value === null || typeof value !== 'object') return value
  const members = Object.entries(value).map(([key, each]): [string, Json] => {
    if (!NAMES.includes(key) || each === null) return [key, redactValue(each)]
    return [key, typeof each === 'string' ? '[REDACTED]' : null]
  })
  return Object.fromEntries(members)
}

// Much that is spelled with backslashes, and what begins and ends members, but no brace first. Nor
// `{x:'`, with which an object of JavaScript would begin: its string ends at the next apostrophe.
const sign = fc.constantFrom('"', '\\', '{', '}', '[', ',', ':', "'", '\n', 'é', '😀', 'x', ' ')
const text = fc
  .array(sign, { maxLength: 8 })
  .map((signs) => `-${signs.join('')}`)
  .filter((signs) => !/:\s*'/.test(signs))
const key = fc.oneof(fc.constantFrom('a', 'b', 'token_count'), fc.constantFrom(...NAMES), text)
const { object } = fc.letrec<{ value: Json; object: { [key: string]: Json } }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.oneof(text, fc.integer(), fc.double({ noNaN: true }), fc.boolean(), fc.constant(null)),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object'),
    tie('object').map(json),
  ),
  object: fc.dictionary(key, tie('value'), { maxKeys: 4, noNullPrototype: true }),
}))

test('JSON in strings comes out as if it were parsed, redacted and written', (t) => {
  t.diagnostic(`seed ${seed}`)
  const worker = new Worker()
  fc.assert(
    fc.property(
      fc.array(object, { minLength: 1, maxLength: 5 }),
      fc.boolean(),
      (all, isEscaped) => {
        const spell = isEscaped ? spellEscaped : spellPlain
        const lines = all.map((each) => `{"message":"${spell(json(each))}","after":[1]}`)
        const { texts } = worker.run(lines, REDACT)
        const expected = all.map((each) => ({ message: redactText(json(each)), after: [1] }))
        assert.deepEqual(
          texts.map((line) => JSON.parse(line)),
          expected,
        )
        for (const [i, line] of lines.entries()) {
          if (expected[i]!.message === json(all[i])) assert.equal(texts[i], line)
        }
      },
    ),
    fuzzed(seed, 1_500, 4_000),
  )
})

/** A stretch of text: of a secret string, of another secret value, or what closes the former. */
interface Piece {
  readonly text: string
  readonly is?: 'string' | 'other' | 'close'
}

const quoted = (value: string) => json(value).slice(1, -1)
const asNumber = (value: string) => quoted(value).replaceAll('\\"', '\\u0022')

/** Writes JSON in pieces; strings that hold JSON as well, spelled by `spell`. */
function write(value: Json, spell: (value: string) => string): Piece[] {
  if (typeof value === 'string') {
    const inner = value.startsWith('{') ? write(JSON.parse(value), spell) : [{ text: value }]
    const pieces = inner.map(({ text, is }) => ({ text: spell(text), ...(is && { is }) }))
    return [{ text: '"' }, ...pieces, { text: '"' }]
  }
  if (Array.isArray(value)) {
    const elements = value.map((each) => write(each, spell))
    return [{ text: '[' }, ...joined(elements), { text: ']' }]
  }
  if (value === null || typeof value !== 'object') return [{ text: String(json(value)) }]
  const members = Object.entries(value).map(([key, each]): Piece[] => {
    const name = { text: `"${spell(key)}": ` }
    // Written as null, too: numbers that JSON does not have.
    if (!NAMES.includes(key) || json(each) === 'null') return [name, ...write(each, spell)]
    if (typeof each !== 'string') return [name, { text: json(each), is: 'other' }]
    return [name, { text: '"' }, { text: spell(each), is: 'string' }, { text: '"', is: 'close' }]
  })
  return [{ text: '{' }, ...joined(members), { text: '}' }]
}

function joined(lists: readonly Piece[][]): Piece[] {
  return lists.flatMap((list, i) => (i === 0 ? list : [{ text: ', ' }, ...list]))
}

/** The first `length` characters, redacted. A secret without its end is redacted to the end. */
function cutAndRedacted(pieces: readonly Piece[], length: number): string {
  let left = length
  let out = ''
  for (let i = 0; i < pieces.length && left > 0; i++) {
    const { text, is } = pieces[i]!
    if (is === 'string') {
      const close = pieces[i + 1]!.text
      if (left < text.length + close.length) return `${out}[REDACTED]`
      out += `[REDACTED]${close}`
      left -= text.length + close.length
      i++
    } else {
      out += is === 'other' ? 'null' : text.slice(0, left)
      left -= text.length
    }
  }
  return out
}

test('text that is cut off is redacted as far as it goes, wherever that is', (t) => {
  t.diagnostic(`seed ${seed}`)
  const worker = new Worker()
  const spell = fc.constantFrom(quoted, asNumber)
  fc.assert(
    fc.property(object, fc.constantFrom('', 'a: 1, body='), spell, (value, before, spelled) => {
      const pieces = [{ text: before }, ...write(value, spelled)]
      const whole = pieces.map((piece) => piece.text).join('')
      // What looks like a string in single quotes is one to us, which the model does not know.
      fc.pre(!/[:{,[][\\ n]*'|'[\\ n]*:/.test(whole))
      const lengths = Array.from({ length: whole.length + 1 }, (_, length) => length)
      const lines = lengths.map((length) => json({ message: whole.slice(0, length) }))
      const { texts } = worker.run(lines, REDACT)
      for (const length of lengths) {
        const expected = json({ message: cutAndRedacted(pieces, length) })
        assert.equal(texts[length], expected, whole.slice(0, length))
      }
    }),
    fuzzed(seed, 100, 4_000),
  )
})

const WORDS = [
  ...[SECRET_WORDS, SECRET_PAIRS, KEY_WORDS, KEY_KINDS, NEUTRAL_WORDS, FLAG_WORDS],
  ...[DENYLISTED_SEGMENTS, PIN_WORDS, SID_WORDS, new Set(PLURALS.keys())],
  new Set(['key', 'keys', 'pass', 'pin', 'pw', 'auth', 'sid', 'x', '2', 'é', 'bearer']),
].map((words) => [...words])

/** A name of some words, as one language or another writes it. */
function drawName(): string {
  const words = Array.from({ length: 1 + random.below(4) }, () => random.pick(random.pick(WORDS)))
  const style = random.below(5)
  if (style === 0) return words.join('_').toUpperCase()
  if (style === 1) return words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join('')
  return words.join(['-', '.', ''][style - 2])
}

test('no key is passed over that names a secret', (t) => {
  t.diagnostic(`seed ${seed}`)
  const bytes = arena.buffer(4_096)
  forMilliseconds(1_000, () => {
    const name = drawName()
    // Of a key with dots all is one name, and the last segment is one.
    const names = [name.replaceAll('.', '_'), name.split('.').at(-1)!]
    const isSecret = names.some((each) => judgeName(each) !== NO_NAME)
    for (const spell of [quoted, asNumber, (each: string) => quoted(quoted(each)), spellEscaped]) {
      for (const [open, close] of [
        ['"', '":'],
        ["'", "' => "],
        ['', ':'],
      ]) {
        const before = spell(`{"a":"b",${open}`)
        const length = bytes.write(`${before}${spell(`${name}${close}`)}"c"}`)
        const found = firstInnerKey(bytes, 0, length)
        if (isSecret) assert(found < length, bytes.toString('utf8', 0, length))
      }
    }
  })
})

/** Repeated to any length. */
const HOSTILE = [
  '{"{"{',
  '{',
  '\\',
  '"',
  '\\"',
  '{"password":"',
  '{"password":{',
  '{"password":{"password":[',
  ',"password":\\',
  "{'pin':'",
  "{'pin':'{",
  '{"a":"{\'b\':\'',
  '{pin:',
  '{pin: ',
  ':pin=>',
  '"pin":',
  '"pin"  ',
  'pin":pin\':',
  'b_b_hash_',
  '{\\x22pin\\x22:\\x22\\x5C',
  '\\u0022pin\\u0022:',
  '\\\\\\"pin\\\\\\":\\\\\\"',
  ' \\n\\n',
  '22:',
]

/** How long the first `length` bytes take, at best of some runs. */
function bestMs(bytes: Buffer, length: number, isSecret: boolean): number {
  const scanner = new SecretScanner()
  const inner = new InnerJson(scanner)
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  let best = Number.POSITIVE_INFINITY
  for (let run = 0; run < 3; run++) {
    const start = cpuNow()
    scanner.begin(bytes)
    inner.find(bytes, view, 0, length, isSecret ? 0 : NO_SECRET)
    best = Math.min(best, cpuNow() - start)
  }
  return best
}

function isLinear(bytes: Buffer, isSecret: boolean): boolean {
  for (let tries = 0; tries < 5; tries++) {
    if (bestMs(bytes, 100_000, isSecret) < 8 * bestMs(bytes, 25_000, isSecret) + 1) return true
  }
  return false
}

test('hostile text costs time in proportion to its length', () => {
  const bytes = arena.buffer(100_000 + 64)
  // As they are, and as JSON spells them.
  for (const unit of [...HOSTILE, ...HOSTILE.map(quoted)]) {
    bytes.fill(unit, 0, 100_000)
    bytes[0] = 0x7b
    bytes.fill('"', 100_000)
    for (const isSecret of [false, true]) assert(isLinear(bytes, isSecret), json(unit))
  }
})
