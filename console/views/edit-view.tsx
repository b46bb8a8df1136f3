/**
 * Changes of a saved view: only what was changed here is sent, and only over the version that was
 * read. Where somebody else was faster, both are told, and nobody's change is lost unawares.
 */
import { useSignal } from '@preact/signals'
import { parse } from '../../src/language/parse.ts'
import { visibleLine } from '../../src/language/visible-text.ts'
import { ApiError, callJson, failureText } from '../base/api.ts'
import { fieldListText, fieldOfApi } from '../base/field.ts'
import { type ViewInfo, viewOf, viewParams } from '../base/view.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Failure } from '../parts/failure.tsx'
import { CheckField, TextField } from '../parts/form.tsx'
import { tell } from '../parts/notices.tsx'
import { useSubmit } from '../parts/submit.ts'

/** What is typed of a view. */
interface Typed {
  readonly name: string
  readonly description: string
  readonly query: string
  readonly columns: string
  readonly shared: boolean
}

const LABELS = {
  name: 'Name',
  description: 'What it is for',
  query: 'Query',
  columns: 'Columns',
  shared: 'Others who see the stream see it too',
} as const satisfies Readonly<Record<keyof Typed, string>>
const TEXTS = ['name', 'description', 'query', 'columns'] as const

function typedOf({ name, description, query, columns, shared }: ViewInfo): Typed {
  const fields = columns.flatMap(({ path }) => fieldOfApi(path) ?? [])
  return { name, description, query, columns: fieldListText(fields), shared }
}

function changedOf(before: Typed, typed: Typed): readonly (keyof Typed)[] {
  const names = Object.keys(LABELS) as (keyof Typed)[]
  return names.filter((name) => typed[name] !== before[name])
}

interface EditProps {
  readonly streamId: string
  readonly view: ViewInfo
  readonly onSaved: () => void
  readonly onClose: () => void
}

export function EditView({ streamId, view, onSaved, onClose }: EditProps) {
  /** As it was read, first and last. */
  const opened = typedOf(view)
  const newest = useSignal(view)
  const typed = useSignal(opened)
  const path = `streams/${streamId}/views/${view.id}`
  const changed = changedOf(opened, typed.value)
  const { onSubmit, isBusy, failure } = useSubmit(async () => {
    try {
      const headers = { 'If-Match': `"${newest.value.version}"` }
      const body = bodyOf(newest.value, typed.value, changed)
      const saved = await callJson<ViewInfo>(path, { method: 'PATCH', headers, body })
      tell(`${visibleLine(saved.name)} is saved`)
      onSaved()
      onClose()
    } catch (cause) {
      if (!(cause instanceof ApiError && cause.status === 412)) throw cause
      newest.value = await newestOf(() => callJson<ViewInfo>(path))
    }
  })
  const set = (more: Partial<Typed>) => {
    typed.value = { ...typed.value, ...more }
  }
  const mistake = mistakeOf(typed.value.query)
  return (
    <Dialog title={`Edit ${visibleLine(view.name)}`} onClose={onClose}>
      <form onSubmit={onSubmit}>
        {TEXTS.map((name) => (
          <TextField
            key={name}
            label={LABELS[name]}
            value={typed.value[name]}
            required={name === 'name'}
            autoFocus={name === 'name'}
            {...(name === 'query' && { lines: 3, hint: mistake ?? 'All events when empty' })}
            {...(name === 'columns' && { hint: 'Fields with commas between them, as in queries' })}
            onInput={(text) => set({ [name]: text })}
          />
        ))}
        <CheckField
          label={LABELS.shared}
          checked={typed.value.shared}
          onChange={(shared) => set({ shared })}
        />
        {newest.value !== view && (
          <Overtaken
            theirs={changedOf(opened, typedOf(newest.value))}
            newest={newest.value}
            onTake={() => {
              onSaved()
              onClose()
            }}
          />
        )}
        {failure !== undefined && <Failure text={failure} />}
        <div class="buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button
            type="submit"
            class="primary"
            disabled={isBusy || changed.length === 0 || mistake !== undefined}
          >
            {newest.value === view ? 'Save' : 'Save mine over it'}
          </button>
        </div>
      </form>
    </Dialog>
  )
}

interface OvertakenProps {
  readonly theirs: readonly (keyof Typed)[]
  readonly newest: ViewInfo
  readonly onTake: () => void
}

/** What somebody else changed while this was open. */
function Overtaken({ theirs, newest, onTake }: OvertakenProps) {
  const values = typedOf(newest)
  return (
    <div class="failure" role="alert">
      <p>
        ⚠ Somebody else has changed this view meanwhile. Nothing of yours is saved yet; what you did
        not change stays theirs.
      </p>
      <ul>
        {theirs.map((name) => (
          <li key={name}>
            {LABELS[name]}: <bdi class="mono">{visibleLine(String(values[name])) || 'empty'}</bdi>
          </li>
        ))}
        {theirs.length === 0 && <li>What it is that is not shown here, as its range or chart.</li>}
      </ul>
      <button type="button" onClick={onTake}>
        Leave theirs
      </button>
    </div>
  )
}

/** Somebody was faster: their version. Rejects with that where it cannot be read. */
async function newestOf(read: () => Promise<ViewInfo>): Promise<ViewInfo> {
  try {
    return await read()
  } catch (cause) {
    throw new Error(
      'Somebody else has changed this view meanwhile, so yours is not saved; ' +
        `what they changed cannot be read: ${failureText(cause)} Save tries again.`,
    )
  }
}

function mistakeOf(query: string): string | undefined {
  try {
    parse(query)
    return undefined
  } catch (cause) {
    return `▲ ${failureText(cause)}`
  }
}

/** Columns that stay keep their widths; those that cannot be shown here stay. */
function bodyOf(view: ViewInfo, typed: Typed, changed: readonly (keyof Typed)[]) {
  const { widths = '' } = viewParams(view)
  const { columns } = viewOf(new URLSearchParams({ cols: typed.columns, widths }), view)
  const hidden = view.columns.filter(({ path }) => fieldOfApi(path) === undefined)
  const name = typed.name.trim()
  const all = { ...typed, name, columns: [...columns, ...hidden] }
  return Object.fromEntries(changed.map((member) => [member, all[member]]))
}
