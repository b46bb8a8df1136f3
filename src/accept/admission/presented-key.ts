/** How a request presents its API key, by surface (spec, Authentication). */
import type { Exchange } from '../../http/exchange.ts'

/** `X-API-Key`, else `Authorization: Bearer`. Empty when neither is there. */
export function headerOrBearerKey(exchange: Exchange): string {
  const key = exchange.header('x-api-key')
  if (key !== '') return key
  return /^bearer +(\S+) *$/i.exec(exchange.header('authorization'))?.[1] ?? ''
}

/**
 * What Elasticsearch clients send. `Basic`: the password, for any user name that is not empty.
 * `ApiKey`: the base64 of `id:key` or, as some forwarders are configured, the plain key.
 * Empty without such a credential (RFC 7617; a password may hold a colon).
 */
export function elasticKey(authorization: string): string {
  const match = /^(basic|apikey) +(\S+) *$/i.exec(authorization)
  if (match === null) return ''
  const text = match[2] ?? ''
  if (match[1]?.toLowerCase() === 'apikey' && text.startsWith('lax_')) return text
  const decoded = Buffer.from(text, 'base64').toString()
  const colon = decoded.indexOf(':')
  return colon > 0 ? decoded.slice(colon + 1) : ''
}
