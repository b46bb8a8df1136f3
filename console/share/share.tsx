/** A link to what is shown, or to an event: copied at once, with what its reader needs. */
import { signal, useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { may } from '../base/rights.ts'
import { arrivals, href, route } from '../base/route.ts'
import { findStream } from '../base/stream.ts'
import { DEFAULT_FROM, momentMs, rangeLabel, zoneName } from '../base/time.ts'
import { Dialog } from '../parts/dialog.tsx'
import { isMoving, linkOf } from './link.ts'

interface Shared {
  readonly nowMs: number
  readonly eventId: string | undefined
}

const sharing = signal<Shared | undefined>(undefined)

/** Of an event where one is named, else of the whole screen. */
export function share(eventId?: string): void {
  sharing.value = { nowMs: Date.now(), eventId }
}

export function ShareButton() {
  // Who goes elsewhere, by Back as well, does not share it any more.
  useEffect(
    () => () => {
      sharing.value = undefined
    },
    [arrivals.value],
  )
  return (
    <>
      <button type="button" id="share" title="A link to what is shown (s)" onClick={() => share()}>
        <span aria-hidden="true">{'⇱ '}</span>
        Share
      </button>
      {sharing.value !== undefined && <ShareDialog {...sharing.value} />}
    </>
  )
}

function ShareDialog({ nowMs, eventId }: Shared) {
  const isFixed = useSignal(true)
  const isCopied = useSignal<boolean | undefined>(undefined)
  const field = useRef<HTMLInputElement>(null)
  const [page = ''] = location.href.split('#')
  const address = linkOf(route.value, { isFixed: isFixed.value, nowMs, eventId })
  const copy = async () => {
    isCopied.value = await copyFrom(field.current!)
  }
  useEffect(() => void copy(), [isFixed.value])
  return (
    <Dialog
      title={eventId === undefined ? 'Share what is shown' : 'Share this event'}
      onClose={() => (sharing.value = undefined)}
      isWide
    >
      {isMoving(route.value) && <Times nowMs={nowMs} isFixed={isFixed} />}
      <div class="share-link">
        <input
          class="wide mono"
          aria-label="The link"
          readOnly
          ref={field}
          value={`${page}${address}`}
          onFocus={(event) => event.currentTarget.select()}
        />
        <button type="button" class="primary" onClick={() => void copy()}>
          Copy
        </button>
      </div>
      <p role="status">
        {isCopied.value === true && 'Copied.'}
        {isCopied.value === false &&
          'The browser does not let the page copy. The link is selected: press Ctrl C, or ⌘ C.'}
      </p>
      <Needs />
    </Dialog>
  )
}

function Times({ nowMs, isFixed }: { nowMs: number; isFixed: { value: boolean } }) {
  const { params } = route.value
  const [from, to] = [params.get('from') ?? DEFAULT_FROM, params.get('to') ?? 'now']
  const iso = (text: string) => new Date(momentMs(text, nowMs) ?? nowMs).toISOString()
  const choices = [
    [true, `These times: ${rangeLabel(iso(from), iso(to))} (${zoneName()})`],
    [false, `${rangeLabel(from, to)}, when it is opened`],
  ] as const
  return (
    <fieldset class="choices">
      <legend>It shows</legend>
      {choices.map(([value, label]) => (
        <label key={label}>
          <input
            type="radio"
            name="times"
            checked={isFixed.value === value}
            onChange={() => {
              isFixed.value = value
            }}
          />
          {label}
        </label>
      ))}
    </fieldset>
  )
}

/** The link holds no token: what its reader's own must allow. */
function Needs() {
  const { streamId, params } = route.value
  const stream = findStream(streamId)
  return (
    <p class="hint">
      Who opens it needs an access token of their own with the scope <code>events:read</code>
      {params.has('view') && (
        <>
          {' '}
          (and <code>streams:read</code> for the name of the view)
        </>
      )}
      {streamId === undefined ? (
        '; it shows the events of those streams that the token sees'
      ) : (
        <>
          {' '}
          that sees the stream <bdi class="name">{stream?.name ?? streamId}</bdi>
        </>
      )}
      . The link holds no token
      {may('admin') ? (
        <>
          : <a href={href('tokens')}>make one</a>
        </>
      ) : (
        ''
      )}
      .
    </p>
  )
}

/** Leaves the text selected. Browsers give pages by plain HTTP no clipboard but for a selection. */
async function copyFrom(field: HTMLInputElement): Promise<boolean> {
  field.focus()
  field.select()
  try {
    await navigator.clipboard.writeText(field.value)
    return true
  } catch {
    return document.execCommand('copy')
  }
}
