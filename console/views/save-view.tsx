import { type Signal, useSignal } from '@preact/signals'
import { visibleLine } from '../../src/language/visible-text.ts'
import { callJson } from '../base/api.ts'
import { route, setParams } from '../base/route.ts'
import { type ViewInfo, viewOf } from '../base/view.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Failure } from '../parts/failure.tsx'
import { CheckField, TextField } from '../parts/form.tsx'
import { tell } from '../parts/notices.tsx'
import { useSubmit } from '../parts/submit.ts'

interface SaveProps {
  readonly streamId: string
  /** The view that the address was opened from: it can be changed, or be the model of another. */
  readonly opened: ViewInfo | undefined
  readonly onSaved: () => void
  readonly onClose: () => void
}

/** Saves what the address shows: under a name, or as the view that it was opened from. */
export function SaveView({ streamId, opened, onSaved, onClose }: SaveProps) {
  const name = useSignal(opened?.name ?? '')
  const description = useSignal(opened?.description ?? '')
  const isShared = useSignal(opened?.shared ?? true)
  const isNew = useSignal(opened === undefined)
  const { onSubmit, isBusy, failure } = useSubmit(async () => {
    const body = {
      name: name.value.trim(),
      description: description.value,
      shared: isShared.value,
      ...viewOf(route.value.params, opened),
    }
    const view = await send(streamId, isNew.value ? undefined : opened, body)
    onClose()
    setParams({ view: view.id }, 'replace')
    onSaved()
    tell(`${visibleLine(view.name)} is saved`)
  })
  return (
    <Dialog title="Save this view" onClose={onClose}>
      <form onSubmit={onSubmit}>
        <Settings name={name} description={description} isShared={isShared} />
        {opened !== undefined && (
          <CheckField
            label="As a new view, beside the one that was opened"
            checked={isNew.value}
            onChange={(checked) => {
              isNew.value = checked
            }}
          />
        )}
        {failure !== undefined && <Failure text={failure} />}
        <div class="buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={isBusy}>
            Save
          </button>
        </div>
      </form>
    </Dialog>
  )
}

/** A new view, or changes of one that nobody else has changed meanwhile. */
async function send(streamId: string, view: ViewInfo | undefined, body: object): Promise<ViewInfo> {
  const path = `streams/${streamId}/views`
  if (view === undefined) return await callJson(path, { method: 'POST', body })
  const headers = { 'If-Match': `"${view.version}"` }
  return await callJson(`${path}/${view.id}`, { method: 'PATCH', headers, body })
}

interface SettingsProps {
  readonly name: Signal<string>
  readonly description: Signal<string>
  readonly isShared: Signal<boolean>
}

function Settings({ name, description, isShared }: SettingsProps) {
  return (
    <>
      <TextField
        label="Name"
        value={name.value}
        required
        autoFocus
        onInput={(text) => {
          name.value = text
        }}
      />
      <TextField
        label="What it is for"
        value={description.value}
        onInput={(text) => {
          description.value = text
        }}
      />
      <CheckField
        label="Others who see the stream see it too"
        checked={isShared.value}
        onChange={(checked) => {
          isShared.value = checked
        }}
      />
    </>
  )
}
