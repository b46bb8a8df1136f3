/**
 * Keys of JSON that a string holds: finds those that end in a word of secrets. A key stands before
 * a colon or `=>`, mostly in quotes, however these are spelled; so it is read backwards from there,
 * letter by letter through a tree of the words' letters. No structure is looked at, and no byte is
 * read for two keys.
 *
 * Errs on one side only, as `secrets.ts` does: `workers/transform/redact/inner-json.ts` judges.
 */

const SPACE: u32 = 0x20
/** A backslash and a quote, as one number. */
const ESCAPED_QUOTE: u16 = 0x225c
const QUOTE: u32 = 0x22
const APOSTROPHE: u32 = 0x27
const DASH: u32 = 0x2d
const DOT: u32 = 0x2e
const COLON: u8 = 0x3a
const DIGIT_0: u32 = 0x30
const DIGIT_2: u32 = 0x32
const EQUALS: u32 = 0x3d
const MORE: u8 = 0x3e
const OPEN_ARRAY: u32 = 0x5b
const BACKSLASH: u32 = 0x5c
const CLOSE_ARRAY: u32 = 0x5d
const UNDERSCORE: u32 = 0x5f
const LETTER_A: u32 = 0x61
const LETTER_U: u32 = 0x75
const LETTER_X: u32 = 0x78
const OPEN_OBJECT: u8 = 0x7b
const ALL_BYTES: i32 = 0xffff

const ROOT: usize = 1
const WHOLE_WORD: usize = 0xffff
const NEUTRAL_WORD: usize = 0x8000
const STATE: usize = 0x7fff

/**
 * Address of the first colon, or of the `>` of `=>`, after a key in the value `start`..`end` that
 * may name a secret; `end` where there is none. Text without a brace has no keys, but for a line of
 * an object that was printed over several: such a line begins with one. `states`: by state and five
 * bits of a letter, the state after it (`workers/transform/redact/inner-keys.ts`).
 */
export function firstInnerKey(states: usize, start: usize, end: usize): usize {
  const first = <u32>load<u8>(start)
  if (first === SPACE || first === BACKSLASH || first === APOSTROPHE) {
    return nextInnerKey(states, start, start, end)
  }
  for (let at = start; at < end; at += 16) {
    const braces = signsBefore(v128.load(at), OPEN_OBJECT, <i32>(end - at))
    if (braces !== 0) return nextInnerKey(states, start, at + ctz(braces), end)
  }
  return end
}

/** The same from `from` on, within the value from `start`. */
export function nextInnerKey(states: usize, start: usize, from: usize, end: usize): usize {
  for (let at = from; at < end; at += 16) {
    const text = v128.load(at)
    const isSign = v128.or(i8x16.eq(text, i8x16.splat(COLON)), i8x16.eq(text, i8x16.splat(MORE)))
    let signs = i8x16.bitmask(isSign)
    if (signs === 0) continue
    const left = <i32>(end - at)
    if (left < 16) signs &= (1 << left) - 1
    for (; signs !== 0; signs &= signs - 1) {
      const sign = at + ctz(signs)
      if (!isBehindOtherKey(states, start, sign) && isBehindSecretWord(states, start, sign))
        return sign
    }
  }
  return end
}

/** A bit for each of the sixteen bytes that is `sign`, of the first `left`. */
function signsBefore(text: v128, sign: u8, left: i32): i32 {
  const signs = i8x16.bitmask(i8x16.eq(text, i8x16.splat(sign)))
  return left < 16 ? signs & ((1 << left) - 1) : signs & ALL_BYTES
}

/**
 * The most usual case by itself: whether a quote with a backslash before it stands before the sign,
 * and before these two letters with which no word ends.
 */
function isBehindOtherKey(states: usize, start: usize, sign: usize): bool {
  if (sign < start + 4 || load<u16>(sign - 2) !== ESCAPED_QUOTE) return false
  const last = <u32>load<u8>(sign - 3)
  const before = <u32>load<u8>(sign - 4)
  if ((last | 0x20) - LETTER_A >= 26 || (before | 0x20) - LETTER_A >= 26) return false
  const state = <usize>load<u16>(states + (((ROOT << 5) | (last & 31)) << 1))
  if (state === WHOLE_WORD || (state & NEUTRAL_WORD) !== 0) return false
  const isOther = load<u16>(states + (((state << 5) | (before & 31)) << 1)) === 0
  return isOther && !isSpelled(start, sign - 4)
}

function isBehindSecretWord(states: usize, start: usize, sign: usize): bool {
  let at = sign - 1
  if (load<u8>(sign) === MORE) {
    if (at < start || <u32>load<u8>(at) !== EQUALS) return false
    at--
  }
  while (at >= start && <u32>load<u8>(at) === SPACE) at--
  if (at < start) return false
  return endsInSecretWord(states, start, beforeQuote(start, at))
}

/** The last byte before the quote that ends at `at`, if one does. */
function beforeQuote(start: usize, at: usize): usize {
  let last = at
  const byte = <u32>load<u8>(at)
  if (byte === QUOTE || byte === APOSTROPHE) {
    last = at - 1
  } else if (byte === DIGIT_2 && at > start + 2 && <u32>load<u8>(at - 1) === DIGIT_2) {
    // `\x22` and `\u0022`.
    if (<u32>load<u8>(at - 2) === LETTER_X) last = at - 3
    else if (<u32>load<u8>(at - 2) === DIGIT_0 && at > start + 4) last = at - 5
  }
  while (last >= start && <u32>load<u8>(last) === BACKSLASH) last--
  return last
}

/**
 * Whether the words up to `last` end in one of a secret, ignoring words that say nothing about it.
 */
function endsInSecretWord(states: usize, start: usize, last: usize): bool {
  let state = ROOT
  /** Before a word that says nothing, if there was one: there it goes on. */
  let next: usize = 0
  for (let at = last; at >= start; at--) {
    const byte = <u32>load<u8>(at)
    if ((byte | 0x20) - LETTER_A < 26) {
      const found = <usize>load<u16>(states + (((state << 5) | (byte & 31)) << 1))
      if (found === WHOLE_WORD) return true
      state = found & STATE
      if ((found & NEUTRAL_WORD) !== 0 && next === 0 && isWordStart(start, at)) next = at - 1
      if (state !== 0) continue
      if (isSpelled(start, at)) return true
    } else if (byte >= 0x80 || isSpelled(start, at)) {
      return true
    } else if (isBetweenWords(byte)) {
      continue
    }
    if (next === 0) return false
    at = next + 1
    next = 0
    state = ROOT
  }
  return false
}

/** Whether a word begins at the letter at `at`: where case changes, or after no letter. */
function isWordStart(start: usize, at: usize): bool {
  const before = <u32>load<u8>(at - 1)
  if (at === start || (before | 0x20) - LETTER_A >= 26) return true
  if (<u32>load<u8>(at) >= LETTER_A) return false
  return before >= LETTER_A || <u32>load<u8>(at + 1) >= LETTER_A
}

/** What separates the words of a name; digits count for nothing either. */
function isBetweenWords(byte: u32): bool {
  return (
    byte === UNDERSCORE ||
    byte === DASH ||
    byte === SPACE ||
    byte === DOT ||
    byte - DIGIT_0 < 10 ||
    byte === OPEN_ARRAY ||
    byte === CLOSE_ARRAY
  )
}

/** Whether the byte at `at` is of a letter spelled as `\u0070`: then nothing is known. */
function isSpelled(start: usize, at: usize): bool {
  for (let from = at - 1; from > start && from + 5 > at; from--) {
    if (<u32>load<u8>(from) === LETTER_U && <u32>load<u8>(from - 1) === BACKSLASH) return true
  }
  return false
}
