import { useSignal } from '@preact/signals'
import { visibleLine } from '../../src/language/visible-text.ts'
import { call, failureText } from '../base/api.ts'
import { may } from '../base/rights.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Failure } from '../parts/failure.tsx'
import { CheckField, Field, TextField } from '../parts/form.tsx'
import { tell } from '../parts/notices.tsx'
import { CHANNEL_KINDS, type ChannelField, channelBody, type Typed } from './channel-kinds.ts'
import type { ChannelInfo } from './channels.tsx'

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
  const failure = useSignal<string | undefined>(undefined)
  const kind = CHANNEL_KINDS.find((one) => one.kind === kindName.value) ?? CHANNEL_KINDS[0]!
  const isTaken = replaced === undefined && names.includes(name.value.trim())
  const save = async (event: Event) => {
    event.preventDefault()
    try {
      const path = `alerts/channels/${encodeURIComponent(name.value.trim())}`
      await call(path, { method: 'PUT', body: channelBody(kind, typed.value) })
      tell('The channel is saved')
      onSaved()
      onClose()
    } catch (cause) {
      failure.value = failureText(cause)
    }
  }
  const title = replaced === undefined ? 'New channel' : `Replace ${visibleLine(replaced.name)}`
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={(event) => void save(event)}>
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
        {CHANNEL_KINDS.length > 1 && (
          <Field label="Kind">
            {({ id }) => (
              <select
                id={id}
                value={kind.kind}
                onChange={(event) => {
                  kindName.value = event.currentTarget.value
                }}
              >
                {CHANNEL_KINDS.map((one) => (
                  <option key={one.kind} value={one.kind}>
                    {one.label}
                  </option>
                ))}
              </select>
            )}
          </Field>
        )}
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
        {failure.value !== undefined && <Failure text={failure.value} />}
        <div class="buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={isTaken}>
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
  const { label, hint, type = 'text', placeholder, isRequired, isForAdmins } = field
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
  return (
    <TextField
      label={label}
      {...hinted}
      value={value}
      type={type}
      required={isRequired === true}
      {...(placeholder !== undefined && { placeholder })}
      onInput={onInput}
    />
  )
}
