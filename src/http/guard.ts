/**
 * Guard: what every management and reading route does before and after its own work: authenticate,
 * check the scope, read the body, and turn failures into problem documents.
 */
import { checkBody, readQueryString } from '../api/check-value.ts'
import { mainTurns } from '../api/main-turns.ts'
import type { AnswerDescription, RouteDescription } from '../api/route-description.ts'
import type { ObjectSchema, Schema } from '../api/schema.ts'
import { writeJson } from '../api/write-answer.ts'
import { IngestError } from '../errors.ts'
import { REST_BODY_MS_MAX } from '../limits.ts'
import { hasScope, type Principal, type Scope } from '../model/stream.ts'
import { StoreError, storeFault } from '../store/store-error.ts'
import { parseJson, readJsonBody, readPlainBody } from './body.ts'
import { BodyBudget, type BodyReservation } from './body-budget.ts'
import type { Exchange, Reply, Route, StreamHead } from './exchange.ts'
import { problemReply } from './problem.ts'
import { ReadDeadline } from './read-deadline.ts'
import type { ReplyStream } from './reply-stream.ts'
import { presentedSession, type SessionGuard } from './session-cookie.ts'

/** Throws `IngestError`: `unauthenticated`, `forbidden` or `unavailable`. */
export type ResolveToken = (text: string) => Promise<Principal>

/** Runs `work` of `asker` once it is its turn. Throws `overloaded`, and whatever `work` throws. */
export interface WorkLane {
  run<T>(asker: number, signal: AbortSignal, work: () => Promise<T>): Promise<T>
}

/** What a request has to pass before a route's own work. */
export interface Guard {
  readonly resolveToken: ResolveToken
  /** Browsers that are signed in; without it a cookie means nothing. */
  readonly sessions?: SessionGuard | undefined
  /** Where the work waits for its turn; without a lane it begins at once. */
  readonly lane?: WorkLane | undefined
  /** How requests look that are another product's; without one, as ours do. */
  readonly manner?: Manner | undefined
  /** The memory for bodies of all routes together; without one, this route has its own budget. */
  readonly bodies?: BodyBudget | undefined
}

/** Of another product's requests. */
export interface Manner {
  /** The credential as they present it. */
  readonly credential: (exchange: Exchange) => string
  /** Reads the head, and then writes a refusal. */
  readonly refusals: (exchange: Exchange) => (error: IngestError) => Reply
}

export interface HttpRequest {
  readonly principal: Principal
  /** Percent-decoded path parameters, in order. */
  readonly params: readonly string[]
  /** The parameters that the URL has, of the types that their schemas say. */
  readonly query: Readonly<Record<string, unknown>>
  /** All of them as they were sent. */
  readonly queryString: string
  /** Matches the body's schema; with `takesText`, its text; undefined where there is none. */
  readonly body: unknown
  /** Its header `Accept`; empty when there is none. */
  readonly accept: string
  /** Those of the route's `headers` that were sent, keyed by their names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Aborted when the client goes away, or the time is over: nobody waits for the answer. */
  readonly signal: AbortSignal
  /** Looks the token up again, for long answers; throws as `ResolveToken` does. */
  readonly renew: () => Promise<Principal>
}

/**
 * Head of server-sent events. `X-Accel-Buffering`: nginx would wait for more. The filler is a
 * comment. Each write must be whole messages.
 */
export const EVENT_STREAM = {
  contentType: 'text/event-stream',
  headers: [
    ['Cache-Control', 'no-store'],
    ['X-Accel-Buffering', 'no'],
  ],
  filler: Buffer.from(':\n'),
} as const

/** An answer that is sent in pieces. */
export interface StreamReply extends StreamHead {
  /**
   * Writes the answer; called when the route's work has left its lane, so a slow reader holds no
   * slot. The stream ends when it resolves. When it throws, the connection is aborted, so that the
   * reader does not take what it has for the whole. Each call of `runInLane` runs work in the lane.
   */
  readonly send: (stream: ReplyStream, runInLane: RunInLane) => Promise<void>
}

/** Runs `work` once it has a slot of the route's lane. Throws `overloaded`, and what it throws. */
export type RunInLane = <T>(work: () => Promise<T>) => Promise<T>

export interface RestRoute
  extends Pick<
    RouteDescription,
    'operationId' | 'summary' | 'tag' | 'path' | 'query' | 'headers' | 'answers'
  > {
  readonly method: Route['method']
  readonly pattern: string
  /** Absent: any token may call the route, which checks for itself what the token may do. */
  readonly scope?: Scope
  /** Not for tokens that are limited to some streams: it is about more than those. */
  readonly needsAllStreams?: boolean
  readonly description?: string
  readonly body?: Schema
  /** The route parses and judges the body's text itself, to keep the digits of its numbers. */
  readonly takesText?: boolean
  readonly bodyBytesMax?: number
  /** Takes any parameters of the URL: it looks at `queryString` itself. */
  readonly takesAnyQuery?: boolean
  /** See `Route`. */
  readonly isLoose?: boolean
  readonly run: (request: HttpRequest) => Promise<Reply | StreamReply>
}

/** Makes a route of `rest`. An unexpected failure is passed on to the server. */
export function guardRoute(
  { lane, bodies = new BodyBudget(), manner = OUR_MANNER, ...credentials }: Guard,
  rest: RestRoute,
): Route {
  const paramCount = rest.pattern.split('/:').length - 1
  const handler = async (exchange: Exchange): Promise<void> => {
    // Headers, parameters and the body can only be read before the first wait.
    const { renew, isByCookie } = whoAsks(exchange, manner, credentials)
    const kept = isByCookie ? withNoStore : asItIs
    const refuse = manner.refusals(exchange)
    const params = Array.from({ length: paramCount }, (_, index) => exchange.param(index))
    const { queryString } = exchange
    const accept = exchange.header('accept')
    const headers = readHeaders(exchange, rest.headers)
    const room = bodies.enter()
    const startedBody = startBody(exchange, rest, room)
    // It may fail while nobody waits for it yet; it is awaited below.
    startedBody.catch(() => undefined)
    const gone = new AbortController()
    const deadline = isRead(rest) ? startDeadline(rest, queryString, startedBody) : undefined
    const signal = deadline ? AbortSignal.any([gone.signal, deadline.signal]) : gone.signal
    exchange.onAborted(() => {
      gone.abort()
      room.leave()
    })
    // Until the token is known to be valid, no more is read than has arrived already.
    if (rest.body !== undefined) exchange.pause()
    let answered: Promise<void> | undefined
    try {
      const principal = await inTimeOf(deadline, renew())
      requireRights(principal, rest)
      const query = rest.takesAnyQuery
        ? {}
        : readQueryString(rest.query ?? NO_PARAMETERS, new URLSearchParams(queryString))
      room.becomeKnown()
      exchange.resume()
      const bytes = await inTime(startedBody)
      // Parsed only when its turn has come: values take many times the bytes that are counted.
      const run = async () => {
        await mainTurns.next()
        const members = withTimeLeft(rest, { query, body: parseBody(bytes, rest) }, deadline)
        const about = { principal, params, queryString, accept, headers, renew, signal }
        return await rest.run({ ...members, ...about })
      }
      const runInLane: RunInLane = async (work) =>
        await (lane?.run(principal.tokenId, signal, work) ?? work())
      answered = answer(exchange, kept(await inTimeOf(deadline, runInLane(run))), runInLane)
    } catch (cause) {
      exchange.reply(kept(refuse(toIngestError(cause))))
    } finally {
      deadline?.end()
      room.leave()
    }
    await answered // Outside of the lane: a stream may last for an hour.
  }
  const { method, pattern, isLoose = false } = rest
  const description = describe(rest, credentials.sessions?.cookieName)
  return { method, pattern, description, handler, ...(isLoose && { isLoose }) }
}

const OUR_MANNER: Manner = { credential: credentialText, refusals: () => problemReply }

/** What changes something has an outcome, which must not be cut off. */
function isRead({ method, scope, ...rest }: RestRoute): boolean {
  return method === 'GET' || scope?.endsWith(':read') === true || takesTimeout(rest)
}

function takesTimeout({ query, body }: Pick<RestRoute, 'query' | 'body'>): boolean {
  const members = body?.type === 'object' ? body.properties : query?.properties
  return members?.timeout_ms !== undefined
}

function startDeadline(
  rest: RestRoute,
  queryString: string,
  startedBody: Promise<Uint8Array | undefined>,
): ReadDeadline {
  const deadline = new ReadDeadline()
  if (!takesTimeout(rest)) return deadline
  if (rest.body === undefined) {
    deadline.set(Number(new URLSearchParams(queryString).get('timeout_ms') ?? Number.NaN))
  } else {
    const known = startedBody.then((bytes) => bytes && deadline.setByBody(bytes))
    known.catch(() => undefined) // Awaited elsewhere.
  }
  return deadline
}

function inTimeOf<T>(deadline: ReadDeadline | undefined, work: Promise<T>): Promise<T> {
  return deadline?.race(work) ?? work
}

/** A wait shorter than this is not taken off the time that a read has. */
const WAIT_MS_MIN = 100

/** What a read waited for its turn is part of its `timeout_ms`. */
function withTimeLeft<M extends Pick<HttpRequest, 'query' | 'body'>>(
  rest: RestRoute,
  members: M,
  deadline: ReadDeadline | undefined,
): M {
  if (deadline === undefined || !takesTimeout(rest)) return members
  const { leftMs, waitedMs } = deadline
  if (waitedMs < WAIT_MS_MIN) return members
  const timeout = { timeout_ms: leftMs }
  if (rest.body === undefined) return { ...members, query: { ...members.query, ...timeout } }
  return { ...members, body: { ...(members.body as object), ...timeout } }
}

function readHeaders(
  exchange: Exchange,
  described: RestRoute['headers'],
): Readonly<Record<string, string>> {
  if (described === undefined) return NO_HEADERS
  const names = Object.keys(described).map((name) => name.toLowerCase())
  const sent = names.map((name) => [name, exchange.header(name)] as const)
  return Object.fromEntries(sent.filter(([, value]) => value !== ''))
}

const NO_HEADERS = {}

/** Resolves when a stream was written; for any other reply there is nothing to wait for. */
async function answer(
  exchange: Exchange,
  reply: Reply | StreamReply,
  runInLane: RunInLane,
): Promise<void> {
  if (!('send' in reply)) return exchange.reply(reply)
  const stream = exchange.stream(reply)
  if (stream.isOver) return
  await reply.send(stream, runInLane)
  stream.end()
}

const NO_PARAMETERS = { properties: {} }

function describe(
  { body, needsAllStreams, isLoose: _, ...rest }: RestRoute,
  cookie: string | undefined,
): RouteDescription {
  const content = body && { 'application/json': body }
  const refused = needsAllStreams === true && 'Not for a token that is limited to streams.'
  const description = [rest.description, refused].filter(Boolean).join(' ')
  return {
    ...rest,
    ...(description && { description }),
    credential: 'token',
    cookie,
    ...(content && { body: { content, required: true } }),
  }
}

/** A reply in JSON: those members of `value` that `schema` names. */
export function answerJson(status: number, schema: ObjectSchema, value: unknown): Reply {
  return { status, contentType: 'application/json', body: writeJson(schema, value) }
}

/** A reply of JSON that is written already. */
export function jsonText(body: string | Uint8Array): Reply {
  return { status: 200, contentType: 'application/json', body }
}

/** An answer in JSON. */
export function jsonAnswer(description: string, schema: Schema): AnswerDescription {
  return { description, content: { 'application/json': schema } }
}

/** Throws `forbidden` unless the principal has `scope`. */
export function requireScope(principal: Principal, scope: Scope): void {
  if (hasScope(principal, scope)) return
  throw new IngestError('forbidden', `this needs a token with the scope ${scope}`)
}

/** Throws `forbidden`. Neither answer depends on which stream is named. */
function requireRights(principal: Principal, { scope, needsAllStreams }: RestRoute): void {
  if (scope !== undefined) requireScope(principal, scope)
  if (needsAllStreams !== true || principal.streamIds === undefined) return
  throw new IngestError('forbidden', 'this needs a token that is not limited to streams')
}

function startBody(
  exchange: Exchange,
  rest: RestRoute,
  room: BodyReservation,
): Promise<Uint8Array | undefined> {
  if (rest.body === undefined) return Promise.resolve(undefined)
  if (!rest.takesText) return readJsonBody(exchange, rest.bodyBytesMax, room)
  return readPlainBody(exchange, rest.bodyBytesMax ?? 0, room)
}

/** Called only once the token is known: what strangers send is not worth parsing. */
function parseBody(bytes: Uint8Array | undefined, rest: RestRoute): unknown {
  if (bytes === undefined || rest.body === undefined) return undefined
  if (!rest.takesText) {
    const body = parseJson(bytes)
    checkBody(rest.body, body)
    return body
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new IngestError('malformed', 'the body is not valid UTF-8', { cause })
  }
}

/** A body may trickle, but not for ever: others need its share of the budget. */
async function inTime<T>(body: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const text = `the body took over ${REST_BODY_MS_MAX / 1_000} s (REST_BODY_MS_MAX)`
      reject(new IngestError('too_slow', text))
    }, REST_BODY_MS_MAX)
  })
  try {
    return await Promise.race([body, late])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Looks up who asks. An API key in its own header is read too, in order to say that it is the wrong
 * kind. A cookie counts where neither is there.
 */
function whoAsks(
  exchange: Exchange,
  { credential }: Manner,
  { resolveToken, sessions }: Pick<Guard, 'resolveToken' | 'sessions'>,
): { readonly renew: () => Promise<Principal>; readonly isByCookie: boolean } {
  const text = credential(exchange)
  const bySession = text === '' && sessions ? presentedSession(exchange, sessions) : undefined
  return { renew: bySession ?? (() => resolveToken(text)), isByCookie: bySession !== undefined }
}

function credentialText(exchange: Exchange): string {
  const [, bearer] = /^bearer +(\S+) *$/i.exec(exchange.header('authorization')) ?? []
  return bearer ?? exchange.header('x-api-key')
}

/**
 * Caches between us and the browser keep no answer to a request with `Authorization`; of cookies
 * they know nothing.
 */
function withNoStore<R extends Reply | StreamReply>(reply: R): R {
  const { headers = [] } = reply
  if (headers.some(([name]) => name === 'Cache-Control')) return reply
  return { ...reply, headers: [...headers, ['Cache-Control', 'no-store']] }
}

function asItIs<R extends Reply | StreamReply>(reply: R): R {
  return reply
}

/** The error for the client. An unexpected failure is rethrown, to be logged. */
export function toIngestError(cause: unknown): IngestError {
  if (cause instanceof IngestError) return cause
  if (cause instanceof StoreError && cause.retryable) {
    return new IngestError('unavailable', storeFault(cause), { cause })
  }
  throw cause
}
