/** Text of an event in the pieces that are drawn: what the query found, and terminals' colours. */
import { visibleLine, visibleText } from '../../src/language/visible-text.ts'
import type { TextPlace } from '../../src/language/words.ts'
import { ansiRuns } from './ansi.ts'

export interface Piece {
  /** Visible. */
  readonly text: string
  /** Names of classes of its colours. */
  readonly style: string
  readonly isMatch: boolean
}

export interface PieceOptions {
  /** Line ends and tabs by escapes. */
  readonly isLine: boolean
  /** Without, colours are left out; their sequences are not shown either way. */
  readonly hasColors: boolean
}

/** `matches`: places in the text, in order. */
export function piecesOf(
  text: string,
  matches: readonly TextPlace[],
  { isLine, hasColors }: PieceOptions,
): readonly Piece[] {
  const visible = isLine ? visibleLine : visibleText
  const pieces: Piece[] = []
  let next = 0
  for (const { start, end, style } of ansiRuns(text)) {
    let at = start
    const add = (to: number, isMatch: boolean) => {
      if (to <= at) return
      pieces.push({ text: visible(text.slice(at, to)), style: hasColors ? style : '', isMatch })
      at = to
    }
    for (; next < matches.length && matches[next]![0] < end; next++) {
      const [from, to] = matches[next]!
      add(Math.max(at, from), false)
      add(Math.min(to, end), true)
      // It goes on behind a sequence.
      if (to > end) break
    }
    add(end, false)
  }
  return pieces
}
