/** Passwords in the authority of a URL, and before the `@` of connection strings without one. */

import { ALNUM, BYTE_CLASS } from './secret-formats.ts'
import { isPlaceholderValue } from './value-placeholders.ts'

/** Longest `user:password`. */
const USER_INFO_BYTES_MAX = 512
const SPACE = 0x20
const AT = 0x40
const COLON = 0x3a
const SLASH = 0x2f
/** `docker://nginx:1.25@sha256:…` names an image. */
const IMAGE_DIGEST = /^sha(?:256|512):/
const PORT = /^[0-9]{1,5}$/
/** `host:9092,user@…`, a list of hosts. */
const PORT_OF_LIST = /^[0-9]{1,5},/

const ENDS_TEXT = new Uint8Array(256)
ENDS_TEXT.fill(1, 0, SPACE + 1)
for (const char of '"\'<>`') ENDS_TEXT[char.charCodeAt(0)] = 1
const ENDS_AUTHORITY = Uint8Array.from(ENDS_TEXT)
for (const char of '/?#') ENDS_AUTHORITY[char.charCodeAt(0)] = 1

/**
 * Whether `scheme://user:password@host` has its first colon at `colon`. The user may be missing
 * (`redis://:…`) or hold an `@`, the password may not be missing; a placeholder is not a password.
 */
export function urlPasswordAt(bytes: Buffer, start: number, end: number, colon: number): boolean {
  if (bytes[colon + 1] !== SLASH || bytes[colon + 2] !== SLASH || colon === start) return false
  if ((BYTE_CLASS[bytes[colon - 1]!]! & ALNUM) === 0) return false
  const from = colon + 3
  const stop = Math.min(end, from + USER_INFO_BYTES_MAX)
  let at = from
  let lastAt = -1
  let password = -1
  for (; at < stop && ENDS_AUTHORITY[bytes[at]!] === 0; at++) {
    if (bytes[at] === AT) lastAt = at
    else if (bytes[at] === COLON && password < 0) password = at + 1
  }
  if (password < 0) return false
  if (lastAt < 0) {
    return at < stop && bytes[at] === SLASH && hasSlash(bytes, from, password, at, stop)
  }
  if (password > lastAt || lastAt + 1 >= end) return false
  const host = bytes.toString('latin1', lastAt + 1, Math.min(end, lastAt + 24))
  const user = bytes.toString('latin1', from, password - 1)
  return isPassword(user, bytes.toString('latin1', password, lastAt), host)
}

/** A password with a slash in it, which should be spelled `%2F`: more must speak for it. */
function hasSlash(
  bytes: Buffer,
  from: number,
  password: number,
  slash: number,
  stop: number,
): boolean {
  let at = slash
  while (at < stop && ENDS_TEXT[bytes[at]!] === 0 && bytes[at] !== AT) {
    // Another URL.
    if (bytes[at] === SLASH && bytes[at - 1] === SLASH) return false
    at++
  }
  if (at >= stop || bytes[at] !== AT) return false
  const user = bytes.toString('latin1', from, password - 1)
  const value = bytes.toString('latin1', password, at)
  const host = bytes.toString('latin1', at + 1, Math.min(stop, at + 64))
  if (!/^[\w-]*$/.test(user) || !/^[\w.-]+(?::[0-9]+(?:\D|$)|\/)/.test(host)) return false
  return /[0-9]/.test(value) && !/^[0-9]+\//.test(value) && isPassword(user, value, host)
}

function isPassword(user: string, password: string, host: string): boolean {
  if (password === '' || host === '' || IMAGE_DIGEST.test(host)) return false
  if (PORT_OF_LIST.test(password)) return false
  if (PORT.test(password)) {
    // `10.0.0.7:6379@16379`, `registry:5000@v2`: a host and its port.
    if (/\.|^localhost$/.test(user) || !/^[\w-]*(?:[a-z][\w-]*[:/]|[\w-]\.[a-z])/i.test(host))
      return false
  }
  return !isPlaceholderValue(password)
}

/** What ends the text before the `@` of a connection string, besides white space. */
const BEFORE_AT_BYTES_MAX = 200

/**
 * Whether a password ends at the `@` at `at`, in a text that is not a URL:
 * `user:password@tcp(host)/db` of Go's drivers, and `jdbc:oracle:thin:user/password@host`.
 */
export function dsnPasswordAt(bytes: Buffer, start: number, end: number, at: number): boolean {
  const stop = Math.max(start, at - BEFORE_AT_BYTES_MAX)
  let from = at
  while (from > stop && ENDS_TEXT[bytes[from - 1]!] === 0 && bytes[from - 1] !== AT) from--
  if (at - from < 3) return false
  const before = bytes.toString('latin1', from, at)
  const oracle = /jdbc:oracle:\w+:([^/:]+)\/(.+)$/i.exec(before)
  if (oracle !== null) return !isPlaceholderValue(oracle[2]!)
  const after = bytes.toString('latin1', at + 1, Math.min(end, at + 8))
  if (!/^(?:(?:tcp6?|unix)\(|\([\w.:])/.test(after)) return false
  const user = /(?:^|[=,;])[\w.-]*:([^:]+)$/.exec(before)
  return user !== null && !isPlaceholderValue(user[1]!)
}
