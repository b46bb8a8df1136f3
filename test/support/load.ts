/**
 * Concurrent writers of every kind, and a ledger of what each of their requests was told. Every
 * event carries an id of its own, so that `verify.ts` can tell what became of each.
 */
import { type ClientHttp2Session, connect } from 'node:http2'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { encodePushed } from '../decode/loki/decode-loki.ts'
import { encodeLogsRequest } from '../e2e/surfaces/otlp-encoder.ts'
import { type Answer, type Api, call, JSON_TYPE, NDJSON_TYPE, type Stream } from './api.ts'
import { ONLY_LONG } from './fuzzing.ts'
import { callGrpc, framed } from './grpc-call.ts'

export const WRITER_KINDS = [
  'single',
  'array',
  'ndjson',
  'gzip',
  'large',
  'text',
  'loki',
  'hec',
  'bulk',
  'otlp-grpc',
  'malformed',
  'idempotent',
] as const
export type WriterKind = (typeof WRITER_KINDS)[number]

/** What a client was told last. `unanswered`: stored or not, but as a whole. */
export type Outcome = 'acknowledged' | 'refused' | 'unanswered'

export interface SentRequest {
  readonly firstEvent: number
  readonly eventCount: number
  outcome: Outcome
}

export interface Writer {
  readonly name: string
  readonly kind: WriterKind
  readonly stream: Stream
  readonly sent: SentRequest[]
}

/** Writers' events go to as many groups as a query answers with, and fewer. */
export const BUCKET_EVENTS = 1_000

const EVENTS: Readonly<Record<WriterKind, number>> = {
  single: 1,
  array: 20,
  ndjson: 50,
  gzip: 200,
  large: 9_000, // Over BATCH_BYTES_TARGET and SEGMENT_EVENTS_MAX: several batches and segments.
  text: 30,
  loki: 40,
  hec: 40,
  bulk: 40,
  'otlp-grpc': 40,
  malformed: 10,
  idempotent: 25,
}
const FILLER = 'the quick brown fox jumps over the lazy dog '.repeat(4)
/** Between a writer's requests: so many are under way at any time, and no more are to verify. */
const PAUSE_MS = ONLY_LONG ? 6 : 2
/** Large requests would crowd out the others. */
const LARGE_PAUSE_FACTOR = 200
/** After an answer that says later, and when nobody answers. */
const BACK_OFF_MS = 50

/** The id that the verification looks for in an event, whatever its form. */
export function eventId(writer: string, event: number): string {
  return `${writer}-${event}`
}

function eventJson(writer: Writer, event: number): string {
  const { name } = writer
  const bucket = Math.floor(event / BUCKET_EVENTS)
  const filler = writer.kind === 'large' ? FILLER : 'x'
  return JSON.stringify({ id: eventId(name, event), writer: name, bucket, event, filler })
}

function bodyOf(writer: Writer, request: SentRequest): string | Uint8Array {
  const numbers = Array.from({ length: request.eventCount }, (_, i) => request.firstEvent + i)
  const events = numbers.map((event) => eventJson(writer, event))
  switch (writer.kind) {
    case 'single':
      return events.join('\n')
    case 'array':
    case 'idempotent':
      return `[${events.join(',')}]`
    case 'malformed':
      return `[${events.join(',')},{"id":]`
    case 'gzip':
      return gzipSync(events.join('\n'), { level: 1 })
    case 'hec':
      return events.map((event) => `{"event":${event}}`).join('')
    case 'bulk':
      return events.map((event) => `{"index":{}}\n${event}\n`).join('')
    case 'otlp-grpc':
      return framed(encodeLogsRequest(events.map((event) => ({ body: JSON.parse(event) }))))
    case 'text':
      return numbers.map((event) => eventId(writer.name, event)).join('\n')
    case 'loki':
      return lokiBody(writer, numbers)
    case 'ndjson':
    case 'large':
      return `${events.join('\n')}\n`
  }
}

/** What differs from entry to entry is metadata. Protobuf, so that workers decompress. */
function lokiBody({ name }: Writer, numbers: readonly number[]): Uint8Array {
  const entries = numbers.map((event) => {
    const bucket = Math.floor(event / BUCKET_EVENTS)
    const members = Object.entries({ id: eventId(name, event), bucket, event })
    return {
      line: 'x',
      structuredMetadata: members.map(([key, value]) => ({ name: key, value: String(value) })),
    }
  })
  return encodePushed([{ labels: `{writer="${name}"}`, entries }])
}

function headersOf(writer: Writer, request: SentRequest): Record<string, string> {
  if (writer.kind === 'gzip') return { 'content-type': NDJSON_TYPE, 'content-encoding': 'gzip' }
  if (writer.kind === 'ndjson' || writer.kind === 'large') return { 'content-type': NDJSON_TYPE }
  if (writer.kind !== 'idempotent') return { 'content-type': JSON_TYPE }
  return {
    'content-type': JSON_TYPE,
    'idempotency-key': `${writer.name}-${request.firstEvent}`,
  }
}

export interface LoadCounts {
  readonly acknowledged: number
  readonly refused: number
  readonly unanswered: number
}

export class Load {
  readonly writers: readonly Writer[]
  /** Answers by status, 0 for none. */
  readonly statuses = new Map<number, number>()
  /** What looked like a lie or a bug; must stay empty. */
  readonly surprises: string[] = []
  readonly #api: Api
  readonly #pauseMs: number
  /** To the service that ran last. */
  #session: ClientHttp2Session | undefined
  /** Where the service listens for gRPC, which writers of it need. */
  grpcUrl = ''
  #isOn = false
  #running: Promise<unknown> = Promise.resolve()

  private constructor(api: Api, writers: readonly Writer[], pauseMs: number) {
    this.#api = api
    this.writers = writers
    this.#pauseMs = pauseMs
  }

  /**
   * Writers of these kinds. They share a stream, but for those of text and of Loki, whose values
   * are strings: these have one each; with `ownStreams` all have.
   */
  static async create(
    api: Api,
    kinds: readonly WriterKind[],
    options: { readonly pauseMs?: number; readonly ownStreams?: boolean } = {},
  ): Promise<Load> {
    const shared = await api.createStream()
    const writers: Writer[] = []
    for (const [i, kind] of kinds.entries()) {
      const isOwn = options.ownStreams === true || kind === 'text' || kind === 'loki'
      const stream = isOwn ? await api.createStream() : shared
      writers.push({ name: `${kind}${i}`, kind, stream, sent: [] })
    }
    return new Load(api, writers, options.pauseMs ?? PAUSE_MS)
  }

  /** All writers send, one request after the other each, until `stop`. */
  start(): void {
    this.#isOn = true
    this.#running = Promise.all(this.writers.map((writer) => this.#write(writer)))
  }

  /** Resolves when every request under way was answered or broke. */
  async stop(): Promise<void> {
    this.#isOn = false
    await this.#running
    this.#session?.destroy()
  }

  get counts(): LoadCounts {
    const counts = { acknowledged: 0, refused: 0, unanswered: 0 }
    for (const writer of this.writers) for (const { outcome } of writer.sent) counts[outcome]++
    return counts
  }

  /** Sends every idempotent request that has no good answer yet, until it has one. */
  async settleIdempotent(): Promise<void> {
    for (const writer of this.writers.filter((one) => one.kind === 'idempotent')) {
      for (const request of writer.sent) {
        await this.#settle(writer, request)
      }
    }
  }

  async #settle(writer: Writer, request: SentRequest): Promise<void> {
    for (let tries = 0; tries < 100; tries++) {
      if (request.outcome === 'acknowledged') return
      if (tries > 0) await sleep(BACK_OFF_MS * 4)
      await this.#send(writer, request)
    }
    throw new Error(`${writer.name} gets no good answer under its Idempotency-Key`)
  }

  async #write(writer: Writer): Promise<void> {
    const eventCount = EVENTS[writer.kind]
    while (this.#isOn) {
      const last = writer.sent.at(-1)
      const firstEvent = last === undefined ? 0 : last.firstEvent + last.eventCount
      // Under a key the same request is sent until it is acknowledged, as clients do.
      const isRetry = writer.kind === 'idempotent' && last !== undefined
      const again = isRetry && last.outcome !== 'acknowledged' ? last : undefined
      const request: SentRequest = again ?? { firstEvent, eventCount, outcome: 'unanswered' }
      if (again === undefined) writer.sent.push(request)
      await this.#send(writer, request)
      const pauseMs = writer.kind === 'large' ? this.#pauseMs * LARGE_PAUSE_FACTOR : this.#pauseMs
      await sleep(request.outcome === 'unanswered' ? BACK_OFF_MS : pauseMs)
    }
  }

  async #send(writer: Writer, request: SentRequest): Promise<void> {
    const body = bodyOf(writer, request)
    let answer: Answer | undefined
    try {
      answer = await this.#post(writer, body, headersOf(writer, request))
    } catch {
      request.outcome = 'unanswered' // The connection broke, or was dropped unanswered.
    }
    this.statuses.set(answer?.status ?? 0, (this.statuses.get(answer?.status ?? 0) ?? 0) + 1)
    if (answer !== undefined) this.#note(writer, request, answer)
  }

  #post(
    { kind, stream: { key } }: Writer,
    body: string | Uint8Array,
    headers: Record<string, string>,
  ): Promise<Answer> {
    if (kind === 'text') return this.#api.ingestText(key, body)
    if (kind === 'hec') return this.#api.ingestHec(key, body)
    if (kind === 'otlp-grpc') return this.#export(key, body as Uint8Array)
    if (kind === 'bulk') {
      const authorization = `Basic ${Buffer.from(`load:${key}`).toString('base64')}`
      const bulk = { authorization, 'content-type': NDJSON_TYPE }
      return call(`${this.#api.url}/_bulk`, { method: 'POST', headers: bulk, body })
    }
    if (kind !== 'loki') return this.#api.ingest(key, body, headers)
    const url = `${this.#api.url}/loki/api/v1/push`
    const head = { 'x-api-key': key, 'content-type': 'application/x-protobuf' }
    return call(url, { method: 'POST', headers: head, body })
  }

  /** As HTTP would have answered; throws where there is no answer. */
  async #export(key: string, message: Uint8Array): Promise<Answer> {
    if (this.#session === undefined || this.#session.destroyed) {
      this.#session = connect(this.grpcUrl)
      this.#session.on('error', () => undefined) // Its calls break, too.
    }
    const answer = await callGrpc(this.#session, [message], { 'x-api-key': key })
    if (answer.status === undefined) throw new Error('the call broke')
    const status = HTTP_STATUSES.get(answer.status) ?? 500
    const isEmpty = answer.body.equals(framed(Buffer.alloc(0)))
    const headers = { 'retry-after': answer.details.length > 0 ? '1' : '0' }
    return { status, headers, text: isEmpty ? '' : answer.message }
  }

  #note(writer: Writer, request: SentRequest, answer: Answer): void {
    const { status, text } = answer
    if (status === 200 || status === 204) {
      request.outcome = 'acknowledged'
      const isWhole = isWholeAnswer(writer.kind, request.eventCount, answer)
      if (!isWhole || writer.kind === 'malformed') {
        this.surprises.push(`${writer.name}: ${status} ${text}`)
      }
      return
    }
    request.outcome = 'refused'
    const isExpected =
      (writer.kind === 'malformed' && status === 400) ||
      (writer.kind === 'idempotent' && status === 409) ||
      ((status === 503 || status === 429) && Number(answer.headers['retry-after']) > 0)
    if (!isExpected) this.surprises.push(`${writer.name}: ${status} ${text}`)
  }
}

/** Of gRPC: success, RESOURCE_EXHAUSTED, UNAVAILABLE. */
const HTTP_STATUSES: ReadonlyMap<string, number> = new Map([
  ['0', 200],
  ['8', 429],
  ['14', 503],
])

/** Whether a good answer says, in the words of its surface, that all events are stored. */
function isWholeAnswer(kind: WriterKind, events: number, { status, text }: Answer): boolean {
  if (kind === 'loki') return status === 204
  if (status !== 200) return false
  if (kind === 'hec') return text === '{"text":"Success","code":0}'
  if (kind === 'otlp-grpc') return text === ''
  if (kind === 'bulk') return text.includes('"errors":false')
  const { accepted, rejected } = JSON.parse(text) as { accepted: number; rejected: number }
  return accepted === events && rejected === 0
}
