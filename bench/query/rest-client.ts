/** Requests over one keep-alive connection, and how long each took. */
import { Agent, request as httpRequest } from 'node:http'
import type { ServiceAddress } from '../e2e/rest.ts'

/** Below the ten seconds after which the service closes a connection that nobody uses. */
const IDLE_MS = 5_000
const REQUEST_MS_MAX = 40_000

export interface Reply {
  readonly answer: unknown
  /** From the first byte of the request to the last one of the answer. */
  readonly ms: number
}

export class RestClient {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1, timeout: IDLE_MS })
  readonly #service: ServiceAddress

  constructor(service: ServiceAddress) {
    this.#service = service
  }

  /** Throws what is not 2xx. `headers` stand in place of the token. */
  async post(
    path: string,
    body: object | string,
    headers: Readonly<Record<string, string>> = {
      authorization: `Bearer ${this.#service.token}`,
      'content-type': 'application/json',
    },
  ): Promise<Reply> {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const startMs = performance.now()
    const answer = await this.#send(path, text, headers)
    const ms = performance.now() - startMs
    return { answer: JSON.parse(answer), ms }
  }

  close(): void {
    this.#agent.destroy()
  }

  #send(path: string, body: string, headers: Readonly<Record<string, string>>): Promise<string> {
    return new Promise((resolve, reject) => {
      const request = httpRequest(this.#service.url + path, {
        agent: this.#agent,
        method: 'POST',
        headers: { ...headers, 'content-length': Buffer.byteLength(body) },
        signal: AbortSignal.timeout(REQUEST_MS_MAX),
      })
      request.on('error', reject)
      request.on('response', (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          const { statusCode = 0 } = response
          if (statusCode >= 200 && statusCode < 300) resolve(text)
          else reject(new Error(`POST ${path}: ${statusCode} ${text.slice(0, 300)}`))
        })
      })
      request.end(body)
    })
  }
}
