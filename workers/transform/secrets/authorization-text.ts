/** Judges the values of the headers Authorization and Cookie as a text shows them. */
import { isUserAndPassword } from './credentials.ts'
import { isPlaceholderValue } from './value-placeholders.ts'

/** Schemes after which a short credential is believed. */
const SCHEMES: ReadonlySet<string> = new Set(
  (
    'bearer token apikey api-key api_key key bot splunk geniekey ssws negotiate ntlm oauth jwt ' +
    'googlelogin sharedkey hmac auth pat zoho-oauthtoken klaviyo-api-key'
  ).split(' '),
)
const SCHEME = /^([A-Za-z][\w-]*)(?:[\s+:]|%20)+\\?["']?(.*)$/s
/** `token=…` after the scheme, as Rails has it. */
const NAMED = /^(?:(?:access_)?token|api_?key|auth|key)=\\?["']?/i
const CREDENTIAL = /^[^\s"',;)}\]\\]+/
const SIGNED = /(?:^|[\s,;])(?:signature|oauth_signature|mac|response)=\\?"?([^\s",;\\]{8,})/i
/** Cookies looked at. */
const COOKIES_MAX = 32

/** Whether the value of an Authorization header, up to its line's end, has a credential. */
export function holdsCredential(text: string): boolean {
  const line = /^[^\r\n]*/.exec(text)?.[0] ?? ''
  const match = SCHEME.exec(line)
  if (match === null) return isOpaque(CREDENTIAL.exec(line)?.[0] ?? '')
  const [, scheme = '', rest = ''] = match
  const name = scheme.toLowerCase()
  if (name === 'basic') {
    const bytes = Buffer.from(/^[A-Za-z0-9+/]+=*/.exec(rest)?.[0] ?? '', 'latin1')
    return isUserAndPassword(bytes, 0, bytes.length)
  }
  const signature = SIGNED.exec(rest)?.[1]
  if (signature !== undefined) return !isPlaceholderValue(signature) && /[0-9]/.test(signature)
  const credential = CREDENTIAL.exec(rest.replace(NAMED, ''))?.[0] ?? ''
  return SCHEMES.has(name) ? isLikely(credential) : isOpaque(credential)
}

/** Six or more characters that are not a word. */
function isLikely(value: string): boolean {
  if (value.length < 6 || /^\w+=./.test(value) || isPlaceholderValue(value)) return false
  return /[0-9]/.test(value) || /[a-z][A-Z][A-Z0-9]*[a-z]/.test(value) || value.length >= 24
}

/** What nobody writes in a sentence. */
function isOpaque(value: string): boolean {
  if (value.length < 16 || isPlaceholderValue(value) || /^[./]|:\/\//.test(value)) return false
  if (!/[a-z]/i.test(value) || /^\w+[=(]/.test(value.replace(/=+$/, ''))) return false
  const digits = value.replace(/[^0-9]/g, '').length
  const capitals = value.replace(/[^A-Z]/g, '').length
  return digits > 1 || (capitals * 4 > value.length && capitals < value.length)
}

/** Whether one of the cookies looks drawn at random, or has the name of a session. */
export function holdsCookie(text: string): boolean {
  const line = /^[^\r\n"]*/.exec(text)?.[0] ?? ''
  for (const cookie of line.split(';', COOKIES_MAX)) {
    const match = /^\s*([\w.!#$%&*+^`|~-]+)=(\S+)/.exec(cookie)
    if (match === null) return false
    const [, name = '', value = ''] = match
    if (isPlaceholderValue(value)) continue
    if (/sess|sid$|token|auth|jwt/i.test(name) && value.length >= 6) return true
    if (value.length >= 16 && /[0-9]/.test(value) && /[a-z]/i.test(value)) return true
  }
  return false
}
