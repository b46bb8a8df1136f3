/**
 * Reads just enough JSON to cut a body into parts: it follows brackets and strings and judges
 * nothing. Malformed input may be cut in the wrong place, but the decoder rejects it anyway.
 */
import { IngestError } from '../../errors.ts'

export const ARRAY_OPEN = 0x5b
export const ARRAY_CLOSE = 0x5d
export const ARRAY_NOT_CLOSED =
  "invalid JSON: the array is not closed by ']' at the end of the body"
const TEXT_BEHIND_ARRAY = "invalid JSON: there is text behind the ']' that closes the array"
const LINE_FEED = 0x0a
const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const SPACE = 0x20

/** Position of the first byte that is not JSON white space; `end` when there is none. */
export function firstToken(bytes: Uint8Array, start: number, end: number): number {
  let at = start
  while (at < end && isSpace(bytes[at]!)) at++
  return at
}

/** End of `start`..`end` without trailing JSON white space. */
export function trimEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = end
  while (at > start && isSpace(bytes[at - 1]!)) at--
  return at
}

function isSpace(byte: number): boolean {
  return byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09
}

/**
 * Whether a line that starts a body opens more brackets than it closes. If so, the body is one
 * document over several lines, not one document per line.
 */
export function isDocumentStart(bytes: Uint8Array, start: number, end: number): boolean {
  const scanner = new ElementScanner()
  scanner.scan(bytes, start, end)
  return scanner.depth > 0
}

export function countLineFeeds(bytes: Uint8Array, end: number): number {
  let count = 0
  for (let i = 0; i < end; i++) if (bytes[i] === LINE_FEED) count++
  return count
}

/** Why a body that begins as an array is not one. `start` is somewhere between its elements. */
export function notAnArray(bytes: Uint8Array, start: number, end: number): IngestError {
  const isClosed = isArrayClosed(bytes, start, end)
  return new IngestError('malformed', isClosed ? TEXT_BEHIND_ARRAY : ARRAY_NOT_CLOSED)
}

/** Whether an array whose bracket is before `start` is closed within the bytes. Cold. */
function isArrayClosed(bytes: Uint8Array, start: number, end: number): boolean {
  let depth = 0
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!
    if (byte === QUOTE) {
      i++
      while (i < end && bytes[i] !== QUOTE) i += bytes[i] === BACKSLASH ? 2 : 1
    } else if (byte === 0x7b || byte === 0x5b) depth++
    else if ((byte === 0x7d || byte === 0x5d) && --depth < 0) return true
  }
  return false
}

/** Follows nesting and strings through bytes that come in pieces. */
export class ElementScanner {
  depth = 0
  /** Just after the last outermost bracket that the last scan saw closed; -1 for none. */
  closedAt = -1
  #inString = false
  #isEscaped = false

  reset(): void {
    this.depth = 0
    this.#inString = false
    this.#isEscaped = false
  }

  /** Moves over `start`..`end`; returns the last comma outside all brackets in it, or -1. */
  scan(bytes: Uint8Array, start: number, end: number): number {
    let { depth } = this
    let inString = this.#inString
    let isEscaped = this.#isEscaped
    let comma = -1
    let closedAt = -1
    for (let i = start; i < end; i++) {
      const byte = bytes[i]!
      if (inString) {
        if (isEscaped) isEscaped = false
        else if (byte === BACKSLASH) isEscaped = true
        else if (byte === QUOTE) inString = false
      } else if (byte === QUOTE) inString = true
      else if (byte === 0x7b || byte === 0x5b) depth++
      else if (byte === 0x7d || byte === 0x5d) {
        if (--depth === 0) closedAt = i + 1
      } else if (byte === COMMA && depth === 0) comma = i
    }
    this.depth = depth
    this.closedAt = closedAt
    this.#inString = inString
    this.#isEscaped = isEscaped
    return comma
  }
}
