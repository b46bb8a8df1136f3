/** The frame: who is not signed in signs in; everybody else gets the screen of the address. */
import { useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect } from 'preact/hooks'
import { keyAction } from '../base/keys.ts'
import { loadRights, may } from '../base/rights.ts'
import { closeDialog, openDialog, type Route, route } from '../base/route.ts'
import { session } from '../base/session.ts'
import { findStream, loadStreams, streams, streamsFailure } from '../base/stream.ts'
import { Failure } from '../parts/failure.tsx'
import { Guarded } from '../parts/guarded.tsx'
import { Lacking } from '../parts/lacking.tsx'
import { Later } from '../parts/later.tsx'
import { Notices } from '../parts/notices.tsx'
import { Header } from './header.tsx'
import { Palette } from './palette.tsx'
import { goToOnlyStream, goToRememberedStream, rememberStream } from './remembered-stream.ts'
import { Screen } from './screen.tsx'
import { NEEDS } from './screen-needs.ts'
import { SignIn } from './sign-in.tsx'

export function App() {
  return (
    <>
      {session.value === undefined ? <SignIn /> : <Frame key={session.value} />}
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
  const isPalette = useSignal(false)
  const isHelp = current.params.get('dialog') === 'help'
  const help = () => openDialog('help')
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const action = keyAction(event)
      if (action === undefined) return
      event.preventDefault()
      if (action === 'palette') isPalette.value = true
      else if (action === 'help') help()
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
      <Header onHelp={help} />
      <main id="main" class={current.screen === 'explore' ? 'is-whole' : ''} tabIndex={-1}>
        <Guarded of={location.hash}>
          <Content current={current} />
        </Guarded>
      </main>
      {isHelp && <Later show={({ Help }) => <Help onClose={() => closeDialog('help')} />} />}
      {isPalette.value && <Palette onClose={() => (isPalette.value = false)} />}
    </>
  )
}

/**
 * Explore does not wait for the list of streams when the address names one: people come for the
 * first rows. A token that may not list streams can still show the events of all that it sees, and alerts.
 */
function Content({ current }: { current: Route }) {
  const [scope, what] = NEEDS[current.screen]
  if (!may(scope)) return <Lacking scope={scope} what={what} />
  const isRead = streams.value !== undefined
  const isOfOne = current.screen === 'explore' && current.streamId !== undefined
  if (isRead || isOfOne || !may('streams:read')) {
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
