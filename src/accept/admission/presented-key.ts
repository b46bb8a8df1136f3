/** How a request presents its API key, by surface (spec, Authentication). */
import type { Exchange } from '../../http/exchange.ts'

/** `X-API-Key`, else `Authorization: Bearer`. Empty when neither is there. */
export function headerOrBearerKey(exchange: Exchange): string {
  const key = exchange.header('x-api-key')
  if (key !== '') return key
  return /^bearer +(\S+) *$/i.exec(exchange.header('authorization'))?.[1] ?? ''
}
