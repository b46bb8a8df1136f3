/** What bytes of syslog's messages may be, by a table. */

export const SPACE = 0x20
export const TAB = 0x09
export const COLON = 0x3a
export const PERCENT = 0x25
export const NUMBER_SIGN = 0x23
export const DASH = 0x2d
export const SLASH = 0x2f
export const OPEN_BRACKET = 0x5b
export const CLOSE_BRACKET = 0x5d
export const BACKSLASH = 0x5c
export const QUOTE = 0x22
export const EQUALS = 0x3d
export const PIPE = 0x7c

const LETTER = 1
const DIGIT = 2
const OF_HOST = 4
const OF_TAG = 8
const OF_KEY = 16
const OF_PROCESS = 32

const CLASSES = new Uint8Array(256)
mark('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', LETTER)
mark('0123456789', DIGIT)
for (let byte = 0; byte < 256; byte++) {
  if ((CLASSES[byte]! & (LETTER | DIGIT)) !== 0) {
    CLASSES[byte]! |= OF_HOST | OF_TAG | OF_KEY | OF_PROCESS
  }
}
mark('.-_:/@%[]', OF_HOST)
mark('.-_/+@(),*', OF_TAG)
mark('.-_[]', OF_KEY)
mark('.-_:/#', OF_PROCESS)

function mark(characters: string, bit: number): void {
  for (const character of characters) CLASSES[character.charCodeAt(0)]! |= bit
}

export function isDigit(byte: number | undefined): boolean {
  return (byte! - 0x30) >>> 0 < 10
}

export function isLetter(byte: number): boolean {
  return (CLASSES[byte]! & LETTER) !== 0
}

export function isAlphanumeric(byte: number): boolean {
  return (CLASSES[byte]! & (LETTER | DIGIT)) !== 0
}

export function isOfHost(byte: number): boolean {
  return (CLASSES[byte]! & OF_HOST) !== 0
}

export function isOfTag(byte: number): boolean {
  return (CLASSES[byte]! & OF_TAG) !== 0
}

/** Of a key in the extension of CEF. */
export function isOfKey(byte: number): boolean {
  return (CLASSES[byte]! & OF_KEY) !== 0
}

export function isOfProcess(byte: number): boolean {
  return (CLASSES[byte]! & OF_PROCESS) !== 0
}

/** The next space from `at` on, or `end`. */
export function spaceFrom(bytes: Uint8Array, at: number, end: number): number {
  while (at < end && bytes[at] !== SPACE) at++
  return at
}

export function skipSpaces(bytes: Uint8Array, at: number, end: number): number {
  while (at < end && bytes[at] === SPACE) at++
  return at
}

/** Whether `text`, of ASCII, is at `at`. */
export function isAt(bytes: Uint8Array, at: number, end: number, text: Uint8Array): boolean {
  if (end - at < text.length) return false
  for (let i = 0; i < text.length; i++) if (bytes[at + i] !== text[i]) return false
  return true
}

/** Behind a byte order mark, if there is one. */
export function skipMark(bytes: Uint8Array, at: number, end: number): number {
  const isMark = bytes[at] === 0xef && bytes[at + 1] === 0xbb && bytes[at + 2] === 0xbf
  return isMark && end - at > 2 ? at + 3 : at
}
