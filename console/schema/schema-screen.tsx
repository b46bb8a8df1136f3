/** What was learned of a stream's events: fields with types and samples, and shapes. */
import { href, route, setParams } from '../base/route.ts'
import { findStream } from '../base/stream.ts'
import { ChooseStream } from '../parts/choose-stream.tsx'
import { Fields } from './fields.tsx'
import { Shapes } from './shapes.tsx'

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
      <div class="tabs" role="tablist" aria-label="Schema">
        <button
          type="button"
          role="tab"
          aria-selected={!isShapes}
          onClick={() => setParams({ tab: undefined })}
        >
          Fields
        </button>
        <button
          type="button"
          role="tab"
          aria-selected={isShapes}
          onClick={() => setParams({ tab: 'shapes' })}
        >
          Shapes
        </button>
      </div>
      {isShapes ? (
        <Shapes key={stream.id} streamId={stream.id} />
      ) : (
        <Fields key={stream.id} streamId={stream.id} />
      )}
    </section>
  )
}
