/**
 * Goal: however a connection's bytes are cut on their way, the messages are the same; each message
 * may be framed in its own way; nothing costs more memory than one message.
 * Method: random messages, random framings and random cuts, against what was framed. fast-check
 * prints its seed.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { SyslogFramer } from '../../../../src/accept/surfaces/syslog/syslog-framer.ts'
import { SYSLOG_MESSAGE_BYTES_MAX } from '../../../../src/limits.ts'

interface Framed {
  readonly messages: readonly string[]
  readonly cut: readonly number[]
  readonly halfMax: number
  readonly halfAfter: number
}

function frame(chunks: readonly Uint8Array[], isEarly = false): Framed {
  const messages: string[] = []
  const cut: number[] = []
  let half = 0
  let halfMax = 0
  const framer = new SyslogFramer({
    message: (bytes, start, end, isCut) => {
      if (isCut) cut.push(messages.length)
      messages.push(Buffer.from(bytes.subarray(start, end)).toString('latin1'))
    },
    halfGrew: (bytes) => {
      half += bytes
      halfMax = Math.max(halfMax, half)
    },
  })
  for (const chunk of chunks) framer.push(chunk)
  framer.end(isEarly)
  return { messages, cut, halfMax, halfAfter: half }
}

/** Cuts at these places, taken as parts of the whole. */
function cutAt(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const at = places.map((place) => Math.floor(place * bytes.length)).sort((a, b) => a - b)
  return [...at, bytes.length].map((end, i) => bytes.subarray(i === 0 ? 0 : at[i - 1], end))
}

const latin1 = (text: string) => Buffer.from(text, 'latin1')
const counted = (text: string) => `${text.length} ${text}`
const one = (text: string) => frame([latin1(text)])

const BYTE = fc.integer({ min: 0, max: 255 }).map((byte) => String.fromCharCode(byte))
/** Begins with a priority, and ends with a byte that is its own. */
const ANY_MESSAGE = fc.array(BYTE, { maxLength: 40 }).map((bytes) => `<34>${bytes.join('')}x`)
const LINE_MESSAGE = ANY_MESSAGE.map((text) => text.replace(/[\n\0]/g, ' '))
const BARE_LINE = fc.constantFrom('no priority', '12 monkeys', '7', '3: x', '1234567890 <1>x', 'é')
const TRAILER = fc.constantFrom('\n', '\r\n', '\0', '\n\0', '\r\n\r\n')
const FRAME = fc.oneof(
  ANY_MESSAGE.map((text) => ({ text, bytes: counted(text) })),
  fc.tuple(ANY_MESSAGE, TRAILER).map(([text, end]) => ({ text, bytes: counted(text) + end })),
  fc
    .tuple(fc.oneof(LINE_MESSAGE, BARE_LINE), TRAILER)
    .map(([text, end]) => ({ text, bytes: text + end })),
)
const PLACES = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 })

test('mixed framings, cut anywhere', () => {
  fc.assert(
    fc.property(fc.array(FRAME, { maxLength: 12 }), PLACES, (frames, places) => {
      const bytes = latin1(frames.map((each) => each.bytes).join(''))
      const expected = frames.map(({ text }) => text.replace(/[\r\n\0]+$/, ''))
      const { messages, cut, halfAfter } = frame(cutAt(bytes, places))
      assert.deepEqual(messages, expected)
      assert.deepEqual(cut, [])
      assert.equal(halfAfter, 0)
    }),
    { numRuns: 400 },
  )
})

test('any bytes, cut anywhere, are the same messages', () => {
  const alphabet = fc.constantFrom(...'0159 <>\n\r\0ax'.split(''))
  fc.assert(
    fc.property(fc.array(alphabet, { maxLength: 60 }), PLACES, (bytes, places) => {
      const whole = latin1(bytes.join(''))
      const { messages, cut } = frame([whole])
      const other = frame(cutAt(whole, places))
      assert.deepEqual([other.messages, other.cut], [messages, cut])
      const single = frame([...whole].map((byte) => Uint8Array.of(byte)))
      assert.deepEqual([single.messages, single.cut], [messages, cut])
    }),
    { numRuns: 600 },
  )
})

test('a length is one only before a priority', () => {
  assert.deepEqual(one('5 <1>ab<2>c\n').messages, ['<1>ab', '<2>c'])
  assert.deepEqual(one('5 hello\n').messages, ['5 hello'])
  assert.deepEqual(one('2026-11-27 <a>\n').messages, ['2026-11-27 <a>'])
  assert.deepEqual(one('0 <1>a\n').messages, ['0 <1>a'])
})

test('a length may count line feeds; those at the end are no part of the message', () => {
  assert.deepEqual(one('9 <1>a\nb\r\n\0<2>c').messages, ['<1>a\nb', '<2>c'])
})

test('what is too long is cut, told, and its rest skipped, in both framings', () => {
  const long = `<1>${'a'.repeat(SYSLOG_MESSAGE_BYTES_MAX)}`
  const kept = long.slice(0, SYSLOG_MESSAGE_BYTES_MAX)
  const bytes = latin1(`${long}\n${counted(long)}<2>b\n`)
  const places = Array.from({ length: 40 }, (_, i) => i / 40)
  for (const chunks of [[bytes], cutAt(bytes, places)]) {
    const { messages, cut, halfMax, halfAfter } = frame(chunks)
    assert.deepEqual(messages, [kept, kept, '<2>b'])
    assert.deepEqual(cut, [0, 1])
    assert.ok(halfMax <= SYSLOG_MESSAGE_BYTES_MAX)
    assert.equal(halfAfter, 0)
  }
  assert.deepEqual(one(`${kept}\n`).cut, [])
  assert.deepEqual(one(counted(kept)).cut, [])
})

test('a cut is not made within a character of UTF-8', () => {
  const text = `<1>${'a'.repeat(SYSLOG_MESSAGE_BYTES_MAX - 5)}\u20ac…`
  const { messages, cut } = frame([Buffer.from(`${text}\n`)])
  assert.deepEqual(cut, [0])
  assert.equal(messages[0]!.length, SYSLOG_MESSAGE_BYTES_MAX - 2)
})

test('half a message at the end is taken: a line as whole, a count that is not met as cut', () => {
  assert.deepEqual(one('<1>a\n<2>b'), { ...one('<1>a\n<2>b\n'), halfMax: 4 })
  assert.deepEqual([one('9 <1>a').messages, one('9 <1>a').cut], [['<1>a'], [0]])
  const early = frame([latin1('<2>b')], true)
  assert.deepEqual([early.messages, early.cut], [['<2>b'], [0]])
  assert.deepEqual(one('12').messages, ['12'])
})
