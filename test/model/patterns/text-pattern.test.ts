/**
 * Goal: events that say the same have one pattern, those that say something else another, and the
 * template reads as a person would write it.
 * Method: texts with the template that each should have; random words and values put together.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { templateText, tryReadTemplate } from '../../../src/model/patterns/pattern-template.ts'
import {
  PATTERN_BYTES_MAX,
  PATTERN_TOKENS_MAX,
  TextPattern,
} from '../../../src/model/patterns/text-pattern.ts'

const TEMPLATES: readonly (readonly [text: string, template: string])[] = [
  [
    'GET /api/users/123 HTTP/1.1 200 in 12ms',
    'GET /api/users/<number> HTTP/<number> <number> in <duration>',
  ],
  [
    'took 12 ms, got [1, 2, 3] from 10.0.0.1:8080.',
    'took <number> ms, got [<list>] from <address>.',
  ],
  [
    'sshd(pam_unix)[19939]: failure; uid=0 tty=NODEVssh ruser= rhost=218.188.2.4',
    'sshd(pam_unix)[<number>]: failure; uid=<number> tty=<value> ruser= rhost=<address>',
  ],
  ['block blk_38865049064139660 of 512KB at 0xdeadbeef', 'block <value> of <size> at <hex>'],
  [
    'level=info msg="user 12 logged in" user=bob dur=1.5s',
    'level=info msg="user <number> logged in" user=<value> dur=<duration>',
  ],
  ['{"msg":"it failed","id":"x","n":12}', '{"msg":"it failed","id":<quoted>,"n":<number>}'],
  ["can't open 'foo bar', it's gone", "can't open <quoted>, it's gone"],
  ['mail to root@localhost sent', 'mail to <email> sent'],
  ['用户123登录失败', '用户<number>登录失败'],
  ['\u001b[31mred\u001b[0m  alert\t!', 'red alert !'],
  ['dGVzdA12==', '<value>=='],
  ['at 2024-01-02T03:04:05.123Z', 'at <time>'],
  ['id 550e8400-e29b-41d4-a716-446655440000', 'id <uuid>'],
  ['peer fe80::1 is up', 'peer <address> is up'],
  ['[Sun Dec 04 04:47:44 2005] ok', '[<time> <time> <number>] ok'],
  ['May I? Sat down', 'May I? Sat down'],
]

function readTemplate(text: string) {
  const template = tryReadTemplate(text)
  assert.ok(template !== undefined, text)
  return template
}

test('texts have the templates that people would write', () => {
  for (const [text, template] of TEMPLATES) {
    assert.equal(templateText(readTemplate(text).parts), template)
  }
})

test('blank texts have no pattern', () => {
  for (const text of ['', ' ', '\t\n', '\u001b[0m ']) assert.equal(tryReadTemplate(text), undefined)
})

test('what varies and blanks do not make another pattern', () => {
  const value = fc.oneof(
    fc.nat().map(String),
    fc.double({ noNaN: true, noDefaultInfinity: true, min: 0, max: 1e6 }).map((n) => n.toFixed(2)),
    fc.uuid(),
    fc.ipV4(),
    fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) }).map((date) => {
      return date.toISOString()
    }),
    fc.constantFrom('0x1f', 'pod-7f9c', '12ms', '[1, 2]'.slice(1, -1), '"a b"', "'x'", 'a@b'),
  )
  const word = fc.stringMatching(/^[a-z]{1,9}[:,]?$/)
  const words = fc.array(word, { minLength: 2, maxLength: 20 })
  fc.assert(
    fc.property(words, fc.array(value, { minLength: 20, maxLength: 20 }), value, (all, a, b) => {
      const first = all.map((each, i) => `${each} ${a[i]}`).join(' and ')
      const second = all.map((each) => `${each}\t ${b}`).join('  and ')
      assert.equal(readTemplate(` ${second}\n`).id, readTemplate(first).id)
    }),
  )
})

test('another word, or one more, makes another pattern', () => {
  const ids = new Map<string, string>()
  const pattern = new TextPattern()
  const letters = 'abcdefgh'
  const count = 200_000
  let blank = 0
  for (let n = 0; n < count; n++) {
    let text = ''
    for (let left = n; left > 0; left = Math.floor(left / 8)) text += letters[left % 8]
    const whole = n % 3 === 0 ? `${text} of 1` : n % 3 === 1 ? `got 7 ${text}` : text
    if (!pattern.read(Buffer.from(whole), 0, whole.length)) {
      blank++
      continue
    }
    const id = `${pattern.high} ${pattern.low}`
    assert.equal(ids.get(id), undefined, `${whole} is not ${ids.get(id)}`)
    ids.set(id, whole)
  }
  assert.equal(ids.size, count - blank)
  // Halves that hardly collide by themselves make a good whole.
  const lows = new Set([...ids.keys()].map((id) => id.split(' ')[1]))
  assert.ok(lows.size > count * 0.999, `${lows.size}`)
})

test('a bounded beginning counts, and is read in linear time', () => {
  const tokens = 'word '.repeat(PATTERN_TOKENS_MAX)
  assert.equal(readTemplate(`${tokens}one`).id, readTemplate(`${tokens}two`).id)
  const bytes = '. '.repeat(PATTERN_BYTES_MAX / 2)
  assert.equal(readTemplate(`${bytes}one`).id, readTemplate(`${bytes}two`).id)
  assert.equal(readTemplate(`${bytes}one`).isCut, true)
  assert.notEqual(readTemplate(`${bytes.slice(6)}one`).id, readTemplate(`${bytes.slice(6)}two`).id)
  for (const hostile of [" 'a", '"', '\\"', '=', 'a=', "'", '[1,', 'Sun ', '\u001b[']) {
    const text = Buffer.from(hostile.repeat(400_000))
    const pattern = new TextPattern()
    pattern.read(text, 0, text.length)
    assert.ok(pattern.readEnd <= PATTERN_BYTES_MAX)
  }
})

test('the same bytes have the same pattern in every version', () => {
  const ids = ['user 12 logged in', 'msg="x" a=b', 'it is "so"'].map((text) => {
    return readTemplate(text).id
  })
  assert.deepEqual(ids, ['9db08b14f653a3ca', 'e095b629202d3054', '7a96f8800bb37388'])
})
