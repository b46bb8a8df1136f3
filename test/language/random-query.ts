/** Random texts: queries in every form of the language, and texts that only look like queries. */
import fc from 'fast-check'

const NAMES = [
  'a',
  'b.c',
  'level',
  '@t',
  'x-y/z',
  '`a b`',
  '`a.b`.c',
  'é',
  '_id2',
  'tags[]',
  'l[].m',
  'l[].m[].x',
  'l[].tags[]',
  'a.b',
  'message',
  'm',
  'x',
]
const NUMBERS = ['0', '200', '-1', '1.5', '2e2', '9007199254740993', '18446744073709551615']
const TIMES = ['2026-01-01T00:00:00Z', '"2026-01-01T10:00:00.5+01:00"']
const WORDS = [
  'error',
  'Timed',
  '12:30:01',
  'http://x:80/y',
  'a\\ b',
  '/x/y',
  '"a b"',
  '"200"',
  '""',
  'true',
  'é東京',
  '\\*',
  'x\\:y',
  '[z]',
  "it's",
  'where',
  'C:\\t',
  '"\\n\\\\"',
  'a,b',
  '~',
  'timeout',
  '"timed out"',
  'db01',
  '失败',
  '“timed”',
  '→',
]
const PATTERNS = ['a*', '*', '*b*', 'a?c', '\\*x*', 'é*']
const REGEXES = ['/a.b/', '/^x\\/y$/i', '/(a|b)+/', '/[a-z]{2}/']
const SYSTEM = [
  '_level:>=warn',
  '_level:(info OR error)',
  '_level:/r/',
  '_level:*',
  '_service:*',
  '_trace_id:*',
  '_trace_id:(a OR Timed)',
  '_span_id:a*',
  '_span_id:/^e/i',
  '_event_time:>=2026-01-01T00:00:00Z',
  '_event_time:2026-01-01T00:00:00Z',
  '_ingested_at:<2026-01-01T00:00:00Z',
  '_shape:0000000000000000',
  '_pattern:*',
  '_pattern:0000000000000000',
  '_id:1-0',
]

const scalar = fc.constantFrom(...NUMBERS, ...TIMES, ...WORDS)
const field = fc.oneof(
  { arbitrary: fc.constantFrom(...NAMES), weight: 6 },
  { arbitrary: fc.constantFrom('*', 'a.*', 'l[].*', '`_id`', '_service', '_trace_id'), weight: 1 },
)
const operator = fc.constantFrom('=', '!=', '>', '>=', '<', '<=')

const range = fc
  .tuple(
    fc.constantFrom('[', '{'),
    fc.constantFrom(NUMBERS, TIMES, ['x', '"b c"']),
    fc.nat(),
    fc.nat(),
    fc.constantFrom(']', '}'),
  )
  .map(([open, values, low, high, close]) => {
    const end = (at: number) => [...values, '*'][at % (values.length + 1)]
    return `${open}${end(low)} TO ${end(high)}${close}`
  })

/** Texts that are mostly queries. */
export const { query: queryText } = fc.letrec<{ query: string; test: string }>((tie) => {
  const query = tie('query')
  const test = fc.oneof(
    { maxDepth: 3 },
    scalar,
    fc.constantFrom(...PATTERNS, ...REGEXES),
    range,
    fc.tuple(operator, scalar).map(([name, value]) => `${name}${value}`),
    fc
      .array(fc.tuple(fc.constantFrom(' OR ', ' AND ', ', ', ' ', ' NOT '), tie('test')), {
        minLength: 1,
        maxLength: 4,
      })
      .map(
        (items) => `(${items.map(([join, text], at) => (at === 0 ? text : join + text)).join('')})`,
      ),
  )
  return {
    test,
    query: fc.oneof(
      { maxDepth: 4 },
      fc.tuple(field, tie('test')).map(([name, text]) => `${name}:${text}`),
      fc
        .tuple(field, operator, scalar)
        .map(([name, symbol, value]) => `${name} ${symbol} ${value}`),
      fc.constantFrom(...WORDS, ...PATTERNS, ...REGEXES, ...SYSTEM),
      fc
        .tuple(query, fc.constantFrom(' ', ' AND ', ' or ', ' || ', ' OR '), query)
        .map(([left, join, right]) => left + join + right),
      query.map((text) => `(${text})`),
      fc.tuple(fc.constantFrom('NOT ', '-', '!'), query).map(([not, text]) => not + text),
      fc.tuple(fc.constantFrom('tags[]', 'l[]'), query).map(([name, text]) => `${name}:{${text}}`),
    ),
  }
})

const TOKENS = [
  ...['(', ')', '[', ']', '{', '}', '"', '`', '/', '\\', '|', ':', '::', '=', '!', '<', '>', '-'],
  ...['~', '^', '*', '?', ',', "'", '+', '.', '#', '&&', '||', ' ', ' ', '  ', '\n', '\u00a0'],
  ...[' AND ', ' OR ', 'NOT ', ' TO ', 'and', 'where ', 'select ', ' from ', ' IN ', '_exists_:'],
  ...['_id', '_level', '_event_time', 'f', 'f:', 'a[]', 'a[]:{', '5', 'x', '2026-01-01T00:00:00Z'],
  ...['é', '東', '😀', '\ud83d', '\ude00', '\u0000', '//', '/i', '.*', '\\n', '\\u0041'],
]

/** Random sequences of parts with a meaning in some place; and any text. */
export const anyText = fc.oneof(
  fc.array(fc.constantFrom(...TOKENS), { maxLength: 24 }).map((parts) => parts.join('')),
  fc.string({ unit: 'binary', maxLength: 40 }),
  fc.string({ maxLength: 40 }),
  queryText,
)
