/**
 * Structured data of RFC 5424: `[id name="value" …][…]`. In values `\"`, `\\` and `\]` stand for
 * the character; a backslash before anything else is one. Brackets that should have been escaped
 * and more spaces than one are taken, as senders write them.
 */
import { NONE, VALUE_IN_TEXT } from './field-list.ts'
import {
  BACKSLASH,
  CLOSE_BRACKET,
  EQUALS,
  OPEN_BRACKET,
  QUOTE,
  SPACE,
  skipSpaces,
} from './syslog-bytes.ts'
import type { SyslogMessage } from './syslog-message.ts'

const IS_NAME_END = new Uint8Array(256)
IS_NAME_END.fill(1, 0, SPACE + 1)
for (const byte of [EQUALS, QUOTE, CLOSE_BRACKET]) IS_NAME_END[byte] = 1

/** Reads the elements at `at` into the message; returns where they end, -1 where they are none. */
export function readElements(message: SyslogMessage, at: number, end: number): number {
  const { bytes } = message.source
  const { elements } = message
  elements.clear(message.source)
  let pos = at
  do {
    const idEnd = nameEnd(bytes, pos + 1, end)
    if (idEnd === pos + 1 || idEnd >= end) return -1
    const group = elements.addGroup(pos + 1, idEnd)
    if (group === NONE) return -1
    pos = readParams(message, group, idEnd, end)
  } while (pos >= 0 && pos < end && bytes[pos] === OPEN_BRACKET)
  return pos
}

/** Reads the params of an element up to its bracket; returns where that ends, or -1. */
function readParams(message: SyslogMessage, group: number, at: number, end: number): number {
  const { bytes } = message.source
  let pos = at
  while (pos < end) {
    if (bytes[pos] === CLOSE_BRACKET) return pos + 1
    if (bytes[pos] !== SPACE) return -1
    const nameStart = skipSpaces(bytes, pos, end)
    if (nameStart < end && bytes[nameStart] === CLOSE_BRACKET) return nameStart + 1
    const equals = nameEnd(bytes, nameStart, end)
    if (equals === nameStart || end - equals < 3) return -1
    if (bytes[equals] !== EQUALS || bytes[equals + 1] !== QUOTE) return -1
    pos = readValue(message, group, nameStart, equals, end)
    if (pos < 0) return -1
  }
  return -1
}

/** Reads the value behind `="`; returns where its quote ends, or -1. */
function readValue(
  message: SyslogMessage,
  group: number,
  nameStart: number,
  equals: number,
  end: number,
): number {
  const { bytes } = message.source
  const { elements } = message
  const start = equals + 2
  let pos = start
  let hasEscapes = false
  for (; pos < end && bytes[pos] !== QUOTE; pos++) {
    const byte = bytes[pos]
    if (byte !== BACKSLASH || pos + 1 >= end || !isEscape(bytes[pos + 1]!)) continue
    hasEscapes = true
    pos++
  }
  if (pos >= end) return -1
  if (!hasEscapes) {
    return elements.add(group, nameStart, equals, start, pos, 0) ? pos + 1 : -1
  }
  const { text } = elements
  text.reserve(pos - start)
  const textStart = text.length
  for (let i = start; i < pos; i++) {
    if (bytes[i] === BACKSLASH && isEscape(bytes[i + 1]!)) i++
    text.bytes[text.length++] = bytes[i]!
  }
  const isAdded = elements.add(group, nameStart, equals, textStart, text.length, VALUE_IN_TEXT)
  return isAdded ? pos + 1 : -1
}

function isEscape(byte: number): boolean {
  return byte === QUOTE || byte === BACKSLASH || byte === CLOSE_BRACKET
}

/** Where a name ends: before `=`, a space, a quote, a bracket or a control character. */
function nameEnd(bytes: Uint8Array, at: number, end: number): number {
  let pos = at
  while (pos < end && IS_NAME_END[bytes[pos]!] === 0) pos++
  return pos
}
