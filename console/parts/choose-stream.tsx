import { mayChangeStreams } from '../base/rights.ts'
import { href, route, type Screen } from '../base/route.ts'
import { streams } from '../base/stream.ts'
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
  return (
    <section class="card">
      <h1>Which stream?</h1>
      <ul>
        {all.map(({ id, name }) => (
          <li key={id}>
            <a href={href(screen, id)}>{name}</a>
          </li>
        ))}
      </ul>
    </section>
  )
}
