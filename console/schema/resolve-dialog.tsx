/** What Resolve would change, and what not, before it does. */
import { visibleLine } from '../../src/language/visible-text.ts'
import { mayBeInArray } from '../../src/model/field-path.ts'
import { callJson } from '../base/api.ts'
import { fieldText, pathField } from '../base/field.ts'
import { formatAgo, formatShare } from '../base/format.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Failure } from '../parts/failure.tsx'
import { tell } from '../parts/notices.tsx'
import { useSubmit } from '../parts/submit.ts'
import type { FieldInfo, SeenType } from './field-row.tsx'

interface ResolveProps {
  readonly field: FieldInfo
  readonly streamId: string
  readonly onResolved: () => void
  readonly onClose: () => void
}

export function ResolveDialog({ field, streamId, onResolved, onClose }: ResolveProps) {
  const path = visibleLine(field.path)
  const name = mayBeInArray(field.path) ? path : fieldText(pathField([field.path]))
  const kept = newestOf(field.seen)
  const forgotten = field.seen.filter((one) => one !== kept).map(({ type }) => type)
  const { onSubmit, isBusy, failure } = useSubmit(async () => {
    const at = `streams/${streamId}/fields/${encodeURIComponent(field.path)}/resolve`
    const { types } = await callJson<FieldInfo>(at, { method: 'POST' })
    tell(`${path} is ${types.join(', ')} now, the type that was seen last`)
    onResolved()
    onClose()
  })
  return (
    <Dialog title={`Resolve ${path}?`} onClose={onClose}>
      <form onSubmit={onSubmit}>
        <SeenTypes field={field} kept={kept} />
        <p>
          <strong>What changes:</strong> the catalog keeps <code>{kept?.type}</code>, the type that
          was seen last, forgets <code>{forgotten.join(', ')}</code>, and shows no conflict.
        </p>
        <p>
          <strong>What stays:</strong> every event as it was sent, and what queries mean. Before and
          after, each value keeps its type: <Example name={name} test="200" /> finds the number and
          the text 200, <Example name={name} test=">200" /> and averages see numbers alone, groups
          keep the two apart.
        </p>
        <p class="hint">
          It cannot be undone, but a type that comes again counts again: while senders disagree, the
          conflict is back within a minute or two.
        </p>
        {failure !== undefined && <Failure text={failure} />}
        <div class="buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={isBusy}>
            Keep {kept?.type}, forget {forgotten.join(', ')}
          </button>
        </div>
      </form>
    </Dialog>
  )
}

function Example({ name, test }: { name: string; test: string }) {
  return (
    <code>
      <bdi>
        {name}:{test}
      </bdi>
    </code>
  )
}

function SeenTypes({ field, kept }: { field: FieldInfo; kept: SeenType | undefined }) {
  return (
    <table class="table">
      <thead>
        <tr>
          <th scope="col">Type</th>
          <th scope="col" class="number" title="Of the events that have the field">
            Share
          </th>
          <th scope="col">Last seen</th>
          <th scope="col">Then</th>
        </tr>
      </thead>
      <tbody>
        {field.seen.map((one) => (
          <tr key={one.type}>
            <th scope="row">{one.type}</th>
            <td class="number">{shareText(one, field)}</td>
            <td>{formatAgo(Date.parse(one.last_seen_at))}</td>
            <td>{one === kept ? 'kept' : 'forgotten'}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

function shareText({ share }: SeenType, field: FieldInfo): string {
  return share === null || !field.share ? 'not known' : formatShare(share / field.share)
}

/** As the service chooses it: of several that were seen at once, the last one of the list. */
function newestOf(seen: readonly SeenType[]): SeenType | undefined {
  const times = seen.map((one) => Date.parse(one.last_seen_at))
  return seen[times.lastIndexOf(Math.max(...times))]
}
