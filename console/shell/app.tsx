/** The frame: who is not signed in signs in; everybody else gets the screen of the address. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { keyAction } from '../base/keys.ts'
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
import { ViewsScreen } from '../views/views-screen.tsx'
import { Header } from './header.tsx'
import { Help } from './help.tsx'
import { Palette } from './palette.tsx'
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
  const open = useSignal<'help' | 'palette' | undefined>(undefined)
  // A dialog tells of its end a little later: by then another one may be open.
  const close = (what: 'help' | 'palette') => () => {
    if (open.value === what) open.value = undefined
  }
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const action = keyAction(event)
      if (action === undefined) return
      event.preventDefault()
      if (action === 'help' || action === 'palette') open.value = action
      else document.getElementById(action)?.[action === 'query' ? 'focus' : 'click']()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  return (
    <>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <Header onHelp={() => (open.value = 'help')} />
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
      {open.value === 'help' && <Help onClose={close('help')} />}
      {open.value === 'palette' && <Palette onClose={close('palette')} />}
    </>
  )
}

function Screen({ current }: { current: Route }) {
  switch (current.screen) {
    case 'views':
      return <ViewsScreen streamId={current.streamId} />
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
