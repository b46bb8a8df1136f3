/** The bytes that tokens are made of, and the kinds of secrets that no table of formats has. */

/** Bytes that tokens are made of: bit per alphabet, so that one table serves all. */
export const DIGIT = 1
export const UPPER = 2
export const LOWER = 4
export const HEX_LETTER = 8
export const UNDERSCORE = 16
export const DASH = 32
export const DOT = 64
/** The rest of base64 and of `token68` (RFC 9110): `+ / = ~`. */
export const BASE64_SIGN = 128

export const BYTE_CLASS = new Uint8Array(256)
for (let byte = 0x30; byte <= 0x39; byte++) BYTE_CLASS[byte] = DIGIT
for (let byte = 0x41; byte <= 0x5a; byte++) BYTE_CLASS[byte] = UPPER
for (let byte = 0x61; byte <= 0x7a; byte++) BYTE_CLASS[byte] = LOWER
for (const char of 'abcdefABCDEF') BYTE_CLASS[char.charCodeAt(0)]! |= HEX_LETTER
BYTE_CLASS[0x5f] = UNDERSCORE
BYTE_CLASS[0x2d] = DASH
BYTE_CLASS[0x2e] = DOT
for (const char of '+/=~') BYTE_CLASS[char.charCodeAt(0)] = BASE64_SIGN

export const UPPER_DIGITS = DIGIT | UPPER
export const ALNUM = DIGIT | UPPER | LOWER
/** What `\w` matches; a token of letters and digits may not touch one of these. */
export const WORD = ALNUM | UNDERSCORE
/** base64url. */
export const WORD_DASH = WORD | DASH
export const WORD_DOT_DASH = WORD_DASH | DOT

/** Found by other means than a prefix; see `secrets.ts`. */
export const AUTHORIZATION_KIND = 'authorization'
export const URL_PASSWORD_KIND = 'url_password'
export const PRIVATE_KEY_KIND = 'private_key'
export const JWT_KIND = 'jwt'
