/**
 * The protocol: `@modelcontextprotocol/server` behind a function from a web-standard request to a
 * response. It serves the specification of 2026-07-28, and clients of those from 2025-03-26 to
 * 2025-11-25.
 */
import { type AuthInfo, createMcpHandler, Server } from '@modelcontextprotocol/server'
import { checkBody } from '../api/check-value.ts'
import { readMemberTexts } from '../api/json-text.ts'
import { published } from '../api/openapi.ts'
import { ERRORS, IngestError, OutcomeUnknownError } from '../errors.ts'
import { requireScope, toIngestError } from '../http/guard.ts'
import { internalDetail } from '../http/problem.ts'
import type { AgentTool, Caller, ToolCall } from './agent-tool.ts'
import { fitWhole } from './fit-text.ts'
import { INSTRUCTIONS } from './instructions.ts'

/** Never throws: errors are in the response. */
export type AgentServer = (request: Request, bodyText: string, caller: Caller) => Promise<Response>

export interface AgentServerOptions {
  readonly tools: readonly AgentTool[]
  readonly version: string
  readonly onFault: (cause: unknown) => void
}

interface ToolResult {
  readonly [name: string]: unknown
  readonly content: { readonly type: 'text'; readonly text: string }[]
  readonly isError?: boolean
}

export function createAgentServer({ tools, version, onFault }: AgentServerOptions): AgentServer {
  const sorted = tools.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const listed = sorted.map(describeTool)
  const handler = createMcpHandler(
    ({ authInfo }) => {
      const server = new Server(
        { name: 'sluice', title: 'Sluice', version },
        { capabilities: { tools: {} }, instructions: INSTRUCTIONS },
      )
      server.setRequestHandler('tools/list', () => ({ tools: listed }))
      server.setRequestHandler('tools/call', ({ params }) => {
        return callTool(sorted, params.name, callOf(authInfo), onFault)
      })
      return server
    },
    // The lists of tools and so on never change, so there is nothing to subscribe to.
    { maxSubscriptions: 0 },
  )
  return (request, bodyText, caller) => {
    const body = tryParse(bodyText)
    if (Array.isArray(body)) return Promise.resolve(refusedBatch())
    const extra = { caller, bodyText }
    const { tokenId, scopes } = caller.principal
    const authInfo = { token: '', clientId: String(tokenId), scopes: [...scopes], extra }
    if (body !== undefined) return handler.fetch(request, { authInfo, parsedBody: body })
    return handler.fetch(new Request(request, { body: bodyText }), { authInfo })
  }
}

function describeTool({ name, title, description, input, isReadOnly }: AgentTool) {
  const { properties, required } = published(input) as {
    readonly properties: { readonly [name: string]: { readonly [name: string]: never } }
    readonly required?: string[]
  }
  return {
    name,
    title,
    description,
    inputSchema: {
      type: 'object' as const,
      properties,
      ...(required && { required }),
      additionalProperties: false,
    },
    annotations: {
      title,
      readOnlyHint: isReadOnly,
      // Ingest only adds events; nothing is changed or removed.
      destructiveHint: false,
      idempotentHint: isReadOnly,
      openWorldHint: false,
    },
  }
}

interface Extra {
  readonly caller: Caller
  readonly bodyText: string
}

function callOf(authInfo: AuthInfo | undefined): Extra {
  return authInfo?.extra as unknown as Extra
}

async function callTool(
  tools: readonly AgentTool[],
  name: string,
  { caller, bodyText }: Extra,
  onFault: (cause: unknown) => void,
): Promise<ToolResult> {
  try {
    const tool = tools.find((one) => one.name === name)
    if (tool === undefined) {
      const known = tools.map((one) => one.name).join(', ')
      throw new IngestError('not_found', `there is no such tool; known are: ${known}`)
    }
    requireScope(caller.principal, tool.scope)
    const argTexts = readMemberTexts(argumentsText(bodyText))
    const args = Object.fromEntries([...argTexts].map(([key, text]) => [key, JSON.parse(text)]))
    checkBody(tool.input, args)
    const call: ToolCall = { ...caller, args, argTexts }
    return { content: [{ type: 'text', text: fitWhole(await tool.run(call)) }] }
  } catch (cause) {
    return { content: [{ type: 'text', text: errorText(cause, onFault) }], isError: true }
  }
}

/** The call's `arguments` as they were written. */
function argumentsText(bodyText: string): string {
  const params = readMemberTexts(bodyText).get('params') ?? '{}'
  return readMemberTexts(params).get('arguments') ?? '{}'
}

/** The error for the model: what is wrong and what to do about it. */
function errorText(cause: unknown, onFault: (cause: unknown) => void): string {
  if (cause instanceof OutcomeUnknownError) {
    return (
      'unknown: the events may or may not be stored. Look with search_events, or send ' +
      'them again if they came with an idempotency_key.'
    )
  }
  const error = asIngestError(cause)
  if (error.code === 'internal') {
    onFault(error.cause ?? error)
    return `internal: ${internalDetail(error)}. Trying again may help.`
  }
  const { repair } = error.members ?? {}
  const parts = [`${error.code}: ${error.message}.`]
  if (repair !== undefined) parts.push(`Repair: ${repair}.`)
  parts.push(ADVICE[error.code] ?? '')
  if (ERRORS[error.code].retryable) {
    parts.push(`Try again in ${Math.ceil(error.retryAfterSeconds ?? 1)} s.`)
  }
  return fitWhole(parts.filter(Boolean).join(' '))
}

const ADVICE: Partial<Record<IngestError['code'], string>> = {
  forbidden: 'Ask the person who made the token for one with this scope.',
  unauthenticated: 'The token is no longer valid: ask for a new one.',
  too_large: 'Send less at a time.',
}

function asIngestError(cause: unknown): IngestError {
  try {
    return toIngestError(cause)
  } catch (unexpected) {
    return IngestError.from(unexpected, 'internal')
  }
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Only one version of the protocol has batches, and a batch would make one request many calls. */
function refusedBatch(): Response {
  const error = { code: -32_600, message: 'send one message per request: batches are not accepted' }
  return Response.json({ jsonrpc: '2.0', id: null, error }, { status: 400 })
}
