/** Where values end in JSON that was judged to be valid. */
import { stringStop } from '../../tape/json-scan.ts'
import { ARRAY, FALSE, INT, NULL, OBJECT, STRING, TRUE } from '../../tape/tape-types.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const SPACE = 0x20
const LETTER_F = 0x66
const LETTER_N = 0x6e
const LETTER_T = 0x74

/** The end of any value, without a look at what is in it. */
export function valueEnd(bytes: Uint8Array, view: DataView, start: number): number {
  let pos = start
  if (bytes[pos] === QUOTE) return stringEnd(bytes, view, pos + 1) + 1
  if (bytes[pos] !== OPEN_OBJECT && bytes[pos] !== OPEN_ARRAY) return scalarEnd(bytes, pos)
  let depth = 0
  for (;;) {
    const byte = bytes[pos]!
    if (byte === QUOTE) {
      pos = stringEnd(bytes, view, pos + 1)
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      depth++
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      depth--
      if (depth === 0) return pos + 1
    }
    pos++
  }
}

/** The position of the closing quote; `start` is after the opening one. */
export function stringEnd(bytes: Uint8Array, view: DataView, start: number): number {
  let pos = start
  for (;;) {
    pos = stringStop(view, pos)
    if (bytes[pos] === QUOTE) return pos
    pos += 2
  }
}

/** The end of a number or a word. */
export function scalarEnd(bytes: Uint8Array, start: number): number {
  let pos = start
  for (;;) {
    const byte = bytes[pos]!
    if (byte <= SPACE || byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) return pos
    pos++
  }
}

/** The type, as the tape has it, of a value that begins so; all numbers are one. */
export function typeAt(first: number): number {
  if (first === QUOTE) return STRING
  if (first === LETTER_N) return NULL
  if (first === LETTER_T) return TRUE
  if (first === LETTER_F) return FALSE
  if (first === OPEN_OBJECT) return OBJECT
  return first === OPEN_ARRAY ? ARRAY : INT
}
