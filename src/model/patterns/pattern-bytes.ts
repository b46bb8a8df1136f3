/** What a byte of a text is to its pattern. Tokens are made of the first three. */

export const WORD = 0
export const DIGIT = 1
export const AT = 2
/** Between two masked tokens it makes one of them: `10.0.0.1:80`, `[1, 2, 3]`, `1/2`. */
export const GLUE = 3
export const BLANK = 4
const EQUALS = 5
export const QUOTE = 6
/** Begins the colours of a terminal. */
export const ESCAPE = 7
/** Stands for itself, and ends a token: brackets and the like, and all that is not ASCII. */
export const OTHER = 8

export const BYTE_KINDS: Uint8Array = kindsOf()

/** By byte: whether it ends the value behind `key=`. */
export const ENDS_VALUE: Uint8Array = endsOf()

function kindsOf(): Uint8Array {
  const kinds = new Uint8Array(256).fill(OTHER)
  // Control characters are blanks, too.
  kinds.fill(BLANK, 0, 0x21)
  kinds[0x7f] = BLANK
  kinds[0x1b] = ESCAPE
  for (let byte = 0x30; byte <= 0x39; byte++) kinds[byte] = DIGIT
  for (let byte = 0x41; byte <= 0x5a; byte++) kinds[byte] = kinds[byte | 0x20] = WORD
  for (const char of '_-+%#$') kinds[char.charCodeAt(0)] = WORD
  for (const char of '.:,/') kinds[char.charCodeAt(0)] = GLUE
  kinds[0x40] = AT
  kinds[0x3d] = EQUALS
  kinds[0x22] = kinds[0x27] = QUOTE
  return kinds
}

function endsOf(): Uint8Array {
  const ends = new Uint8Array(256)
  ends.fill(1, 0, 0x21)
  for (const char of ',;&)]}|>"\'') ends[char.charCodeAt(0)] = 1
  return ends
}

/** Names whose values say what happened; in small letters. `key=value` masks all others. */
export const TELLING_KEYS: readonly string[] =
  'msg message event error err reason level lvl severity status state action method op'.split(' ')
const TELLING = new Set(TELLING_KEYS)
export const TELLING_BYTES_MAX = 8

/** Whether the value of the key from `start` to `end` is read as text. */
export function isTellingKey(bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start > TELLING_BYTES_MAX) return false
  let name = ''
  for (let at = start; at < end; at++) name += String.fromCharCode(bytes[at]! | 0x20)
  return TELLING.has(name)
}

const SPACE = 0x20
const COMMA = 0x2c
const WEEKDAY = 1
const MONTH = 2
/** Three letters each, the first of them the highest byte. */
export const WEEKDAYS: readonly number[] = 'Mon Tue Wed Thu Fri Sat Sun'.split(' ').map(packed)
export const MONTHS: readonly number[] = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'
  .split(' ')
  .map(packed)
const DATE_WORDS: ReadonlyMap<number, number> = new Map([
  ...WEEKDAYS.map((word) => [word, WEEKDAY] as const),
  ...MONTHS.map((word) => [word, MONTH] as const),
])

function packed(word: string): number {
  return (word.charCodeAt(0) << 16) | (word.charCodeAt(1) << 8) | word.charCodeAt(2)
}

/**
 * Where the date begins of which the number at `number` is a part: names of a month or a weekday
 * before it belong to it. Looks back as far as `start`.
 */
export function dateStart(bytes: Uint8Array, start: number, number: number): number {
  const month = wordBefore(bytes, start, number, MONTH)
  return wordBefore(bytes, start, month, WEEKDAY)
}

/** Where the word before `at` begins, if it is such a name; else `at`. */
function wordBefore(bytes: Uint8Array, start: number, at: number, kind: number): number {
  let end = at
  while (end > start && bytes[end - 1] === SPACE) end--
  if (end === at) return at
  if (kind === WEEKDAY && end > start && bytes[end - 1] === COMMA) end--
  const first = end - 3
  if (first < start || (first > start && BYTE_KINDS[bytes[first - 1]!]! <= AT)) return at
  const word = (bytes[first]! << 16) | (bytes[first + 1]! << 8) | bytes[first + 2]!
  return DATE_WORDS.get(word) === kind ? first : at
}
