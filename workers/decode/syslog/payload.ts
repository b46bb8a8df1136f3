/**
 * What the text of a message may hold: a JSON object, with `@cee:` before it or without, CEF or
 * LEEF. What looks like one of these and is none stays text.
 */
import type { JsonTape } from '../../tape/json-tape.ts'
import { ROOT } from '../../tape/path-trie.ts'
import { readCef } from './cef.ts'
import { readLeef } from './leef.ts'
import { isAt, SPACE, TAB } from './syslog-bytes.ts'
import { CEF, JSON_OBJECT, LEEF, type SyslogMessage, TEXT } from './syslog-message.ts'

const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const AT = 0x40
const LETTER_C = 0x43
const LETTER_L = 0x4c
const CEE = Buffer.from('@cee:')
const CEF_MARK = Buffer.from('CEF:')
const LEEF_MARK = Buffer.from('LEEF:')

/** Looks at the text from `at` on. `judge`: begun with the message's bytes, for JSON. */
export function readPayload(message: SyslogMessage, judge: () => JsonTape): void {
  const { bytes } = message.source
  const end = message.end[TEXT]!
  const at = skipBlanks(bytes, message.start[TEXT]!, end)
  if (at >= end) return
  const first = bytes[at]
  if (first === OPEN_OBJECT) readObject(message, at, end, judge)
  else if (first === AT && isAt(bytes, at, end, CEE)) {
    readObject(message, skipBlanks(bytes, at + CEE.length, end), end, judge)
  } else if (first === LETTER_C && isAt(bytes, at, end, CEF_MARK)) {
    if (readCef(message, at + CEF_MARK.length, end)) message.kind = CEF
    else message.payload.clear(message.source)
  } else if (first === LETTER_L && isAt(bytes, at, end, LEEF_MARK)) {
    if (readLeef(message, at + LEEF_MARK.length, end)) message.kind = LEEF
    else message.payload.clear(message.source)
  }
}

/** An object from its brace to the end of the text is the text then. */
function readObject(message: SyslogMessage, at: number, end: number, judge: () => JsonTape): void {
  const { bytes } = message.source
  let last = end
  while (last > at && (bytes[last - 1] === SPACE || bytes[last - 1] === TAB)) last--
  if (last - at < 2 || bytes[at] !== OPEN_OBJECT || bytes[last - 1] !== CLOSE_OBJECT) return
  const tape = judge()
  const objectEnd = tape.parse(at, tape.trie.elementOf(ROOT), true)
  tape.length = 0
  if (objectEnd !== last) return
  message.kind = JSON_OBJECT
  message.set(TEXT, at, last)
}

function skipBlanks(bytes: Uint8Array, at: number, end: number): number {
  while (at < end && (bytes[at] === SPACE || bytes[at] === TAB)) at++
  return at
}
