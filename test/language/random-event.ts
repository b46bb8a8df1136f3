/**
 * Random events as JSON text, made of the names and values in random queries (`random-query.ts`),
 * so that these match often, and of awkward JSON: duplicate keys, keys with dots and escapes,
 * numbers at the limits of 64 bits, mixed arrays, white space.
 */
import fc from 'fast-check'

/** Lists of text fields to try: names that events and queries have, at any depth. */
export const TEXT_FIELDS: readonly (readonly string[])[] = [
  ['nowhere'],
  ['A'],
  ['message', 'm', 'b.c', 'LEVEL', 'x-y/z', 'é'],
]

const KEYS = [
  ...['a', 'b', 'c', 'b.c', 'level', '@t', 'x-y/z', 'a b', 'a.b', 'é', '_id2', '_id', 'x'],
  ...['tags', 'l', 'm', 'message', 'service', 'Service', 'timestamp', 'trace_id', 'spanId', ''],
  ...['^`a', '\ud83d'],
]

const NUMBERS = [
  ...['0', '-0', '200', '200.0', '2e2', '-1', '-1.0', '1', '1.5', '15e-1', '5', '3', '199.99'],
  ...['9007199254740992', '9007199254740993', '9007199254740992.0', '9223372036854775807'],
  ...['9223372036854775808', '-9223372036854775808', '-9223372036854775809', '1e400', '-1e400'],
  ...['18446744073709551615', '18446744073709551616', '18446744073709551615.0', '5e-324'],
]

const STRINGS = [
  ...['error', 'Error', 'an error!', 'terror', 'error_code', 'Timed', 'timed', 'timed out'],
  ...[
    'Timed-OUT',
    'out timed',
    'a b',
    'a_b',
    'A  B',
    'ab',
    'a',
    'abc',
    'axc',
    'a\nc',
    'a😀c',
    'aéc',
  ],
  ...['b', 'xbx', 'x b', 'a.b', 'a-b', 'aXb', 'A/B', 'x/y', 'X/Y', '/x/y', 'http://x:80/y', 'zx*'],
  ...[
    '12:30:01',
    'x:y',
    '[z]',
    "it's",
    'C:\\t',
    '\n\\',
    'a,b',
    'a, b',
    '~',
    '*',
    '*x',
    '?',
    'where',
  ],
  ...[
    'é',
    'É',
    'éa',
    'é東京',
    'É東京',
    '東京',
    '大東京都',
    'e\u0301',
    '\u212a',
    'İ',
    'i̇',
    'ΟΔΟΣ',
    'ΟΔΟΣ a',
  ],
  ...[
    'true',
    'false',
    'null',
    '200',
    '200.0',
    '0',
    '-1',
    '1.5',
    '2e2',
    '',
    ' ',
    '\u00a0',
    '\u0000',
    '{}',
  ],
  ...['2026-01-01T00:00:00Z', '2026-01-01t00:00:00.000z', '2025-12-31T23:59:60Z', '2026-01-01'],
  ...['2026-01-01T10:00:00.5+01:00', '2026-01-01 09:00:00.500000000Z', '2026-02-30T00:00:00Z'],
  ...['1899-12-31T23:59:59Z', '1900-01-01T00:00:00Z', '2261-12-31T23:59:59.999999999-23:59'],
  ...[
    '请求timeout，重试3次',
    '“timed” out',
    'ERROR：连接db01失败',
    'a—b',
    'a→b',
    'a\u00a0b',
    '\ufeffa',
  ],
  ...[
    '\u001b[32mError\u001b[0m',
    '\u001b(Bab',
    '\u001b',
    'a\u001b[1;31mb',
    '⚠\ufe0fa',
    'a😀b',
    '４東a',
  ],
  ...['[1]', '{"x":1}', 'x'.repeat(300), `${'x '.repeat(200)}error`, `${'é'.repeat(200)} a b`],
  ...['\ud83d', '\ude00x', '\ufffd', 'a\u00a0b', 'a\tb', 'warn', 'INFO', 'web', 'checkout'],
]

/** The inside of a string, in one of its possible spellings. */
const spelled = (texts: readonly string[]) =>
  fc.tuple(fc.constantFrom(...texts), fc.constantFrom(0, 0, 0, 1, 3)).map(([text, every]) => {
    const plain = JSON.stringify(text)
    if (every === 0) return plain
    const units = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at))
    const escaped = units.map((unit, at) => {
      const hex = `\\u${unit.toString(16).padStart(4, '0')}`
      return at % every === 0 ? hex : JSON.stringify(String.fromCharCode(unit)).slice(1, -1)
    })
    return `"${escaped.join('')}"`
  })

const number = fc.constantFrom(...NUMBERS)
const string = spelled(STRINGS)
const scalar = fc.oneof(
  { arbitrary: string, weight: 5 },
  { arbitrary: number, weight: 4 },
  { arbitrary: fc.constantFrom('true', 'false', 'null'), weight: 2 },
)
const space = fc.constantFrom('', '', '', ' ', '\t ')

const list = (item: fc.Arbitrary<string>, maxLength: number) =>
  fc
    .tuple(fc.array(item, { maxLength }), space)
    .map(([items, gap]) => `[${gap}${items.join(`${gap},${gap}`)}${gap}]`)

const objectOf = (value: fc.Arbitrary<string>, minLength: number, maxLength: number) =>
  fc
    .tuple(fc.array(fc.tuple(spelled(KEYS), value), { minLength, maxLength }), space)
    .map(([members, gap]) => {
      const texts = members.map(([key, text]) => `${key}${gap}:${gap}${text}`)
      return `{${gap}${texts.join(`${gap},`)}${gap}}`
    })

const { value } = fc.letrec<{ value: string; object: string }>((tie) => ({
  object: objectOf(tie('value'), 0, 4),
  value: fc.oneof(
    { maxDepth: 5, depthSize: 'small' },
    { arbitrary: scalar, weight: 6 },
    { arbitrary: tie('object'), weight: 2 },
    { arbitrary: list(string, 3), weight: 1 },
    { arbitrary: list(number, 3), weight: 1 },
    { arbitrary: list(fc.constantFrom('true', 'false', 'null'), 3), weight: 1 },
    { arbitrary: list(tie('object'), 3), weight: 2 },
    { arbitrary: list(tie('value'), 3), weight: 1 },
  ),
}))

/** An event's JSON, valid for `JSON.parse`. */
export const eventText: fc.Arbitrary<string> = objectOf(value, 1, 8)
