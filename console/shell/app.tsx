/** The frame: who is not signed in signs in; everybody else gets the screen of the address. */
import { useEffect } from 'preact/hooks'
import { type Route, route } from '../base/route.ts'
import { token } from '../base/session.ts'
import { findStream, loadStreams, streams, streamsFailure } from '../base/stream.ts'
import { ExploreScreen } from '../explore/explore-screen.tsx'
import { Failure } from '../parts/failure.tsx'
import { Notices } from '../parts/notices.tsx'
import { RedactionScreen } from '../redaction/redaction-screen.tsx'
import { SchemaScreen } from '../schema/schema-screen.tsx'
import { StreamsScreen } from '../streams/streams-screen.tsx'
import { UsageScreen } from '../usage/usage-screen.tsx'
import { Header } from './header.tsx'
import { SignIn } from './sign-in.tsx'

export function App() {
  return (
    <>
      {token.value === undefined ? <SignIn /> : <Frame key={token.value} />}
      <Notices />
    </>
  )
}

function Frame() {
  useEffect(() => {
    void loadStreams()
  }, [])
  const { value: current } = route
  const stream = findStream(current.streamId)
  useEffect(() => {
    document.title = stream === undefined ? 'Sluice' : `${stream.name} · Sluice`
  }, [stream?.name])
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <Header />
      <main id="main" tabIndex={-1}>
        {streamsFailure.value !== undefined && streams.value === undefined ? (
          <Failure text={streamsFailure.value}>
            <button type="button" onClick={() => void loadStreams()}>
              Try again
            </button>
          </Failure>
        ) : streams.value === undefined ? (
          <p class="quiet">Loading…</p>
        ) : (
          <Screen current={current} />
        )}
      </main>
    </>
  )
}

function Screen({ current }: { current: Route }) {
  switch (current.screen) {
    case 'schema':
      return <SchemaScreen streamId={current.streamId} />
    case 'redaction':
      return <RedactionScreen key={current.streamId} streamId={current.streamId} />
    case 'usage':
      return <UsageScreen streamId={current.streamId} />
    case 'streams':
      return <StreamsScreen streamId={current.streamId} />
    default:
      return <ExploreScreen />
  }
}
