/** How a request presents its API key, by surface (spec, Authentication). */
import { elasticKey } from '../../http/elastic-reply.ts'
import type { Exchange } from '../../http/exchange.ts'

/** `X-API-Key`, else `Authorization: Bearer`. Empty when neither is there. */
export function headerOrBearerKey(exchange: Exchange): string {
  return keyOf(exchange.header('x-api-key'), exchange.header('authorization'))
}

/** The same, of what these headers say; empty where one is not there. */
export function keyOf(apiKey: string, authorization: string): string {
  if (apiKey !== '') return apiKey
  return /^bearer +(\S+) *$/i.exec(authorization)?.[1] ?? ''
}

/** The same, else the password of `Basic`. */
export function anyKey(exchange: Exchange): string {
  return headerOrBearerKey(exchange) || elasticKey(exchange.header('authorization'))
}
