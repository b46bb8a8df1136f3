/**
 * Finds where a bulk body can be cut, by looking at its last lines. No action is separated from its
 * document, and both sides are decoded as they would be in the whole body.
 *
 * The decoder's state between two lines depends on all lines before them (`Expects`). But whatever
 * they were, a line that looks like an action and follows one that does not is always an action:
 *
 *   - if the line before was a document, an action comes next;
 *   - if it was a malformed action, the line after it is skipped as its document, unless that line
 *     looks like an action.
 *
 * So we walk back to the nearest such pair of lines, or to the beginning of the part, where the
 * state is known, and go forward from there. In a well-formed body that is three lines.
 */

import { BULK_DELETE, bulkActionAt, bulkOperation, skipBlanks } from '../../../model/bulk-action.ts'
import type { Cutter } from '../../framing/cutters.ts'

type Expects = 'action' | 'document' | 'document-or-action'

const LINE_FEED = 0x0a

export class BulkCutter implements Cutter {
  /** Bytes already searched for a line feed. */
  #searched = 0
  /** The end of a line up to which the state is known: no line is examined more than twice. */
  #known = 0
  #expects: Expects = 'action'
  /** Where the newest action's line begins. */
  #actionStart = 0

  /** A new part begins, with an action. */
  reset(): void {
    this.#searched = 0
    this.#known = 0
    this.#expects = 'action'
    this.#actionStart = 0
  }

  /**
   * The last place in the first `length` bytes to cut at, or -1. It is behind a document, or before
   * an action whose document has not arrived. Bytes seen in an earlier call must not have changed.
   */
  cut(bytes: Uint8Array, length: number): number {
    const found = bytes.subarray(this.#searched, length).lastIndexOf(LINE_FEED)
    if (found >= 0) {
      const end = this.#searched + found + 1
      this.#follow(bytes, this.#walkBack(bytes, end), end)
      this.#known = end
    }
    this.#searched = length
    const at = this.#expects === 'action' ? this.#known : this.#actionStart
    return at > 0 ? at : -1
  }

  /** Where to go forward from, with the state there set. */
  #walkBack(bytes: Uint8Array, end: number): number {
    let at = end
    let isBehindAction = false
    while (at > this.#known) {
      const start = lineStart(bytes, at, this.#known)
      if (!isBlank(bytes, start)) {
        const looksLikeAction = bulkActionAt(bytes, start) >= 0
        if (isBehindAction && !looksLikeAction) {
          // The other possible states treat a line that looks like an action in the same way.
          this.#expects = 'action'
          return at
        }
        isBehindAction = looksLikeAction
      }
      at = start
    }
    return at
  }

  #follow(bytes: Uint8Array, start: number, end: number): void {
    for (let at = start; at < end; at = lineEnd(bytes, at)) {
      if (isBlank(bytes, at)) continue
      if (this.#expects === 'document') {
        this.#expects = 'action'
        continue
      }
      const action = bulkActionAt(bytes, at)
      if (action >= 0) {
        this.#actionStart = at
        this.#expects = bulkOperation(action) === BULK_DELETE ? 'action' : 'document'
      } else if (this.#expects === 'document-or-action') {
        this.#expects = 'action'
      } else {
        this.#actionStart = at
        this.#expects = 'document-or-action'
      }
    }
  }
}

function isBlank(bytes: Uint8Array, start: number): boolean {
  return bytes[skipBlanks(bytes, start)] === LINE_FEED
}

/** Start of the line that ends just before `end`, not before `min`. Short lines: no native call. */
function lineStart(bytes: Uint8Array, end: number, min: number): number {
  let at = end - 1
  while (at > min && bytes[at - 1] !== LINE_FEED) at--
  return at
}

/** Just after the line feed that ends the line at `start`; there is one. */
function lineEnd(bytes: Uint8Array, start: number): number {
  let at = start
  while (bytes[at] !== LINE_FEED) at++
  return at + 1
}
