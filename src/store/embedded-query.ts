/**
 * Queries for the embedded engine, sent without the client library. The library waits for a timer
 * before each request, so that it sees connections that a proxy has closed, and does more for each
 * than the engine does for a small query: 2.3 ms together. Between us and our own child process
 * there is no proxy.
 *
 *   POST / with a form: query, query_id, database, param_x, and settings by their names
 */
import { Agent, type IncomingMessage, request } from 'node:http'
import { parseError } from '@clickhouse/client'
import type { UnixSocket } from './clickhouse-address.ts'
import { parseAnswer, type QueryAnswer } from './query-answer.ts'
import { LANE_HEADER, type StoreLane } from './store-lane.ts'

/** Our side closes connections that are not used, well before the engine's does. */
const IDLE_MS = 10_000
const FORM = 'application/x-www-form-urlencoded'

export interface EmbeddedQuery {
  /** A SELECT without FORMAT. */
  readonly sql: string
  readonly params: Readonly<Record<string, unknown>>
  /** Undefined ones are left out. */
  readonly settings: Readonly<Record<string, unknown>>
  readonly queryId: string | undefined
  /** Ends the query in the engine, too. */
  readonly signal: AbortSignal
  readonly requestMsMax: number
}

export class EmbeddedQueries {
  readonly #agent: Agent
  readonly #headers: Readonly<Record<string, string>>

  constructor(
    { socketPath, user, password }: UnixSocket,
    { connectionsMax, lane }: { connectionsMax: number; lane: StoreLane | undefined },
  ) {
    // Connections of its own: the library ends those that it has not used for a while, whoever
    // else uses them. Node's types leave `socketPath` out: agents hand it to each request.
    const options = { socketPath, keepAlive: true, maxSockets: connectionsMax, timeout: IDLE_MS }
    this.#agent = new Agent(options)
    this.#headers = {
      authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
      'content-type': FORM,
      ...(lane && { [LANE_HEADER]: lane }),
    }
  }

  /** Rejects with `ClickHouseError`, with errors of the socket, or when `signal` aborts. */
  async run<Row>(query: EmbeddedQuery): Promise<QueryAnswer<Row>> {
    return await parseAnswer<Row>(await this.#send(formOf(query), query))
  }

  close(): void {
    this.#agent.destroy()
  }

  #send(body: string, { signal, requestMsMax }: EmbeddedQuery): Promise<string> {
    return new Promise((resolve, reject) => {
      const headers = { ...this.#headers, 'content-length': Buffer.byteLength(body) }
      const call = request({ agent: this.#agent, method: 'POST', headers, signal })
      const late = setTimeout(() => call.destroy(new Error('timeout')), requestMsMax)
      call.on('close', () => clearTimeout(late))
      call.on('error', reject)
      call.on('response', (response) => readAnswer(response).then(resolve, reject))
      call.end(body)
    })
  }
}

async function readAnswer(response: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = []
  for await (const chunk of response) chunks.push(chunk)
  const text = Buffer.concat(chunks).toString()
  if (response.statusCode === 200) return text
  throw parseError(text)
}

function formOf({ sql, params, settings, queryId }: EmbeddedQuery): string {
  const form = new URLSearchParams({ query: `${sql}\nFORMAT JSON` })
  if (queryId !== undefined) form.set('query_id', queryId)
  for (const [name, value] of Object.entries(params)) form.set(`param_${name}`, paramText(value))
  for (const [name, value] of Object.entries(settings)) {
    if (value !== undefined) form.set(name, String(value))
  }
  return form.toString()
}

const ESCAPES: Readonly<Record<string, string>> = {
  '\t': '\\t',
  '\n': '\\n',
  '\r': '\\r',
  "'": "\\'",
  '\\': '\\\\',
}

/**
 * A value as the text of a parameter, which the engine reads as a field of TabSeparated: strings
 * with escapes, in arrays and maps with apostrophes.
 */
function paramText(value: unknown, isWithin = false): string {
  switch (typeof value) {
    case 'string': {
      const escaped = value.replaceAll(/[\t\n\r'\\]/g, (each) => ESCAPES[each] ?? each)
      return isWithin ? `'${escaped}'` : escaped
    }
    case 'boolean':
    case 'bigint':
      return String(value)
    case 'number':
      return Number.isFinite(value) ? String(value) : infiniteText(value)
    default:
  }
  if (value === null || value === undefined) return isWithin ? 'NULL' : '\\N'
  const within = (each: unknown) => paramText(each, true)
  if (Array.isArray(value)) return `[${value.map(within).join(',')}]`
  return `{${Object.entries(value).map((entry) => entry.map(within).join(':'))}}`
}

function infiniteText(value: number): string {
  if (Number.isNaN(value)) return 'nan'
  return value > 0 ? '+inf' : '-inf'
}
