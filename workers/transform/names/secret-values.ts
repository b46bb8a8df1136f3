/**
 * Whether a value under the name of a secret is a secret: `reset_password: true`, `auth: "basic"`
 * and `private_key: "/etc/ssl/key.pem"` have such names too. Cold: runs only for such values.
 */
import { unescapeToString } from '../../tape/json-string.ts'
import { ESCAPED, FALSE, NULL, STRING, TRUE } from '../../tape/tape-types.ts'
import { LISTED_NAME, NO_NAME, SECRET_NAME, WEAK_NAME } from './secret-names.ts'

/** Longer strings are not flags, words or paths. */
const TEXT_CHARS_MAX = 200
/** As many bytes as one character of a JSON string takes at most. */
const CHAR_BYTES_MAX = 6

/** Flags, and masks and templates as programs write them. */
const EMPTY = new RegExp(
  '^(?:true|false|null|none|nil|undefined|yes|no|on|off|enabled?|disabled?|required|' +
    'optional|unset|empty|n/?a|-+|\\*+|x{3,}|<[\\w -]+>|' +
    '\\$\\{[^}]*\\}|\\{\\{[^}]*\\}\\}|' +
    '\\[?(?:redacted|filtered|masked|hidden)\\]?)?$',
  'i',
)
/** Variables of shells; a dollar may begin a password. */
const VARIABLE = /^(?:\$[A-Z][A-Z0-9_]+|%[A-Z][A-Z0-9_]+%)$/
/** The name of a file with a secret is not a secret; a secret in base64 has no file ending. */
const FILE_PATH = new RegExp(
  '^(?:file:/)?(?:\\.{0,2}|~|[A-Za-z]:)[/\\\\][\\w.@ /\\\\-]*' +
    '(?:\\.[a-z]\\w{1,5}|[/\\\\]secrets[/\\\\][\\w.-]+)$',
)
const WORDS = /^(?:[A-Z]?[a-z]+|[A-Z]+)(?:[ _./:,-]+(?:[A-Z]?[a-z]+|[A-Z]+))*[.!]?$/
const DIGITS = /^[\d.,:TZ+ -]+$/
const METHOD =
  /^(?:s?cram|x?oauth|md|sha|ntlm|m?tls|ssl|http|saml|ldap|wpa|eap|openid|rfc)[-_\w.]{0,12}$/i
const EMAIL = /^[\w.+-]+@[\w.-]+$/
/** A Windows account; a resource of a vendor that calls its identifiers so. */
const OTHER_SID = /^(?:S-1-[\d-]+|[A-Z]{2}[0-9a-f]{32})$/
const WEAK_CHARS_MIN = 6

/** Judges a value's text under a name of this kind. */
export function isSecretText(kind: number, text: string): boolean {
  if (kind === NO_NAME || kind === LISTED_NAME) return kind === LISTED_NAME
  if (text.length > TEXT_CHARS_MAX) return true
  if (EMPTY.test(text) || VARIABLE.test(text) || FILE_PATH.test(text)) return false
  if (kind !== WEAK_NAME) return true
  if (text.length < WEAK_CHARS_MIN || WORDS.test(text) || DIGITS.test(text)) return false
  return !METHOD.test(text) && !EMAIL.test(text) && !OTHER_SID.test(text)
}

/** The same of the string `start`..`end` in JSON. */
export function isSecretString(
  kind: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): boolean {
  if (kind === LISTED_NAME) return true
  if (end - start > TEXT_CHARS_MAX * CHAR_BYTES_MAX) return kind !== NO_NAME
  return isSecretText(kind, unescapeToString(bytes, start, end))
}

/** Judges a value of any type of the tape under a name of this kind; strings by their text. */
export function isSecretValue(
  kind: number,
  type: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): boolean {
  if (type === NULL) return false
  if (type === STRING || type === ESCAPED) return isSecretString(kind, bytes, start, end)
  if (kind !== SECRET_NAME) return kind === LISTED_NAME
  return type !== TRUE && type !== FALSE
}
