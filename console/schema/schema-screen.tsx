/** What was learned of a stream's events: fields with types and samples, and shapes. */
import { href, route, setParams } from '../base/route.ts'
import { findStream } from '../base/stream.ts'
import { ChooseStream } from '../parts/choose-stream.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { Fields } from './fields.tsx'
import { Shapes } from './shapes.tsx'

const TABS = [
  ['fields', 'Fields'],
  ['shapes', 'Shapes'],
] as const

export function SchemaScreen({ streamId }: { streamId: string | undefined }) {
  const stream = findStream(streamId)
  if (stream === undefined) return <ChooseStream screen="schema" />
  const isShapes = route.value.params.get('tab') === 'shapes'
  return (
    <section>
      <div class="heading">
        <h1>Schema of {stream.name}</h1>
        <span class="spring" />
        <a href={href('streams', stream.id)}>Settings and caps</a>
      </div>
      <Tabs
        label="Schema"
        tabs={TABS}
        selected={isShapes ? 'shapes' : 'fields'}
        onSelect={(tab) => setParams({ tab: tab === 'shapes' ? tab : undefined })}
      />
      {isShapes ? (
        <Shapes key={stream.id} streamId={stream.id} />
      ) : (
        <Fields key={stream.id} streamId={stream.id} />
      )}
    </section>
  )
}
