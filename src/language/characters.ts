/** Classes of characters, by UTF-16 code unit. Past the end of a text `charCodeAt` is NaN. */

export const QUOTE = 0x22
export const BACKQUOTE = 0x60
export const BACKSLASH = 0x5c
export const SLASH = 0x2f
export const COLON = 0x3a
export const COMMA = 0x2c
export const DOT = 0x2e
export const STAR = 0x2a
export const QUESTION = 0x3f
export const BAR = 0x7c
export const OPEN = 0x28
export const CLOSE = 0x29
export const OPEN_BRACKET = 0x5b
export const CLOSE_BRACKET = 0x5d
export const OPEN_BRACE = 0x7b
export const CLOSE_BRACE = 0x7d
export const MINUS = 0x2d
export const BANG = 0x21
export const EQUALS = 0x3d
const UNDERSCORE = 0x5f
const AT = 0x40
const DOLLAR = 0x24
const HASH = 0x23

/** White space as in Unicode and JavaScript: pasted text may hold no-break spaces. */
export function isSpace(code: number): boolean {
  if (code < 0x80) return code === 0x20 || (code >= 0x09 && code <= 0x0d)
  if (code === 0xa0 || code === 0x1680 || code === 0xfeff) return true
  if (code < 0x2000 || code > 0x3000) return false
  return code <= 0x200a || [0x2028, 0x2029, 0x202f, 0x205f, 0x3000].includes(code)
}

export function isAlphanumeric(code: number): boolean {
  const lower = code | 0x20
  return (code >= 0x30 && code <= 0x39) || (lower >= 0x61 && lower <= 0x7a)
}

/** Whether a field's segment may start with the character, outside backquotes. */
export function startsField(code: number): boolean {
  if (code >= 0x80) return !isSpace(code)
  const lower = code | 0x20
  const isLetter = lower >= 0x61 && lower <= 0x7a
  return isLetter || code === UNDERSCORE || code === AT || code === DOLLAR
}

export function continuesField(code: number): boolean {
  if (startsField(code) || isAlphanumeric(code)) return true
  return code === MINUS || code === SLASH || code === HASH
}
