/**
 * QRadar's Log Event Extended Format, behind `LEEF:`:
 *
 *   1.0|Vendor|Product|1.0|100|src=10.0.0.1<tab>cat=what happened
 *   2.0|Vendor|Product|1.0|100|^|src=10.0.0.1^cat=what happened
 *
 * The delimiter of version 2 is a character, or its number in hexadecimal (`x5E`, `0x5E`); it may
 * be missing, and is a tab then. Where a relay made spaces of tabs, members are told apart as in
 * CEF.
 */
import { IS_HEX } from '../../tape/json-scan.ts'
import { readExtension, readHeader } from './cef.ts'
import { type FieldList, VALUE_IN_TEXT } from './field-list.ts'
import { LEEF_NAME_ENDS } from './header-names.ts'
import { BACKSLASH, EQUALS, isAlphanumeric, PIPE, SPACE, TAB } from './syslog-bytes.ts'
import type { SyslogMessage } from './syslog-message.ts'

const NO_GROUP = 0
/** `0x10FFFF`, as the longest. */
const DELIMITER_BYTES_MAX = 8
const CODE_POINT_MAX = 0x10ffff
const VERSION_1 = 0x31
const VERSION_2 = 0x32
const LETTER_X = 0x78
const HEX_DIGITS_MAX = 6

/** Reads it into the message's payload; false where it is none. */
export function readLeef(message: SyslogMessage, at: number, end: number): boolean {
  const { bytes } = message.source
  const { payload } = message
  payload.clear(message.source)
  const version = at < end ? bytes[at] : 0
  if (version !== VERSION_1 && version !== VERSION_2) return false
  const headerEnd = readHeader(bytes, payload, LEEF_NAME_ENDS, at, end)
  if (headerEnd < 0 || headerEnd >= end) return false
  const start = headerEnd + 1
  if (start === end) return true
  if (version === VERSION_2) {
    const pipe = pipeFrom(bytes, start, end)
    const delimiter = pipe < 0 ? undefined : delimiterOf(bytes, start, pipe)
    if (delimiter !== undefined) return readMembers(bytes, payload, delimiter, pipe + 1, end)
  }
  const isByTabs = hasByte(bytes, TAB, start, end)
  return isByTabs
    ? readMembers(bytes, payload, TAB_DELIMITER, start, end)
    : readExtension(bytes, payload, start, end)
}

const TAB_DELIMITER = Uint8Array.of(TAB)

/** The pipe behind a delimiter that begins at `at`; -1 where there is none. */
function pipeFrom(bytes: Uint8Array, at: number, end: number): number {
  const stop = Math.min(end, at + DELIMITER_BYTES_MAX + 1)
  // A pipe may be the delimiter itself.
  if (at + 1 < stop && bytes[at] === PIPE && bytes[at + 1] === PIPE) return at + 1
  for (let pos = at; pos < stop; pos++) if (bytes[pos] === PIPE) return pos
  return -1
}

/** What the field says; undefined where it is no delimiter. Few messages have one that is long. */
function delimiterOf(bytes: Uint8Array, start: number, end: number): Uint8Array | undefined {
  if (start === end) return TAB_DELIMITER
  const byte = bytes[start]!
  if (end - start === 1) {
    return isAlphanumeric(byte) || byte === EQUALS ? undefined : Uint8Array.of(byte)
  }
  if (end - start === 2 && byte === BACKSLASH && bytes[start + 1] === 0x74) return TAB_DELIMITER
  const letter = byte === 0x30 ? start + 1 : start
  if ((bytes[letter]! | 0x20) === LETTER_X) return ofCodePoint(bytes, letter + 1, end)
  // A character beyond ASCII: the message is valid UTF-8.
  const isOne = byte >= 0xc0 && end - start === (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2)
  return isOne ? Uint8Array.from(bytes.subarray(start, end)) : undefined
}

/** The character whose number is at `start`..`end`, in hexadecimal digits. */
function ofCodePoint(bytes: Uint8Array, start: number, end: number): Uint8Array | undefined {
  if (end === start || end - start > HEX_DIGITS_MAX) return undefined
  let point = 0
  for (let i = start; i < end; i++) {
    const letter = bytes[i]! | 0x20
    if (IS_HEX[bytes[i]!] === 0) return undefined
    point = point * 16 + (letter >= 0x61 ? letter - 0x57 : bytes[i]! - 0x30)
  }
  if (point > CODE_POINT_MAX || (point >= 0xd800 && point < 0xe000)) return undefined
  return point < 0x80 ? Uint8Array.of(point) : Buffer.from(String.fromCodePoint(point))
}

/** Reads members that the delimiter separates; false where there is none, or too many. */
function readMembers(
  bytes: Uint8Array,
  payload: FieldList,
  delimiter: Uint8Array,
  at: number,
  end: number,
): boolean {
  const before = payload.count
  let isEmpty = true
  for (let start = at; start < end; ) {
    const stop = delimiterFrom(bytes, delimiter, start, end)
    isEmpty &&= stop === start
    if (stop > start && !readMember(bytes, payload, start, stop)) return false
    start = stop + delimiter.length
  }
  return isEmpty || payload.count > before
}

/** Reads `key=value`; what has no key is passed over. False when there are too many. */
function readMember(bytes: Uint8Array, payload: FieldList, start: number, end: number): boolean {
  let equals = start
  while (equals < end && bytes[equals] !== EQUALS) equals++
  let keyStart = start
  let keyEnd = equals
  while (keyStart < keyEnd && bytes[keyStart] === SPACE) keyStart++
  while (keyEnd > keyStart && bytes[keyEnd - 1] === SPACE) keyEnd--
  if (equals >= end || keyEnd === keyStart) return true
  const { text } = payload
  text.reserve(end - equals)
  const textStart = text.length
  let escapes = 0
  for (let i = equals + 1; i < end; i++) {
    const isEscape = bytes[i] === BACKSLASH && i + 1 < end && isEscaped(bytes[i + 1]!)
    if (isEscape) {
      escapes++
      i++
    }
    text.bytes[text.length++] = bytes[i]!
  }
  if (escapes > 0) {
    return payload.add(NO_GROUP, keyStart, keyEnd, textStart, text.length, VALUE_IN_TEXT)
  }
  text.length = textStart
  return payload.add(NO_GROUP, keyStart, keyEnd, equals + 1, end, 0)
}

function isEscaped(byte: number): boolean {
  return byte === EQUALS || byte === PIPE
}

/** The next delimiter, or the end. */
function delimiterFrom(bytes: Uint8Array, delimiter: Uint8Array, at: number, end: number): number {
  const { length } = delimiter
  for (let pos = at; pos + length <= end; pos++) {
    let i = 0
    while (i < length && bytes[pos + i] === delimiter[i]) i++
    if (i === length) return pos
  }
  return end
}

function hasByte(bytes: Uint8Array, byte: number, at: number, end: number): boolean {
  for (let pos = at; pos < end; pos++) if (bytes[pos] === byte) return true
  return false
}
