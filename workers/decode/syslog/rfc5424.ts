/**
 * RFC 5424 behind the priority:
 *
 *   1 2026-11-27T10:00:00.123456+01:00 host app 1234 ID47 [id name="value"] text
 *
 * `-` is nothing. A message that ends early has what came. Structured data that is none is text,
 * and so is whatever comes where it should be. Meraki's time is of another kind, and only a host
 * and a type follow it.
 */
import { readElements } from './structured-data.ts'
import { DASH, EQUALS, isDigit, OPEN_BRACKET, SPACE, skipMark, spaceFrom } from './syslog-bytes.ts'
import { APP, HOST, MESSAGE_ID, type SyslogMessage } from './syslog-message.ts'

const VERSION_DIGITS_MAX = 3

/** Reads a message from its version at `at` on; returns where its text begins, -1 if it is none. */
export function readRfc5424(message: SyslogMessage, at: number, end: number): number {
  const { bytes } = message.source
  const { time } = message
  let pos = at
  while (pos < end && isDigit(bytes[pos])) pos++
  const digits = pos - at
  if (digits === 0 || digits > VERSION_DIGITS_MAX || bytes[at] === 0x30) return -1
  if (pos >= end || bytes[pos] !== SPACE) return -1
  pos++
  if (pos < end && bytes[pos] === DASH) pos++
  else {
    const timeEnd = time.readIso(bytes, pos, end)
    if (timeEnd < 0) return readMeraki(message, pos, end)
    pos = timeEnd
  }
  if (pos < end && bytes[pos] !== SPACE) {
    time.clear()
    return -1
  }
  for (let part = HOST; part <= MESSAGE_ID; part++) {
    if (pos >= end) return end
    const start = pos + 1
    pos = spaceFrom(bytes, start, end)
    if (pos - start !== 1 || bytes[start] !== DASH) message.set(part, start, pos)
  }
  return pos >= end ? end : readStructured(message, pos + 1, end)
}

/** Reads structured data at `at`; returns where the text begins. */
function readStructured(message: SyslogMessage, at: number, end: number): number {
  const { bytes } = message.source
  let pos = at
  if (pos >= end) return end
  if (bytes[pos] === DASH && (pos + 1 === end || bytes[pos + 1] === SPACE)) pos++
  else if (bytes[pos] === OPEN_BRACKET) {
    pos = readElements(message, at, end)
    if (pos < 0) {
      message.elements.clear(message.source)
      return at
    }
  } else return at
  if (pos < end && bytes[pos] === SPACE) pos++
  return skipMark(bytes, pos, end)
}

/** `1795777200.123456789 MX84 urls src=…`: seconds since 1970, a host, a type, text. */
function readMeraki(message: SyslogMessage, at: number, end: number): number {
  const { bytes } = message.source
  const timeEnd = message.time.readEpoch(bytes, at, end)
  if (timeEnd < 0 || timeEnd >= end) {
    message.time.clear()
    return -1
  }
  const hostEnd = spaceFrom(bytes, timeEnd + 1, end)
  message.set(HOST, timeEnd + 1, hostEnd)
  if (hostEnd >= end) return end
  const typeEnd = spaceFrom(bytes, hostEnd + 1, end)
  for (let i = hostEnd + 1; i < typeEnd; i++) if (bytes[i] === EQUALS) return hostEnd + 1
  if (typeEnd >= end) return hostEnd + 1
  message.set(APP, hostEnd + 1, typeEnd)
  return typeEnd + 1
}
