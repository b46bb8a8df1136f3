import { tryParseDuration } from '../model/duration.ts'
import { formatTimeMs } from '../model/rfc3339.ts'
import { type Command, EXIT_OK, type Invocation, textOf } from './command.ts'
import { UsageError } from './usage-error.ts'

interface Token {
  readonly id: string
  readonly name: string
  readonly owner: string
  readonly scopes: readonly string[]
  readonly prefix: string
  readonly expires_at: string | null
  readonly last_used_at: string | null
  readonly revoked_at: string | null
}

const SCOPES = [
  'streams:read',
  'streams:write',
  'events:read',
  'events:write',
  'alerts:read',
  'alerts:write',
  'admin',
] as const
const SCOPES_DEFAULT = 'streams:read,events:read'
const ACTIONS = ['create', 'revoke'] as const

/** Lists access tokens; creates or revokes one. Needs an admin's token. */
export const tokens: Command = {
  usage: '[create | revoke <token id>] [options]',
  summary: 'List access tokens; create one (it is printed once), or revoke one. For admins.',
  positionalsMax: 2,
  words: ACTIONS,
  options: {
    name: { type: 'string' },
    owner: { type: 'string' },
    scopes: { type: 'string' },
    expires: { type: 'string' },
  },
  help: {
    name: 'The name of the new token',
    owner: 'Whose streams it sees; those of your own token',
    scopes: `What it may do, with commas: ${SCOPES.join(', ')}; ${SCOPES_DEFAULT}`,
    expires: 'Until when, such as 2027-01-01T00:00:00Z, or for how long, such as 90d; for ever',
  },
  run: async (invocation) => {
    const { client, positionals } = invocation
    const [action, id] = positionals
    if (action === undefined) return await list(invocation)
    if (action === 'create' && id === undefined) return await create(invocation)
    if (action === 'revoke' && id !== undefined) {
      await client.call(`tokens/${encodeURIComponent(id)}`, { method: 'DELETE' })
      return EXIT_OK
    }
    throw new UsageError('tokens, tokens create, or tokens revoke <token id>')
  },
}

async function create({ client, terminal, values }: Invocation): Promise<number> {
  const [name, owner] = [textOf(values.name), textOf(values.owner)]
  const scopes = (textOf(values.scopes) ?? SCOPES_DEFAULT).split(',').map((scope) => scope.trim())
  const expires = textOf(values.expires)
  const answer = await client.text('tokens', {
    body: {
      ...(name !== undefined && { name }),
      ...(owner !== undefined && { owner }),
      scopes,
      ...(expires !== undefined && { expires_at: expiryOf(expires) }),
    },
  })
  if (values.json === true) terminal.json(answer)
  else terminal.line((JSON.parse(answer) as { readonly token: string }).token)
  return EXIT_OK
}

function expiryOf(text: string): string {
  const ms = tryParseDuration(text)
  return ms === undefined ? text : formatTimeMs(Date.now() + ms)
}

async function list({ client, terminal, values }: Invocation): Promise<number> {
  const rows = [['ID', 'NAME', 'OWNER', 'TOKEN', 'SCOPES', 'EXPIRES', 'USED', 'REVOKED']]
  for (const token of await client.listAll<Token>('tokens', 'tokens')) {
    if (values.json === true) terminal.json(JSON.stringify(token))
    const { id, name, owner, prefix, scopes } = token
    const times = [token.expires_at ?? 'never', token.last_used_at ?? 'never']
    const revoked = token.revoked_at ?? '-'
    rows.push([id, name || '-', owner, `lap_${prefix}`, scopes.join(','), ...times, revoked])
  }
  if (values.json !== true) terminal.line(terminal.table(rows))
  return EXIT_OK
}
