/** The service's HTTP interface as tests use it: what it answered, or an error when it did not. */
import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Answer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

export interface Call {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | undefined
  readonly timeoutMs?: number
  /** Sends `Transfer-Encoding: chunked` in place of a Content-Length. */
  readonly chunked?: boolean
}

const CALL_MS_MAX = 120_000
/** Below the ten seconds after which uWebSockets.js closes a connection that nobody uses. */
const IDLE_CONNECTION_MS = 5_000
const agent = new Agent({ keepAlive: true, maxSockets: 256, timeout: IDLE_CONNECTION_MS })

/** Rejects when no whole answer came. Never tries again. */
export function call(url: string, options: Call = {}): Promise<Answer> {
  const { method = 'GET', headers = {}, body, timeoutMs = CALL_MS_MAX, chunked } = options
  return new Promise((resolve, reject) => {
    const length = body === undefined ? undefined : Buffer.byteLength(body)
    const request = httpRequest(url, {
      agent,
      method,
      headers: {
        ...headers,
        ...(chunked !== true && length !== undefined && { 'content-length': length }),
      },
    })
    const timer = setTimeout(() => request.destroy(new Error('no answer in time')), timeoutMs)
    request.on('close', () => clearTimeout(timer))
    request.on('error', reject)
    request.on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('close', () => {
        if (!response.complete) reject(new Error('the answer was cut off'))
        const text = Buffer.concat(chunks).toString('utf8')
        resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
      })
    })
    request.end(body)
  })
}

export interface Stream {
  readonly id: string
  readonly key: string
  readonly keyId: string
}

export interface EventRecord {
  readonly id: string
  readonly ingested_at: string
  readonly event_time: string
  readonly event_time_source: string
  readonly shape: string
  readonly payload: Readonly<Record<string, unknown>>
}

export interface EventPage {
  readonly events: readonly EventRecord[]
  readonly next: string | null
  readonly previous: string | null
}

export interface Counted {
  /** By the names of what was grouped by. */
  readonly rows: readonly (Readonly<Record<string, unknown>> & { readonly count: number })[]
  readonly total: number
  /** RFC 3339. Every event acknowledged before is counted. */
  readonly as_of: string
}

export interface IngestAnswer {
  readonly accepted: number
  readonly rejected: number
  readonly errors: readonly {
    readonly index: number
    readonly line: number
    readonly code: string
    readonly message: string
  }[]
}

export interface Problem extends Partial<IngestAnswer> {
  readonly title: string
  readonly status: number
  readonly detail: string
  readonly code: string
  readonly retry_after?: number
}

export const JSON_TYPE = 'application/json'
export const NDJSON_TYPE = 'application/x-ndjson'
const PAGE_EVENTS = 1_000

let streams = 0

/** Talks to one service; a test sets `url` anew after a restart. */
export class Api {
  url: string
  readonly token: string

  constructor(service: { readonly url: string; readonly token: string }) {
    this.url = service.url
    this.token = service.token
  }

  /** A management call; throws unless it was answered with a success. */
  async rest(path: string, method = 'GET', body?: unknown): Promise<string> {
    const answer = await this.tryRest(path, method, body)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`)
    return answer.text
  }

  tryRest(path: string, method = 'GET', body?: unknown): Promise<Answer> {
    const headers = { authorization: `Bearer ${this.token}`, 'content-type': JSON_TYPE }
    const text = body === undefined ? undefined : JSON.stringify(body)
    return call(`${this.url}${path}`, { method, headers, body: text })
  }

  async createStream(settings: Readonly<Record<string, unknown>> = {}): Promise<Stream> {
    const name = `stream-${process.pid}-${++streams}`
    const stream = await this.rest('/v1/streams', 'POST', { name, ...settings })
    const { id } = JSON.parse(stream) as { id: string }
    const key = await this.createKey(id)
    return { id, key: key.key, keyId: key.id }
  }

  async createKey(streamId: string): Promise<{ readonly id: string; readonly key: string }> {
    const text = await this.rest(`/v1/streams/${streamId}/keys`, 'POST', { name: 'test' })
    return JSON.parse(text) as { id: string; key: string }
  }

  /** Native ingest of JSON; other media types and headers by `headers`. */
  ingest(
    key: string,
    body: string | Uint8Array,
    headers: Readonly<Record<string, string>> = {},
    options: Pick<Call, 'chunked' | 'timeoutMs'> = {},
  ): Promise<Answer> {
    const all = { 'content-type': JSON_TYPE, 'x-api-key': key, ...headers }
    return call(`${this.url}/v1/ingest`, { method: 'POST', headers: all, body, ...options })
  }

  ingestText(
    key: string,
    body: string | Uint8Array,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Answer> {
    const all = { 'content-type': 'text/plain', 'x-api-key': key, ...headers }
    return call(`${this.url}/v1/ingest/text`, { method: 'POST', headers: all, body })
  }

  ingestHec(key: string, body: string | Uint8Array): Promise<Answer> {
    const headers = { authorization: `Splunk ${key}` }
    return call(`${this.url}/services/collector`, { method: 'POST', headers, body })
  }

  async page(streamId: string, query = ''): Promise<EventPage> {
    return JSON.parse(await this.rest(`/v1/streams/${streamId}/events${query}`)) as EventPage
  }

  /** Every event of the stream, newest first, page by page. */
  async events(streamId: string, pageEvents = PAGE_EVENTS): Promise<EventRecord[]> {
    const all: EventRecord[] = []
    let before = ''
    for (;;) {
      const page = await this.page(streamId, `?limit=${pageEvents}${before}`)
      for (const event of page.events) all.push(event)
      if (page.next === null) return all
      before = `&before=${page.next}`
    }
  }

  /** Counts in the analytics store, over all of time. */
  async count(streamId: string, query: Readonly<Record<string, unknown>> = {}): Promise<Counted> {
    const range = { from: '2020-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' }
    const body = { ...range, limit: 1_000, ...query }
    return JSON.parse(await this.rest(`/v1/streams/${streamId}/query`, 'POST', body)) as Counted
  }

  /** Waits until the analytics store has `events` events of the stream, or more. */
  async untilCounted(streamId: string, events: number, waitMs = 60_000): Promise<void> {
    await this.#until(streamId, `${events} events`, waitMs, ({ total }) => total >= events)
  }

  /**
   * Waits until the analytics store says that it has every event from before the call. Its rows are
   * visible a moment before it says so, and until then a later answer may have fewer of them.
   */
  async untilProjected(streamId: string, waitMs = 60_000): Promise<void> {
    const startMs = Date.now()
    const isAll = ({ as_of: asOf }: Counted) => Date.parse(asOf) >= startMs
    await this.#until(streamId, 'all events', waitMs, isAll)
  }

  async #until(
    streamId: string,
    what: string,
    waitMs: number,
    isDone: (counted: Counted) => boolean,
  ): Promise<void> {
    const deadline = performance.now() + waitMs
    let last = 'nothing'
    while (performance.now() < deadline) {
      const answer = await this.tryRest(`/v1/streams/${streamId}/query`, 'POST', {
        from: '2020-01-01T00:00:00Z',
        to: '2100-01-01T00:00:00Z',
      }).catch((cause: unknown) => ({ status: 0, text: String(cause) }))
      last = answer.text
      if (answer.status === 200 && isDone(JSON.parse(last) as Counted)) return
      await sleep(100)
    }
    throw new Error(`stream ${streamId}: not ${what} within ${waitMs} ms but ${last}`)
  }

  async usage(streamId: string): Promise<{
    readonly events: number
    readonly raw_bytes: number
    readonly refusals: readonly { readonly reason: string; readonly count: number }[]
  }> {
    const text = await this.rest(`/v1/streams/${streamId}/usage`)
    return JSON.parse(text) as Awaited<ReturnType<Api['usage']>>
  }

  /** One value of `/metrics`, by its name and labels as they are printed. */
  async metric(name: string): Promise<number> {
    const { text } = await call(`${this.url}/metrics`)
    const line = text.split('\n').find((one) => one.startsWith(`${name} `))
    return line === undefined ? Number.NaN : Number(line.slice(name.length + 1))
  }
}

export function readIngestAnswer(answer: Answer): IngestAnswer {
  return JSON.parse(answer.text) as IngestAnswer
}

export function readProblem(answer: Answer): Problem {
  return JSON.parse(answer.text) as Problem
}
