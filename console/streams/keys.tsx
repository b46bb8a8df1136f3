/** A stream's API keys; a new one is shown once, in snippets that can be pasted as they are. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { visibleLine } from '../../src/language/visible-text.ts'
import { call, callJson, failureText } from '../base/api.ts'
import { formatAgo } from '../base/format.ts'
import { may } from '../base/rights.ts'
import { isolated } from '../base/shown-value.ts'
import type { StreamInfo } from '../base/stream.ts'
import { Confirm } from '../parts/confirm.tsx'
import { Failure } from '../parts/failure.tsx'
import { tell } from '../parts/notices.tsx'
import { useSubmit } from '../parts/submit.ts'
import { NewKey } from './new-key.tsx'

interface Key {
  readonly id: string
  readonly name: string
  readonly prefix: string
  readonly created_at: string
  readonly last_used_at: string | null
  readonly revoked_at: string | null
}

export function Keys({ stream }: { stream: StreamInfo }) {
  const keys = useSignal<readonly Key[] | undefined>(undefined)
  const failure = useSignal<string | undefined>(undefined)
  const created = useSignal<string | undefined>(undefined)
  const revoking = useSignal<Key | undefined>(undefined)
  const path = `streams/${stream.id}/keys`
  const load = async () => {
    try {
      keys.value = (await callJson<{ keys: readonly Key[] }>(path)).keys
      failure.value = undefined
    } catch (cause) {
      failure.value = failureText(cause)
    }
  }
  useEffect(() => {
    void load()
  }, [path])
  const create = async (name: string) => {
    const body = { name: name || 'from the console' }
    created.value = (await callJson<{ key: string }>(path, { method: 'POST', body })).key
    await load()
  }
  const revoke = async (key: Key) => {
    await call(`${path}/${key.id}`, { method: 'DELETE' })
    tell(`The key ${nameOf(key)} is revoked`)
    await load()
  }
  return (
    <>
      <h2>API keys</h2>
      <p class="hint">A key can send events to this stream, and nothing else.</p>
      {may('streams:write') ? (
        <NewKeyForm onCreate={create} />
      ) : (
        <p class="hint">
          To make and revoke keys needs a token with the scope <code>streams:write</code>.
        </p>
      )}
      {failure.value !== undefined && <Failure text={failure.value} />}
      {created.value !== undefined && (
        <NewKey key={created.value} apiKey={created.value} streamId={stream.id} />
      )}
      {keys.value !== undefined && keys.value.length > 0 && (
        <KeyTable keys={keys.value} onRevoke={(key) => (revoking.value = key)} />
      )}
      {revoking.value !== undefined && (
        <RevokeKey
          name={nameOf(revoking.value)}
          run={() => revoke(revoking.value!)}
          onClose={() => (revoking.value = undefined)}
        />
      )}
    </>
  )
}

interface RevokeProps {
  readonly name: string
  readonly run: () => Promise<void>
  readonly onClose: () => void
}

function RevokeKey({ name, run, onClose }: RevokeProps) {
  return (
    <Confirm title={`Revoke the key ${name}?`} does="Revoke key" run={run} onClose={onClose}>
      <p>What sends with it is refused from now on. Nobody can undo it.</p>
    </Confirm>
  )
}

function NewKeyForm({ onCreate }: { onCreate: (name: string) => Promise<void> }) {
  const name = useSignal('')
  const { onSubmit, isBusy, failure } = useSubmit(async () => {
    await onCreate(name.value.trim())
    name.value = ''
  })
  return (
    <form class="inline" onSubmit={onSubmit}>
      <input
        class="grow"
        aria-label="Name of the new key"
        placeholder="what will use it, such as web-1"
        value={name.value}
        onInput={(event) => {
          name.value = event.currentTarget.value
        }}
      />
      <button type="submit" class="primary" disabled={isBusy}>
        New key
      </button>
      {failure !== undefined && <Failure text={failure} />}
    </form>
  )
}

function nameOf({ name, prefix }: Key): string {
  return visibleLine(name) || `lax_${prefix}`
}

function KeyTable({ keys, onRevoke }: { keys: readonly Key[]; onRevoke: (key: Key) => void }) {
  return (
    <div class="scroll">
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Begins with</th>
            <th scope="col">Last used</th>
            <th scope="col">Created</th>
            <th scope="col">State</th>
          </tr>
        </thead>
        <tbody>
          {keys.map((key) => (
            <tr key={key.id}>
              <th scope="row">
                <bdi>{visibleLine(key.name) || '–'}</bdi>
              </th>
              <td>
                <code>lax_{key.prefix}</code>
              </td>
              <td>
                {key.last_used_at === null ? 'never' : formatAgo(Date.parse(key.last_used_at))}
              </td>
              <td>{formatAgo(Date.parse(key.created_at))}</td>
              <td>
                {key.revoked_at !== null ? (
                  'revoked'
                ) : may('streams:write') ? (
                  <button
                    type="button"
                    class="small"
                    aria-label={`Revoke the key ${isolated(nameOf(key))}`}
                    onClick={() => onRevoke(key)}
                  >
                    Revoke
                  </button>
                ) : (
                  'works'
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
