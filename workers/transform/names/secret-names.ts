/**
 * Whether a key's name says that its value is a secret: by the whole name, or by its last words.
 *
 * A name is split where its case changes (`userPassword`, `DBPassword`), at digits, which then
 * count for nothing (`password2`), and at any character that is not a letter (`user[password]`).
 * Words before the last say which secret it is (`DB_PASSWORD`), or that it is none
 * (`next_page_token`); the words are data (`secret-words.ts`). A name of something about a secret
 * (`password_policy`) has another last word, and needs no exception.
 *
 * A key with dots is several keys, each within the one before it. The keys around a key matter in
 * two cases only: `{"api":{"key":…}}`, and whatever is in `{"tokens":{"access":…}}`.
 *
 * Cold: keys are judged once per node of the trie, other names only where a kernel suspects one.
 */
import { normalizeSegment } from '../../../src/model/redact/redact-path.ts'
import {
  ABOUT_WORDS,
  COUNTER_WORDS,
  DENYLISTED_SEGMENTS,
  DRAWN_KEY_WORDS,
  DRAWN_WORDS,
  ENCODING_WORDS,
  EXCEPTIONS,
  FLAG_WORDS,
  HASH_WORDS,
  HOLDER_PAIRS,
  KEY_KINDS,
  KEY_WORDS,
  NEUTRAL_WORDS,
  PASS_EXCEPTIONS,
  PIN_WORDS,
  PLAIN_KEY_WORDS,
  PLURALS,
  SECRET_END_WORDS,
  SECRET_PAIRS,
  SECRET_WORDS,
  SID_WORDS,
} from './secret-words.ts'

/** How sure a name is of its value; a surer one takes all that the others take. */
export const NO_NAME = 0
/** Strings that look drawn at random: `session`, `ALCHEMY_KEY`. */
export const DRAWN_NAME = 1
/** Strings that are more than a word: `auth`, `tokens`. */
export const WEAK_NAME = 2
/** Any string that is not a flag: `db_pass`. */
export const STRING_NAME = 3
/** Numbers, objects and arrays as well: `db_password`. */
export const SECRET_NAME = 4
/** Anything but null: the name is on the list as it is. */
export const LISTED_NAME = 5

/** Names are longer than this only to be so; the end is what counts. */
const NAME_CHARS_MAX = 200
const WORD = /[A-Z]+(?![a-z\u0080-\uffff])|[A-Z]?[a-z\u0080-\uffff]+/g
const JOINED = new RegExp(`(?:${[...SECRET_END_WORDS].join('|')})$`)
/** What shells call their directories, and desktops their numbered sessions. */
const SHELL_NAMES: ReadonlySet<string> = new Set(['OLDPWD', 'XDG_SESSION_ID'])
/** The domain before a name of Kubernetes: `authorization.k8s.io/decision`. */
const DOMAIN = /^[a-z\d-]{1,63}(?:\.[a-z\d-]{1,63}){1,8}\//
/** Where the host or the repository comes last: Terraform's and Poetry's variables of tokens. */
const TOKEN_OF = /^(?:TF_TOKEN|POETRY_PYPI_TOKEN)_\w/
/** Of variables and of headers of one's own, whose keys are seldom those of a database. */
const SETTING = /^_?[A-Z][A-Z0-9]*(?:_+[A-Z0-9]+)+$|^x(?:-[a-z0-9]+)+-key$/i
const IS_LOWER_NAME = /^[a-z0-9_]+$/
const WEAK_WORDS: ReadonlySet<string> = new Set(['auth', 'bearer', 'csrf', 'xsrf', 'cred', 'pass'])

/** Whether a string under this name is a secret, unless the string itself shows that it is not. */
export function isSecretName(name: string): boolean {
  return judgeKnownName(name) >= WEAK_NAME
}

/** Names in texts come back; so many are remembered. */
const KNOWN_NAMES_MAX = 1_024
const knownNames = new Map<string, number>()

/** As `judgeName`, for names that are judged wherever they occur in a text. */
export function judgeKnownName(name: string): number {
  const known = knownNames.get(name)
  if (known !== undefined) return known
  if (knownNames.size === KNOWN_NAMES_MAX) knownNames.clear()
  const kind = judgeName(name)
  knownNames.set(name, kind)
  return kind
}

/** The key of what a key is in; `isDirect` when that is an object, and no array of such. */
export interface KeyAbove {
  readonly key: string
  readonly isDirect: boolean
}

export const NOTHING_ABOVE: KeyAbove = { key: '', isDirect: false }

/** Judges a key as it is written, dots and all: NO_NAME … LISTED_NAME. */
export function judgeName(name: string, above = NOTHING_ABOVE): number {
  let kind = NO_NAME
  let before = above
  for (const segment of endOf(name.replace(DOMAIN, '')).split('.')) {
    // What is within a secret is part of it.
    if (kind < SECRET_NAME) kind = judgeSegment(segment, before)
    else if (isListed(segment)) kind = LISTED_NAME
    before = { key: segment, isDirect: true }
  }
  return kind
}

/**
 * Judges a name that is a value (`{"name":"Authorization"}`, `"--password"`) by its end alone, as
 * `name-endings.ts` does before.
 */
export function judgeNamed(name: string): number {
  const segments = endOf(name).split('.')
  const last = segments.at(-1)!
  const words = wordsOf(last)
  const kind = judgeWords(words)
  if (kind !== NO_NAME || words.length === 0) return kind
  const outer = wordsOf(segments.at(-2) ?? '').at(-1) ?? ''
  if (isOfHolder(words, outer)) return SECRET_NAME
  return judgeDrawn(last, words, outer)
}

/** Whether a name ends in a word of its own, and not in one such as `new` or `hash`. */
export function endsInNeutral(name: string): boolean {
  return NEUTRAL_WORDS.has(wordsOf(endOf(name)).at(-1) ?? '')
}

function endOf(name: string): string {
  return name.length > NAME_CHARS_MAX ? name.slice(-NAME_CHARS_MAX) : name
}

function isListed(segment: string): boolean {
  return DENYLISTED_SEGMENTS.has(normalizeSegment(segment))
}

function judgeSegment(segment: string, above: KeyAbove): number {
  if (isListed(segment)) return LISTED_NAME
  if (SHELL_NAMES.has(segment)) return NO_NAME
  const words = wordsOf(segment.replace(/b64$/i, '_base64'))
  const kind = judgeWords(words)
  if (kind !== NO_NAME || words.length === 0) return kind
  const outer = wordsOf(endOf(above.key)).at(-1) ?? ''
  if (isOfHolder(words, outer)) return SECRET_NAME
  const singular = above.isDirect ? PLURALS.get(outer) : undefined
  const isPart = singular !== undefined && !ABOUT_WORDS.has(words.at(-1)!)
  const ofHolder = isPart ? Math.min(judgeWords([...words, singular]), WEAK_NAME) : NO_NAME
  return ofHolder === NO_NAME ? judgeDrawn(segment, words, outer) : ofHolder
}

/** Whether a key of one word is a secret in what has this name: `{"api":{"key":…}}`. */
function isOfHolder(words: readonly string[], outer: string): boolean {
  return outer !== '' && words.length === 1 && HOLDER_PAIRS.has(outer + words[0]!)
}

/** Judges what is a secret only if it looks drawn at random; `outer` is the word of the holder. */
function judgeDrawn(name: string, words: readonly string[], outer: string): number {
  if (TOKEN_OF.test(name)) return DRAWN_NAME
  for (let length = words.length; length > 0; length--) {
    const last = words[length - 1]!
    if (DRAWN_WORDS.has(last)) return asksOrSays(words, length) ? NO_NAME : DRAWN_NAME
    if (last === 'key' || last === 'keys') {
      const before = words[length - 2] ?? outer
      if (DRAWN_KEY_WORDS.has(before)) return DRAWN_NAME
      const isHeld = length === 1 && KEY_WORDS.has(before)
      const isSetting = SETTING.test(name) && !IS_LOWER_NAME.test(name) && length > 1
      return isHeld || (isSetting && !PLAIN_KEY_WORDS.has(before)) ? DRAWN_NAME : NO_NAME
    }
    if (!ENCODING_WORDS.has(last)) return NO_NAME
  }
  return NO_NAME
}

function wordsOf(name: string): string[] {
  return (name.normalize('NFC').match(WORD) ?? []).map((word) => word.toLowerCase())
}

function judgeWords(words: readonly string[]): number {
  let length = words.length
  while (length > 1 && NEUTRAL_WORDS.has(words[length - 1]!)) length--
  const kept = judgeLast(words, length)
  const isShort = length < words.length
  // `pass_hash`, and no `auth_data`.
  const stillSays = !isShort || kept >= SECRET_NAME || saysHow(words, length)
  let kind = stillSays ? kept : NO_NAME
  // `connection_string` ends in a word that says nothing, as do others of two words.
  for (let end = words.length; end > length; end--) kind = Math.max(kind, judgeLast(words, end))
  return kind
}

/** Whether the word after the first `length` says how a secret is kept: `recovery_keys_hex`. */
function saysHow(words: readonly string[], length: number): boolean {
  const after = words[length]!
  return HASH_WORDS.has(after) || (words[length - 1] === 'keys' && ENCODING_WORDS.has(after))
}

/** Judges by the last of the first `length` words and what precedes it. */
function judgeLast(words: readonly string[], length: number): number {
  const last = words[length - 1]
  if (last === undefined) return NO_NAME
  const before = words[length - 2] ?? ''
  const kind = judgePair(words, length, before, last)
  if (kind === NO_NAME || asksOrSays(words, length)) return NO_NAME
  return COUNTER_WORDS.has(words[0]!) && length > 1 ? Math.min(kind, WEAK_NAME) : kind
}

/** Whether a word before the last of the first `length` asks or says something about a secret. */
function asksOrSays(words: readonly string[], length: number): boolean {
  for (let i = 0; i < length - 1; i++) if (FLAG_WORDS.has(words[i]!)) return true
  return false
}

function judgePair(words: readonly string[], length: number, before: string, last: string): number {
  if (last === 'key' || last === 'keys') return isKey(words, length) ? nameOf(last) : NO_NAME
  if (SECRET_PAIRS.has(before + last)) return SECRET_NAME
  const singular = PLURALS.get(last)
  if (EXCEPTIONS.get(singular ?? last)?.has(before) === true) return NO_NAME
  if (singular !== undefined) return WEAK_NAME
  if (SECRET_WORDS.has(last)) return SECRET_NAME
  if (last === 'pin') return length === 1 || PIN_WORDS.has(before) ? SECRET_NAME : NO_NAME
  if (last === 'sid') return length === 1 || SID_WORDS.has(before) ? WEAK_NAME : NO_NAME
  if (last === 'pw') return STRING_NAME
  if (last === 'pass' && length > 1) return PASS_EXCEPTIONS.has(before) ? NO_NAME : STRING_NAME
  if (WEAK_WORDS.has(last)) return WEAK_NAME
  return isJoined(last) ? SECRET_NAME : NO_NAME
}

function nameOf(last: string): number {
  return last === 'key' ? SECRET_NAME : WEAK_NAME
}

function isKey(words: readonly string[], length: number): boolean {
  const before = words[length - 2] ?? ''
  if (KEY_WORDS.has(before)) return true
  return KEY_KINDS.has(before) && KEY_WORDS.has(words[length - 3] ?? '')
}

/** Words that were written together: judged by their end, and by what would precede it. */
function isJoined(word: string): boolean {
  const end = JOINED.exec(word)
  if (end === null) return false
  return EXCEPTIONS.get(end[0])?.has(word.slice(0, end.index)) !== true
}
