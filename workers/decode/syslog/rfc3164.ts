/**
 * RFC 3164 behind the priority, as it really is: `TIME HOST TAG[PID]: text`, of which anything may
 * be missing.
 *
 *   Nov 27 10:00:00 web1 sshd[812]: text        host, tag, process
 *   Nov 27 10:00:00 sshd[812]: text             no host: the first word is a tag
 *   sshd[812]: text                             no time, so no host
 *   123: r1: *Nov 27 10:00:00.123 CET: %SYS-5-CONFIG_I: text      `prelude.ts`, `tags.ts`
 *
 * Behind a time a word that can be a host is one, unless it is a tag. What is none of these is
 * text.
 */
import { readPrelude } from './prelude.ts'
import {
  CLOSE_BRACKET,
  COLON,
  DASH,
  isAlphanumeric,
  isAt,
  isOfHost,
  OPEN_BRACKET,
  PERCENT,
  SPACE,
  skipSpaces,
} from './syslog-bytes.ts'
import { HOST, type SyslogMessage } from './syslog-message.ts'
import { readDeviceTag, readTag, skipLevelWord } from './tags.ts'

const HOST_BYTES_MAX = 255
const UNDERSCORE = 0x5f
const REPEATED = Buffer.from('last message repeated ')
const MARKS = ['CEF:', 'LEEF:', '@cee:'].map((mark) => Buffer.from(mark))

/** Reads the message from `at` on; returns where its text begins. */
export function readRfc3164(message: SyslogMessage, at: number, end: number): number {
  const { bytes } = message.source
  const { time } = message
  let pos = time.read(bytes, at, end)
  if (pos >= 0 && isBoundary(bytes, pos, end)) {
    if (pos < end && bytes[pos] === COLON) pos++
    return readOrigin(message, skipSpaces(bytes, pos, end), end)
  }
  time.clear()
  pos = readPrelude(message, at, end)
  if (pos >= 0) {
    return message.has(HOST) ? readTags(message, pos, end) : readOrigin(message, pos, end)
  }
  // Without a priority either, a word and a colon are just text.
  const isSyslog = message.priority >= 0 || bytes[at] === PERCENT
  return isSyslog ? readTags(message, at, end) : at
}

/** Whether a time may end here. */
function isBoundary(bytes: Uint8Array, pos: number, end: number): boolean {
  return pos >= end || bytes[pos]! <= SPACE || bytes[pos] === COLON
}

/** Reads host and tag, or either. */
function readOrigin(message: SyslogMessage, at: number, end: number): number {
  const { bytes } = message.source
  if (at >= end || isMarked(bytes, at, end)) return at
  const hostEnd = hostEndAt(bytes, at, end)
  if (hostEnd === at) return readTags(message, at, end)
  const isRepeated = bytes[at] === REPEATED[0] && isAt(bytes, at, end, REPEATED)
  if (isRepeated) return at
  if (isTagged(bytes, at, hostEnd)) {
    const tagEnd = readTag(message, at, end)
    if (tagEnd >= 0) return readDeviceTag(message, tagEnd, end)
  }
  if (hostEnd - at > 1 || bytes[at] !== DASH) message.set(HOST, at, hostEnd)
  let pos = skipSpaces(bytes, hostEnd, end)
  // Cisco's ASA has a colon between two spaces.
  if (pos + 1 < end && bytes[pos] === COLON && bytes[pos + 1] === SPACE) pos += 2
  return readTags(message, pos, end)
}

/** Whether a word that can be a host can be a tag with a process as well. */
function isTagged(bytes: Uint8Array, start: number, end: number): boolean {
  return bytes[end - 1] === CLOSE_BRACKET && bytes[start] !== OPEN_BRACKET
}

function readTags(message: SyslogMessage, at: number, end: number): number {
  const { bytes } = message.source
  if (isMarked(bytes, at, end)) return at
  let tagEnd = readTag(message, at, end)
  if (tagEnd < 0) {
    const tag = skipLevelWord(bytes, at, end)
    if (tag > at) tagEnd = readTag(message, tag, end)
  }
  return readDeviceTag(message, tagEnd < 0 ? at : tagEnd, end)
}

/** Where the word at `at` ends if it can be a host's name or address; else `at`. */
function hostEndAt(bytes: Uint8Array, at: number, end: number): number {
  let pos = at
  let hasColon = false
  for (; pos < end && bytes[pos] !== SPACE; pos++) {
    const byte = bytes[pos]!
    if (!isOfHost(byte)) return at
    if (byte === COLON) hasColon = true
  }
  // A last word is text.
  if (pos >= end || pos === at || pos - at > HOST_BYTES_MAX) return at
  if (hasColon) return isAddress(bytes, at, pos) ? pos : at
  const first = bytes[at]!
  if (isAlphanumeric(first) || first === OPEN_BRACKET || first === UNDERSCORE) return pos
  return pos - at === 1 && first === DASH ? pos : at
}

function isAddress(bytes: Uint8Array, start: number, end: number): boolean {
  let colons = 0
  // Behind `%` is the name of an interface.
  for (let i = start; i < end && bytes[i] !== PERCENT; i++) {
    const byte = bytes[i]!
    if (byte === COLON) colons++
    else if (!isOfAddress(byte)) return false
  }
  return colons > 1
}

/** Whether an IPv6 address may have it, beside colons. */
function isOfAddress(byte: number): boolean {
  const letter = byte | 0x20
  const isHex = (byte - 0x30) >>> 0 < 10 || (letter >= 0x61 && letter <= 0x66)
  return isHex || byte === 0x2e || byte === 0x5b || byte === 0x5d
}

/** Whether what is not a tag, though it looks like one, is at `at`. */
function isMarked(bytes: Uint8Array, at: number, end: number): boolean {
  const first = bytes[at]
  if (first !== 0x43 && first !== 0x4c && first !== 0x40) return false
  return MARKS.some((mark) => isAt(bytes, at, end, mark))
}
