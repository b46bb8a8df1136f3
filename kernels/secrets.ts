/**
 * Which events redaction has to look at: most have nothing that could be a secret. Errs on one side
 * only: what `workers/transform/redact/redact.ts` would find is never passed over. That one looks
 * at the others, and judges for itself.
 */
import { hasMark, isBasic } from './credential-marks'
import { Events } from './events'
import { mayBegin, mayEndSecret } from './formats'
import { nextInnerKey } from './inner-keys'
import { signsIn } from './scan'
import { NameEnds, SecretTables } from './secret-tables'
import { DEAD, ESCAPED, EXTENSION, STRING } from './tape-entries'

const COLON: u32 = 0x3a
const LETTER_R: u32 = 0x72
const LETTER_C: u32 = 0x63
const SPACE: u32 = 0x20
const PERCENT: u32 = 0x25
const OPEN_OBJECT: u32 = 0x7b
const BACKSLASH: u32 = 0x5c
const QUOTE: u32 = 0x22
const TILDE: u32 = 0x7e
const LETTER_Q: u32 = 0x51
const APOSTROPHE: u32 = 0x27
/** The shortest value with a secret in it, and the shortest run of token bytes. */
const SECRET_BYTES_MIN: usize = 8
const RUN_BYTES_MIN: i32 = 16
const ALL_BYTES: i32 = 0xffff
const EQUALS: u8 = 0x3d
/** Flags of nodes: see `workers/transform/redact/redact-keys.ts`. */
const SECRET_STRINGS: u32 = 64
const KEY: u32 = 1
/** How names end: see `workers/transform/names/name-endings.ts`. */
const END_LONG: u32 = 2
const END_SECRET: u32 = 3
const END_ANY: u32 = 7
/** A name in front of an equals sign ends before that; see `listed-names.ts`. */
const ASSIGNMENT_BYTES_MAX: usize = 256

const TRIPLE_HASH: u32 = 0x9e3779b1
const TRIPLE_SHIFT: u32 = 17
/** What `SecretTables.signs` says of what tokens are made of. */
const TOKEN: i8 = 0x0f
/** Added to classes, it takes those of marks to the sign bit. */
const TO_SIGN: i8 = 0x70
/** The bit of `=` and `:`, and how far left of that of digits it is. */
const SIGN_MARK: i8 = 0x40
const DIGIT_TO_SIGN_MARK: i32 = 5

/** The next event, from `first` on, that has to be examined; `end` when there is none. */
export function findSuspect(
  tables: SecretTables,
  events: Events,
  first: i32,
  end: i32,
  entries: usize,
  bytes: usize,
): i32 {
  let event = first
  for (; event < end; event++) {
    const at = (<usize>event) << 2
    const from = entries + ((<usize>load<i32>(events.tapeStarts + at)) << 2)
    const to = entries + ((<usize>load<i32>(events.tapeEnds + at)) << 2)
    if (isSuspect(tables, from, to, bytes)) break
  }
  return event
}

function isSuspect(tables: SecretTables, from: usize, to: usize, bytes: usize): bool {
  for (let entry = from; entry < to; entry += 16) {
    const type = load<i32>(entry, 4)
    if (type === EXTENSION) continue
    if (type === DEAD) return true
    const node = load<i32>(entry)
    if (node >= tables.keyCount) return true
    const flags = <u32>load<u8>(tables.keyFlags + node)
    if (flags === 0 || (flags & tables.specialKeys) !== 0) return true
    if (type !== STRING && type !== ESCAPED) continue
    const start = bytes + load<i32>(entry, 8)
    const end = bytes + load<i32>(entry, 12)
    if (flags >= SECRET_STRINGS) {
      if ((flags & SECRET_STRINGS) !== 0) return true
      if (mayNameSecret(tables.names, start, end, type === ESCAPED, (flags & KEY) === 0))
        return true
    }
    if (node === tables.logNode && mayBeObject(start)) return true
    if (end - start < SECRET_BYTES_MIN) continue
    if (mayBeginWithKey(start) && nextInnerKey(tables.keyStates, start, start, end) < end)
      return true
    if (type === ESCAPED && !hasPlainEscapes(start, end)) return true
    if (isSuspectText(tables, start, end, true)) return true
  }
  return false
}

/**
 * Whether a string at a node where names are looked for can be that of a secret, or in a list begin
 * with one and an equals sign. What is exactly, `workers/transform/names/listed-names.ts` says.
 */
export function mayNameSecret(
  names: NameEnds,
  start: usize,
  end: usize,
  isEscaped: bool,
  isInList: bool,
): bool {
  if (isEscaped && !hasPlainEscapes(start, end)) return true
  if (!isInList) return mayEndName(names, start, end)
  if (endsAsName(names, start, end, END_SECRET)) return true
  const last = min(end, start + ASSIGNMENT_BYTES_MAX)
  for (let at = start; at < last; at += 16) {
    const left = <i32>(last - at)
    const inValue = left < 16 ? (1 << left) - 1 : ALL_BYTES
    let equals = signsIn(v128.load(at), EQUALS) & inValue
    for (; equals !== 0; equals &= equals - 1) {
      if (mayEndName(names, start, at + ctz(equals))) return true
    }
  }
  return false
}

/** Whether a name may end here, after which digits and signs count for nothing. */
function mayEndName(names: NameEnds, start: usize, end: usize): bool {
  let last = end
  while (last > start && isSign(<u32>load<u8>(last - 1))) last--
  return endsAsName(names, start, last, END_ANY)
}

/** Whether the last letters of `start`..`end` are those of one of the words of these kinds. */
function endsAsName(names: NameEnds, start: usize, end: usize, kinds: u32): bool {
  if (end < start + 2) return false
  if (isSign(<u32>load<u8>(end - 1))) return false
  const before = <u32>load<u8>(end - 3)
  if (((before | <u32>load<u8>(end - 2) | <u32>load<u8>(end - 1)) & 0x80) !== 0) return true
  const found = <u32>load<u8>(names.ends + tripleAt(end - 3)) & kinds
  if (found === 0) return false
  if ((found & ~END_LONG) !== 0) return true
  if (end < start + 6 || load<u8>(names.middles + tripleAt(end - 6)) !== 0) return true
  return !(
    isLetter(<u32>load<u8>(end - 4)) &&
    isLetter(<u32>load<u8>(end - 5)) &&
    isLetter(<u32>load<u8>(end - 6))
  )
}

function isSign(byte: u32): bool {
  return byte < 0x80 && !isLetter(byte)
}

function isLetter(byte: u32): bool {
  return (byte | 0x20) - 0x61 < 26
}

/** Five bits each of three bytes: the same for small and capital letters. */
function tripleAt(at: usize): usize {
  const first = <usize>load<u8>(at) & 31
  const second = <usize>load<u8>(at + 1) & 31
  return (first << 10) | (second << 5) | (<usize>load<u8>(at + 2) & 31)
}

/** Whether the scanner may find a secret in a value; of names in it nothing is said. */
export function mayBeSecret(tables: SecretTables, start: usize, end: usize, isEscaped: bool): bool {
  return (isEscaped && !hasPlainEscapes(start, end)) || isSuspectText(tables, start, end, false)
}

function mayBeObject(start: usize): bool {
  const byte = <u32>load<u8>(start)
  return byte === OPEN_OBJECT || byte === SPACE || byte === BACKSLASH
}

/** Whether a value begins as a line of an object that was printed over several lines does. */
function mayBeginWithKey(start: usize): bool {
  const byte = <u32>load<u8>(start)
  return byte === SPACE || byte === BACKSLASH || byte === APOSTROPHE
}

/**
 * Whether a value's escapes stand for quotes and control characters only: none is a token byte, so
 * that the runs of the text are those of the value.
 */
function hasPlainEscapes(start: usize, end: usize): bool {
  for (let at = start; at < end; ) {
    const left = <i32>(end - at)
    const inValue = left < 16 ? (1 << left) - 1 : ALL_BYTES
    const escapes = signsIn(v128.load(at), <u8>BACKSLASH) & inValue
    if (escapes === 0) {
      at += 16
      continue
    }
    const kind = <u32>load<u8>(at + ctz(escapes) + 1)
    const isControl =
      kind === 0x6e || kind === 0x74 || kind === LETTER_R || kind === 0x62 || kind === 0x66
    if (kind !== QUOTE && !isControl) return false
    at += ctz(escapes) + 2
  }
  return true
}

/**
 * Whether a value has a mark, a run in which a secret may begin, or with `hasKeys` after a brace a
 * key that may name one. A run after a backslash begins with the letter of an escape.
 */
function isSuspectText(tables: SecretTables, start: usize, end: usize, hasKeys: bool): bool {
  let run = 0
  let looksForKeys = hasKeys
  let before = i8x16.splat(0)
  if (isBasic(start)) return true
  for (let at = start; at < end; at += 16) {
    const left = <i32>(end - at)
    const inValue = left < 16 ? (1 << left) - 1 : ALL_BYTES
    const text = v128.load(at)
    const classes = classesOf(text, tables.signs)
    const braces = i8x16.eq(text, i8x16.splat(<u8>OPEN_OBJECT))
    const signed = i8x16.add_sat_u(classes, i8x16.splat(TO_SIGN))
    if ((i8x16.bitmask(v128.or(signed, braces)) & inValue) !== 0) {
      if (looksForKeys && (i8x16.bitmask(braces) & inValue) !== 0) {
        looksForKeys = false
        if (nextInnerKey(tables.keyStates, start, at, end) < end) return true
      }
      const marks = i8x16.bitmask(marksOf(classes, before)) & inValue
      if (marks !== 0 && hasMark(tables, start, at, marks)) return true
    }
    before = classes
    // With what is left, the run is too short.
    if (run + left < RUN_BYTES_MIN) return false
    const token = ~withoutClass(v128.and(classes, i8x16.splat(TOKEN))) & inValue
    if (token === ALL_BYTES) {
      run += 16
      continue
    }
    const ones = ctz(~token)
    if (run + ones >= RUN_BYTES_MIN && isSuspectRun(tables, start, at - run, at + ones)) return true
    run = clz(~(token << 16))
  }
  return run >= RUN_BYTES_MIN && isSuspectRun(tables, start, end - run, end)
}

/** What a table of two halves says of each byte; see `suspects.ts`. */
function classesOf(text: v128, table: usize): v128 {
  const low = v128.and(text, i8x16.splat(0x0f))
  const high = i8x16.shr_u(text, 4)
  return v128.and(i8x16.swizzle(v128.load(table), low), i8x16.swizzle(v128.load(table, 16), high))
}

/**
 * The sign bit where a mark is. An equals sign or a colon after a digit is none: most of them
 * stand in times. `before` are the classes of the sixteen bytes before.
 */
function marksOf(classes: v128, before: v128): v128 {
  const left = v128.shuffle<u8>(
    before,
    classes,
    15,
    16,
    17,
    18,
    19,
    20,
    21,
    22,
    23,
    24,
    25,
    26,
    27,
    28,
    29,
    30,
  )
  const behindDigit = v128.and(i16x8.shl(left, DIGIT_TO_SIGN_MARK), i8x16.splat(SIGN_MARK))
  return i8x16.add_sat_u(v128.andnot(classes, behindDigit), i8x16.splat(TO_SIGN))
}

/** A bit for each of the sixteen bytes that is of none of the classes. */
function withoutClass(classes: v128): i32 {
  return i8x16.bitmask(i8x16.eq(classes, i8x16.splat(0)))
}

/** Whether a secret may begin in the run of token bytes `from`..`to` of the value from `start`. */
function isSuspectRun(tables: SecretTables, start: usize, from: usize, to: usize): bool {
  let at = from
  if (from > start) {
    const before = <u32>load<u8>(from - 1)
    // What is spelled with a percent sign may end in the run.
    if (before === PERCENT) return true
    if (isSchemeGap(before) && isBehindScheme(start, from)) return true
    if (before === BACKSLASH) at++
  }
  const last = to - 1
  while (at < last) {
    const text = load<u32>(at)
    const hash = ((text & 0xffffff) * TRIPLE_HASH) >>> TRIPLE_SHIFT
    if (
      ((load<u8>(tables.triples + (hash >>> 3)) >> (<u8>hash & 7)) & 1) !== 0 &&
      mayBegin(tables, text, at)
    ) {
      return true
    }
    at = wordEnd(tables, at, last) + 1
    // What Entra ID marks its secrets with; the rest of them is random.
    if (<u32>load<u8>(at - 1) === TILDE && <u32>load<u8>(at - 2) === LETTER_Q) return true
  }
  return mayEndSecret(tables, from, to)
}

/** Where the word at `from` ends, `last` at most; `from` where there is none. */
function wordEnd(tables: SecretTables, from: usize, last: usize): usize {
  for (let at = from; at < last; at += 16) {
    const others = withoutClass(classesOf(v128.load(at), tables.words))
    if (others !== 0) return min(at + ctz(others), last)
  }
  return last
}

/** What may come between `Bearer` and a token: spaces, quotes, a colon, an escape's backslash. */
function isSchemeGap(byte: u32): bool {
  return (
    byte <= SPACE || byte === COLON || byte === APOSTROPHE || byte === QUOTE || byte === BACKSLASH
  )
}

/** Whether a word that ends as `Bearer` and `Basic` do stands before the gap before `from`. */
function isBehindScheme(start: usize, from: usize): bool {
  let at = from - 1
  while (at > start && isSchemeGap(<u32>load<u8>(at))) at--
  const letter = <u32>load<u8>(at) | 0x20
  return letter === LETTER_R || letter === LETTER_C
}
