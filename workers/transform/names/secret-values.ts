/**
 * Whether a value under the name of a secret is a secret: `reset_password: true`, `auth: "basic"`
 * and `private_key: "/etc/ssl/key.pem"` have such names too. Cold: runs only for such values.
 */
import { unescapeToString } from '../../tape/json-string.ts'
import { ESCAPED, FALSE, NULL, STRING, TRUE } from '../../tape/tape-types.ts'
import { DRAWN_NAME, LISTED_NAME, NO_NAME, SECRET_NAME, WEAK_NAME } from './secret-names.ts'

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
/** The shortest part of a string, without signs, that is judged to be drawn at random. */
const DRAWN_CHARS_MIN = 16
const DRAWN_PART = /[A-Za-z0-9]{16,}/g
const HEX_CHARS_MIN = 32
const HAS_BOTH_CASES = /[a-z].*[A-Z]|[A-Z].*[a-z]/
/** Base64, whose signs part it anywhere. */
const BASE64 = /^[A-Za-z0-9+/]{32,200}={0,2}$/
const DIGIT_GROUPS_MIN = 3
const ONE_CASE_CHARS_MIN = 24
/** The words of a wallet, which are drawn at random too. */
const MNEMONIC = /^[a-z]{3,8}(?: [a-z]{3,8}){11,23}$/

/** Judges a value's text under a name of this kind. */
export function isSecretText(kind: number, text: string): boolean {
  if (kind === NO_NAME || kind === LISTED_NAME) return kind === LISTED_NAME
  if (kind === DRAWN_NAME) return isDrawn(text.slice(0, TEXT_CHARS_MAX))
  if (text.length > TEXT_CHARS_MAX) return true
  if (EMPTY.test(text) || VARIABLE.test(text) || FILE_PATH.test(text)) return false
  if (kind !== WEAK_NAME) return true
  if (text.length < WEAK_CHARS_MIN || WORDS.test(text) || DIGITS.test(text)) return false
  return !METHOD.test(text) && !EMAIL.test(text) && !OTHER_SID.test(text)
}

/** Whether a text has a part that nobody writes: letters and digits in no order, a seed phrase. */
function isDrawn(text: string): boolean {
  if (/^\w+:\/\//.test(text) || FILE_PATH.test(text)) return false
  if (BASE64.test(text) && isMixed(text.replace(/[+/=]/g, ''))) return true
  for (const [part] of text.matchAll(DRAWN_PART)) {
    const isHex = /^(?:[0-9a-f]+|[0-9A-F]+)$/.test(part)
    const digits = part.replace(/[^0-9]/g, '').length
    const hasBoth = digits > 1 && part.length - digits > 3
    if (isHex) {
      if (hasBoth && part.length >= HEX_CHARS_MIN) return true
    } else if (HAS_BOTH_CASES.test(part)) {
      if (isMixed(part)) return true
    } else if (hasBoth && part.length >= ONE_CASE_CHARS_MIN) {
      if (changesIn(part) > (part.length - 1) * 0.2) return true
    }
  }
  return MNEMONIC.test(text)
}

/** Whether small and capital letters and digits change places as they do where they are drawn. */
function isMixed(part: string): boolean {
  if (!HAS_BOTH_CASES.test(part)) return false
  if ((part.match(/[0-9]+/g)?.length ?? 0) >= DIGIT_GROUPS_MIN) return true
  // Two thirds of what is drawn, and a third of `Base64EncodedString`.
  return changesIn(part) > (part.length - 1) * 0.4
}

/** How often a digit, a small and a capital letter follow upon another of these. */
function changesIn(part: string): number {
  return part.match(/[a-z](?=[^a-z])|[A-Z](?=[^A-Z])|[0-9](?=[^0-9])/g)?.length ?? 0
}

/** The same of the string `start`..`end` in JSON. */
export function isSecretString(
  kind: number,
  bytes: Uint8Array,
  start: number,
  end: number,
): boolean {
  if (kind === LISTED_NAME) return true
  if (kind === DRAWN_NAME) {
    if (end - start < DRAWN_CHARS_MIN) return false
    // What is long is no word, and its beginning is enough: escapes only part it.
    const isLong = end - start > TEXT_CHARS_MAX * CHAR_BYTES_MAX
    const last = isLong ? start + TEXT_CHARS_MAX : end
    return isLong
      ? isDrawn(Buffer.from(bytes.subarray(start, last)).toString('latin1'))
      : isSecretText(kind, unescapeToString(bytes, start, last))
  }
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
