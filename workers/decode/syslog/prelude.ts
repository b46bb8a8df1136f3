/**
 * What network gear writes before its time, each with a colon behind it: a counter, a name, a task,
 * another counter; and the time since it was started instead of a time.
 *
 *   123: r1: 000042: *Nov 27 10:00:00.123 CET: %SYS-5-CONFIG_I: …     Cisco IOS
 *   : 2026 Nov 27 10:00:00 CET: %ETHPORT-5-IF_UP: …                    NX-OS
 *   RP/0/RSP0/CPU0:Nov 27 10:00:00.123 CET: config[65710]: …           IOS XR
 *   WLC1: *spamApTask0: Nov 27 10:00:00.123: %CAPWAP-3-ECHO_ERR: …     wireless controllers
 *   23: 00:00:46: %LINK-3-UPDOWN: …, 24: 3w1d: %LINK-3-UPDOWN: …       no time
 *
 * It counts only if a time or a device's tag follows.
 */
import {
  COLON,
  isAlphanumeric,
  isDigit,
  isOfTag,
  NUMBER_SIGN,
  PERCENT,
  SPACE,
} from './syslog-bytes.ts'
import { APP, HOST, NO_NUMBER, type SyslogMessage, UPTIME } from './syslog-message.ts'

const TOKENS_MAX = 5
const TOKEN_BYTES_MAX = 64
const COUNTER_DIGITS_MAX = 15
const STAR = 0x2a
const UPTIME_LETTERS = new Set(Buffer.from('ywdhms'))

/** Reads it; returns where host, tag or text begin, or -1 where there is none. */
export function readPrelude(message: SyslogMessage, at: number, end: number): number {
  const found = tryPrelude(message, at, end)
  if (found < 0) message.reset()
  return found
}

function tryPrelude(message: SyslogMessage, at: number, end: number): number {
  const { bytes } = message.source
  let pos = at
  for (let tokens = 0; tokens < TOKENS_MAX; tokens++) {
    while (pos < end && (bytes[pos] === SPACE || bytes[pos] === COLON)) pos++
    if (pos >= end) return -1
    if (pos > at) {
      if (bytes[pos] === PERCENT || bytes[pos] === NUMBER_SIGN) return pos
      const timeEnd = message.time.read(bytes, pos, end)
      if (timeEnd >= 0) return behindTime(bytes, timeEnd, end)
    }
    pos = readToken(message, pos, end)
    if (pos < 0) return -1
  }
  return -1
}

/** Behind the colon and the spaces that follow a time. */
function behindTime(bytes: Uint8Array, at: number, end: number): number {
  let pos = at
  if (pos < end && bytes[pos] === COLON) pos++
  else if (pos < end && bytes[pos] !== SPACE) return -1
  while (pos < end && bytes[pos] === SPACE) pos++
  return pos
}

/** Reads what is up to a colon; returns where that is, or -1. */
function readToken(message: SyslogMessage, at: number, end: number): number {
  const { bytes } = message.source
  const uptimeEnd = uptimeEndAt(bytes, at, end)
  if (uptimeEnd > at) {
    message.set(UPTIME, at, uptimeEnd)
    return uptimeEnd
  }
  const stop = Math.min(end, at + TOKEN_BYTES_MAX)
  let pos = at
  let digits = 0
  for (; pos < stop && isOfTag(bytes[pos]!); pos++) if (isDigit(bytes[pos])) digits++
  const length = pos - at
  let colon = pos
  while (colon < stop && bytes[colon] === SPACE) colon++
  if (length === 0 || colon >= stop || bytes[colon] !== COLON) return -1
  if (digits === length && length <= COUNTER_DIGITS_MAX) {
    if (message.sequence === NO_NUMBER) message.sequence = numberAt(bytes, at, pos)
  } else if (bytes[at] === STAR) message.set(APP, at + 1, pos)
  else if (!isAlphanumeric(bytes[at]!)) return -1
  else if (!message.has(HOST)) message.set(HOST, at, pos)
  else message.set(APP, at, pos)
  return colon
}

/** Where `00:00:46` or `3w1d` ends, if a colon follows; else `at`. */
function uptimeEndAt(bytes: Uint8Array, at: number, end: number): number {
  if (!isDigit(bytes[at])) return at
  const stop = Math.min(end, at + TOKEN_BYTES_MAX)
  let pos = at
  let colons = 0
  let letters = 0
  for (; pos < stop; pos++) {
    const byte = bytes[pos]!
    if (isDigit(byte)) continue
    if (colons === 0 && UPTIME_LETTERS.has(byte)) letters++
    else if (byte === COLON && colons < 2 && letters === 0 && isDigit(bytes[pos + 1])) colons++
    else break
  }
  if (pos >= stop || bytes[pos] !== COLON) return at
  return colons === 2 || letters > 1 ? pos : at
}

function numberAt(bytes: Uint8Array, at: number, end: number): number {
  let number = 0
  for (let i = at; i < end; i++) number = number * 10 + bytes[i]! - 0x30
  return number
}
