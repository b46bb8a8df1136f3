import { useSignal } from '@preact/signals'
import { callJson, failureText } from '../base/api.ts'
import { route, setParams } from '../base/route.ts'
import { type ViewInfo, viewOf } from '../base/view.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Failure } from '../parts/failure.tsx'
import { CheckField, TextField } from '../parts/form.tsx'
import { tell } from '../parts/notices.tsx'

/** Saves what the address shows under a name. */
export function SaveView({ streamId, onClose }: { streamId: string; onClose: () => void }) {
  const name = useSignal('')
  const description = useSignal('')
  const isShared = useSignal(true)
  const failure = useSignal<string | undefined>(undefined)
  const save = async (event: Event) => {
    event.preventDefault()
    try {
      const view = await callJson<ViewInfo>(`streams/${streamId}/views`, {
        method: 'POST',
        body: {
          name: name.value.trim(),
          description: description.value,
          shared: isShared.value,
          ...viewOf(route.value.params),
        },
      })
      onClose()
      setParams({ view: view.id }, 'replace')
      tell(`${view.name} is saved`)
    } catch (cause) {
      failure.value = failureText(cause)
    }
  }
  return (
    <Dialog title="Save this view" onClose={onClose}>
      <form onSubmit={(event) => void save(event)}>
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
        {failure.value !== undefined && <Failure text={failure.value} />}
        <div class="buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary">
            Save
          </button>
        </div>
      </form>
    </Dialog>
  )
}
