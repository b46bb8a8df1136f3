/**
 * Tags: `name[123]:`, `name[123] `, `name:`, and those of network gear, which stay in the text, as
 * people search for them:
 *
 *   %ASA-6-302013: text, %MGBL-SYS-5-CONFIG_I : text     app ASA, MGBL-SYS; severity 6, 5
 *   #APF-4-ASSOCREQ_PROC_FAILED: text                    of wireless controllers
 *   %%01IFNET/4/LINK_STATE(l)[12]:text                   app IFNET; severity 4
 *
 * A word that names a level is no tag unless a process stands behind it: `error: disk full`.
 */
import {
  CLOSE_BRACKET,
  COLON,
  isAlphanumeric,
  isAt,
  isDigit,
  isLetter,
  isOfProcess,
  isOfTag,
  NUMBER_SIGN,
  OPEN_BRACKET,
  PERCENT,
  SLASH,
  SPACE,
  skipSpaces,
  spaceFrom,
  TAB,
} from './syslog-bytes.ts'
import { APP, MESSAGE_ID, PROCESS, type SyslogMessage } from './syslog-message.ts'

const TAG_BYTES_MAX = 128
const PROCESS_BYTES_MAX = 128
const DEVICE_TAG_BYTES_MAX = 128
const SNARE = Buffer.from('MSWinEventLog\t')
const LEVEL_WORDS = [
  ...['debug', 'info', 'notice', 'warn', 'warning', 'err', 'error', 'crit', 'critical', 'alert'],
  ...['emerg', 'emergency', 'panic', 'fatal', 'trace'],
].map((word) => Buffer.from(word))
const WORD_BYTES_MIN = Math.min(...LEVEL_WORDS.map(({ length }) => length))
const WORD_BYTES_MAX = Math.max(...LEVEL_WORDS.map(({ length }) => length))
/** What may stand right behind the colon of a tag, beside white space. */
const BEHIND_TAG = new Set(Buffer.from('{[@<"'))

/** Reads a tag at `at`; returns where the text behind it begins, -1 where there is none. */
export function readTag(message: SyslogMessage, at: number, end: number): number {
  const { bytes } = message.source
  const stop = Math.min(end, at + TAG_BYTES_MAX)
  let pos = at
  let hasLetter = false
  for (; pos < stop && isOfTag(bytes[pos]!); pos++) hasLetter ||= isLetter(bytes[pos]!)
  if (pos >= stop || pos === at || !hasLetter) return -1
  const byte = bytes[pos]
  if (byte === OPEN_BRACKET) return readProcess(message, at, pos, end)
  if (byte === TAB && isAt(bytes, at, end, SNARE)) {
    message.set(APP, at, pos)
    return pos + 1
  }
  if (byte !== COLON || isLevelWord(bytes, at, pos)) return -1
  const next = pos + 1 < end ? bytes[pos + 1]! : SPACE
  if (next > SPACE && !BEHIND_TAG.has(next)) return -1
  message.set(APP, at, pos)
  return next === SPACE ? Math.min(end, pos + 2) : pos + 1
}

/** Reads `[123]` behind a name, with a colon or without. */
function readProcess(message: SyslogMessage, at: number, open: number, end: number): number {
  const { bytes } = message.source
  const stop = Math.min(end, open + PROCESS_BYTES_MAX)
  let pos = open + 1
  while (pos < stop && isOfProcess(bytes[pos]!)) pos++
  if (pos >= stop || bytes[pos] !== CLOSE_BRACKET) return -1
  let textStart = pos + 1
  if (textStart < end && bytes[textStart] === COLON) textStart++
  else if (textStart < end && bytes[textStart]! > SPACE) return -1
  message.set(APP, at, open)
  message.set(PROCESS, open + 1, pos)
  return textStart < end && bytes[textStart] === SPACE ? textStart + 1 : textStart
}

/** Behind F5's word for a level, if a tag with a process follows it. */
export function skipLevelWord(bytes: Uint8Array, at: number, end: number): number {
  const first = bytes[at]!
  if (!isLetter(first)) return at
  const stop = Math.min(end, at + WORD_BYTES_MAX + 1)
  const wordEnd = spaceFrom(bytes, at, stop)
  if (wordEnd >= stop || !isLevelWord(bytes, at, wordEnd)) return at
  const tag = wordEnd + 1
  let pos = tag
  while (pos < end && pos < tag + TAG_BYTES_MAX && isOfTag(bytes[pos]!)) pos++
  return pos > tag && pos < end && bytes[pos] === OPEN_BRACKET ? tag : at
}

function isLevelWord(bytes: Uint8Array, start: number, end: number): boolean {
  const length = end - start
  if (length < WORD_BYTES_MIN || length > WORD_BYTES_MAX) return false
  for (const word of LEVEL_WORDS) {
    if (word.length !== length || word[0] !== (bytes[start]! | 0x20)) continue
    let i = 1
    while (i < length && word[i] === (bytes[start + i]! | 0x20)) i++
    if (i === length) return true
  }
  return false
}

/**
 * Reads what the tag of a network device at `at` says; the text begins there all the same. An app
 * that is known stays.
 */
export function readDeviceTag(message: SyslogMessage, at: number, end: number): number {
  const { bytes } = message.source
  if (at >= end || (bytes[at] !== PERCENT && bytes[at] !== NUMBER_SIGN)) return at
  if (bytes[at] === PERCENT && bytes[at + 1] === PERCENT) return readHuaweiTag(message, at, end)
  const start = at + 1
  const stop = Math.min(end, start + DEVICE_TAG_BYTES_MAX)
  let severityAt = -1
  let pos = start
  for (; pos < stop; pos++) {
    const byte = bytes[pos]!
    if (byte === 0x2d) {
      if (isSeverity(bytes, pos, stop)) severityAt = pos
    } else if (!isAlphanumeric(byte) && byte !== 0x5f && byte !== 0x2f && byte !== 0x2e) break
  }
  const colon = skipSpaces(bytes, pos, stop)
  if (colon >= stop || bytes[colon] !== COLON || severityAt <= start) return at
  if (!message.has(APP)) message.set(APP, start, severityAt)
  message.set(MESSAGE_ID, start, pos)
  message.tagSeverity = bytes[severityAt + 1]! - 0x30
  return at
}

/** Whether `-5-` is at `at`. */
function isSeverity(bytes: Uint8Array, at: number, end: number): boolean {
  return at + 2 < end && (bytes[at + 1]! - 0x30) >>> 0 < 8 && bytes[at + 2] === 0x2d
}

/** `%%01IFNET/4/LINK_STATE(l)[12]:`, of Huawei and H3C. */
function readHuaweiTag(message: SyslogMessage, at: number, end: number): number {
  const { bytes } = message.source
  const start = at + 4
  if (start >= end || !isDigit(bytes[at + 2]) || !isDigit(bytes[at + 3])) return at
  const stop = Math.min(end, start + DEVICE_TAG_BYTES_MAX)
  let slash = start
  while (slash < stop && (isAlphanumeric(bytes[slash]!) || bytes[slash] === 0x5f)) slash++
  if (slash === start || slash + 3 >= stop || bytes[slash] !== SLASH) return at
  if (!isDigit(bytes[slash + 1]) || bytes[slash + 2] !== SLASH) return at
  let pos = slash + 3
  while (pos < stop && (isAlphanumeric(bytes[pos]!) || bytes[pos] === 0x5f)) pos++
  if (pos === slash + 3) return at
  if (!message.has(APP)) message.set(APP, start, slash)
  message.set(MESSAGE_ID, start, pos)
  const severity = bytes[slash + 1]! - 0x30
  if (severity < 8) message.tagSeverity = severity
  return at
}
