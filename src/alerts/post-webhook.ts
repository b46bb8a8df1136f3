/**
 * Sends to a URL that a client named, at the address that was judged. No redirect is followed; an
 * answer has WEBHOOK_MS_MAX, and no more of it is read than WEBHOOK_ANSWER_BYTES_MAX.
 */
import { request as httpRequest, type RequestOptions } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { WEBHOOK_ANSWER_BYTES_MAX, WEBHOOK_MS_MAX } from '../limits.ts'
import { allowedAddress, type Resolve } from './allowed-address.ts'

export interface WebhookRequest {
  readonly url: string
  readonly allowsPrivate: boolean
  readonly headers: Readonly<Record<string, string>>
  /** Undefined: it is asked for with GET. */
  readonly body: string | undefined
}

export interface WebhookAnswer {
  readonly status: number
  /** Of `Retry-After`, in seconds; undefined where there is none. */
  readonly retryAfterS: number | undefined
  /** What was read of its body. */
  readonly text?: string
}

/** Of tests. */
export interface PostOptions {
  readonly resolve?: Resolve
  readonly msMax?: number
}

/** Rejects with `AddressRefusedError`, or when there is no answer. Errors never hold the URL. */
export async function postWebhook(
  { url, allowsPrivate, headers, body }: WebhookRequest,
  signal: AbortSignal,
  { resolve, msMax = WEBHOOK_MS_MAX }: PostOptions = {},
): Promise<WebhookAnswer> {
  const target = new URL(url)
  const host = target.hostname.replace(/^\[|\]$/g, '')
  const ended = AbortSignal.any([signal, AbortSignal.timeout(msMax)])
  const address = await allowedAddress(host, allowsPrivate, ended, resolve)
  const length = body !== undefined && { 'Content-Length': Buffer.byteLength(body) }
  const options: RequestOptions = {
    method: body === undefined ? 'GET' : 'POST',
    headers: { ...headers, ...length },
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

function send(
  target: URL,
  options: RequestOptions,
  body: string | undefined,
): Promise<WebhookAnswer> {
  const request = target.protocol === 'https:' ? httpsRequest : httpRequest
  return new Promise((resolve, reject) => {
    const fail = (cause: unknown) => {
      const code = cause instanceof Error && 'code' in cause ? String(cause.code) : 'no answer'
      reject(new Error(code === 'ABORT_ERR' ? 'no answer in time' : code))
    }
    const sent = request(target, options, (response) => {
      let bytes = 0
      const chunks: Buffer[] = []
      const { statusCode: status = 0, headers } = response
      const seconds = Number(headers['retry-after'] ?? Number.NaN)
      const retryAfterS = Number.isFinite(seconds) ? seconds : undefined
      const answer = () => {
        const read = Buffer.concat(chunks).subarray(0, WEBHOOK_ANSWER_BYTES_MAX)
        resolve({ status, retryAfterS, text: read.toString('utf8') })
      }
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
        chunks.push(chunk)
        if (bytes > WEBHOOK_ANSWER_BYTES_MAX) response.destroy()
      })
      // Its head was the answer.
      response.on('error', answer)
      response.on('close', answer)
    })
    sent.on('error', fail)
    sent.end(body)
  })
}
