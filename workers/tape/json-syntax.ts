/** What may be wrong with JSON, and the words for it. */
import { DEPTH_MAX } from '../../src/limits.ts'

/** Why parsing stopped; `TAPE_ERRORS` has the words. */
export const SYNTAX_VALUE = 1
export const SYNTAX_KEY = 2
export const SYNTAX_COLON = 3
export const SYNTAX_COMMA = 4
export const SYNTAX_STRING = 5
export const SYNTAX_ESCAPE = 6
export const SYNTAX_NUMBER = 7
export const SYNTAX_TRAILING = 8
export const TOO_DEEP = 9

export const TAPE_ERRORS: readonly string[] = [
  '',
  'expected a value',
  'expected a key in double quotes',
  "expected ':' after the key",
  "expected ',' or the closing bracket",
  'control character or end of input inside a string',
  'invalid escape in a string',
  'invalid number',
  'unexpected data after the value',
  `nested deeper than ${DEPTH_MAX} levels (DEPTH_MAX)`,
]
