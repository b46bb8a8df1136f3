import { useSignal } from '@preact/signals'
import { mayChangeStreams } from '../base/rights.ts'
import { go, href, route, type Screen } from '../base/route.ts'
import { type StreamInfo, streams } from '../base/stream.ts'
import { LackingStream } from './lacking.tsx'

/** For screens that are about one stream, when none is chosen, or one that the token cannot see. */
export function ChooseStream({ screen }: { screen: Screen }) {
  const { streamId } = route.value
  const list = <StreamList screen={screen} />
  if (streamId === undefined) return list
  return (
    <>
      <LackingStream id={streamId} />
      {list}
    </>
  )
}

function StreamList({ screen }: { screen: Screen }) {
  const all = streams.value ?? []
  if (all.length === 0) {
    return (
      <p class="empty">
        {mayChangeStreams() ? (
          <>
            No stream yet. <a href={href('streams')}>Create the first one.</a>
          </>
        ) : (
          'This token sees no stream.'
        )}
      </p>
    )
  }
  return <Choice screen={screen} all={all} />
}

/** More than fit a look are filtered by typing; Enter takes the first. */
const FILTERED_MIN = 20

function Choice({ screen, all }: { screen: Screen; all: readonly StreamInfo[] }) {
  const text = useSignal('')
  const words = text.value.toLowerCase().split(' ')
  const shown = all.filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)))
  const [first] = shown
  return (
    <section class="card">
      <h1>Which stream?</h1>
      {all.length >= FILTERED_MIN && (
        <input
          type="search"
          id="query"
          aria-label="Filter streams by name"
          placeholder="Filter by name (/)"
          value={text.value}
          onInput={(event) => {
            text.value = event.currentTarget.value
          }}
          onKeyDown={({ key }) => {
            if (key === 'Enter' && first !== undefined) go(href(screen, first.id))
          }}
        />
      )}
      <ul>
        {shown.map(({ id, name }) => (
          <li key={id}>
            <a href={href(screen, id)}>{name}</a>
          </li>
        ))}
      </ul>
    </section>
  )
}
