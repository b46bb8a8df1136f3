/** Wildcards as regular expressions of RE2, in which `.` is any character, as `match` sets it. */
import type { Pattern, PatternToken } from '../../../language/query-tree.ts'
import { beginsInWord, endsInWord, foldCase, LETTER_CLASS } from '../../../language/words.ts'

/** One character at whose side words begin and end. */
const NO_WORD = `[^${LETTER_CLASS}]`
const BEFORE = `(?:^|${NO_WORD})`
const AFTER = `(?:$|${NO_WORD})`
/** `*` within a text: anything but white space. */
const SPACELESS = '[^ \\t\\n\\f\\r]*'

/** The pattern over a whole value. */
export function wholePattern(pattern: Pattern): string {
  return `^${pattern.map((token) => sourceOf(token, '.*', (text) => text)).join('')}$`
}

/**
 * The pattern somewhere in a folded text, neither beginning nor ending inside a word. RE2 has no
 * lookaround, so a word's edge is matched as a character, and where the edge depends on what a `?`
 * stands for, there is a branch for each case. A `*` at an end needs no edge: it extends to white
 * space or to the text's end, where a word ends anyway.
 */
export function wordPattern(pattern: Pattern): string {
  const pieces = pattern.map((token): Piece => {
    return { token, source: sourceOf(token, SPACELESS, foldCase) }
  })
  const branches = beginnings(pieces).flatMap((branch) => endings(branch))
  return branches.map((branch) => branch.map(({ source }) => source).join('')).join('|')
}

interface Piece {
  /** Undefined for a piece that is itself an edge. */
  readonly token: PatternToken | undefined
  readonly source: string
}

const edge = (source: string): Piece => ({ token: undefined, source })

/** The ways to begin outside a word. */
function beginnings(pieces: readonly Piece[]): (readonly Piece[])[] {
  const [first, ...rest] = pieces
  const token = first?.token
  if (token === undefined) return [pieces]
  switch (token.kind) {
    case 'literal':
      return [beginsInWord(foldCase(token.text)) ? [edge(BEFORE), ...pieces] : pieces]
    case 'one':
      return [
        [edge(BEFORE), ...pieces],
        [edge(NO_WORD), ...rest],
      ]
    case 'many':
      return [[edge(''), ...rest]]
  }
}

/** The ways to end outside a word. */
function endings(pieces: readonly Piece[]): (readonly Piece[])[] {
  const last = pieces.at(-1)
  const token = last?.token
  const rest = pieces.slice(0, -1)
  if (token === undefined) return [pieces]
  switch (token.kind) {
    case 'literal': {
      return [endsInWord(foldCase(token.text)) ? [...pieces, edge(AFTER)] : pieces]
    }
    case 'one':
      return [
        [...pieces, edge(AFTER)],
        [...rest, edge(NO_WORD)],
      ]
    case 'many':
      return [rest]
  }
}

function sourceOf(token: PatternToken, many: string, fold: (text: string) => string): string {
  if (token.kind === 'many') return many
  return token.kind === 'one' ? '.' : fold(token.text).replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
