/** Streams: the list, and the one of the address beside its settings, keys and snippets. */
import { useSignal } from '@preact/signals'
import { mayChangeStreams } from '../base/rights.ts'
import { go, href } from '../base/route.ts'
import { findStream, loadStreams, type StreamInfo, streams } from '../base/stream.ts'
import { Failure } from '../parts/failure.tsx'
import { StreamForm } from './stream-form.tsx'
import { StreamList } from './stream-list.tsx'
import { StreamPage } from './stream-page.tsx'

export function StreamsScreen({ streamId }: { streamId: string | undefined }) {
  const stream = findStream(streamId)
  if (stream !== undefined) return <StreamPage key={stream.id} stream={stream} />
  if (streamId !== undefined) {
    return (
      <Failure text="There is no stream with this id, or this token does not see it.">
        <a href={href('streams')}>All streams</a>
      </Failure>
    )
  }
  return <AllStreams all={streams.value ?? []} />
}

function AllStreams({ all }: { all: readonly StreamInfo[] }) {
  const isCreating = useSignal(false)
  const created = async ({ id }: StreamInfo) => {
    await loadStreams()
    isCreating.value = false
    go(href('streams', id))
  }
  return (
    <section>
      <div class="heading">
        <h1>Streams</h1>
        <span class="spring" />
        {mayChangeStreams() && (
          <button type="button" class="primary" onClick={() => (isCreating.value = true)}>
            New stream
          </button>
        )}
      </div>
      {all.length === 0 ? (
        <p class="empty">
          {mayChangeStreams()
            ? 'No stream yet. A stream is where a set of logs lives; create the first.'
            : 'This token sees no stream, and cannot create one.'}
        </p>
      ) : (
        <StreamList all={all} />
      )}
      {isCreating.value && (
        <StreamForm onSaved={created} onClose={() => (isCreating.value = false)} />
      )}
    </section>
  )
}
