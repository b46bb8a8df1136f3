/**
 * Random JSON texts, valid and broken, biased towards what parsers get wrong; seeds for fuzzing.
 */
import type { Random } from '../../bench/random.ts'

/** Few keys, so that duplicates happen; the last group are spellings of the same names. */
const KEYS = [
  'a',
  'b',
  'c',
  'ab',
  '',
  'a.b',
  '.',
  'a.',
  'é',
  '日本',
  '😀',
  '__proto__',
  '0',
  'key',
  '@timestamp',
  'a\\\\b',
  'a\\b',
  'a\\u0008',
  '\\"',
  '\\/',
  '/',
  '\\u0000',
  '\\ud83d\\ude00',
  '\\ud800',
  '\\u0061',
  '\\u0061.b',
  'k\\u0065y',
  '\\u00e9',
]

const NUMBERS = [
  '0',
  '-0',
  '1',
  '-1',
  '12.5',
  '1e400',
  '-1e400',
  '1E+2',
  '1e-400',
  '5e-324',
  '0.1',
  '-0.0',
  '123456789012345678901234567890',
  '-123456789012345678901234567890',
  '999999999999999999',
  '9223372036854775807',
  '9223372036854775808',
  '-9223372036854775808',
  '-9223372036854775809',
  '9999999999999999999',
  '-9999999999999999999',
  '18446744073709551615',
  '18446744073709551616',
  '99999999999999999999',
  '10000000000000000000',
  '2.2250738585072014e-308',
  '1.7976931348623157e308',
  '9007199254740993',
  '0e0',
]

const STRING_PIECES = [
  'x',
  'plain text ',
  '\\n',
  '\\r\\t\\b\\f',
  '\\\\',
  '\\"',
  '\\/',
  '\\u0000',
  '\\u00e9',
  '\\uD83D\\uDE00',
  '\\ud83d',
  '\\udE00',
  '\\ud83d\\ud83d\\ude00',
  '\\ud83d\\n',
  'é',
  '日本',
  '😀',
  '\u007f',
  '\u2028',
  '\\u2028',
  '[{,:}]',
  '\\\\u0041',
]

export function randomString(random: Random): string {
  let text = ''
  for (let i = random.below(4); i > 0; i--) text += random.pick(STRING_PIECES)
  return `"${text}"`
}

function randomNumber(random: Random): string {
  if (random.chance(0.5)) return random.pick(NUMBERS)
  let text = random.chance(0.3) ? '-' : ''
  text += random.chance(0.2) ? '0' : String(1 + random.below(9))
  if (!text.endsWith('0')) for (let i = random.below(22); i > 0; i--) text += random.below(10)
  if (random.chance(0.3)) {
    text += '.'
    for (let i = random.below(20); i >= 0; i--) text += random.below(10)
  }
  if (random.chance(0.2)) text += random.pick(['e', 'E', 'e+', 'e-']) + random.below(320)
  return text
}

function space(random: Random): string {
  return random.chance(0.9) ? '' : random.pick([' ', '\t', '\r', '  \t'])
}

/** A valid JSON value on one line; `depth` bounds how many containers it nests. */
export function randomValue(random: Random, depth: number): string {
  const kind = random.below(depth > 0 ? 10 : 6)
  if (kind < 2) return randomNumber(random)
  if (kind < 4) return randomString(random)
  if (kind < 6) return random.pick(['null', 'true', 'false', '{}', '[]'])
  return kind < 8 ? randomArray(random, depth) : randomObject(random, depth)
}

function randomArray(random: Random, depth: number): string {
  const items: string[] = []
  const sameKind = random.chance(0.5) ? random.below(4) : -1
  for (let i = random.below(5); i > 0; i--) {
    let item: string
    if (sameKind === 0) item = randomObject(random, depth - 1)
    else if (sameKind === 1) item = randomNumber(random)
    else if (sameKind === 2) item = randomString(random)
    else item = randomValue(random, depth - 1)
    items.push(space(random) + item + space(random))
  }
  return `[${items.join(',') || space(random)}]`
}

export function randomObject(random: Random, depth: number, keys = KEYS): string {
  const items: string[] = []
  for (let i = random.below(6); i > 0; i--) {
    const value = randomValue(random, depth - 1)
    const key = `${space(random)}"${random.pick(keys)}"${space(random)}`
    items.push(`${key}:${space(random)}${value}${space(random)}`)
  }
  return `{${items.join(',') || space(random)}}`
}

const HOSTILE_BYTES = Buffer.from('{}[]",:\\/ux0123456789abcdefABCDEFtrunlse+-.eE \t\r\0\x1f\x7f')

/** Damages `bytes` in up to three places: flips, deletes, inserts, repeats, cuts. */
export function mutate(random: Random, bytes: Uint8Array): Uint8Array {
  let out = Buffer.from(bytes)
  for (let i = 1 + random.below(3); i > 0; i--) {
    const at = random.below(out.length + 1)
    const end = Math.min(out.length, at + 1 + random.below(6))
    const [head, run, tail] = [out.subarray(0, at), out.subarray(at, end), out.subarray(end)]
    const hostile = Uint8Array.of(random.pick([...HOSTILE_BYTES]))
    switch (random.below(6)) {
      case 0:
        out = Buffer.concat([head, tail])
        break
      case 1:
        out = Buffer.concat([head, run, run, tail])
        break
      case 2:
        out = Buffer.concat([head, hostile, out.subarray(at)])
        break
      case 3:
        out = Buffer.concat([head, hostile, out.subarray(Math.min(out.length, at + 1))])
        break
      case 4:
        out = Buffer.from(head)
        break
      default:
        if (at < out.length) out[at]! ^= 1 << random.below(8)
    }
  }
  return out
}
