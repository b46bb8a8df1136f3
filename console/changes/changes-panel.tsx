/** What is different in the range from before: findings, each with the way to its events. */
import { visibleLine } from '../../src/language/visible-text.ts'
import { callJson } from '../base/api.ts'
import { formatCount } from '../base/format.ts'
import { useLoaded } from '../base/loaded.ts'
import { href, route, setParams } from '../base/route.ts'
import { Failure } from '../parts/failure.tsx'

const BASELINES = ['before', 'yesterday'] as const
const BASELINE_NAMES = { before: 'as long before it', yesterday: 'the same time a day earlier' }

interface Finding {
  readonly text: string
  readonly direction: 'more' | 'fewer'
  readonly query: string
  readonly stream: string | null
  readonly also: readonly string[]
}

interface Range {
  readonly from: string
  readonly to: string
}

interface Answer {
  readonly findings: readonly Finding[]
  readonly whole: { readonly text: string }
  readonly window: Range
  readonly baseline: Range
  readonly looked_at: { readonly events: number; readonly fields: readonly string[] }
  readonly left_out: { readonly fields: number }
  readonly estimated: boolean
  readonly complete: boolean
}

interface ChangesProps {
  /** Of the comparison: of one stream, or of all. */
  readonly path: string
  readonly query: string
  readonly window: Range
  readonly clock: string
  /** Changes when something else is asked, or the same once more. */
  readonly askKey: string
  readonly isAsked: boolean
  readonly onClose: () => void
}

export function ChangesPanel({ isAsked, onClose, ...asked }: ChangesProps) {
  const { params } = route.value
  const baseline = BASELINES.find((name) => name === params.get('against')) ?? 'before'
  return (
    <section class="changes card" aria-label="What is different">
      <div class="inline">
        <label for="against">What is different in this range, compared to</label>
        <select
          id="against"
          value={baseline}
          onChange={(event) => {
            const { value } = event.currentTarget
            setParams({ against: value === 'before' ? undefined : value }, 'keep')
          }}
        >
          {BASELINES.map((name) => (
            <option key={name} value={name}>
              {BASELINE_NAMES[name]}
            </option>
          ))}
        </select>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
      {isAsked && <Changes {...asked} baseline={baseline} />}
    </section>
  )
}

type AskedProps = Omit<ChangesProps, 'isAsked' | 'onClose'> & { readonly baseline: string }

function Changes({ path, query, window, clock, askKey, baseline }: AskedProps) {
  const { value, failure, isStale } = useLoaded(`${askKey} ${baseline}`, (signal) => {
    const body = { query, window, baseline, time_basis: clock }
    return callJson<Answer>(path, { method: 'POST', body, signal })
  })
  if (failure !== undefined) return <Failure text={failure} />
  if (value === undefined || isStale) return <p class="quiet">All events are looked at…</p>
  const { findings, whole, looked_at: looked, left_out: left } = value
  const of = `${formatCount(looked.events)} events, ${looked.fields.length} fields`
  return (
    <>
      <p>
        {findings.length === 0 && <strong>Nothing but chance. </strong>}
        <bdi>{visibleLine(whole.text)}</bdi>
        <span class="quiet">
          {' '}
          Looked at {of}; {left.fields} fields left out.
          {value.estimated && ' Some events stood for all to find these; counts are exact.'}
          {!value.complete && ' The answer is not complete.'}
        </span>
      </p>
      {findings.length > 0 && (
        <ol class="findings">
          {findings.map((finding) => (
            <li key={finding.text}>
              <a href={addressOf(finding, value)}>
                <bdi>{visibleLine(finding.text)}</bdi>
              </a>
              {finding.also.length > 0 && (
                <span class="quiet">
                  {' because of it: '}
                  <bdi>{visibleLine(finding.also.join(', '))}</bdi>
                </span>
              )}
            </li>
          ))}
        </ol>
      )}
    </>
  )
}

/** Of its events: what is gone was there before. */
function addressOf({ direction, query, stream }: Finding, { window, baseline }: Answer): string {
  const { streamId, params } = route.value
  const { from, to } = direction === 'more' ? window : baseline
  const kept = { ...Object.fromEntries(params), live: undefined, view: undefined }
  return href('explore', stream ?? streamId, { ...kept, q: query, from, to })
}
