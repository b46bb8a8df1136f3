import { useSignal } from '@preact/signals'
import { visibleLine, visibleText } from '../../src/language/visible-text.ts'
import { call, callJson, failureText } from '../base/api.ts'
import { may } from '../base/rights.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Failure } from '../parts/failure.tsx'
import { CheckField, TextField } from '../parts/form.tsx'
import { tell } from '../parts/notices.tsx'
import { useSubmit } from '../parts/submit.ts'
import {
  CHANNEL_KINDS,
  type ChannelField,
  type ChannelKind,
  channelBody,
  type Typed,
} from './channel-kinds.ts'
import type { ChannelInfo } from './channels.tsx'
import { Choice } from './choice.tsx'

interface FormProps {
  /** Undefined: a new one. */
  readonly replaced: ChannelInfo | undefined
  /** Those that there are. */
  readonly names: readonly string[]
  readonly onSaved: () => void
  readonly onClose: () => void
}

/** Makes a channel, or one of the same name in place of it: nothing of the other is known here. */
export function ChannelForm({ replaced, names, onSaved, onClose }: FormProps) {
  const name = useSignal(replaced?.name ?? '')
  const kindName = useSignal(replaced?.kind ?? CHANNEL_KINDS[0]!.kind)
  const typed = useSignal<Typed>({})
  const kind = CHANNEL_KINDS.find((one) => one.kind === kindName.value) ?? CHANNEL_KINDS[0]!
  const isTaken = replaced === undefined && names.includes(name.value.trim())
  const { onSubmit, isBusy, failure } = useSubmit(async () => {
    const path = `alerts/channels/${encodeURIComponent(name.value.trim())}`
    await call(path, { method: 'PUT', body: channelBody(kind, typed.value) })
    tell('The channel is saved')
    onSaved()
    onClose()
  })
  const title = replaced === undefined ? 'New channel' : `Replace ${visibleLine(replaced.name)}`
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={onSubmit}>
        {replaced === undefined && (
          <TextField
            label="Name"
            value={name.value}
            required
            placeholder="such as on-call"
            {...(isTaken && { hint: '▲ There is a channel of this name: it would be replaced' })}
            onInput={(text) => {
              name.value = text
            }}
          />
        )}
        <Choice
          label="Kind"
          value={kind.kind}
          options={CHANNEL_KINDS.map((one) => [one.kind, one.label])}
          onChange={(name) => {
            kindName.value = name
          }}
        />
        {kind.fields.map((field) => (
          <Asked
            key={`${kind.kind} ${field.name}`}
            field={field}
            value={typed.value[field.name] ?? ''}
            onInput={(text) => {
              typed.value = { ...typed.value, [field.name]: text }
            }}
          />
        ))}
        {kind.kind !== 'heartbeat' && <Preview key={kind.kind} kind={kind} typed={typed.value} />}
        {failure !== undefined && <Failure text={failure} />}
        <div class="buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={isTaken || isBusy}>
            Save channel
          </button>
        </div>
      </form>
    </Dialog>
  )
}

interface AskedProps {
  readonly field: ChannelField
  readonly value: string
  readonly onInput: (text: string) => void
}

function Asked({ field, value, onInput }: AskedProps) {
  const { label, hint, type, options, placeholder, isRequired, isForAdmins } = field
  if (isForAdmins === true && !may('admin')) return null
  const hinted = hint === undefined ? {} : { hint }
  if (type === 'check') {
    return (
      <CheckField
        label={label}
        {...hinted}
        checked={value !== ''}
        onChange={(checked) => onInput(checked ? '1' : '')}
      />
    )
  }
  if (options !== undefined) {
    return <Choice label={label} value={value} options={options} onChange={onInput} />
  }
  return (
    <TextField
      label={label}
      {...hinted}
      value={value}
      required={isRequired === true}
      {...((type === 'password' || type === 'number') && { type })}
      {...(type === 'json' && { lines: 6 })}
      {...(placeholder !== undefined && { placeholder })}
      onInput={onInput}
    />
  )
}

/** What it would send, of an example; nothing is sent. */
function Preview({ kind, typed }: { kind: ChannelKind; typed: Typed }) {
  const shown = useSignal<string | undefined>(undefined)
  const failure = useSignal<string | undefined>(undefined)
  const show = async () => {
    try {
      const { template } = channelBody(kind, { template: typed.template ?? '' }) as {
        readonly template?: unknown
      }
      const body = { kind: kind.kind, ...(template !== undefined && { template }) }
      const path = 'alerts/channels/preview'
      const answer = await callJson<{ readonly body: unknown }>(path, { method: 'POST', body })
      const text =
        typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body, null, 2)
      shown.value = visibleText(text)
      failure.value = undefined
    } catch (cause) {
      failure.value = failureText(cause)
    }
  }
  return (
    <>
      <button type="button" class="small" onClick={() => void show()}>
        Show what it would send
      </button>
      {failure.value !== undefined && <Failure text={failure.value} />}
      {shown.value !== undefined && <pre class="result">{shown.value}</pre>}
    </>
  )
}
