/**
 * Trace and span ids as senders write them: the protocol's 16 or 8 bytes; and where a sender put a
 * text in their place, that text's meaning: hexadecimal digits of any case, a UUID, or base64 of
 * either alphabet of the bytes or of such a text.
 *
 * An id of zeros only counts as absent, as the protocol asks. Anything else is not read, and that
 * is told to the sender.
 */
import { TRACE_ID_BYTES } from '../../tape/given-labels.ts'
import { IS_HEX } from '../../tape/json-scan.ts'

/** What `readId` found. */
export const ID_ABSENT = 0
export const ID_READ = 1
export const ID_UNREADABLE = 2

const DASH = 0x2d
const PAD = 0x3d
const UUID_BYTES = 36
const UUID_DASHES = [8, 13, 18, 23]
/** Base64 of a UUID, the longest text that is an id. */
const BASE64_BYTES_MAX = 48
const NOT_BASE64 = 0xff

/** The values of base64's characters, of both alphabets; NOT_BASE64 for others. */
export const BASE64_VALUES = new Uint8Array(256).fill(NOT_BASE64)
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'
for (let i = 0; i < 64; i++) BASE64_VALUES[ALPHABET.charCodeAt(i)] = i
BASE64_VALUES[0x2d] = 62
BASE64_VALUES[0x5f] = 63

const decoded = new Uint8Array(BASE64_BYTES_MAX)

/** Reads the id `start`..`end` of `length` bytes into `out`, which has room for them. */
export function readId(
  bytes: Uint8Array,
  start: number,
  end: number,
  length: number,
  out: Uint8Array,
): number {
  if (end === start) return ID_ABSENT
  if (readPlain(bytes, start, end, length, out)) return hasBits(out, length)
  if (isZeros(bytes, start, end)) return ID_ABSENT
  const count = decodeBase64(bytes, start, end, decoded)
  if (count >= 0 && readPlain(decoded, 0, count, length, out)) return hasBits(out, length)
  return ID_UNREADABLE
}

/** Bytes, or a text of hexadecimal digits, or a UUID. */
function readPlain(
  bytes: Uint8Array,
  start: number,
  end: number,
  length: number,
  out: Uint8Array,
): boolean {
  const size = end - start
  if (size === length) {
    for (let i = 0; i < length; i++) out[i] = bytes[start + i]!
    return true
  }
  if (size === length * 2) return readHex(bytes, start, end, out)
  return size === UUID_BYTES && length === TRACE_ID_BYTES && readUuid(bytes, start, end, out)
}

function readHex(bytes: Uint8Array, start: number, end: number, out: Uint8Array): boolean {
  let at = 0
  for (let i = start; i < end; i += 2) {
    if (IS_HEX[bytes[i]!] !== 1 || IS_HEX[bytes[i + 1]!] !== 1) return false
    out[at++] = hexDigit(bytes[i]!) * 16 + hexDigit(bytes[i + 1]!)
  }
  return true
}

function readUuid(bytes: Uint8Array, start: number, end: number, out: Uint8Array): boolean {
  for (let i = 0; i < UUID_DASHES.length; i++) {
    if (bytes[start + UUID_DASHES[i]!] !== DASH) return false
  }
  let at = 0
  for (let i = start; i < end; i += 2) {
    if (bytes[i] === DASH) i++
    if (IS_HEX[bytes[i]!] !== 1 || IS_HEX[bytes[i + 1]!] !== 1) return false
    out[at++] = hexDigit(bytes[i]!) * 16 + hexDigit(bytes[i + 1]!)
  }
  return at === TRACE_ID_BYTES
}

/** Writes what the base64 stands for, padded or not, to `out`; returns how much, -1 for none. */
function decodeBase64(bytes: Uint8Array, start: number, end: number, out: Uint8Array): number {
  let last = end
  for (let pads = 0; pads < 2 && last > start && bytes[last - 1] === PAD; pads++) last--
  if (end - start > BASE64_BYTES_MAX || (last - start) % 4 === 1) return -1
  let at = 0
  let bits = 0
  let count = 0
  for (let i = start; i < last; i++) {
    const six = BASE64_VALUES[bytes[i]!]!
    if (six === NOT_BASE64) return -1
    bits = ((bits << 6) | six) & 0xfff
    count += 6
    if (count < 8) continue
    count -= 8
    out[at++] = bits >> count
  }
  return at
}

function hasBits(out: Uint8Array, length: number): number {
  for (let i = 0; i < length; i++) if (out[i] !== 0) return ID_READ
  return ID_ABSENT
}

function isZeros(bytes: Uint8Array, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (bytes[i] !== 0) return false
  return true
}

export function hexDigit(byte: number): number {
  return byte <= 0x39 ? byte - 0x30 : (byte | 0x20) - 0x57
}
