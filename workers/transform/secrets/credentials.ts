/** Judges what follows `Bearer` and `Basic`: a credential, or a word of a sentence. */
import { BASE64_SIGN, BYTE_CLASS, DIGIT, UPPER } from './secret-formats.ts'

/** Fewer bytes are not judged: the shared list of secrets asks for 16. */
export const AUTHORIZATION_BYTES_MIN = 16
/** `u:` as base64, without its padding. */
const USER_AND_PASSWORD_BYTES_MIN = 3
const PLUS = 0x2b
const DOT = 0x2e
const SLASH = 0x2f
const COLON = 0x3a
const EQUALS = 0x3d

/**
 * Whether a sequence is a credential and not prose (`Basic authentication-required`, `Bearer
 * TokenAuthenticationFilter`) or parameters of a challenge (`Bearer error=invalid_token`): it has
 * `=` only at its end, and digits, or else about as many capitals as a random one would have.
 */
export function isCredential(bytes: Uint8Array, start: number, to: number): boolean {
  let end = to
  // The end of a sentence.
  while (end > start && bytes[end - 1] === DOT) end--
  let digits = 0
  let capitals = 0
  let isPadded = false
  for (let i = start; i < end; i++) {
    const byte = bytes[i]!
    const kind = BYTE_CLASS[byte]!
    if (byte === EQUALS) isPadded = true
    else if (isPadded && (kind & BASE64_SIGN) === 0) return false
    if ((kind & DIGIT) !== 0) digits++
    else if ((kind & UPPER) !== 0) capitals++
  }
  const length = end - start
  if (length < AUTHORIZATION_BYTES_MIN) return false
  // `OAuth2AuthorizationFilter`, `shop-authentication-v2`: one digit in many letters.
  if (digits > 1 || (digits === 1 && length < 20)) return true
  return capitals * 4 > length && capitals < length
}

/**
 * Whether a sequence is base64 of `user:password` in printable ASCII (RFC 7617 §2), however few
 * digits and capitals it has. Words decode to control characters or have no colon.
 */
export function isUserAndPassword(bytes: Uint8Array, start: number, to: number): boolean {
  let end = to
  while (end > start && (bytes[end - 1] === DOT || bytes[end - 1] === EQUALS)) end--
  // One character more than whole bytes need is not base64.
  if (end - start < USER_AND_PASSWORD_BYTES_MIN || (end - start) % 4 === 1) return false
  let bits = 0
  let hasColon = false
  for (let i = start; i < end; i++) {
    const sextet = sextetOf(bytes[i]!)
    if (sextet < 0) return false
    bits = ((bits << 6) | sextet) & 0xffff
    // Characters 1, 2 and 3 of four complete a byte: 12, 10 and 8 bits are there.
    const place = (i - start) % 4
    if (place === 0) continue
    const byte = (bits >> (6 - 2 * place)) & 0xff
    if (byte < 0x20 || byte > 0x7e) return false
    if (byte === COLON) hasColon = true
  }
  return hasColon
}

/** What a character of base64 (RFC 4648 §4) stands for; -1 for others. */
function sextetOf(byte: number): number {
  if (byte >= 0x61 && byte <= 0x7a) return byte - 0x61 + 26
  if (byte >= 0x41 && byte <= 0x5a) return byte - 0x41
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30 + 52
  if (byte === PLUS) return 62
  return byte === SLASH ? 63 : -1
}
