/**
 * ArcSight's Common Event Format, behind `CEF:`:
 *
 *   0|Vendor|Product|1.0|100|Name|5|src=10.0.0.1 msg=what happened act=blocked
 *
 * Fields of the header get the format's own names, members of the extension keep theirs. A value
 * goes on to the space before the next key: `=` behind what cannot be a key belongs to the value.
 */
import { type FieldList, NAME_IN_TEXT, VALUE_IN_TEXT } from './field-list.ts'
import { CEF_NAME_ENDS } from './header-names.ts'
import { BACKSLASH, EQUALS, isDigit, isOfKey, PIPE, SPACE, skipSpaces } from './syslog-bytes.ts'
import type { SyslogMessage } from './syslog-message.ts'

const NO_GROUP = 0
const LETTER_N = 0x6e
const LETTER_R = 0x72
const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d

/** Reads it into the message's payload; false where it is none. */
export function readCef(message: SyslogMessage, at: number, end: number): boolean {
  const { bytes } = message.source
  const { payload } = message
  payload.clear(message.source)
  const first = skipSpaces(bytes, at, end)
  if (first >= end || !isDigit(bytes[first])) return false
  const pos = readHeader(bytes, payload, CEF_NAME_ENDS, first, end)
  return pos >= 0 && readExtension(bytes, payload, Math.min(end, pos + 1), end)
}

/**
 * Reads the fields of a header whose names end at `ends`, each up to its pipe; returns where the
 * last one ends, which may be with the text. -1 where there are too few.
 */
export function readHeader(
  bytes: Uint8Array,
  payload: FieldList,
  ends: readonly number[],
  at: number,
  end: number,
): number {
  let pos = at - 1
  for (let field = 1; field < ends.length; field++) {
    if (pos >= end) return -1
    const start = ++pos
    let hasEscapes = false
    for (; pos < end && bytes[pos] !== PIPE; pos++) {
      if (bytes[pos] !== BACKSLASH || pos + 1 >= end) continue
      if (bytes[pos + 1] !== PIPE && bytes[pos + 1] !== BACKSLASH) continue
      hasEscapes = true
      pos++
    }
    const nameStart = ends[field - 1]!
    addValue(bytes, payload, NAME_IN_TEXT, nameStart, ends[field]!, start, pos, hasEscapes)
  }
  return pos
}

/** Reads `key=value key=value`; false where it is none, or too many. */
export function readExtension(
  bytes: Uint8Array,
  payload: FieldList,
  at: number,
  end: number,
): boolean {
  let keyStart = skipSpaces(bytes, at, end)
  if (keyStart >= end) return true
  let equals = keyStart
  while (equals < end && isOfKey(bytes[equals]!)) equals++
  if (equals === keyStart || equals >= end || bytes[equals] !== EQUALS) return false
  while (keyStart < end) {
    // The word being read may be the next key.
    let word = -1
    let nextEquals = end
    let hasEscapes = false
    for (let pos = equals + 1; pos < end; pos++) {
      const byte = bytes[pos]!
      if (byte === SPACE) word = pos + 1
      else if (byte === EQUALS && word >= 0 && pos > word) {
        nextEquals = pos
        break
      } else if (byte === BACKSLASH) {
        hasEscapes = true
        word = -1
        pos++
      } else if (!isOfKey(byte)) word = -1
    }
    let valueEnd = nextEquals < end ? word : end
    while (valueEnd > equals + 1 && bytes[valueEnd - 1] === SPACE) valueEnd--
    if (!addValue(bytes, payload, 0, keyStart, equals, equals + 1, valueEnd, hasEscapes)) {
      return false
    }
    keyStart = nextEquals < end ? word : end
    equals = nextEquals
  }
  return true
}

/** Adds a value without its escapes; false when there are too many. */
export function addValue(
  bytes: Uint8Array,
  payload: FieldList,
  nameIn: number,
  nameStart: number,
  nameEnd: number,
  start: number,
  end: number,
  hasEscapes: boolean,
): boolean {
  if (!hasEscapes) return payload.add(NO_GROUP, nameStart, nameEnd, start, end, nameIn)
  const { text } = payload
  text.reserve(end - start)
  const textStart = text.length
  for (let i = start; i < end; i++) {
    let byte = bytes[i]!
    if (byte === BACKSLASH && i + 1 < end) {
      const meant = unescaped(bytes[i + 1]!, nameIn === NAME_IN_TEXT)
      if (meant > 0) {
        byte = meant
        i++
      }
    }
    text.bytes[text.length++] = byte
  }
  const inText = nameIn | VALUE_IN_TEXT
  return payload.add(NO_GROUP, nameStart, nameEnd, textStart, text.length, inText)
}

/** What a byte behind a backslash means; 0 where both mean themselves. */
function unescaped(byte: number, isHeader: boolean): number {
  if (byte === PIPE || byte === BACKSLASH) return byte
  if (isHeader) return 0
  if (byte === EQUALS) return byte
  if (byte === LETTER_N) return LINE_FEED
  return byte === LETTER_R ? CARRIAGE_RETURN : 0
}
