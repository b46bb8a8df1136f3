/** How a request presents its API key, by surface (spec, Authentication). */
import { elasticKey } from '../../http/elastic-reply.ts'
import type { Exchange } from '../../http/exchange.ts'

/** `X-API-Key`, else `Authorization: Bearer`. Empty when neither is there. */
export function headerOrBearerKey(exchange: Exchange): string {
  const key = exchange.header('x-api-key')
  if (key !== '') return key
  return /^bearer +(\S+) *$/i.exec(exchange.header('authorization'))?.[1] ?? ''
}

/** The same, else the password of `Basic`. */
export function anyKey(exchange: Exchange): string {
  return headerOrBearerKey(exchange) || elasticKey(exchange.header('authorization'))
}
