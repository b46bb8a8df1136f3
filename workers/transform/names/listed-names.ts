/**
 * Names of secrets that are values: `{"name":"Authorization","value":…}`, lists of headers, the
 * arguments and the environment of a program. What is recognised in a list:
 *
 * - `["DB_PASSWORD=x"]`, `["--set", "a=b,auth.password=x"]`: an assignment;
 * - `["--password", "x"]`: a flag, what follows it, unless that is another flag;
 * - `[["Authorization", "x"], …]`: a pair, two in an array that is an array's element;
 * - `{"rawHeaders": ["Authorization", "x", "Accept", "y"]}`: a name in every other element.
 *
 * A word in a list says nothing by itself: `["username", "password"]` are the names of fields.
 */
import { kernels } from '../../kernel/kernels.ts'
import { NAME_ENDS } from './name-endings.ts'
import { endsInNeutral, judgeNamed, NO_NAME, SECRET_NAME } from './secret-names.ts'
import { isSecretText } from './secret-values.ts'

/** Longer strings are not names. */
const NAME_CHARS_MAX = 200
/** As far as the equals sign of an assignment is looked for. */
const ASSIGNMENT_CHARS_MAX = 80
const BARE_NAME = /^[A-Za-z][\w-]*[A-Za-z]$/
const FLAG = /^--?[A-Za-z]/
const PROSE = /^(?:[A-Z]?[a-z']+|[A-Z]+)(?:[ ,.]+(?:[A-Z]?[a-z']+|[A-Z]+)){2,}[.!]?$/
const ASSIGNED_NAME = /[A-Za-z_][\w.:[\]-]*$/
const ASSIGNED_BEGIN = /(?:^|[=,])-{0,2}$/

/** Whether a string, as written in JSON, can matter at all. Hot. */
export function mayName(
  bytes: Uint8Array,
  start: number,
  end: number,
  isEscaped: boolean,
  isInList: boolean,
): boolean {
  const from = bytes.byteOffset
  return kernels.mayNameSecret(NAME_ENDS, from + start, from + end, isEscaped, isInList) !== 0
}

/** How sure a pair's name is of the value beside it. */
export function pairKind(text: string): number {
  if (text.length > NAME_CHARS_MAX || text.split(' ').length > 2) return NO_NAME
  return judgeNamed(text)
}

/** How sure a word that is a header's or a field's name is of the value after it. */
function headerKind(text: string): number {
  if (text.length > NAME_CHARS_MAX || !BARE_NAME.test(text) || endsInNeutral(text)) return NO_NAME
  return judgeNamed(text)
}

/** How sure a program's flag is of the argument after it. */
function flagKind(text: string): number {
  if (text.length > NAME_CHARS_MAX || !FLAG.test(text)) return NO_NAME
  return endsInNeutral(text) ? NO_NAME : judgeNamed(text)
}

/** Whether a string of a list assigns to the name of a secret. */
function isAssignment(text: string): boolean {
  for (
    let equals = text.indexOf('=');
    equals >= 0 && equals <= ASSIGNMENT_CHARS_MAX;
    equals = text.indexOf('=', equals + 1)
  ) {
    const before = text.slice(0, equals)
    const at = before.search(ASSIGNED_NAME)
    if (at < 0 || !ASSIGNED_BEGIN.test(before.slice(0, at))) continue
    // `-Dapi.key=x` of Java.
    const name = before.slice(at).replace(/^D(?=[a-z])/, '')
    const kind = judgeNamed(name)
    if (isSecretText(kind, text.slice(equals + 1))) return true
  }
  return false
}

/** Whether a string matters in a list of the kind that it is in. */
export function isListedName(text: string): boolean {
  return headerKind(text) !== NO_NAME || flagKind(text) !== NO_NAME || isAssignment(text)
}

/** What is to be done with an element: nothing, redact it, redact it if it is the last of two. */
export const IS_PLAIN = 0
export const IS_SECRET = 1
export const IN_PAIR = 2

/** Reads an array's elements in order, and says of each what those before it make of it. */
export class ListNames {
  readonly #isPair: boolean
  readonly #isHeaders: boolean
  count = 0
  /** What the element before said of this one: as a flag, and as a name. */
  #flagged = NO_NAME
  #named = NO_NAME

  /** `isPair`: the array is itself in an array; `isHeaders`: its key says that it lists headers. */
  constructor(isPair: boolean, isHeaders: boolean) {
    this.#isPair = isPair
    this.#isHeaders = isHeaders
  }

  /** Whether the next element is to be read whatever it is. */
  get isAwaited(): boolean {
    return this.#flagged !== NO_NAME || this.#named !== NO_NAME
  }

  /** Judges an element that is not a string, or that cannot be a name while no value is awaited. */
  judgeOther(isArray: boolean): number {
    const isSecret = isArray && this.#isPair && this.count === 1 && this.#named >= SECRET_NAME
    this.#take(NO_NAME, NO_NAME)
    return isSecret ? IN_PAIR : IS_PLAIN
  }

  judge(text: string): number {
    const isPairValue = this.#isPair && this.count === 1
    const isValue = isNamed(this.#named, text)
    const isSecret = isFlagged(this.#flagged, text) || (isValue && !isPairValue)
    const isName = (this.#isPair && this.count === 0) || (this.#isHeaders && this.count % 2 === 0)
    this.#take(flagKind(text), isName ? headerKind(text) : NO_NAME)
    if (isSecret || isAssignment(text)) return IS_SECRET
    return isValue ? IN_PAIR : IS_PLAIN
  }

  #take(flagged: number, named: number): void {
    this.#flagged = flagged
    this.#named = named
    this.count++
  }
}

/** Whether what follows a flag is its secret. */
function isFlagged(kind: number, text: string): boolean {
  return !FLAG.test(text) && isSecretText(kind, text)
}

/** Whether what follows the name in a pair or a list of headers is a secret. */
function isNamed(kind: number, text: string): boolean {
  if (kind === NO_NAME || PROSE.test(text)) return false
  return isSecretText(kind, text) && headerKind(text) === NO_NAME
}
