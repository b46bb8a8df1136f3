/** Random regular expressions, and texts that only look like them. */
import fc from 'fast-check'

const PIECES = [
  ...['a', 'é', '東', '.', '^', '$', '|', '(', ')', '(?:', '(?i)', '(?i:', '(?s-m:', '[', ']'],
  ...['[^', '[a-z]', '[[:alpha:]]', '[^\\d-]', '-', '*', '+', '?', '{2}', '{2,}', '{1,3}', '{'],
  ...['}', '{,2}', '\\d', '\\W', '\\b', '\\A', '\\z', '\\pL', '\\p{Greek}', '\\P{Lu}', '\\x41'],
  ...['\\x{1F600}', '\\.', '\\n', '\\/', '\\\\', '\\1', '\\Q', '\\Z', '(?=', '(?<n>', '(?P<n>'],
  ...[',', ' ', '#', '"', ':'],
]

export const regexSource = fc
  .array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 8 })
  .map((parts) => parts.join(''))
