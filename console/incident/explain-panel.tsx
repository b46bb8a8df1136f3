/** What is different in the range from before, the most telling first. In the address as `against`. */
import { visibleLine } from '../../src/language/visible-text.ts'
import { formatCount, formatEvents, formatOf } from '../base/format.ts'
import { useLoaded } from '../base/loaded.ts'
import { go, href, route, setParams } from '../base/route.ts'
import { reasonText } from '../explore/answer-note.tsx'
import { type AnswerState, readState } from '../explore/answer-state.ts'
import { Failure } from '../parts/failure.tsx'
import {
  BASELINE_NAMES,
  BASELINES,
  type Comparison,
  compare,
  type Finding,
  readBaseline,
} from './comparison.ts'
import type { PanelProps } from './incident-panel.tsx'

export function ExplainPanel({ counted, onClose }: PanelProps) {
  const { ask, key, isAsked, ready } = counted
  const baseline = readBaseline(route.value.params.get('against'))
  const { value, failure, isStale } = useLoaded(`${key} ${baseline} ${isAsked}`, async (signal) => {
    if (!isAsked) return undefined
    await ready()
    return await compare(ask, baseline, signal)
  })
  return (
    <section class="groups card" aria-label="What is different">
      <form class="inline">
        <label class="inline">
          What is different here from
          <select
            value={baseline}
            onChange={({ currentTarget }) => {
              const { value: chosen } = currentTarget
              setParams({ against: chosen === 'before' ? undefined : chosen })
            }}
          >
            {BASELINES.map((name) => (
              <option key={name} value={name}>
                {BASELINE_NAMES[name]}
              </option>
            ))}
          </select>
        </label>
        <span class="spring" />
        <button type="button" class="plain" aria-label="Close what is different" onClick={onClose}>
          ✕
        </button>
      </form>
      {failure !== undefined && <Failure text={failure} />}
      {failure === undefined && (value === undefined || isStale) && (
        <p class="quiet" role="status">
          Comparing…
        </p>
      )}
      {failure === undefined && value !== undefined && !isStale && <Found found={value} />}
    </section>
  )
}

function Found({ found }: { found: Comparison }) {
  const { findings, whole } = found
  return (
    <>
      <p class="answer-note" role="status">
        <strong>{findings.length === 0 ? 'Nothing stands out' : whole.text}</strong>
        {findings.length === 0 && <span class="quiet"> · {whole.text}</span>}
        <Worth found={found} state={readState({ ...found })} />
      </p>
      <ol class="findings">
        {findings.map((finding) => (
          <FindingRow key={finding.text} finding={finding} />
        ))}
      </ol>
    </>
  )
}

/** How much was looked at, and whether that is all. */
function Worth({ found, state }: { found: Comparison; state: AnswerState }) {
  const { looked_at: looked, left_out: left, estimated } = found
  return (
    <>
      <span class="quiet">
        {' '}
        · {formatEvents(looked.events)} and {formatOf(looked.fields.length, 'field')} looked at
      </span>
      {left.fields > 0 && (
        <span class="quiet" title={left.names.map(visibleLine).join(', ')}>
          {' '}
          · {formatCount(left.fields)} left out
        </span>
      )}
      {estimated && <span class="warn"> · ▲ estimated from a part of them</span>}
      {!state.isComplete && <span class="warn"> · ▲ partial: {reasonText(state.reason)}</span>}
    </>
  )
}

function FindingRow({ finding }: { finding: Finding }) {
  const { text, direction, query, stream, same, also } = finding
  const others = [...same, ...also].map(visibleLine).join(', ')
  const look = () => {
    if (stream === null) return setParams({ q: query })
    const { params } = route.value
    go(href('explore', stream, { ...Object.fromEntries(params), q: query }))
  }
  return (
    <li>
      <span class="sign" aria-hidden="true">
        {direction === 'more' ? '▲' : '▽'}
      </span>
      <span>
        <bdi>{visibleLine(text)}</bdi>
        {others !== '' && (
          <span class="quiet">
            {' '}
            · the same events: <bdi>{others}</bdi>
          </span>
        )}
      </span>
      <button type="button" class="small" title={visibleLine(query)} onClick={look}>
        Only these
      </button>
    </li>
  )
}
