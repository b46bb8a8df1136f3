/**
 * ClickHouse's HTTP interface, as much of it as its clients use, in front of the embedded engine.
 *
 *   GET|POST /?query=…&database=…&default_format=…&param_x=…&<setting>=…   and /ping
 *
 * Query and parameters may come as the parts of a multipart body, too.
 *
 * A SELECT streams out as it is computed, at the pace the client reads, unless it asks for
 * `wait_end_of_query`; then it is computed first, so that any failure has a status. A client that
 * goes away cancels its query. The data of an INSERT is spooled to an unlinked file on its way in.
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
import {
  isInsert,
  isStreamable,
  isWrite,
  multiStatementAt,
  parseInsert,
  resultFormat,
  splitInlineData,
  withInfile,
} from './clickhouse-sql.ts'

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
    const url = new URL(request.url ?? '/', 'http://engine')
    if (url.pathname === '/ping' || url.pathname === '/replicas_status') {
      response.end('Ok.\n')
      return
    }
    if (request.method !== 'GET' && request.method !== 'POST') {
      throw new RequestRejected(405, `Code: 48. DB::Exception: Method not allowed.`)
    }
    this.#authenticate(request, url.searchParams)
    const call = parseCall(request, url.searchParams)
    response.setHeader('X-ClickHouse-Query-Id', call.queryId)

    if (request.method === 'POST' && isInsert(call.query)) {
      await this.#insert(call, await this.#spool.body(request), response)
      return
    }
    const body = await readBody(request)
    const boundary = multipartBoundary(request)
    if (boundary !== undefined) {
      await this.#select(withParts(call, body, boundary), response)
      return
    }
    const inline = call.query === '' ? splitInlineData(body) : undefined
    if (inline !== undefined) {
      const spooled = await this.#spool.bytes(inline.data)
      await this.#insert({ ...call, query: inline.statement }, spooled, response)
      return
    }
    const query = `${call.query}\n${body.toString()}`.trim()
    await this.#select({ ...call, query }, response)
  }

  async #select(call: Call, response: ServerResponse): Promise<void> {
    assertOneStatement(call.query)
    if (isStreamable(call.query) && !call.waitEnd) await this.#runStreamed(call, response)
    else await this.#runWhole(call, response)
  }

  async #insert(call: Call, data: Spooled, response: ServerResponse): Promise<void> {
    try {
      const insert = parseInsert(call.query)
      if (insert !== undefined) {
        const query = withInfile(insert, data.path)
        await this.#runWhole({ ...call, query }, response, { isInsert: true })
      } else if (data.bytes === 0) {
        assertOneStatement(call.query) // INSERT … SELECT, or VALUES in the URL.
        await this.#runWhole(call, response, { isInsert: true })
      } else {
        const text = 'Code: 48. DB::Exception: An INSERT with data must end with FORMAT'
        throw new RequestRejected(501, `${text} or VALUES. (NOT_IMPLEMENTED)`)
      }
    } finally {
      data.close()
    }
  }

  async #runWhole(
    call: Call,
    response: ServerResponse,
    { isInsert: writes } = { isInsert: false },
  ): Promise<void> {
    const { engine } = this.#options
    const watch = watchClose(response)
    try {
      const result = await engine.run({ ...toStatement(call, watch.signal), isInsert: writes })
      const summary = {
        read_rows: String(writes ? 0 : result.rowsRead),
        read_bytes: String(writes ? 0 : result.bytesRead),
        written_rows: String(writes ? result.rowsRead : 0),
        written_bytes: String(writes ? result.bytesRead : 0),
        total_rows_to_read: '0',
        result_rows: '0',
        result_bytes: String(result.bytes.byteLength),
        elapsed_ns: String(Math.round(result.elapsed * 1e9)),
      }
      response.setHeader('X-ClickHouse-Summary', JSON.stringify(summary))
      setFormatHeaders(response, call)
      response.end(result.bytes)
    } finally {
      watch.stop()
    }
  }

  async #runStreamed(call: Call, response: ServerResponse): Promise<void> {
    const watch = watchClose(response)
    try {
      await this.#options.engine.stream(toStatement(call, watch.signal), async (bytes) => {
        if (watch.signal.aborted) return false
        if (!response.headersSent) setFormatHeaders(response, call)
        if (!response.write(bytes)) await drained(response)
        return !watch.signal.aborted
      })
      if (!response.headersSent) setFormatHeaders(response, call)
      response.end()
    } finally {
      watch.stop()
    }
  }

  #authenticate(request: IncomingMessage, params: URLSearchParams): void {
    const basic = /^Basic\s+(\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
    let user = headerText(request, 'x-clickhouse-user') ?? params.get('user') ?? ''
    let password = headerText(request, 'x-clickhouse-key') ?? params.get('password') ?? ''
    if (basic !== undefined) {
      const text = Buffer.from(basic, 'base64').toString()
      const colon = text.indexOf(':')
      user = text.slice(0, Math.max(colon, 0))
      password = text.slice(colon + 1)
    }
    const options = this.#options
    if (same(user, options.user) && same(password, options.password)) return
    throw new RequestRejected(
      403,
      'Code: 516. DB::Exception: Authentication failed: password is incorrect, or there is no ' +
        'user with such name. (AUTHENTICATION_FAILED)',
    )
  }
}

interface Call {
  readonly query: string
  readonly queryId: string
  readonly database: string | undefined
  readonly format: string
  readonly waitEnd: boolean
  /** Undefined when the client does not say. */
  readonly lane: StoreLane | undefined
  readonly settings: ReadonlyMap<string, string>
  readonly params: ReadonlyMap<string, string>
}

/** URL parameters that the HTTP interface itself understands; the rest are settings. */
const NOT_SETTINGS: ReadonlySet<string> = new Set([
  'query',
  'query_id',
  'database',
  'default_format',
  'wait_end_of_query',
  'buffer_size',
  'user',
  'password',
  'quota_key',
  'role',
  'session_id',
  'session_timeout',
  'session_check',
  'compress',
  'decompress',
  'stacktrace',
  'close_session',
  'client_protocol_version',
])

function parseCall(request: IncomingMessage, url: URLSearchParams): Call {
  const settings = new Map<string, string>()
  const params = new Map<string, string>()
  for (const [name, value] of url) {
    if (name.startsWith('param_')) params.set(name.slice('param_'.length), value)
    else if (!NOT_SETTINGS.has(name)) settings.set(name, value)
  }
  const lane = request.headers[LANE_HEADER]
  const format = url.get('default_format') ?? headerText(request, 'x-clickhouse-format')
  return {
    query: url.get('query')?.trim() ?? '',
    queryId: url.get('query_id') || randomUUID(),
    database: url.get('database') || headerText(request, 'x-clickhouse-database'),
    format: format ?? 'TabSeparated',
    waitEnd: isOn(url.get('wait_end_of_query')),
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
    if (name === 'query') query = `${query}\n${value}`.trim()
    else if (name.startsWith('param_')) params.set(name.slice('param_'.length), value)
  }
  return { ...call, query, params }
}

function toStatement(call: Call, signal: AbortSignal): Statement {
  return {
    sql: call.query,
    format: call.format,
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

function setFormatHeaders(response: ServerResponse, call: Call): void {
  const format = resultFormat(call.query) ?? call.format
  response.setHeader('X-ClickHouse-Format', format)
  response.setHeader('Content-Type', contentType(format))
}

function contentType(format: string): string {
  if (/^JSON.*EachRow/.test(format)) return 'application/x-ndjson; charset=UTF-8'
  if (format.startsWith('JSON')) return 'application/json; charset=UTF-8'
  if (format.startsWith('TabSeparated') || format.startsWith('TSV')) {
    return 'text/tab-separated-values; charset=UTF-8'
  }
  if (format.startsWith('CSV')) return 'text/csv; charset=UTF-8'
  return 'application/octet-stream'
}

/** Answers with ClickHouse's form of an error; when part of a result is out, cuts it short. */
function sendException(response: ServerResponse, cause: unknown, version: string): void {
  if (response.headersSent || response.destroyed) {
    response.destroy()
    return
  }
  const { status, code, message } = exceptionOf(cause)
  response.statusCode = status
  response.setHeader('X-ClickHouse-Exception-Code', String(code))
  response.setHeader('Content-Type', 'text/plain; charset=UTF-8')
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

/** Resolves when the client took what was written, or went away. */
function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      response.off('drain', done)
      response.off('close', done)
      resolve()
    }
    response.once('drain', done)
    response.once('close', done)
  })
}

function headerText(request: IncomingMessage, name: string): string | undefined {
  const value = request.headers[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}

function isOn(value: string | null): boolean {
  return value === '1' || value === 'true'
}

function same(left: string, right: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(left), digest(right))
}
