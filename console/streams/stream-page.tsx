import { useSignal } from '@preact/signals'
import { call } from '../base/api.ts'
import { formatAgo, formatBytes, formatCount, formatSeconds } from '../base/format.ts'
import { may, mayChangeStreams } from '../base/rights.ts'
import { go, href } from '../base/route.ts'
import { loadStreams, type StreamInfo, streams, type Usage } from '../base/stream.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Failure } from '../parts/failure.tsx'
import { tell } from '../parts/notices.tsx'
import { useSubmit } from '../parts/submit.ts'
import { Conflicts } from '../schema/conflicts.tsx'
import { Keys } from './keys.tsx'
import { StreamForm } from './stream-form.tsx'
import { useUsage } from './usage-of.ts'

/** One stream: how it does, its keys with snippets, its settings. */
export function StreamPage({ stream }: { stream: StreamInfo }) {
  const { value: usage, failure } = useUsage(stream.id)
  const open = useSignal<'settings' | 'delete' | undefined>(undefined)
  const close = () => {
    open.value = undefined
  }
  const saved = async () => {
    await loadStreams()
    close()
    tell('Saved')
  }
  return (
    <section>
      <div class="heading">
        <h1>{stream.name}</h1>
        <span class="spring" />
        {may('streams:write') && (
          <button type="button" onClick={() => (open.value = 'settings')}>
            Settings
          </button>
        )}
        {mayChangeStreams() && (
          <button type="button" class="danger" onClick={() => (open.value = 'delete')}>
            Delete
          </button>
        )}
      </div>
      <Figures usage={usage} failure={failure} retention={stream.retention} />
      <Keys stream={stream} />
      <Conflicts streamId={stream.id} count={usage?.schema.type_conflicts ?? 0} />
      {open.value === 'settings' && <StreamForm stream={stream} onSaved={saved} onClose={close} />}
      {open.value === 'delete' && <DeleteDialog stream={stream} onClose={close} />}
    </section>
  )
}

interface FiguresProps {
  readonly usage: Usage | undefined
  readonly failure: string | undefined
  readonly retention: string
}

/** Each has its place before it is known: what is below must not move under somebody's pointer. */
function Figures({ usage, failure, retention }: FiguresProps) {
  if (usage === undefined && failure !== undefined) return <Failure text={failure} />
  return (
    <dl class="figures" aria-busy={usage === undefined}>
      {FIGURES.map(([label, textOf]) => (
        <div key={label}>
          <dt>{label}</dt>
          <dd>{usage === undefined ? '…' : textOf(usage)}</dd>
        </div>
      ))}
      <div>
        <dt>Kept for</dt>
        <dd>{retention}</dd>
      </div>
    </dl>
  )
}

const FIGURES: readonly (readonly [label: string, textOf: (usage: Usage) => string])[] = [
  ['Events', ({ events }) => formatCount(events)],
  ['Newest event', ({ newest_event_at: at }) => (at ? formatAgo(Date.parse(at)) : 'none yet')],
  ['As sent', (usage) => formatBytes(usage.raw_bytes)],
  ['On disk', ({ stored_bytes: { raw, projection } }) => formatBytes(raw + (projection ?? 0))],
  ['Queries are behind by', ({ projection }) => formatSeconds(projection.lag_seconds)],
  ['Fields', ({ schema }) => usedOf(schema.fields)],
  ['Shapes', ({ schema }) => usedOf(schema.shapes)],
]

function usedOf({ count, hard_cap: cap }: { count: number; hard_cap: number }): string {
  return `${formatCount(count)} of ${cap}`
}

/** The name has to be typed: what is deleted does not come back. */
function DeleteDialog({ stream, onClose }: { stream: StreamInfo; onClose: () => void }) {
  const typed = useSignal('')
  const { onSubmit, isBusy, failure } = useSubmit(async () => {
    await call(`streams/${stream.id}`, { method: 'DELETE' })
    tell(`${stream.name} is deleted`)
    // Nothing is to be asked of it any more, not even until the list is loaded anew.
    streams.value = streams.value?.filter(({ id }) => id !== stream.id)
    go(href('streams'))
    await loadStreams()
  })
  return (
    <Dialog title={`Delete ${stream.name}?`} onClose={onClose}>
      <form onSubmit={onSubmit}>
        <p>Its keys stop working at once, and its events are removed. Nobody can undo it.</p>
        <label class="field">
          <span>
            Type <strong>{stream.name}</strong> to confirm
          </span>
          <input
            value={typed.value}
            autoFocus
            onInput={(event) => {
              typed.value = event.currentTarget.value
            }}
          />
        </label>
        {failure !== undefined && <Failure text={failure} />}
        <div class="buttons">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="danger" disabled={isBusy || typed.value !== stream.name}>
            Delete stream
          </button>
        </div>
      </form>
    </Dialog>
  )
}
