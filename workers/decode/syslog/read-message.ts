/** Reads one message: its priority, then what `rfc5424.ts` or `rfc3164.ts` make of the rest. */
import { SYSLOG_FACILITIES, SYSLOG_SEVERITIES } from '../../../src/model/batch/syslog-part.ts'
import type { JsonTape } from '../../tape/json-tape.ts'
import { readPayload } from './payload.ts'
import { readRfc3164 } from './rfc3164.ts'
import { readRfc5424 } from './rfc5424.ts'
import { isDigit, SPACE, skipMark, skipSpaces } from './syslog-bytes.ts'
import { type SyslogMessage, TEXT } from './syslog-message.ts'

const PRIORITY_MAX = SYSLOG_FACILITIES.length * SYSLOG_SEVERITIES.length - 1
const PRIORITY_DIGITS_MAX = 3
const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const OPEN = 0x3c
const CLOSE = 0x3e

/** `judge`: begun with the message's bytes, for JSON. Never throws, whatever the bytes are. */
export function readMessage(
  message: SyslogMessage,
  start: number,
  end: number,
  judge: () => JsonTape,
): void {
  const { bytes } = message.source
  let stop = end
  while (stop > start && isTrailer(bytes[stop - 1]!)) stop--
  let at = skipMark(bytes, start, stop)
  const behind = readPriority(message, at, stop)
  if (behind > 0) at = skipSpaces(bytes, behind, stop)
  let text = at
  if (at < stop) {
    text = isDigit(bytes[at]) ? readRfc5424(message, at, stop) : -1
    if (text < 0) text = readRfc3164(message, at, stop)
  }
  message.set(TEXT, skipMark(bytes, text, stop), stop)
  readPayload(message, judge)
}

/** Reads `<34>`, with white space before it or without; returns what is behind it, or -1. */
function readPriority(message: SyslogMessage, at: number, end: number): number {
  const { bytes } = message.source
  let pos = at
  while (pos < end && bytes[pos]! <= SPACE) pos++
  if (pos >= end || bytes[pos] !== OPEN) return -1
  const first = ++pos
  let priority = 0
  for (; pos < end && isDigit(bytes[pos]); pos++) priority = priority * 10 + bytes[pos]! - 0x30
  if (pos === first || pos - first > PRIORITY_DIGITS_MAX) return -1
  if (pos >= end || bytes[pos] !== CLOSE || priority > PRIORITY_MAX) return -1
  message.priority = priority
  return pos + 1
}

/** What senders end a message with. */
function isTrailer(byte: number): boolean {
  return byte === LINE_FEED || byte === CARRIAGE_RETURN || byte === 0
}
