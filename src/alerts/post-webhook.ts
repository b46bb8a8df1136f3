/**
 * Posts to a URL that a client named, so that nobody reaches the inside by it: the name is resolved
 * once, each of its addresses is judged, and the one that was judged is the one that is used. No
 * redirect is followed; an answer has WEBHOOK_MS_MAX, and no more than its head matters.
 */
import { promises as dns, type LookupAddress } from 'node:dns'
import { request as httpRequest, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { WEBHOOK_ANSWER_BYTES_MAX, WEBHOOK_MS_MAX } from '../limits.ts'
import { isPublicAddress } from './public-address.ts'

export interface WebhookRequest {
  readonly url: string
  readonly allowsPrivate: boolean
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface WebhookAnswer {
  readonly status: number
  /** Of `Retry-After`, in seconds; undefined where there is none. */
  readonly retryAfterS: number | undefined
}

/** The address may not be used; another try changes nothing. */
export class AddressRefusedError extends Error {}

export type Resolve = (host: string) => Promise<readonly LookupAddress[]>

const resolveName: Resolve = (host) => dns.lookup(host, { all: true, verbatim: true })

/** Rejects with `AddressRefusedError`, or when there is no answer. Errors never hold the URL. */
export async function postWebhook(
  { url, allowsPrivate, headers, body }: WebhookRequest,
  signal: AbortSignal,
  { resolve = resolveName, msMax = WEBHOOK_MS_MAX } = {},
): Promise<WebhookAnswer> {
  const target = new URL(url)
  const host = target.hostname.replace(/^\[|\]$/g, '')
  const ended = AbortSignal.any([signal, AbortSignal.timeout(msMax)])
  const [address] = await within(ended, resolveAllowed(host, allowsPrivate, resolve))
  if (address === undefined) throw new Error('the name has no address')
  const options: RequestOptions = {
    method: 'POST',
    headers: { ...headers, 'Content-Length': Buffer.byteLength(body) },
    agent: false,
    signal: ended,
    // Not resolved again: it may be another address by now.
    lookup: (_, { all }, answer) => {
      if (all === true) answer(null, [address])
      else answer(null, address.address, address.family)
    },
  }
  return await send(target, options, body)
}

async function resolveAllowed(
  host: string,
  allowsPrivate: boolean,
  resolve: Resolve,
): Promise<readonly LookupAddress[]> {
  const addresses = await resolve(host).catch(() => {
    throw new Error('the name could not be resolved')
  })
  if (allowsPrivate || addresses.every(({ address }) => isPublicAddress(address))) return addresses
  throw new AddressRefusedError('its address is not one of the internet')
}

function send(target: URL, options: RequestOptions, body: string): Promise<WebhookAnswer> {
  const request = target.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown) => {
      const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'no answer'
      reject(new Error(code === 'ABORT_ERR' ? 'no answer in time' : code))
    }
    const sent = request(target, options, (response) => {
      let bytes = 0
      const { statusCode: status = 0, headers } = response
      const seconds = Number(headers['retry-after'] ?? Number.NaN)
      const answer = { status, retryAfterS: Number.isFinite(seconds) ? seconds : undefined }
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        if (bytes > WEBHOOK_ANSWER_BYTES_MAX) response.destroy()
      })
      // Its head was the answer.
      response.on('error', () => resolve(answer))
      response.on('close', () => resolve(answer))
    })
    sent.on('error', fail)
    sent.end(body)
  })
}

async function within<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  let onAbort: () => void = () => undefined
  const ended = new Promise<never>((_, reject) => {
    onAbort = () => reject(new Error('no answer in time'))
    signal.addEventListener('abort', onAbort)
  })
  try {
    return await Promise.race([work, ended])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}
