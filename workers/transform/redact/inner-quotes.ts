/**
 * How the quotes of a text are spelled that is held by a string, perhaps by a string in a string.
 * Each level of JSON doubles the backslashes before a quote and adds one: 0, 1, 3, 7. Some encoders
 * write `\u0022`, nginx writes `\x22`. All functions look at the outermost spelling, so whatever is
 * replaced between two quotes needs no spelling of its own: text without quotes and backslashes is
 * the same at every level.
 */
const QUOTE = 0x22
const APOSTROPHE = 0x27
const BACKSLASH = 0x5c
const DIGIT_0 = 0x30
const DIGIT_2 = 0x32
const DIGIT_5 = 0x35
const LETTER_C = 0x63
const LETTER_U = 0x75
const LETTER_X = 0x78

/** Forms of quotes; 0 is none. */
export const NO_QUOTE = 0
export const DOUBLE_QUOTE = 1
export const UNICODE_QUOTE = 2
export const HEX_QUOTE = 3
export const SINGLE_QUOTE = 4

/** Bytes of each form, its backslashes aside. */
const FORM_BYTES = Uint8Array.of(0, 1, 5, 3, 1)

/** The quote read last: its position, its form and its backslashes. */
export class Quote {
  form = NO_QUOTE
  start = 0
  end = 0
  backslashes = 0
  /** Where the text that it closes ends: some of the backslashes may be that text's. */
  textEnd = 0

  /** Reads the quote that begins at `at`, backslashes first. Returns whether there is one. */
  read(bytes: Uint8Array, at: number, end: number): boolean {
    let sign = at
    while (sign < end && bytes[sign] === BACKSLASH) sign++
    this.form = formAt(bytes, sign, end, sign > at)
    this.start = at
    this.backslashes = sign - at
    this.end = sign + FORM_BYTES[this.form]!
    return this.form !== NO_QUOTE
  }

  /** Reads the quote that ends before `end`, of the text from `start`. */
  readBefore(bytes: Uint8Array, start: number, end: number): boolean {
    const last = bytes[end - 1]
    let form = NO_QUOTE
    if (end <= start) form = NO_QUOTE
    else if (last === QUOTE) form = DOUBLE_QUOTE
    else if (last === APOSTROPHE) form = SINGLE_QUOTE
    else if (last === DIGIT_2 && bytes[end - 2] === DIGIT_2) {
      const isHex = bytes[end - 3] === LETTER_X && bytes[end - 4] === BACKSLASH
      form = isHex ? HEX_QUOTE : UNICODE_QUOTE
    }
    const sign = end - FORM_BYTES[form]!
    if (sign < start) form = NO_QUOTE
    let at = sign
    while (at > start && bytes[at - 1] === BACKSLASH) at--
    this.form = form === formAt(bytes, sign, end, sign > at) ? form : NO_QUOTE
    this.start = at
    this.end = end
    this.backslashes = sign - at
    return this.form !== NO_QUOTE
  }
}

function formAt(bytes: Uint8Array, at: number, end: number, isEscaped: boolean): number {
  if (at >= end) return NO_QUOTE
  const byte = bytes[at]
  if (byte === QUOTE) return DOUBLE_QUOTE
  if (byte === APOSTROPHE) return SINGLE_QUOTE
  if (!isEscaped) return NO_QUOTE
  if (byte === LETTER_X && at + 3 <= end) {
    return bytes[at + 1] === DIGIT_2 && bytes[at + 2] === DIGIT_2 ? HEX_QUOTE : NO_QUOTE
  }
  if (byte !== LETTER_U || at + 5 > end) return NO_QUOTE
  if (bytes[at + 1] !== DIGIT_0 || bytes[at + 2] !== DIGIT_0) return NO_QUOTE
  return bytes[at + 3] === DIGIT_2 && bytes[at + 4] === DIGIT_2 ? UNICODE_QUOTE : NO_QUOTE
}

/** How many strings a quote is in: 1, 2, 3 for 1, 3, 7 backslashes. */
function levelOf(quote: Quote): number {
  return 32 - Math.clz32(quote.backslashes)
}

/**
 * Finds the quote that closes the string opened by `open`, into `close`. One without end, as a
 * limit of size leaves it, goes on to the quote of the string around it or to `end`: `close` has no
 * form then, and begins and ends there.
 */
export function findClose(bytes: Uint8Array, end: number, open: Quote, close: Quote): void {
  let at = open.end
  while (at < end) {
    const byte = bytes[at]
    if (byte !== BACKSLASH && byte !== QUOTE && byte !== APOSTROPHE) {
      at++
      continue
    }
    if (!close.read(bytes, at, end)) {
      at = close.end
    } else if (closes(bytes, open, close)) {
      close.textEnd = close.end - FORM_BYTES[close.form]! - open.backslashes
      return
    } else if (isAround(close, open)) {
      endAt(close, at)
      return
    } else {
      at = close.end
    }
  }
  endAt(close, end)
}

function endAt(close: Quote, at: number): void {
  close.form = NO_QUOTE
  close.start = at
  close.end = at
  close.textEnd = at
}

/** Whether a quote is of a string around the text that contains `inner`. */
export function isAround(quote: Quote, inner: Quote): boolean {
  if (quote.form === SINGLE_QUOTE || inner.form === SINGLE_QUOTE) return false
  if (quote.form === inner.form) return quote.backslashes < inner.backslashes
  return levelOf(quote) < levelOf(inner)
}

/** Whether a quote ends in the closing of what `open` opened: an escaped one does not. */
function closes(bytes: Uint8Array, open: Quote, quote: Quote): boolean {
  if (quote.form !== open.form) return false
  const more = quote.backslashes - open.backslashes
  // Such text holds quotes as `\'`, which a string around it spells `\\'`.
  if (open.form === SINGLE_QUOTE) return (more & 2) === 0
  if (open.form === HEX_QUOTE) return more === 0 && !isBehindHexBackslash(bytes, quote, open)
  // A backslash within the string is twice as many as there are strings: 4, 8, 16.
  return more >= 0 && more % (1 << (levelOf(open) + 1)) === 0
}

/** nginx writes a backslash as `\x5C`. */
function isBehindHexBackslash(bytes: Uint8Array, quote: Quote, open: Quote): boolean {
  let count = 0
  const size = open.backslashes + 3
  for (let at = quote.start; at - size >= open.end; at -= size) {
    const isBackslash =
      (bytes[at - 1]! | 0x20) === LETTER_C &&
      bytes[at - 2] === DIGIT_5 &&
      bytes[at - 3] === LETTER_X &&
      bytes[at - 4] === BACKSLASH
    if (!isBackslash) break
    count++
  }
  return count % 2 === 1
}
