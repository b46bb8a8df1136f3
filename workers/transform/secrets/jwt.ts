/**
 * Whether a JSON Web Token begins at a byte: signed (RFC 7515, also with `alg` `none`, whose
 * signature is empty) or encrypted (RFC 7516). Long parts that begin as JSON objects do are proof
 * enough; for short ones the header is decoded and has to name its algorithm.
 *
 * Linear: a token begins where a stretch of base64url begins, so a stretch is read once for each
 * position that it can have in a token.
 */
import { BYTE_CLASS, WORD, WORD_DASH } from './secret-formats.ts'

/** What `{` and the first sign after it make: a quote, a blank, the end of a line, a tab. */
export const JWT_HEADS = '(?:ey[JA]|ew[o0k])'
const DOT = 0x2e
const LETTER_E = 0x65
/** Bytes of a part that needs no further look; of the shortest object with a claim; of `{}`. */
const LONG_PART = 19
const SHORT_PART = 12
const EMPTY_PART = 3
const SIGNATURE_MIN = 10
/** Bytes of a nonce as base64url: 12 of them in all algorithms but those with CBC. */
const NONCE_MIN = 16
const HEADER_MAX = 1_024
const ALGORITHM = Buffer.from('"alg"')
const ENCRYPTION = Buffer.from('"enc"')
const header = Buffer.alloc(HEADER_MAX)

/** What follows `ey` and `ew` there. */
const THIRDS = Buffer.from('JAo0k')

export function isJwtAt(bytes: Uint8Array, at: number, end: number): boolean {
  if (at + SHORT_PART > end || THIRDS.indexOf(bytes[at + 2]!) < 0) return false
  const headerEnd = partEnd(bytes, at, end)
  if (headerEnd - at < SHORT_PART || bytes[headerEnd] !== DOT || headerEnd >= end) return false
  const payload = headerEnd + 1
  const payloadEnd = partEnd(bytes, payload, end)
  if (payloadEnd >= end || bytes[payloadEnd] !== DOT) return false
  const signature = payloadEnd + 1
  const signatureEnd = partEnd(bytes, signature, end)
  const isLong = headerEnd - at >= LONG_PART && payloadEnd - payload >= LONG_PART
  if (isLong && beginsObject(bytes, payload) && signatureEnd - signature >= SIGNATURE_MIN) {
    return true
  }
  const length = decodeHeader(bytes, at, headerEnd)
  if (header.subarray(0, length).indexOf(ALGORITHM) < 0) return false
  const isEncrypted = header.subarray(0, length).indexOf(ENCRYPTION) >= 0
  if (isEncrypted) return isSealed(bytes, signature, signatureEnd, end)
  if (payloadEnd - payload < EMPTY_PART || bytes[payload] !== LETTER_E) return false
  if (signatureEnd - signature >= SIGNATURE_MIN) return true
  // Behind the dot of an empty signature nothing of a name may follow.
  return signatureEnd === signature && !isWord(bytes, signature, end)
}

/** What is after the encrypted key: a nonce, the text, and perhaps cut off the tag. */
function isSealed(bytes: Uint8Array, nonce: number, nonceEnd: number, end: number): boolean {
  if (nonceEnd - nonce < NONCE_MIN || nonceEnd >= end || bytes[nonceEnd] !== DOT) return false
  return partEnd(bytes, nonceEnd + 1, end) > nonceEnd + 1
}

function beginsObject(bytes: Uint8Array, at: number): boolean {
  return bytes[at] === LETTER_E && (bytes[at + 1] === 0x79 || bytes[at + 1] === 0x77)
}

function partEnd(bytes: Uint8Array, start: number, end: number): number {
  let at = start
  while (at < end && (BYTE_CLASS[bytes[at]!]! & WORD_DASH) !== 0) at++
  return at
}

function isWord(bytes: Uint8Array, at: number, end: number): boolean {
  return at < end && (BYTE_CLASS[bytes[at]!]! & WORD) !== 0
}

/** Decodes base64url into `header`, as far as there is room; returns how many bytes. */
function decodeHeader(bytes: Uint8Array, start: number, end: number): number {
  const stop = Math.min(end, start + HEADER_MAX)
  let bits = 0
  let length = 0
  for (let at = start; at < stop; at++) {
    bits = ((bits << 6) | sextetOf(bytes[at]!)) & 0xffff
    const place = (at - start) % 4
    // Characters 1, 2 and 3 of four complete a byte.
    if (place !== 0) header[length++] = (bits >> (6 - 2 * place)) & 0xff
  }
  return length
}

function sextetOf(byte: number): number {
  if (byte >= 0x61) return byte - 0x61 + 26
  if (byte === 0x5f) return 63
  if (byte >= 0x41) return byte - 0x41
  return byte === 0x2d ? 62 : byte - 0x30 + 52
}
