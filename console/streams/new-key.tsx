import { useSignal } from '@preact/signals'
import { ApiError, callJson, callText, failureText, serviceUrl } from '../base/api.ts'
import { href } from '../base/route.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { Failure } from '../parts/failure.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { snippetsFor } from './snippets.ts'

/** A key that was just made: shown this once, filled into snippets, and tried with one event. */
export function NewKey({ apiKey, streamId }: { apiKey: string; streamId: string }) {
  const snippets = snippetsFor(serviceUrl(), apiKey)
  const name = useSignal(snippets[0]!.name)
  const snippet = snippets.find((one) => one.name === name.value) ?? snippets[0]!
  return (
    <div class="card">
      <p>
        <strong>This is the key. It is shown only now.</strong>
      </p>
      <p class="inline">
        <code class="secret">{apiKey}</code> <CopyButton text={apiKey} label="Copy key" />
      </p>
      <Tabs
        label="Snippets"
        tabs={snippets.map((one) => [one.name, one.name] as const)}
        selected={snippet.name}
        onSelect={(one) => {
          name.value = one
        }}
      />
      <div class="snippet" role="tabpanel" aria-label={snippet.name}>
        <pre>{snippet.text}</pre>
        <CopyButton text={snippet.text} />
      </div>
      <TestEvent apiKey={apiKey} streamId={streamId} />
    </div>
  )
}

function TestEvent({ apiKey, streamId }: { apiKey: string; streamId: string }) {
  const found = useSignal<string | undefined>(undefined)
  const state = useSignal<'idle' | 'sending' | 'stored'>('idle')
  const failure = useSignal<string | undefined>(undefined)
  const send = async () => {
    state.value = 'sending'
    failure.value = undefined
    try {
      await callText('ingest', {
        method: 'POST',
        body: { level: 'info', message: 'A test event from the console', service: 'console' },
        headers: { 'X-API-Key': apiKey },
        token: null,
      })
      state.value = 'stored'
      found.value = await findNewest(streamId)
    } catch (cause) {
      failure.value = failureText(cause)
      state.value = 'idle'
    }
  }
  return (
    <p class="inline">
      <button type="button" disabled={state.value === 'sending'} onClick={() => void send()}>
        Send a test event
      </button>
      <span role="status">
        {state.value === 'stored' && '✓ Stored, durably.'}{' '}
        {found.value !== undefined && (
          <a href={href('explore', streamId, { q: `_id:${found.value}` })}>
            It arrived: look at it.
          </a>
        )}
      </span>
      {failure.value !== undefined && <Failure text={failure.value} />}
    </p>
  )
}

/** The event that was just sent, as a search finds it; undefined for tokens that may not read. */
async function findNewest(streamId: string): Promise<string | undefined> {
  try {
    const query = { query: '_service:console', from: '-5m', limit: 1 }
    const path = `streams/${streamId}/search`
    const { events } = await callJson<{ events: readonly { id: string }[] }>(path, { query })
    return events[0]?.id
  } catch (cause) {
    if (cause instanceof ApiError && cause.status === 403) return undefined
    throw cause
  }
}
