/** What the head of an HEC request says: who sends, the channel, and what its events get. */
import { IngestError } from '../../../errors.ts'
import { elasticKey } from '../../../http/elastic-reply.ts'
import type { Exchange } from '../../../http/exchange.ts'
import { HEC_METADATA_BYTES_MAX } from '../../../limits.ts'
import { HEC_METADATA, type HecPartOptions } from '../../../model/batch/hec-part.ts'
import { HecTime } from '../../../model/hec-time.ts'
import { metadataBytes } from './hec-formats.ts'

export interface HecHead {
  /** The API key as presented; empty without one. */
  readonly key: string
  /** Why there is none. */
  readonly missing: 'token' | 'scheme' | 'query' | undefined
  readonly query: URLSearchParams
  /** With a channel, answers have an `ackId`. */
  readonly hasChannel: boolean
}

const NO_QUERY = new URLSearchParams()

/** `takesQueryToken`: whether the key may be in the URL (`--hec-query-token`). */
export function readHead(exchange: Exchange, takesQueryToken: boolean): HecHead {
  const { queryString } = exchange
  const query = queryString === '' ? NO_QUERY : new URLSearchParams(queryString)
  const authorization = exchange.header('authorization')
  const channel = exchange.header('x-splunk-request-channel') || query.get('channel')
  const presented = exchange.header('x-api-key') || authorizedKey(authorization)
  const inQuery = query.get('token') ?? ''
  const key = presented || (takesQueryToken ? inQuery : '')
  const why = inQuery !== '' ? 'query' : authorization === '' ? 'token' : 'scheme'
  return { key, missing: key === '' ? why : undefined, query, hasChannel: Boolean(channel) }
}

/** `Splunk` and `Bearer` before the key; of `Basic`, the password. */
function authorizedKey(authorization: string): string {
  const match = /^(?:splunk|bearer) +(\S+) *$/i.exec(authorization)
  return match?.[1] ?? elasticKey(authorization)
}

/** What events get that do not say it themselves. Throws `malformed` and `too_large`. */
export function readMetadata(query: URLSearchParams): HecPartOptions {
  if (query === NO_QUERY) return {}
  const options: { -readonly [K in keyof HecPartOptions]: string } = {}
  for (const name of [...HEC_METADATA, 'time'] as const) {
    const value = query.get(name)
    if (value !== null && value !== '') options[name] = value
  }
  if (metadataBytes(options) > HEC_METADATA_BYTES_MAX) {
    const limit = `${HEC_METADATA_BYTES_MAX} bytes (HEC_METADATA_BYTES_MAX)`
    throw new IngestError('too_large', `host, source, sourcetype and index are over ${limit}`)
  }
  const time = Buffer.from(options.time ?? '0')
  if (!new HecTime().tryRead(time, 0, time.length)) {
    throw new IngestError('malformed', 'time must be seconds since 1970')
  }
  return options
}
