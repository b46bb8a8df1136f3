/**
 * Judges what a text has after the name of a credential. The name alone is not enough: prose says
 * `password: required`, and real logs `token=Token{…}`. The text must also have a form that carries
 * credentials: a header, a parameter of a URL or form, a connection string, a command line, an
 * assignment of the environment, a quoted pair.
 *
 * Reads a bounded stretch around the sign that `credential-marks.ts` found, as a string: few values
 * have such a sign.
 */

import { isSecretName } from '../names/secret-names.ts'
import { holdsCookie, holdsCredential } from './authorization-text.ts'
import { nameEndBefore, nameEndInSql, optionUserBefore } from './credential-marks.ts'
import { isUserAndPassword } from './credentials.ts'
import { BYTE_CLASS, WORD_DOT_DASH } from './secret-formats.ts'
import { isHardPassword, isSetting } from './setting-credentials.ts'
import { isSqlSecret } from './sql-credentials.ts'
import { isPlaceholderValue } from './value-placeholders.ts'

/** Names of the kinds; see `SECRET_KINDS`. */
export const HEADER_KIND = 'credential_header'
export const PARAMETER_KIND = 'parameter'
export const CONNECTION_KIND = 'connection_string'
export const COMMAND_KIND = 'command_line'
export const ASSIGNMENT_KIND = 'assignment'

const NAME_BYTES_MAX = 64
const VALUE_BYTES_MAX = 256
const HEADER_BYTES_MAX = 1_024
/** What is looked at on both sides for the shape. */
const AROUND_BYTES_MAX = 128
/** Spaces and quotes between a sign and `Basic`. */
const BASIC_GAP_MAX = 2
const EQUALS = 0x3d
const SPACE = 0x20
const APOSTROPHE = 0x27
const OPEN_BRACKET = 0x28

/** Headers whose values have parts. */
const LONG_HEADER = /(?:authorization|cookie)$/i

/** The text around a sign, one character per byte. */
interface Place {
  /** Up to the name. */
  readonly before: string
  readonly name: string
  /** From after the sign. */
  readonly after: string
  readonly isEquals: boolean
  /** No space or quote between name, sign and value. */
  readonly isTight: boolean
}

/** The kind of credential that the sign at `place` indicates; undefined for none. */
export function credentialAt(
  bytes: Buffer,
  start: number,
  end: number,
  place: number,
): string | undefined {
  const isString = bytes[place] === APOSTROPHE
  const nameEnd = isString ? nameEndInSql(bytes, start, place) : nameEndBefore(bytes, start, place)
  if (nameEnd < 0 && isString) return undefined
  if (nameEnd < 0) {
    const isUser = bytes[place] !== EQUALS && isUserOption(bytes, start, end, place)
    return isUser ? COMMAND_KIND : undefined
  }
  let nameStart = nameEnd
  const stop = Math.max(start, nameEnd - NAME_BYTES_MAX)
  while (nameStart > stop && (BYTE_CLASS[bytes[nameStart - 1]!]! & WORD_DOT_DASH) !== 0) nameStart--
  const name = bytes.toString('latin1', nameStart, nameEnd)
  const afterMax = LONG_HEADER.test(name) ? HEADER_BYTES_MAX : VALUE_BYTES_MAX + AROUND_BYTES_MAX
  const found: Place = {
    before: bytes.toString('latin1', Math.max(start, nameStart - AROUND_BYTES_MAX), nameStart),
    name,
    after: bytes.toString('latin1', place + 1, Math.min(end, place + 1 + afterMax)),
    isEquals: bytes[place] === EQUALS,
    isTight: nameEnd === place && place + 1 < end && bytes[place + 1]! > SPACE,
  }
  if (isString) {
    const isCall = bytes[place - 1] === OPEN_BRACKET
    const isSecret = isSqlSecret(found.before, found.name, found.after, isCall)
    return isSecret ? ASSIGNMENT_KIND : undefined
  }
  return judge(found)
}

function judge(place: Place): string | undefined {
  const { name, isEquals, isTight } = place
  const value = place.after.replace(/^(?:>|\\?["'[( ]|\\?["'],? ?\[)*/, '')
  if (/authorization$/i.test(name)) return holdsCredential(value) ? HEADER_KIND : undefined
  if (/(?:^|-)cookie$/i.test(name)) return holdsCookie(value) ? HEADER_KIND : undefined
  const kind = isEquals && isTight ? kindOfTight(place) : undefined
  if (kind !== undefined) return kind
  if (!isSecretName(name)) return undefined
  // `X-Api-Key: …`, `PRIVATE-TOKEN: …`, quoted or not.
  if (/^[a-z]+(?:-[a-z]+)+$/i.test(name)) return isHeaderValue(value) ? HEADER_KIND : undefined
  if (isQuotedPair(place)) return ASSIGNMENT_KIND
  if (isBesideUser(place)) return CONNECTION_KIND
  return isSetting(place.before, name, value) ? ASSIGNMENT_KIND : undefined
}

/** Shapes with nothing between the name, a `=` and the value. */
function kindOfTight(place: Place): string | undefined {
  const { before, name, after } = place
  const shape = shapeOf(before, name, after)
  if (shape === undefined) return undefined
  const bare = shape === COMMAND_KIND ? name.replace(/^-+D?/, '') : name
  if (!isParameterName(bare)) return undefined
  const end = shape === CONNECTION_KIND ? /^["']?([^\s"';]+)/ : /^\\?["']?([^\s"'<>&#;\\]+)/
  const value = end.exec(after.slice(0, VALUE_BYTES_MAX))?.[1]
  if (value === undefined) return undefined
  return isSecretValue(bare, value) ? shape : undefined
}

/** What contains a `name=value`; undefined for text and where credentials do not occur. */
function shapeOf(before: string, name: string, after: string): string | undefined {
  if (/(?:[?&#]|&amp;)$/.test(before)) return PARAMETER_KIND
  if (/^--?[A-Za-z]/.test(name)) {
    return name.startsWith('--') || name.startsWith('-D') ? COMMAND_KIND : undefined
  }
  if (/^[^\s"'&=]+&(?:amp;)?[\w.-]+=/.test(after)) return PARAMETER_KIND
  if (/^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$/.test(name) || name === 'PGPASSWORD') {
    return /(?:^|[\s"'`,[{(;])$/.test(before) ? ASSIGNMENT_KIND : undefined
  }
  if (isBetweenSemicolons(before, after)) return CONNECTION_KIND
  return isBesideKeywords(before, after) ? CONNECTION_KIND : undefined
}

/** `Server=…;User Id=…;Password=…`: a pair beside it, and no shell's `PWD=/root ; `. */
function isBetweenSemicolons(before: string, after: string): boolean {
  if (
    /=[^\s;=][^;=\r\n]*; ?$/.test(before) ||
    (/[^\s;]; ?$/.test(before) && /^jdbc:|:\/\//.test(before))
  ) {
    return !/\s; ?$/.test(before)
  }
  return /(?:^|["'\s])$/.test(before) && /^[^\s;"']+; ?[A-Za-z][\w ]*=[^;\s]/.test(after)
}

const USER =
  '(?:user|username|user[_-]?name|userName|user[_-]?id|userId|usr|uid|login|email|principal|' +
  'account|client[_-]?id|clientId)'
const KEYWORD = `(?:host|hostaddr|port|dbname|sslmode|connect_timeout|application_name|${USER})`
const TEXT = String.raw`(?:\\?"[^"]*"|'[^']*'|[^\s"';,]+)`
/** What parts two pairs, besides the end of a line. */
const GAP = String.raw`(?:[;,]? |[;,]?(?:\r?\n|\\n)[ \t]*)`
const KEYWORD_BEFORE = new RegExp(`(?:^|[\\s"'(,;])${KEYWORD}=${TEXT}${GAP}$`)
const KEYWORD_AFTER = new RegExp(`^${TEXT}${GAP}${KEYWORD}=\\S`)
/** The same with spaces around the sign, or a colon; then it has to be a user's name. */
const USER_BEFORE = new RegExp(`(?:^|[\\s"'(,;])${USER}["']? ?[=:] ?${TEXT}${GAP}$`)
const USER_AFTER = new RegExp(`^ ?(${TEXT})${GAP}["']?${USER}["']? ?[=:] ?\\S`)

/** `host=h user=u password=p dbname=d`. */
function isBesideKeywords(before: string, after: string): boolean {
  if (isGap(before) && KEYWORD_BEFORE.test(before)) return true
  return KEYWORD_AFTER.test(after.slice(0, AROUND_BYTES_MAX))
}

/** Whether a text may end as `GAP` does, which is cheap to see and seldom so. */
function isGap(text: string): boolean {
  const last = text.at(-1)
  return last === ' ' || last === '\n' || last === '\t' || last === 'n'
}

/** `user: u, password: p`: sentences say so as well, so that it has to look like a password. */
function isBesideUser({ before, name, after }: Place): boolean {
  const near = after.slice(0, AROUND_BYTES_MAX)
  if (!PASSWORD_NAME.test(name)) return false
  const isBehind = isGap(before) && USER_BEFORE.test(before)
  if (!isBehind && !USER_AFTER.test(near)) return false
  const value = /^ ?\\?["']?([^\s"';,\\]+)/.exec(near)?.[1]
  return value !== undefined && !isPlaceholderValue(value) && isHardPassword(value)
}

function isParameterName(name: string): boolean {
  return /(?:^|[_-])(?:sig|signature)$/i.test(name) || isSecretName(name)
}

const PASSWORD_NAME = /(?:passw(?:or)?d|passphrase|pwd|pass|pw)$/i

/** Passwords may be short and plain, keys and tokens are drawn at random. */
function isSecretValue(name: string, value: string): boolean {
  if (isPlaceholderValue(value)) return false
  // Files and locations of the secret.
  if (/^(?:[./~]|[A-Za-z]:\\|\w+:\/\/)/.test(value)) return false
  if (PASSWORD_NAME.test(name)) return value.length >= 3
  return isOpaque(value)
}

/** Eight or more characters that are neither a word nor a number. */
function isOpaque(value: string): boolean {
  if (value.length < 8 || /^[0-9.,:-]+$/.test(value)) return false
  return /[0-9]/.test(value) || /[a-z][A-Z][A-Z0-9]*[a-z]/.test(value) || value.length >= 24
}

function isHeaderValue(after: string): boolean {
  const value = /^[^\s"'<>,;)}\]]+/.exec(after.slice(0, VALUE_BYTES_MAX))?.[0]
  return value !== undefined && isOpaque(value) && !isPlaceholderValue(value)
}

/** `'password': 'x'` and `:password=>"x"`, as Python and Ruby write hashes. */
function isQuotedPair({ before, name, after }: Place): boolean {
  const match = /^\s?(?:=?>\s?)?\\?(["'])([^"'\\]{3,})/.exec(after.slice(0, VALUE_BYTES_MAX))
  if (match === null) return false
  const isQuoted =
    match[1] === "'" ? before.endsWith("'") : /^>/.test(after) && /[:"]$/.test(before)
  return isQuoted && isSecretValue(name, match[2]!)
}

/** Whether `Basic` and a user's password, of any length, are at `at` or after a quote there. */
export function isBasicAt(bytes: Buffer, at: number, end: number): boolean {
  let from = at
  while (from < Math.min(end, at + BASIC_GAP_MAX) && isBasicGap(bytes[from]!)) from++
  if ((bytes[from]! | 0x20) !== 0x62 || (bytes[from + 1]! | 0x20) !== 0x61) return false
  const text = bytes.toString('latin1', from, Math.min(end, from + VALUE_BYTES_MAX))
  const match = /^basic["']?[ :]\\?["']?([A-Za-z0-9+/]+)(?:=|[^\w.-]|$)/i.exec(text)
  return match !== null && isUserAndPassword(Buffer.from(match[1]!, 'latin1'), 0, match[1]!.length)
}

function isBasicGap(byte: number): boolean {
  return byte === SPACE || byte === 0x22 || byte === 0x27
}

const CLIENT = /\b(?:curl|wget|http|https|xh|smbclient|lftp)\b/

/** `curl -u user:password`. */
function isUserOption(bytes: Buffer, start: number, end: number, colon: number): boolean {
  const user = optionUserBefore(bytes, start, colon)
  if (user < 0) return false
  const before = bytes.toString('latin1', Math.max(start, user - HEADER_BYTES_MAX), user)
  if (!/(?:-u|-U|--(?:proxy-)?user)[ =\\"']+$/.test(before) || !CLIENT.test(before)) return false
  const after = bytes.toString('latin1', colon + 1, Math.min(end, colon + 1 + VALUE_BYTES_MAX))
  const password = /^[^\s"'\\]+/.exec(after)?.[0]
  return password !== undefined && password.length >= 3 && !isPlaceholderValue(password)
}
