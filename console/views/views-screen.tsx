/** The saved views of a stream: open, edit, share, delete. */
import { useSignal } from '@preact/signals'
import { visibleLine, visibleText } from '../../src/language/visible-text.ts'
import { type Call, call, callJson, failureText } from '../base/api.ts'
import { formatAgo } from '../base/format.ts'
import { useLoaded } from '../base/loaded.ts'
import { may } from '../base/rights.ts'
import { href } from '../base/route.ts'
import { isolated } from '../base/shown-value.ts'
import { findStream } from '../base/stream.ts'
import { type ViewInfo, viewParams } from '../base/view.ts'
import { ChooseStream } from '../parts/choose-stream.tsx'
import { Confirm } from '../parts/confirm.tsx'
import { Failure } from '../parts/failure.tsx'
import { tell } from '../parts/notices.tsx'
import { EditView } from './edit-view.tsx'

export function ViewsScreen({ streamId }: { streamId: string | undefined }) {
  const stream = findStream(streamId)
  if (stream === undefined) return <ChooseStream screen="views" />
  return (
    <section>
      <div class="heading">
        <h1>Views of {stream.name}</h1>
        <span class="spring" />
        <a href={href('explore', stream.id)}>Explore, and save what you see</a>
      </div>
      <ViewList key={stream.id} streamId={stream.id} />
    </section>
  )
}

function ViewList({ streamId }: { streamId: string }) {
  const turn = useSignal(0)
  const edited = useSignal<ViewInfo | undefined>(undefined)
  const deleted = useSignal<ViewInfo | undefined>(undefined)
  const path = `streams/${streamId}/views`
  const { value, failure } = useLoaded(
    path,
    (signal) => callJson<{ views: readonly ViewInfo[] }>(path, { signal }),
    { turn },
  )
  if (failure !== undefined) return <Failure text={failure} />
  if (value === undefined) return <p class="quiet">Loading…</p>
  if (value.views.length === 0) {
    return <p class="empty">No view is saved yet: look for something in Explore, then save it.</p>
  }
  const change = async (view: ViewInfo, how: Call) => {
    try {
      const headers = { 'If-Match': `"${view.version}"` }
      await call(`${path}/${view.id}`, { ...how, headers })
    } finally {
      turn.value++
    }
  }
  const share = (view: ViewInfo) => {
    const body = { shared: !view.shared }
    change(view, { method: 'PATCH', body }).catch((cause) => tell(failureText(cause) ?? '', true))
  }
  return (
    <div class="scroll">
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Query</th>
            <th scope="col">Made by</th>
            <th scope="col">Changed</th>
            <th scope="col">Seen by</th>
            <th scope="col">
              <span class="unseen">Edit, delete</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {value.views.map((view) => (
            <ViewRow
              key={view.id}
              view={view}
              address={href('explore', streamId, viewParams(view))}
              onEdit={() => (edited.value = view)}
              onShare={() => share(view)}
              onDelete={() => (deleted.value = view)}
            />
          ))}
        </tbody>
      </table>
      {edited.value !== undefined && (
        <EditView
          streamId={streamId}
          view={edited.value}
          onSaved={() => turn.value++}
          onClose={() => (edited.value = undefined)}
        />
      )}
      {deleted.value !== undefined && (
        <DeleteView
          view={deleted.value}
          run={() => change(deleted.value!, { method: 'DELETE' })}
          onClose={() => (deleted.value = undefined)}
        />
      )}
    </div>
  )
}

interface DeleteProps {
  readonly view: ViewInfo
  readonly run: () => Promise<void>
  readonly onClose: () => void
}

function DeleteView({ view, run, onClose }: DeleteProps) {
  const name = isolated(visibleLine(view.name))
  const remove = async () => {
    await run()
    tell(`${name} is deleted`)
  }
  return (
    <Confirm title={`Delete the view ${name}?`} does="Delete view" run={remove} onClose={onClose}>
      <p>
        {view.shared ? 'It is gone for everybody who sees the stream.' : 'Only its maker sees it.'}{' '}
        No event is deleted. Nobody can undo it.
      </p>
    </Confirm>
  )
}

interface RowProps {
  readonly view: ViewInfo
  readonly address: string
  readonly onEdit: () => void
  readonly onShare: () => void
  readonly onDelete: () => void
}

function ViewRow({ view, address, onEdit, onShare, onDelete }: RowProps) {
  const seenBy = view.shared ? 'everybody' : 'only its maker'
  return (
    <tr>
      <th scope="row">
        <a href={address}>
          <bdi>{visibleLine(view.name)}</bdi>
        </a>
        <p class="hint">
          <bdi>{visibleText(view.description)}</bdi>
        </p>
        {view.problem !== null && <p class="warn">▲ {visibleLine(view.problem)}</p>}
      </th>
      <td class="mono">
        <bdi>{visibleText(view.query) || 'all events'}</bdi>
      </td>
      <td>
        <bdi>{visibleLine(view.created_by)}</bdi>
      </td>
      <td>{formatAgo(Date.parse(view.updated_at))}</td>
      <td>
        {may('streams:write') ? (
          <button type="button" class="small" aria-pressed={view.shared} onClick={onShare}>
            {seenBy}
          </button>
        ) : (
          seenBy
        )}
      </td>
      <td class="row-buttons">
        {may('streams:write') && (
          <button
            type="button"
            class="small"
            aria-label={`Edit the view ${isolated(visibleLine(view.name))}`}
            onClick={onEdit}
          >
            Edit
          </button>
        )}
        {may('streams:write') && (
          <button
            type="button"
            class="small danger"
            aria-label={`Delete the view ${isolated(visibleLine(view.name))}`}
            onClick={onDelete}
          >
            Delete
          </button>
        )}
      </td>
    </tr>
  )
}
