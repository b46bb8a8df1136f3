/**
 * The cookie of a browser that is signed in, and what a request must be like to show it.
 *
 * Guarantee: a cookie stands for its owner only in requests that a page of this service made. Three
 * things hold off all others, each alone: browsers send it with no request of another site
 * (`SameSite=Strict`); the request must have SESSION_HEADER, which a page of another origin can set
 * only if this service agreed, and it never does; and what the browser says about where the request
 * came from (`Sec-Fetch-Site`, else `Origin`) must fit. Where a request has a bearer token or an
 * API key as well, that is what counts, and the cookie is not looked at.
 *
 * The cookie has no `Path`: then it goes to where it came from, which is `/v1` as the browser sees
 * it, with the path that a proxy may have put before it, and nowhere else. Its name is of the
 * installation: browsers keep one jar for all ports of a host.
 */
import { IngestError } from '../errors.ts'
import type { Principal } from '../model/stream.ts'
import type { Exchange } from './exchange.ts'

/** What a page sends to say that the cookie is meant; any value will do. */
export const SESSION_HEADER = 'X-Sluice-Session'

/** Headers by which a request says where it comes from, and whether by HTTPS. */
export const ORIGIN_HEADERS = {
  Origin: { type: 'string', description: 'Of the page that asks; browsers send it' },
  'X-Forwarded-Proto': { type: 'string', description: '`https`: a proxy was asked by HTTPS' },
} as const

const ORIGIN_CHARS_MAX = 300

/** How sessions are known. */
export interface SessionGuard {
  readonly cookieName: string
  /** Throws as `ResolveToken` does; `origin` is empty where the request names none. */
  readonly resolve: (text: string, origin: string) => Promise<Principal>
}

export function sessionCookieName(installation: string): string {
  return `sluice_${installation.slice(0, 8)}`
}

/** What resolves who asks by a cookie; undefined when the request has none of ours. */
export function presentedSession(
  exchange: Exchange,
  { cookieName, resolve }: SessionGuard,
): (() => Promise<Principal>) | undefined {
  const cookies = exchange.header('cookie')
  if (!cookies.includes(`${cookieName}=`)) return undefined
  const texts = valuesOf(cookies, cookieName)
  if (texts.length === 0) return undefined
  // One header of one cookie: others were put beside it by somebody else.
  const text = texts.length > 1 || exchange.headerLines('cookie') > 1 ? '' : texts[0]!
  const fault = faultOf(exchange)
  const site = exchange.header('sec-fetch-site')
  const origin = site === '' ? exchange.header('origin') : ''
  return async () => {
    if (fault !== undefined) throw new IngestError('forbidden', fault)
    return await resolve(text, origin)
  }
}

function valuesOf(cookies: string, name: string): string[] {
  const found: string[] = []
  for (const pair of cookies.split(';')) {
    const at = pair.indexOf('=')
    if (at >= 0 && pair.slice(0, at).trim() === name) found.push(pair.slice(at + 1).trim())
  }
  return found
}

/** Why the request may not show a cookie. */
function faultOf(exchange: Exchange): string | undefined {
  const site = exchange.header('sec-fetch-site')
  if (site !== '' && site !== 'same-origin') {
    return 'a session is shown by pages of this service alone (Sec-Fetch-Site); send a token'
  }
  if (exchange.header(SESSION_HEADER.toLowerCase()) !== '') return undefined
  return `a request that shows a session by its cookie must have the header ${SESSION_HEADER}`
}

type Headers = Readonly<Record<string, string>>

/** The origin of the page that asks; empty when the request names none. Throws `malformed`. */
export function readOrigin({ origin = '' }: Headers): string {
  if (origin === '') return ''
  const isOne = origin.length <= ORIGIN_CHARS_MAX && URL.canParse(origin)
  if (isOne && new URL(origin).origin === origin) return origin
  throw new IngestError('malformed', 'the header Origin must be one such as https://example.com')
}

/** What the cookie is set by: it is gone with the session. */
export function setSessionCookie(
  name: string,
  { text, expiresAtMs }: { readonly text: string; readonly expiresAtMs: number },
  isHttps: boolean,
): readonly [name: string, value: string] {
  const seconds = Math.max(0, Math.floor((expiresAtMs - Date.now()) / 1_000))
  return cookie(`${name}=${text}; Max-Age=${seconds}`, isHttps)
}

/** What the browser forgets it by. */
export function clearSessionCookie(
  name: string,
  isHttps: boolean,
): readonly [name: string, value: string] {
  return cookie(`${name}=; Max-Age=0`, isHttps)
}

function cookie(start: string, isHttps: boolean): readonly [name: string, value: string] {
  return ['Set-Cookie', `${start}; HttpOnly; SameSite=Strict${isHttps ? '; Secure' : ''}`]
}

/**
 * Whether the browser asked by HTTPS: a `Secure` cookie would be lost otherwise. Its own word
 * counts first, as proxies may not tell; `isTls`: the connection to us is.
 */
export function isByHttps(headers: Headers, isTls: boolean): boolean {
  const { origin = '', 'x-forwarded-proto': forwarded = '' } = headers
  if (origin !== '' && origin !== 'null') return origin.startsWith('https:')
  if (forwarded !== '') return /^https\b/i.test(forwarded)
  return isTls
}
