/**
 * The embedded engine behind ClickHouse's HTTP interface: the part of it that `@clickhouse/client`
 * uses as `src/store/clickhouse.ts` sets it up, and nothing else.
 *
 *   POST /?query_id=…&database=…&param_x=…&<setting>=…          the statement is the body
 *   POST /?query=INSERT INTO … FORMAT f&…                       the data is the body
 *   POST /                                                      all of it as a form
 *
 * The form is for queries (`src/store/embedded-query.ts`). The client's long parameters come with
 * the statement as the parts of a multipart body.
 *
 * A result is sent when it is complete, so any failure has a status. A client that goes away
 * cancels its query. The data of an INSERT is spooled to an unlinked file on its way in.
 */
import { createHash, randomUUID, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isStoreLane, LANE_HEADER, type StoreLane } from '../store/store-lane.ts'
import type { ClickHouseEngine, Statement } from './clickhouse-engine.ts'
import {
  exceptionOf,
  multipartBoundary,
  RequestRejected,
  readBody,
  readParts,
  Spool,
  type Spooled,
} from './clickhouse-request.ts'
import { isWrite, multiStatementAt, parseInsert, withInfile } from './clickhouse-sql.ts'

export interface HttpFrontOptions {
  readonly engine: ClickHouseEngine
  readonly user: string
  readonly password: string
  /** Where INSERT data waits when memory has no room; files lose their names once open. */
  readonly spoolDirectory: string
}

export class ClickHouseHttpFront {
  readonly #options: HttpFrontOptions
  readonly #spool: Spool

  constructor(options: HttpFrontOptions) {
    this.#options = options
    this.#spool = new Spool(options.spoolDirectory)
  }

  /** The request listener of a `node:http` server. */
  handle(request: IncomingMessage, response: ServerResponse): void {
    request.on('error', () => undefined) // Seen as a failed read or as a closed response.
    response.on('error', () => undefined)
    this.#answer(request, response).catch((cause: unknown) => {
      sendException(response, cause, this.#options.engine.version)
      // What the client still sends is not wanted: end the connection after the answer.
      if (!request.complete) response.once('finish', () => request.destroy())
    })
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST') {
      throw new RequestRejected(405, 'Code: 48. DB::Exception: Only POST is supported.')
    }
    this.#authenticate(request)
    if (isForm(request)) {
      const form = new URLSearchParams((await readBody(request)).toString())
      await this.#select(parseCall(request, form), response)
      return
    }
    const { searchParams } = new URL(request.url ?? '/', 'http://engine')
    const call = parseCall(request, searchParams)
    if (call.query !== '') {
      await this.#insert(call, await this.#spool.body(request), response)
      return
    }
    const body = await readBody(request)
    const boundary = multipartBoundary(request)
    if (boundary !== undefined) await this.#select(withParts(call, body, boundary), response)
    else await this.#select({ ...call, query: body.toString().trim() }, response)
  }

  async #select(call: Call, response: ServerResponse): Promise<void> {
    assertOneStatement(call.query)
    await this.#run(call, response)
  }

  async #insert(call: Call, data: Spooled, response: ServerResponse): Promise<void> {
    try {
      const insert = parseInsert(call.query)
      if (insert === undefined) {
        const text = 'Code: 48. DB::Exception: A query in the URL must be an INSERT with FORMAT'
        throw new RequestRejected(501, `${text}. (NOT_IMPLEMENTED)`)
      }
      const query = withInfile(insert, data.path)
      await this.#run({ ...call, query }, response, { isInsert: true })
    } finally {
      data.close()
    }
  }

  async #run(call: Call, response: ServerResponse, { isInsert } = { isInsert: false }) {
    const watch = watchClose(response)
    try {
      response.end(await this.#options.engine.run({ ...toStatement(call, watch.signal), isInsert }))
    } finally {
      watch.stop()
    }
  }

  #authenticate(request: IncomingMessage): void {
    const basic = /^Basic\s+(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? ''
    const { user, password } = this.#options
    if (same(Buffer.from(basic, 'base64').toString(), `${user}:${password}`)) return
    throw new RequestRejected(
      403,
      'Code: 516. DB::Exception: Authentication failed: password is incorrect, or there is no ' +
        'user with such name. (AUTHENTICATION_FAILED)',
    )
  }
}

interface Call {
  /** From the URL an INSERT, whose data is the body; empty when the body is the statement. */
  readonly query: string
  readonly queryId: string
  readonly database: string | undefined
  /** Undefined when the client does not say. */
  readonly lane: StoreLane | undefined
  readonly settings: ReadonlyMap<string, string>
  readonly params: ReadonlyMap<string, string>
}

function isForm(request: IncomingMessage): boolean {
  return request.headers['content-type'] === 'application/x-www-form-urlencoded'
}

/** Parameters that the HTTP interface itself understands; the rest are settings. */
const NOT_SETTINGS: ReadonlySet<string> = new Set([
  'query',
  'query_id',
  'database',
  'wait_end_of_query',
])

function parseCall(request: IncomingMessage, named: URLSearchParams): Call {
  const settings = new Map<string, string>()
  const params = new Map<string, string>()
  for (const [name, value] of named) {
    if (name.startsWith('param_')) params.set(name.slice('param_'.length), value)
    else if (!NOT_SETTINGS.has(name)) settings.set(name, value)
  }
  const lane = request.headers[LANE_HEADER]
  return {
    query: named.get('query')?.trim() ?? '',
    queryId: named.get('query_id') || randomUUID(),
    database: named.get('database') ?? undefined,
    lane: isStoreLane(lane) ? lane : undefined,
    settings,
    params,
  }
}

/** The call with what the parts of its body say. */
function withParts(call: Call, body: Buffer, boundary: string): Call {
  const params = new Map(call.params)
  let query = call.query
  for (const [name, value] of readParts(body, boundary)) {
    if (name === 'query') query = value.trim()
    else if (name.startsWith('param_')) params.set(name.slice('param_'.length), value)
  }
  return { ...call, query, params }
}

function toStatement(call: Call, signal: AbortSignal): Statement {
  return {
    sql: call.query,
    database: call.database,
    settings: call.settings,
    params: call.params,
    lane: call.lane ?? (isWrite(call.query) ? 'write' : 'read'),
    isInsert: false,
    queryId: call.queryId,
    signal,
  }
}

/** The engine would run them all; ClickHouse's HTTP interface refuses, and so do we. */
function assertOneStatement(query: string): void {
  const reject = (text: string) => {
    throw new RequestRejected(400, `Code: 62. DB::Exception: Syntax error: ${text}. (SYNTAX_ERROR)`)
  }
  if (query === '') reject('Empty query')
  const at = multiStatementAt(query)
  if (at !== undefined) reject(`failed at position ${at + 1}: Multi-statements are not allowed`)
}

/** Answers with ClickHouse's form of an error. */
function sendException(response: ServerResponse, cause: unknown, version: string): void {
  if (response.destroyed) return
  const { status, message } = exceptionOf(cause)
  response.statusCode = status
  if (status === 413) response.setHeader('Connection', 'close')
  response.end(`${message} (version ${version} (embedded))\n`)
}

/** Aborts when the client goes away before `stop`. */
function watchClose(response: ServerResponse): { signal: AbortSignal; stop: () => void } {
  const controller = new AbortController()
  const onClose = () => controller.abort()
  if (response.destroyed) onClose()
  response.once('close', onClose)
  return { signal: controller.signal, stop: () => void response.off('close', onClose) }
}

function same(left: string, right: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(left), digest(right))
}
