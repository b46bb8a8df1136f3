/** The first start: a stream, a key with a snippet, and the first event, which appears by itself. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { callJson, failureText } from '../base/api.ts'
import { go, href } from '../base/route.ts'
import { loadStreams, type StreamInfo, type Usage } from '../base/stream.ts'
import { Failure } from '../parts/failure.tsx'
import { TextField } from '../parts/form.tsx'
import { useSubmit } from '../parts/submit.ts'
import { NewKey } from '../streams/new-key.tsx'

const LOOK_MS = 1_000

interface Begun {
  readonly stream: StreamInfo
  readonly apiKey: string
}

export function FirstStart() {
  const name = useSignal('my-logs')
  const begun = useSignal<Begun | undefined>(undefined)
  const { onSubmit, isBusy, failure } = useSubmit(async () => {
    const body = { name: name.value.trim() }
    const stream = await callJson<StreamInfo>('streams', { method: 'POST', body })
    const { key } = await callJson<{ key: string }>(`streams/${stream.id}/keys`, {
      method: 'POST',
      body: { name: 'first key' },
    })
    begun.value = { stream, apiKey: key }
  })
  return (
    <section class="first-start">
      <h1>Welcome to Sluice</h1>
      <ol>
        <li>
          <h2>Name a stream</h2>
          <p class="hint">
            A stream is where a set of logs lives: an application, a fleet, a team.
          </p>
          {begun.value === undefined ? (
            <form onSubmit={onSubmit}>
              <TextField
                label="Name"
                value={name.value}
                required
                autoFocus
                onInput={(text) => {
                  name.value = text
                }}
              />
              <button type="submit" class="primary" disabled={isBusy}>
                Create it, with a key
              </button>
            </form>
          ) : (
            <p>
              ✓ <strong>{begun.value.stream.name}</strong> is there.
            </p>
          )}
          {failure !== undefined && <Failure text={failure} />}
        </li>
        <li>
          <h2>Send something</h2>
          {begun.value === undefined ? (
            <p class="hint">Snippets for curl and for collectors, with the key filled in.</p>
          ) : (
            <NewKey apiKey={begun.value.apiKey} streamId={begun.value.stream.id} />
          )}
        </li>
        <li>
          <h2>See it arrive</h2>
          {begun.value === undefined ? (
            <p class="hint">The first event appears here by itself.</p>
          ) : (
            <FirstEvent streamId={begun.value.stream.id} />
          )}
        </li>
      </ol>
    </section>
  )
}

/** Waits for the first event, then goes where it can be looked at. */
function FirstEvent({ streamId }: { streamId: string }) {
  const failure = useSignal<string | undefined>(undefined)
  useEffect(() => {
    const gone = new AbortController()
    const look = async () => {
      try {
        const path = `streams/${streamId}/usage`
        const { events } = await callJson<Usage>(path, { signal: gone.signal })
        failure.value = undefined
        if (events > 0) {
          await loadStreams()
          if (!gone.signal.aborted) go(href('explore', streamId))
        }
      } catch (cause) {
        failure.value = failureText(cause)
      }
    }
    const timer = setInterval(() => void look(), LOOK_MS)
    return () => {
      clearInterval(timer)
      gone.abort()
    }
  }, [streamId])
  return (
    <>
      <p role="status">Waiting for the first event…</p>
      {failure.value !== undefined && <Failure text={failure.value} />}
    </>
  )
}
