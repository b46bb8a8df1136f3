/**
 * Recognises what is written instead of a secret: a mask, a template, the name of what belongs
 * there. One rule for everything that is found by its surroundings: passwords in URLs, parameters,
 * headers, connection strings, command lines.
 */

/** Of longer values the beginning is looked at. */
const LOOKED_AT_MAX = 256
const WORDS =
  'password passwd passwort pwd pass passphrase secret token key apikey value string text null ' +
  'nil none undefined true false yes no on off empty unset set missing required optional invalid ' +
  'valid example sample dummy placeholder changeme changeit todo tbd fixme redacted filtered ' +
  'hidden masked removed omitted sanitized scrubbed obfuscated protected encrypted suppressed ' +
  'unknown default na user username ok expired wrong incorrect correct failed success changed ' +
  'updated verified accepted rejected denied'
const IS_WORD: ReadonlySet<string> = new Set(WORDS.split(' '))
/** The last words of names that ask for a secret: `YOUR_API_KEY`, `db-password`. */
const NAME_END = /(?:^|[_-])(?:password|passwd|pwd|pass|secret|token|key|credentials?)(?:here)?$/
const NAME = /^[a-z]+(?:[_-][a-z]+)*$/
const UPPER_NAME = /^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/
/** Bullets and blocks are one byte each here, as what is not ASCII. */
const MASK = /^[*x.\-_#?•\u0080-\u00ff]+$/i
const TEMPLATE = /^(?:\$[({]|\{|<|\[|\(.*\)$|#\{|%[{(]|__\w+__$|%[a-z]$|@\w+@$|\?$)/i
const VARIABLE = /^(?:\$[A-Z_][A-Z0-9_]+|\$[a-z_]+|%[A-Z_][A-Z0-9_]*%|\$\d)$/
const TELLS = /^(?:your|my|some|insert|enter|replace|change|use|put|add|new)[_-]|redacted|filtered/i

/** Whether `value`, one character a byte, is not a secret but is written where one would be. */
export function isPlaceholderValue(value: string): boolean {
  const given = value.slice(0, LOOKED_AT_MAX)
  const text = given.includes('%') ? percentDecoded(given) : given
  // `***`, `xxxx-xxxx`, `0000`: also in part, as in `sk-***`.
  if (MASK.test(text) || text.includes('***') || isRepeated(text)) return true
  if (TEMPLATE.test(text) || VARIABLE.test(text) || TELLS.test(text)) return true
  const lower = text.toLowerCase()
  if (IS_WORD.has(lower.replace(/[^a-z]/g, '')) && /^[^0-9]*$/.test(text)) return true
  return (NAME.test(lower) || UPPER_NAME.test(text)) && NAME_END.test(lower)
}

function isRepeated(text: string): boolean {
  if (text.length === 1) return false
  for (let i = 1; i < text.length; i++) if (text[i] !== text[0]) return false
  return true
}

function percentDecoded(text: string): string {
  return text.replace(/%[0-7][0-9a-f]/gi, (code) =>
    String.fromCharCode(Number.parseInt(code.slice(1), 16)),
  )
}
