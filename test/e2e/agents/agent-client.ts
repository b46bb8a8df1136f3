/** The protocol's own client, of 2.x and of 1.x, on a service of the test. */
import assert from 'node:assert/strict'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { MCP_RESULT_CHARS_MAX } from '../../../src/limits.ts'
import type { Api } from '../../support/api.ts'
import type { Service } from '../../support/service.ts'

export interface ToolAnswer {
  readonly isError: boolean
  readonly text: string
}

export interface Agent {
  readonly client: Client
  /** Fails when the result is longer than a result may be. */
  call(name: string, args?: Record<string, unknown>): Promise<ToolAnswer>
  /** The result of a call that must succeed. */
  json(name: string, args?: Record<string, unknown>): Promise<Readonly<Record<string, unknown>>>
  close(): Promise<void>
}

export async function createToken(api: Api, scopes: readonly string[]): Promise<string> {
  const made = await api.rest('/v1/tokens', 'POST', { name: 'agent', scopes })
  return (JSON.parse(made) as { readonly token: string }).token
}

export function readAnswer(result: unknown): ToolAnswer {
  const { content, isError = false } = result as {
    readonly content: readonly { readonly type: string; readonly text: string }[]
    readonly isError?: boolean
  }
  assert.equal(content.length, 1)
  assert.equal(content[0]?.type, 'text')
  const text = content[0]?.text ?? ''
  assert.ok(text.length <= MCP_RESULT_CHARS_MAX, `a result of ${text.length} characters`)
  return { isError, text }
}

/** `mode`: the protocol of 2026-07-28, or that of 2025. */
export async function connectAgent(
  service: Pick<Service, 'url'>,
  token: string,
  mode: 'auto' | 'legacy' = 'auto',
): Promise<Agent> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  const transport = new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  })
  await client.connect(transport)
  const call = async (name: string, args: Record<string, unknown> = {}) => {
    return readAnswer(await client.callTool({ name, arguments: args }))
  }
  return {
    client,
    call,
    json: async (name, args) => {
      const { isError, text } = await call(name, args)
      assert.equal(isError, false, text)
      return JSON.parse(text)
    },
    close: () => client.close(),
  }
}
