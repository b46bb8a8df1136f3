/** Whether text is worth a try as a JSON object: it begins and ends as one does. */

const SPACE = 0x20
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const BACKSLASH = 0x5c
/** After a backslash: white space, where the text is the inside of a JSON string. */
const LETTER_N = 0x6e
const LETTER_R = 0x72

/** Of plain text, or of the inside of a JSON string. */
export function looksLikeObject(bytes: Uint8Array, start: number, end: number): boolean {
  let first = start
  while (first < end && bytes[first] === SPACE) first++
  if (bytes[first] !== OPEN_OBJECT) return false
  let last = end - 1
  for (;;) {
    const byte = bytes[last]!
    const isEscape =
      (byte === LETTER_N || byte === LETTER_R) && last > first && bytes[last - 1] === BACKSLASH
    if (isEscape) last -= 2
    else if (byte === SPACE) last--
    else return byte === CLOSE_OBJECT
  }
}
