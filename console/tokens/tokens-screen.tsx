/** Access tokens: who may do what, until when, and which of them nobody uses. */
import { useSignal } from '@preact/signals'
import { visibleLine } from '../../src/language/visible-text.ts'
import { call, loadAll } from '../base/api.ts'
import { formatAgo } from '../base/format.ts'
import { useLoaded } from '../base/loaded.ts'
import { ownToken, type TokenInfo } from '../base/rights.ts'
import { beSignedOut } from '../base/session.ts'
import { findStream } from '../base/stream.ts'
import { Confirm } from '../parts/confirm.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { Failure } from '../parts/failure.tsx'
import { tell } from '../parts/notices.tsx'
import { TokenForm } from './token-form.tsx'

export function TokensScreen() {
  const turn = useSignal(0)
  const isCreating = useSignal(false)
  const created = useSignal<string | undefined>(undefined)
  const revoking = useSignal<TokenInfo | undefined>(undefined)
  const { value: tokens, failure } = useLoaded('tokens', loadTokens, { turn })
  return (
    <section>
      <div class="heading">
        <h1>Access tokens</h1>
        <span class="spring" />
        <button type="button" class="primary" onClick={() => (isCreating.value = true)}>
          New token
        </button>
      </div>
      <p class="hint">
        For people, programs and agents that read or manage. What sends events has an API key of its
        stream.
      </p>
      {created.value !== undefined && <NewToken text={created.value} />}
      {failure !== undefined && <Failure text={failure} />}
      {tokens === undefined && failure === undefined && <p class="quiet">Loading…</p>}
      {tokens !== undefined && (
        <TokenTable tokens={tokens} onRevoke={(one) => (revoking.value = one)} />
      )}
      {isCreating.value && (
        <TokenForm
          onCreated={(text) => {
            isCreating.value = false
            created.value = text
            turn.value++
          }}
          onClose={() => (isCreating.value = false)}
        />
      )}
      {revoking.value !== undefined && (
        <RevokeDialog
          token={revoking.value}
          onRevoked={() => turn.value++}
          onClose={() => (revoking.value = undefined)}
        />
      )}
    </section>
  )
}

/** All pages; those that work first, each part with the newest first. */
async function loadTokens(signal: AbortSignal): Promise<readonly TokenInfo[]> {
  const newest = (await loadAll<TokenInfo>('tokens', 'tokens', { signal })).toReversed()
  return [
    ...newest.filter((one) => stateOf(one) === undefined),
    ...newest.filter((one) => stateOf(one) !== undefined),
  ]
}

/** Why it does not work; undefined: it does. */
function stateOf({ revoked_at: revokedAt, expires_at: expiresAt }: TokenInfo): string | undefined {
  if (revokedAt !== null) return 'revoked'
  return expiresAt !== null && Date.parse(expiresAt) <= Date.now() ? 'expired' : undefined
}

function NewToken({ text }: { text: string }) {
  return (
    <div class="card">
      <p>
        <strong>This is the token. It is shown only now.</strong>
      </p>
      <p class="inline">
        <code class="secret">{text}</code> <CopyButton text={text} label="Copy token" />
      </p>
    </div>
  )
}

interface TableProps {
  readonly tokens: readonly TokenInfo[]
  readonly onRevoke: (token: TokenInfo) => void
}

function TokenTable({ tokens, onRevoke }: TableProps) {
  return (
    <div class="scroll">
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Begins with</th>
            <th scope="col">Owner</th>
            <th scope="col">May</th>
            <th scope="col">Streams</th>
            <th scope="col">Last used</th>
            <th scope="col">Created</th>
            <th scope="col">Ends</th>
            <th scope="col">State</th>
          </tr>
        </thead>
        <tbody>
          {tokens.map((one) => (
            <TokenRow key={one.id} token={one} onRevoke={() => onRevoke(one)} />
          ))}
        </tbody>
      </table>
    </div>
  )
}

function TokenRow({ token, onRevoke }: { token: TokenInfo; onRevoke: () => void }) {
  const state = stateOf(token)
  return (
    <tr>
      <th scope="row">
        <bdi>{nameOf(token)}</bdi>
        {token.id === ownToken.value?.id && ' (this one)'}
      </th>
      <td>
        <code>lap_{token.prefix}</code>
      </td>
      <td>
        <bdi>{visibleLine(token.owner)}</bdi>
      </td>
      <td>{token.scopes.join(', ')}</td>
      <td>{streamsOf(token)}</td>
      <td>{token.last_used_at === null ? 'never' : formatAgo(Date.parse(token.last_used_at))}</td>
      <td>{formatAgo(Date.parse(token.created_at))}</td>
      <td>{token.expires_at === null ? 'never' : token.expires_at.slice(0, 10)}</td>
      <td>
        {state ?? (
          <button
            type="button"
            class="small"
            aria-label={`Revoke the token ${nameOf(token)}`}
            onClick={onRevoke}
          >
            Revoke
          </button>
        )}
      </td>
    </tr>
  )
}

function nameOf({ name, prefix }: TokenInfo): string {
  return visibleLine(name) || `lap_${prefix}`
}

function streamsOf({ streams, scopes, owner }: TokenInfo) {
  if (scopes.includes('admin')) return 'all, of every owner'
  if (streams === '*')
    return (
      <>
        all of <bdi>{visibleLine(owner)}</bdi>
      </>
    )
  return streams.map((id, index) => (
    <span key={id}>
      {index > 0 && ', '}
      <bdi>{findStream(id)?.name ?? `${id} (deleted)`}</bdi>
    </span>
  ))
}

interface RevokeProps {
  readonly token: TokenInfo
  readonly onRevoked: () => void
  readonly onClose: () => void
}

function RevokeDialog({ token, onRevoked, onClose }: RevokeProps) {
  const isOwn = token.id === ownToken.value?.id
  const revoke = async () => {
    await call(`tokens/${token.id}`, { method: 'DELETE' })
    if (isOwn) return beSignedOut('The token is revoked.')
    tell(`The token ${nameOf(token)} is revoked`)
    onRevoked()
  }
  return (
    <Confirm title={`Revoke ${nameOf(token)}?`} does="Revoke token" run={revoke} onClose={onClose}>
      <p>Who uses it is refused within a second. Nobody can undo it.</p>
      {isOwn && <p class="warn">▲ It is the token that you are signed in with.</p>}
    </Confirm>
  )
}
