import { useMemo } from 'preact/hooks'
import { visibleLine, visibleText } from '../../src/language/visible-text.ts'
import { jsonText } from '../base/exact-json.ts'
import { type EventView, opened, showView } from '../base/opened.ts'
import type { StreamInfo } from '../base/stream.ts'
import { formatTime } from '../base/time.ts'
import { ask } from '../explore/ask.ts'
import { filterBy } from '../explore/filter-by.ts'
import { systemClause } from '../explore/filters.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { share } from '../share/share.tsx'
import type { Cells } from './cells.ts'
import { type EventRecord, traceOf } from './event.ts'
import { JsonTree } from './json-tree.tsx'
import { everywhere, OpenedContext } from './opened-event.ts'
import { payloadPlace } from './place.ts'
import { Surroundings } from './surroundings.tsx'

const VIEWS: readonly (readonly [view: EventView, label: string])[] = [
  ['tree', 'Fields'],
  ['raw', 'Raw'],
  ['around', 'Around it'],
]

const TRACE_CHARS_SHOWN = 8

/** An event as a whole: its fields as a tree, its bytes, and its neighbours. */
export function EventDetails({
  event,
  stream,
  cells,
}: {
  event: EventRecord
  stream: StreamInfo | undefined
  cells: Cells
}) {
  const view = opened.value.find(({ id }) => id === event.id)?.view ?? 'tree'
  const streamId = stream?.id ?? event.streamId ?? ask.value.streamId
  const traceId = traceOf(event, '_trace_id')
  const context = useMemo(() => ({ event, cells }), [event, cells])
  return (
    <OpenedContext.Provider value={context}>
      <div class="inline">
        <Tabs
          label="Event"
          tabs={VIEWS}
          selected={view}
          onSelect={(name) => showView(event.id, name)}
        />
        <span class="spring" />
        <span class="quiet mono">
          happened {formatTime(Date.parse(event.eventTime))} · received{' '}
          {formatTime(Date.parse(event.ingestedAt))} · {event.id}
        </span>
        {traceId !== undefined && (
          <a
            class="as-button"
            title="This trace in all streams, five minutes before and after the event"
            href={everywhere(systemClause('_trace_id', traceId), event)}
          >
            trace <bdi class="mono">{visibleLine(traceId.slice(0, TRACE_CHARS_SHOWN))}</bdi>
          </a>
        )}
        <button
          type="button"
          class="small"
          title="Only events of the same structure"
          onClick={() => filterBy(systemClause('_shape', event.shape), false)}
        >
          same shape
        </button>
        <CopyButton text={jsonText(event.payload)} label="copy event" />
        <button
          type="button"
          class="small"
          title="A link to this event"
          onClick={() => share(event.id)}
        >
          share
        </button>
      </div>
      {view === 'tree' && <JsonTree value={event.payload} place={payloadPlace(event.payload)} />}
      {view === 'raw' && (
        <pre class="raw" dir="ltr">
          {visibleText(jsonText(event.payload))}
        </pre>
      )}
      {view === 'around' && streamId !== undefined && (
        <Surroundings event={event} streamId={streamId} cells={cells} />
      )}
    </OpenedContext.Provider>
  )
}
