/** A sample left, what redaction would store of it right, live. Nothing is stored. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { visibleLine, visibleText } from '../../src/language/visible-text.ts'
import { ApiError, callJson, failureText } from '../base/api.ts'
import { href } from '../base/route.ts'
import { findStream } from '../base/stream.ts'
import { ChooseStream } from '../parts/choose-stream.tsx'
import { Failure } from '../parts/failure.tsx'
import { PathsField } from '../parts/field-input.tsx'
import { TextField } from '../parts/form.tsx'

interface Preview {
  readonly redacted: unknown
  readonly changes: readonly { readonly path: string; readonly reason: string }[]
}

const TYPING_MS = 250
const ALL_PATHS = { objects: true }
const SAMPLE = JSON.stringify(
  {
    message: 'ann logged in from 10.0.0.7',
    user: { name: 'ann', password: 'hunter2' },
    headers: { authorization: 'Bearer 9f86d081884c7d659a2feaa0c55ad015' },
    callback: 'https://ann:correct-horse@example.com/done',
    status: 200,
  },
  undefined,
  2,
)

export function RedactionScreen({ streamId }: { streamId: string | undefined }) {
  const stream = findStream(streamId)
  const sample = useSignal(SAMPLE)
  const fields = useSignal(stream?.redact_fields.join(', ') ?? '')
  const preview = useSignal<Preview | undefined>(undefined)
  const failure = useSignal<string | undefined>(undefined)
  useEffect(() => {
    if (stream === undefined) return
    const gone = new AbortController()
    const ask = async () => {
      try {
        preview.value = await callJson<Preview>(`streams/${stream.id}/redact/preview`, {
          method: 'POST',
          body: { sample: sampleOf(sample.value), redact_fields: listOf(fields.value) },
          signal: gone.signal,
        })
        failure.value = undefined
      } catch (cause) {
        if (!gone.signal.aborted) failure.value = explain(cause)
      }
    }
    const timer = setTimeout(() => void ask(), TYPING_MS)
    return () => {
      clearTimeout(timer)
      gone.abort()
    }
  }, [stream?.id, sample.value, fields.value])
  if (stream === undefined) return <ChooseStream screen="redaction" />
  return (
    <section>
      <div class="heading">
        <h1>Redaction of {stream.name}</h1>
        <span class="spring" />
        <span>
          {stream.redact_sensitive ? 'It is on. ' : 'It is off for this stream. '}
          <a href={href('streams', stream.id)}>Settings</a>
        </span>
      </div>
      <div class="halves">
        <div>
          <TextField
            label="A sample"
            lines={16}
            value={sample.value}
            onInput={(text) => {
              sample.value = text
            }}
            hint="A JSON object is judged as an event; anything else as one value. It is not stored."
          />
          <PathsField
            label="More paths to redact"
            streamId={stream.id}
            kind={ALL_PATHS}
            value={fields.value}
            onInput={(text) => {
              fields.value = text
            }}
            hint="Separated by commas: user.card, items[].card"
          />
        </div>
        <div>
          <h2>What would be stored</h2>
          {failure.value !== undefined && <Failure text={failure.value} />}
          {preview.value !== undefined && <Result preview={preview.value} />}
        </div>
      </div>
    </section>
  )
}

function Result({ preview: { redacted, changes } }: { preview: Preview }) {
  return (
    <>
      <pre class="result">
        <bdi>
          {visibleText(
            typeof redacted === 'string' ? redacted : JSON.stringify(redacted, undefined, 2),
          )}
        </bdi>
      </pre>
      {changes.length === 0 ? (
        <p class="quiet">Nothing in it looks like a secret.</p>
      ) : (
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Where</th>
              <th scope="col">Why</th>
            </tr>
          </thead>
          <tbody>
            {changes.map(({ path, reason }) => (
              <tr key={`${path} ${reason}`}>
                <th scope="row" class="mono">
                  <bdi>{path === '' ? 'the value' : visibleLine(path)}</bdi>
                </th>
                <td>{reason.replaceAll('_', ' ').replace(':', ': ')}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  )
}

/** What is not a JSON object is a piece of text, as in a log line. */
function sampleOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : text
  } catch {
    return text
  }
}

function listOf(text: string): string[] {
  return text
    .split(',')
    .map((path) => path.trim())
    .filter((path) => path !== '')
}

function explain(cause: unknown): string | undefined {
  if (cause instanceof ApiError && cause.code === 'rate_limited') return 'Too fast; wait a moment.'
  return failureText(cause)
}
