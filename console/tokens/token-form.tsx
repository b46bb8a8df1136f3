/** A new access token: what it may do, on which streams, until when. */
import { useSignal } from '@preact/signals'
import { callJson } from '../base/api.ts'
import { ownToken, SCOPES, type Scope } from '../base/rights.ts'
import { streams } from '../base/stream.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Failure } from '../parts/failure.tsx'
import { CheckField, Field, TextField } from '../parts/form.tsx'
import { useSubmit } from '../parts/submit.ts'

const ALLOWS: Readonly<Record<Scope, string>> = {
  'streams:read': 'Look at streams, usage, fields and views',
  'streams:write': 'Change streams, their keys and views',
  'events:read': 'Read and search events',
  'events:write': 'Write sample events as an agent',
  'alerts:read': 'Look at rules of alerts and what they decided',
  'alerts:write': 'Make, change and delete rules of alerts',
  admin: 'All of it, on the streams of every owner, and tokens',
}
const DAY_MS = 86_400_000
const LIFETIMES: readonly (readonly [days: number, label: string])[] = [
  [7, 'in 7 days'],
  [30, 'in 30 days'],
  [90, 'in 90 days'],
  [365, 'in a year'],
  [0, 'never'],
]

interface Draft {
  readonly name: string
  readonly owner: string
  readonly scopes: readonly Scope[]
  readonly isLimited: boolean
  readonly streamIds: readonly string[]
  readonly days: number
}

interface TokenFormProps {
  readonly onCreated: (text: string) => void
  readonly onClose: () => void
}

export function TokenForm({ onCreated, onClose }: TokenFormProps) {
  const draft = useSignal<Draft>({
    name: '',
    owner: ownToken.value?.owner ?? '',
    scopes: ['streams:read', 'events:read'],
    isLimited: false,
    streamIds: [],
    days: 90,
  })
  const change = (changes: Partial<Draft>) => {
    draft.value = { ...draft.value, ...changes }
  }
  const { onSubmit, isBusy, failure } = useSubmit(async () => {
    const body = bodyOf(draft.value)
    onCreated((await callJson<{ token: string }>('tokens', { method: 'POST', body })).token)
  })
  return (
    <Dialog title="New token" onClose={onClose}>
      <form onSubmit={onSubmit}>
        <TextField
          label="Name"
          value={draft.value.name}
          autoFocus
          placeholder="who will use it, such as dashboards"
          onInput={(name) => change({ name })}
        />
        <Scopes draft={draft.value} change={change} />
        <TextField
          label="Owner"
          value={draft.value.owner}
          required
          hint="It sees the streams of this owner."
          onInput={(owner) => change({ owner })}
        />
        {!draft.value.scopes.includes('admin') && <Limit draft={draft.value} change={change} />}
        <Lifetime draft={draft.value} change={change} />
        {failure !== undefined && <Failure text={failure} />}
        <div class="buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={isBusy || !isWhole(draft.value)}>
            Create token
          </button>
        </div>
      </form>
    </Dialog>
  )
}

interface PartProps {
  readonly draft: Draft
  readonly change: (changes: Partial<Draft>) => void
}

function Scopes({ draft, change }: PartProps) {
  return (
    <fieldset>
      <legend>What it may do</legend>
      {SCOPES.map((scope) => (
        <CheckField
          key={scope}
          label={scope}
          hint={ALLOWS[scope]}
          checked={draft.scopes.includes(scope)}
          onChange={(checked) => change({ scopes: toggled(draft.scopes, scope, checked) })}
        />
      ))}
    </fieldset>
  )
}

function Limit({ draft, change }: PartProps) {
  const own = (streams.value ?? []).filter(({ owner }) => owner === draft.owner.trim())
  return (
    <fieldset>
      <legend>Streams</legend>
      <CheckField
        label="Only some streams"
        hint="Any other is to it as if it were not there. It cannot create or delete streams."
        checked={draft.isLimited}
        onChange={(isLimited) => change({ isLimited })}
      />
      {draft.isLimited && own.length === 0 && <p class="hint">This owner has no stream.</p>}
      {draft.isLimited &&
        own.map(({ id, name }) => (
          <CheckField
            key={id}
            label={name}
            checked={draft.streamIds.includes(id)}
            onChange={(checked) => change({ streamIds: toggled(draft.streamIds, id, checked) })}
          />
        ))}
    </fieldset>
  )
}

function Lifetime({ draft, change }: PartProps) {
  return (
    <Field label="Ends">
      {({ id }) => (
        <select
          id={id}
          value={draft.days}
          onChange={(event) => change({ days: Number(event.currentTarget.value) })}
        >
          {LIFETIMES.map(([days, label]) => (
            <option key={days} value={days}>
              {label}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

function toggled<T>(all: readonly T[], one: T, isIn: boolean): readonly T[] {
  const others = all.filter((other) => other !== one)
  return isIn ? [...others, one] : others
}

/** The streams that were chosen of the owner that is named now; undefined: no limit. */
function chosenOf({ isLimited, streamIds, scopes, owner }: Draft): readonly string[] | undefined {
  if (!isLimited || scopes.includes('admin')) return undefined
  const own = (streams.value ?? []).filter((stream) => stream.owner === owner.trim())
  return own.map(({ id }) => id).filter((id) => streamIds.includes(id))
}

function isWhole(draft: Draft): boolean {
  return draft.scopes.length > 0 && chosenOf(draft)?.length !== 0
}

function bodyOf(draft: Draft) {
  const { name, owner, scopes, days } = draft
  return {
    name: name.trim(),
    owner: owner.trim(),
    scopes,
    streams: chosenOf(draft) ?? '*',
    ...(days > 0 && { expires_at: new Date(Date.now() + days * DAY_MS).toISOString() }),
  }
}
