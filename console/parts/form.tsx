/** Labelled inputs: the label, what it means, and what is wrong with it, tied together. */
import type { ComponentChildren, JSX } from 'preact'
import { useId } from 'preact/hooks'

interface FieldProps {
  readonly label: string
  readonly hint?: ComponentChildren
  readonly children: (ids: { readonly id: string; readonly hintId: string }) => JSX.Element
}

export function Field({ label, hint, children }: FieldProps) {
  const id = useId()
  const hintId = `${id}-hint`
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({ id, hintId })}
      {hint !== undefined && (
        <p class="hint" id={hintId}>
          {hint}
        </p>
      )}
    </div>
  )
}

interface TextFieldProps {
  readonly label: string
  readonly hint?: ComponentChildren
  readonly value: string
  readonly onInput: (value: string) => void
  readonly type?: 'text' | 'password' | 'number'
  readonly placeholder?: string
  readonly required?: boolean
  readonly autoFocus?: boolean
  readonly lines?: number
}

export function TextField({ label, hint, value, onInput, lines, ...input }: TextFieldProps) {
  return (
    <Field label={label} hint={hint}>
      {({ id, hintId }) => {
        const shared = {
          id,
          value,
          'aria-describedby': hintId,
          spellcheck: false,
          autocomplete: 'off' as const,
        }
        return lines === undefined ? (
          <input
            {...shared}
            {...(input as object)}
            onInput={(event) => onInput(event.currentTarget.value)}
          />
        ) : (
          <textarea
            {...shared}
            rows={lines}
            placeholder={input.placeholder}
            onInput={(event) => onInput(event.currentTarget.value)}
          />
        )
      }}
    </Field>
  )
}

interface CheckFieldProps {
  readonly label: string
  readonly hint?: ComponentChildren
  readonly checked: boolean
  readonly onChange: (checked: boolean) => void
}

export function CheckField({ label, hint, checked, onChange }: CheckFieldProps) {
  const id = useId()
  return (
    <div class="field is-check">
      <input
        type="checkbox"
        id={id}
        checked={checked}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <label for={id}>
        {label}
        {hint !== undefined && <span class="hint">{hint}</span>}
      </label>
    </div>
  )
}
