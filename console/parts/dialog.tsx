/** A modal dialog: the browser's own, with its focus trap, Escape and backdrop. */
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly isWide?: boolean
  readonly children: ComponentChildren
}

/** The first of a form that is filled in; of options that which is chosen. */
const FIELD = 'form :is(input:enabled:not([type=radio]), input:checked, select, textarea)'

export function Dialog({ title, onClose, isWide = false, children }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const titleId = useId()
  useEffect(() => {
    const { activeElement } = document
    ref.current?.showModal()
    // Not at ✕, the first of all: Enter would close what was opened to be filled in and sent.
    ref.current?.querySelector<HTMLElement>(FIELD)?.focus()
    return () => {
      if (activeElement instanceof HTMLElement) activeElement.focus()
    }
  }, [])
  return (
    <dialog
      ref={ref}
      class={isWide ? 'dialog is-wide' : 'dialog'}
      aria-labelledby={titleId}
      onClose={onClose}
    >
      <header>
        <h2 id={titleId}>{title}</h2>
        <button type="button" class="plain" aria-label="Close" onClick={onClose}>
          ✕
        </button>
      </header>
      {children}
    </dialog>
  )
}
