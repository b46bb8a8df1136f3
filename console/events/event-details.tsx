import { visibleText } from '../../src/language/visible-text.ts'
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
import type { EventRecord } from './event.ts'
import { JsonTree } from './json-tree.tsx'
import { payloadPlace } from './place.ts'
import { Surroundings } from './surroundings.tsx'

const VIEWS: readonly (readonly [view: EventView, label: string])[] = [
  ['tree', 'Fields'],
  ['raw', 'Raw'],
  ['around', 'Around it'],
]

/** An event as a whole: its fields as a tree, its bytes, and its neighbours. */
export function EventDetails({
  event,
  stream,
}: {
  event: EventRecord
  stream: StreamInfo | undefined
}) {
  const view = opened.value.find(({ id }) => id === event.id)?.view ?? 'tree'
  const streamId = stream?.id ?? event.streamId ?? ask.value.streamId
  return (
    <>
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
        <Surroundings event={event} streamId={streamId} textFields={stream?.text_fields} />
      )}
    </>
  )
}
