/**
 * Tells the action lines of a bulk body from its documents, by bytes alone: the thread that cuts a
 * body and the one that decodes it must agree on every line, valid JSON or not.
 *
 * A line looks like an action when it is an object in which a key of the top level is spelled
 * `index`, `create`, `update` or `delete` and the key's value begins with a brace. Nothing after
 * that brace is examined, and nothing is judged: the decoder decides whether the line is JSON. A
 * document can look like an action too; its position tells it apart, see `bulk-framing.ts`.
 */

export const BULK_INDEX = 1
export const BULK_CREATE = 2
export const BULK_UPDATE = 3
export const BULK_DELETE = 4

/** The operations' names, by number. */
export const BULK_OPERATIONS = ['', 'index', 'create', 'update', 'delete'] as const

/** Bits below the position in what `bulkActionAt` returns. */
const OPERATION_BITS = 3

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const LINE_FEED = 0x0a
const SPACE = 0x20

const WORDS = BULK_OPERATIONS.map((word) => Buffer.from(`${word}"`))

/** Operation of a line that looks like an action; `action` is what `bulkActionAt` returned. */
export function bulkOperation(action: number): number {
  return action & ((1 << OPERATION_BITS) - 1)
}

/** Where the operation's object begins. */
export function bulkValueStart(action: number): number {
  return action >> OPERATION_BITS
}

/**
 * Classifies the line at `start`: the operation and where its object begins, as one integer for
 * `bulkOperation` and `bulkValueStart`, or -1. A line feed must end the line; no byte after it is
 * read. Time is linear; when the operation comes first, only a few bytes are read.
 */
export function bulkActionAt(bytes: Uint8Array, start: number): number {
  let pos = skipBlanks(bytes, start)
  if (bytes[pos] !== OPEN_OBJECT) return -1
  do {
    pos = skipBlanks(bytes, pos + 1)
    if (bytes[pos] !== QUOTE) return -1
    const operation = operationAt(bytes, pos + 1)
    pos = skipBlanks(bytes, skipString(bytes, pos + 1))
    if (bytes[pos] !== COLON) return -1
    pos = skipBlanks(bytes, pos + 1)
    if (operation > 0 && bytes[pos] === OPEN_OBJECT) return (pos << OPERATION_BITS) | operation
    pos = skipBlanks(bytes, skipValue(bytes, pos))
  } while (bytes[pos] === COMMA)
  return -1
}

/** Position of the first byte of a line that is not blank; its line feed when there is none. */
export function skipBlanks(bytes: Uint8Array, start: number): number {
  let pos = start
  for (;;) {
    const byte = bytes[pos]!
    if (byte !== SPACE && byte !== 0x09 && byte !== 0x0d) return pos
    pos++
  }
}

/** The operation whose name, with the closing quote, is at `pos`; 0 for none. */
function operationAt(bytes: Uint8Array, pos: number): number {
  switch (bytes[pos]) {
    case 0x69:
      return isWordAt(bytes, pos, BULK_INDEX)
    case 0x63:
      return isWordAt(bytes, pos, BULK_CREATE)
    case 0x75:
      return isWordAt(bytes, pos, BULK_UPDATE)
    case 0x64:
      return isWordAt(bytes, pos, BULK_DELETE)
    default:
      return 0
  }
}

function isWordAt(bytes: Uint8Array, pos: number, operation: number): number {
  const word = WORDS[operation]!
  for (let i = 1; i < word.length; i++) if (bytes[pos + i] !== word[i]) return 0
  return operation
}

/** Skips from after the opening quote to after the closing one, or to the line feed. */
function skipString(bytes: Uint8Array, start: number): number {
  let pos = start
  for (;;) {
    const byte = bytes[pos]
    if (byte === LINE_FEED) return pos
    pos++
    if (byte === QUOTE) return pos
    if (byte === BACKSLASH && bytes[pos] !== LINE_FEED) pos++
  }
}

/** Skips to after a value, or to the line feed. */
function skipValue(bytes: Uint8Array, start: number): number {
  let depth = 0
  let pos = start
  for (;;) {
    const byte = bytes[pos]
    if (byte === LINE_FEED) return pos
    if (byte === QUOTE) {
      pos = skipString(bytes, pos + 1)
      continue
    }
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth++
    else if (depth === 0 && (byte === COMMA || byte === CLOSE_OBJECT)) return pos
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth--
    pos++
  }
}
