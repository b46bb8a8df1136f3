/** What is different in the range from before, the most telling first. In the address as `against`. */
import { visibleLine } from '../../src/language/visible-text.ts'
import { formatCount, formatEvents, formatOf } from '../base/format.ts'
import { href, route, setParams } from '../base/route.ts'
import { reasonText } from '../explore/answer-note.tsx'
import { type AnswerState, readState } from '../explore/answer-state.ts'
import {
  BASELINE_NAMES,
  type Comparison,
  compare,
  type Finding,
  readBaseline,
} from './comparison.ts'
import type { PanelProps } from './incident-panel.tsx'
import { PanelFrame } from './panel-frame.tsx'

export function ExplainPanel({ counted, onClose }: PanelProps) {
  return (
    <PanelFrame
      counted={counted}
      label="What is different"
      says="What is different here from"
      names={BASELINE_NAMES}
      chosen={readBaseline(route.value.params.get('against'))}
      onChoose={(chosen) => setParams({ against: chosen === 'before' ? undefined : chosen })}
      onClose={onClose}
      load={compare}
      show={(found) => <Found found={found} />}
    />
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
          <FindingRow key={finding.text} finding={finding} found={found} />
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

function FindingRow({ finding, found }: { finding: Finding; found: Comparison }) {
  const { text, direction, query, same, also } = finding
  return (
    <li>
      <span class="sign" aria-hidden="true">
        {direction === 'more' ? '▲' : '▽'}
      </span>
      <span>
        <bdi>{visibleLine(text)}</bdi>
        <Others says="the same events" conditions={same} />
        <Others says="changed with it" conditions={also} />
      </span>
      <a title={visibleLine(query)} href={addressOf(finding, found)}>
        Only these
      </a>
    </li>
  )
}

function Others({ says, conditions }: { says: string; conditions: readonly string[] }) {
  if (conditions.length === 0) return null
  return (
    <span class="quiet">
      {' '}
      · {says}: <bdi>{conditions.map(visibleLine).join(', ')}</bdi>
    </span>
  )
}

/** Of its events, without the panel: what is gone was there before. */
function addressOf({ query, stream, window: { count } }: Finding, found: Comparison): string {
  const { streamId, params } = route.value
  const { from, to } = found.baseline
  const range = count === 0 ? { from, to } : {}
  const closed = { live: undefined, view: undefined, panel: undefined, against: undefined }
  const kept = { ...Object.fromEntries(params), ...closed }
  return href('explore', stream ?? streamId, { ...kept, ...range, q: query })
}
