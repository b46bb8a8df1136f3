/**
 * Searches a string for all names of some lists in one pass: each sequence of letters is hashed and
 * looked up, and only names that begin with those letters are compared. Allocates nothing until
 * something is found; this is a hundredth of the cost of parsing a string that is not remembered.
 */

/** Where a name counts: anywhere for bots and `inside`, at the beginning for `leading`. */
export type NameKind = 'bot' | 'leading' | 'inside'

interface Name {
  readonly kind: NameKind
  readonly name: string
  /** As `foldCode` spells it. */
  readonly folded: string
  /** Where its first run of letters begins and ends. */
  readonly runStart: number
  readonly runEnd: number
}

export interface FoundName {
  readonly kind: NameKind
  readonly name: string
  readonly start: number
  readonly end: number
}

export type Names = ReadonlyMap<number, readonly Name[]>

const LOWER = 0x20
const LOWER_A = 0x61
const LETTERS = 26
const BLANK = 0x20
const PLUS = 0x2b
const HYPHEN = 0x2d
const SLASH = 0x2f
const UNDERSCORE = 0x5f
const HASH_FACTOR = 31

/** Lines: a name, and after ` = ` how it is spelled where that differs. */
export function indexNames(lists: Readonly<Record<NameKind, readonly string[]>>): Names {
  const names = new Map<number, Name[]>()
  for (const kind of ['bot', 'leading', 'inside'] as const) {
    for (const line of lists[kind]) {
      const [name = '', spelled = name] = line.split(' = ')
      const folded = String.fromCharCode(
        ...[...spelled].map((char) => foldCode(char.charCodeAt(0))),
      )
      const run = /[a-z]+/.exec(folded)
      if (run === null) throw new Error(`no letter in the name ${line}`)
      const runEnd = run.index + run[0].length
      let hash = 0
      for (let i = run.index; i < runEnd; i++) hash = addToHash(hash, folded.charCodeAt(i))
      const known = names.get(hash) ?? []
      known.push({ kind, name, folded, runStart: run.index, runEnd })
      names.set(hash, known)
    }
  }
  // Of two names that begin alike, the longer one says more.
  for (const known of names.values()) known.sort((a, b) => b.folded.length - a.folded.length)
  return names
}

/**
 * The first bot in `text`, else the first other name; only names that `accept` allows. Case does
 * not matter, and `-`, `_`, `/`, `+` and blanks count as the same character.
 */
export function findName(
  text: string,
  names: Names,
  accept: (found: FoundName) => boolean,
): FoundName | undefined {
  let other: FoundName | undefined
  let hash = 0
  let start = -1
  for (let i = 0; i <= text.length; i++) {
    // Past the end it is 0, which is not a letter.
    const code = i < text.length ? text.charCodeAt(i) | LOWER : 0
    if (isLetter(code)) {
      if (start < 0) start = i
      hash = addToHash(hash, code)
      continue
    }
    if (start >= 0) {
      const known = names.get(hash)
      const found = known === undefined ? undefined : nameAt(text, known, start, i, accept)
      if (found?.kind === 'bot') return found
      other ??= found
    }
    hash = 0
    start = -1
  }
  return other
}

function nameAt(
  text: string,
  known: readonly Name[],
  runStart: number,
  runEnd: number,
  accept: (found: FoundName) => boolean,
): FoundName | undefined {
  for (const name of known) {
    if (name.runEnd - name.runStart !== runEnd - runStart) continue
    const start = runStart - name.runStart
    const end = start + name.folded.length
    if (start < 0 || end > text.length || !isSpelled(text, start, name.folded)) continue
    if (end < text.length && isLetter(text.charCodeAt(end) | LOWER)) continue
    const found: FoundName = { kind: name.kind, name: name.name, start, end }
    if (accept(found)) return found
  }
  return undefined
}

function isSpelled(text: string, start: number, folded: string): boolean {
  for (let i = 0; i < folded.length; i++) {
    if (foldCode(text.charCodeAt(start + i)) !== folded.charCodeAt(i)) return false
  }
  return true
}

function foldCode(code: number): number {
  if (code === HYPHEN || code === UNDERSCORE || code === SLASH || code === PLUS) return BLANK
  return isLetter(code | LOWER) ? code | LOWER : code
}

function addToHash(hash: number, code: number): number {
  return (Math.imul(hash, HASH_FACTOR) + code) | 0
}

function isLetter(code: number): boolean {
  return code >= LOWER_A && code < LOWER_A + LETTERS
}
