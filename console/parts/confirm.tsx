import type { ComponentChildren } from 'preact'
import { Dialog } from './dialog.tsx'
import { Failure } from './failure.tsx'
import { useSubmit } from './submit.ts'

interface ConfirmProps {
  readonly title: string
  /** What the button does, in words. */
  readonly does: string
  /** Closed afterwards, unless it rejects. */
  readonly run: () => Promise<void>
  /** In place of `onClose`, once it is done. */
  readonly onDone?: () => void
  readonly onClose: () => void
  readonly children: ComponentChildren
}

/** What nobody can undo is asked for once more; the focus is not at the button that does it. */
export function Confirm({ title, does, run, onClose, onDone = onClose, children }: ConfirmProps) {
  const { onSubmit, isBusy, failure } = useSubmit(async () => {
    await run()
    onDone()
  })
  return (
    <Dialog title={title} onClose={onClose}>
      {children}
      {failure !== undefined && <Failure text={failure} />}
      <div class="buttons">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" class="danger" disabled={isBusy} onClick={onSubmit}>
          {does}
        </button>
      </div>
    </Dialog>
  )
}
