/** The frame: who is not signed in signs in; everybody else gets the screen of the address. */
import { useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect } from 'preact/hooks'
import { keyAction } from '../base/keys.ts'
import { loadRights, may, type Scope } from '../base/rights.ts'
import { type Route, route, type Screen as ScreenName } from '../base/route.ts'
import { token } from '../base/session.ts'
import { findStream, loadStreams, streams, streamsFailure } from '../base/stream.ts'
import { ExploreScreen } from '../explore/explore-screen.tsx'
import { Failure } from '../parts/failure.tsx'
import { Lacking } from '../parts/lacking.tsx'
import { Notices } from '../parts/notices.tsx'
import { RedactionScreen } from '../redaction/redaction-screen.tsx'
import { SchemaScreen } from '../schema/schema-screen.tsx'
import { StreamsScreen } from '../streams/streams-screen.tsx'
import { TokensScreen } from '../tokens/tokens-screen.tsx'
import { UsageScreen } from '../usage/usage-screen.tsx'
import { ViewsScreen } from '../views/views-screen.tsx'
import { Header } from './header.tsx'
import { Help } from './help.tsx'
import { Palette } from './palette.tsx'
import { goToOnlyStream, goToRememberedStream, rememberStream } from './remembered-stream.ts'
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
  useLayoutEffect(goToRememberedStream, [])
  useEffect(() => {
    const rights = loadRights()
    void loadStreams(rights).then(goToOnlyStream)
  }, [])
  const { value: current } = route
  const stream = findStream(current.streamId)
  useEffect(() => {
    if (stream !== undefined) rememberStream(stream.id)
  }, [stream?.id])
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
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to content
      </button>
      <Header onHelp={() => (open.value = 'help')} />
      <main id="main" class={current.screen === 'explore' ? 'is-whole' : ''} tabIndex={-1}>
        <Content current={current} />
      </main>
      {open.value === 'help' && <Help onClose={close('help')} />}
      {open.value === 'palette' && <Palette onClose={close('palette')} />}
    </>
  )
}

/**
 * Explore does not wait for the list of streams when the address names one: people come for the
 * first rows. A token that may not list streams can still show the events of all that it sees.
 */
function Content({ current }: { current: Route }) {
  const [scope, what] = NEEDS[current.screen]
  if (!may(scope)) return <Lacking scope={scope} what={what} />
  const isRead = streams.value !== undefined
  const needsNoList = current.streamId !== undefined || !may('streams:read')
  if (isRead || (current.screen === 'explore' && needsNoList)) {
    return <Screen current={current} />
  }
  if (streamsFailure.value === undefined) return <p class="quiet">Loading…</p>
  return (
    <Failure text={streamsFailure.value}>
      <button type="button" onClick={() => void loadStreams()}>
        Try again
      </button>
    </Failure>
  )
}

/** What a screen cannot do without. */
const NEEDS: Readonly<Record<ScreenName, readonly [scope: Scope, what: string]>> = {
  explore: ['events:read', 'read events'],
  views: ['streams:read', 'look at views'],
  streams: ['streams:read', 'look at streams'],
  schema: ['streams:read', 'look at the schema of a stream'],
  redaction: ['streams:read', 'try redaction'],
  usage: ['streams:read', 'look at the usage of a stream'],
  tokens: ['admin', 'manage tokens'],
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
    case 'tokens':
      return <TokensScreen />
    default:
      return <ExploreScreen />
  }
}
