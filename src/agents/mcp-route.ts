/**
 * `POST /mcp`: the Model Context Protocol over our HTTP. Stateless: each request holds all that its
 * answer needs, so any node can answer it and nothing is kept between requests.
 *
 *   token, Origin, Host ─▶ body ─▶ web-standard Request ─▶ mcp-server ─▶ Response ─▶ reply
 *
 * The protocol's code is loaded with the first request, so it costs nothing without agents.
 */
import type { Schema } from '../api/schema.ts'
import { IngestError } from '../errors.ts'
import type { Reply, Route } from '../http/exchange.ts'
import {
  EVENT_STREAM,
  type Guard,
  guardRoute,
  type HttpRequest,
  type StreamReply,
} from '../http/guard.ts'
import type { ReplyStream } from '../http/reply-stream.ts'
import { MCP_BODY_BYTES_MAX, MCP_CALL_MS_MAX } from '../limits.ts'
import type { AgentTool } from './agent-tool.ts'
import type { AgentServer } from './mcp-server.ts'

export interface AgentRoutesDeps extends Guard {
  readonly tools: readonly AgentTool[]
  readonly version: string
  /** Called with unexpected errors; the agent gets only `internal`. Must not throw. */
  readonly onFault: (cause: unknown) => void
}

/** The headers that the protocol and the checks before it read. */
const HEADERS: Readonly<Record<string, Schema>> = {
  'Content-Type': { type: 'string' },
  Host: { type: 'string' },
  'Mcp-Method': { type: 'string', description: "The body's `method`" },
  'Mcp-Name': { type: 'string', description: "The tool's name, for a call" },
  'MCP-Protocol-Version': { type: 'string', examples: ['2026-07-28'] },
  Origin: { type: 'string', description: 'None, the host itself, or a loopback address' },
}
const MESSAGE: Schema = { description: 'A JSON-RPC 2.0 message' }
const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/

export function agentRoutes({ tools, version, onFault, ...guard }: AgentRoutesDeps): Route[] {
  let loading: Promise<AgentServer> | undefined
  const load = async () => {
    const { createAgentServer } = await import('./mcp-server.ts')
    return createAgentServer({ tools, version, onFault })
  }
  const run = async (request: HttpRequest): Promise<Reply | StreamReply> => {
    assertOrigin(request.headers)
    loading ??= load()
    const serve = await loading
    const { principal, renew } = request
    const bodyText = String(request.body)
    const signal = AbortSignal.any([request.signal, AbortSignal.timeout(MCP_CALL_MS_MAX)])
    return toReply(await serve(toRequest(request, signal), bodyText, { principal, renew, signal }))
  }
  return [
    guardRoute(guard, {
      method: 'POST',
      pattern: '/mcp',
      operationId: 'mcp',
      summary: 'The Model Context Protocol, for agents',
      tag: 'Agents',
      description: 'Stateless streamable HTTP; scopes are those of the tools.',
      headers: HEADERS,
      body: MESSAGE,
      takesText: true,
      bodyBytesMax: MCP_BODY_BYTES_MAX,
      answers: {
        200: {
          description: 'JSON-RPC 2.0',
          content: { 'application/json': {}, 'text/event-stream': { type: 'string' } },
        },
        202: { description: 'A notification was accepted' },
      },
      run,
    }),
  ]
}

/**
 * A page of another site must not reach the endpoint through its visitor's browser. Throws
 * `forbidden`, or `malformed` for an invalid `Host`.
 */
function assertOrigin({ host = '', origin }: Readonly<Record<string, string>>): void {
  const own = tryParseUrl(`http://${host}`)
  if (host === '' || own === undefined) {
    throw new IngestError('malformed', 'the header Host must name this host')
  }
  if (origin === undefined) return
  const sent = tryParseUrl(origin)
  if (sent !== undefined && (sent.hostname === own.hostname || LOOPBACK.test(sent.hostname))) return
  const allowed = 'send no Origin, this host as Origin, or a loopback address'
  throw new IngestError('forbidden', `the Origin of this request is not allowed; ${allowed}`)
}

function tryParseUrl(text: string): URL | undefined {
  return URL.canParse(text) ? new URL(text) : undefined
}

function toRequest({ headers, accept }: HttpRequest, signal: AbortSignal): Request {
  const { host, ...others } = headers
  // The body is passed separately, as text, so that numbers keep their digits.
  return new Request('http://mcp.invalid/mcp', {
    method: 'POST',
    headers: { ...others, accept },
    signal,
  })
}

async function toReply(response: Response): Promise<Reply | StreamReply> {
  const contentType = response.headers.get('content-type') ?? undefined
  const head = { status: response.status, ...(contentType !== undefined && { contentType }) }
  const { body } = response
  if (body === null) return head
  if (contentType?.startsWith(EVENT_STREAM.contentType) !== true) {
    return { ...head, body: await response.text() }
  }
  return {
    ...head,
    headers: EVENT_STREAM.headers,
    filler: EVENT_STREAM.filler,
    onStopping: (stream) => stream.drop(),
    send: (stream) => pipe(body, stream),
  }
}

async function pipe(body: ReadableStream<Uint8Array>, stream: ReplyStream): Promise<void> {
  const reader = body.getReader()
  for (;;) {
    const { value, done } = await reader.read()
    if (done || stream.isOver) break
    if (!stream.write(value)) await stream.whenTaken()
  }
  await reader.cancel()
}
