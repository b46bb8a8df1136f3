/** Which kinds of messages there are, each as often as it is. In the address as `sort`. */
import { parse } from '../../src/language/parse.ts'
import { visibleLine } from '../../src/language/visible-text.ts'
import { formatCount, formatEvents, formatOf, formatShare } from '../base/format.ts'
import { route, setParams } from '../base/route.ts'
import { reasonText } from '../explore/answer-note.tsx'
import { readState } from '../explore/answer-state.ts'
import { filterBy } from '../explore/filter-by.ts'
import type { PanelProps } from './incident-panel.tsx'
import { PanelFrame } from './panel-frame.tsx'
import {
  findPatterns,
  type PatternPart,
  type PatternRow,
  type Patterns,
  readSort,
  SORT_NAMES,
} from './pattern-rows.ts'

export function PatternsPanel({ counted, onClose }: PanelProps) {
  return (
    <PanelFrame
      counted={counted}
      label="Kinds of messages"
      says="Kinds of messages,"
      names={SORT_NAMES}
      chosen={readSort(route.value.params.get('sort'))}
      onChoose={(chosen) => setParams({ sort: chosen === 'count' ? undefined : chosen })}
      onClose={onClose}
      load={findPatterns}
      show={(found) => <Found found={found} />}
    />
  )
}

function Found({ found }: { found: Patterns }) {
  const { patterns, events, without_pattern: without, others } = found
  const state = readState({ ...found })
  return (
    <>
      <p class="answer-note" role="status">
        <strong>{formatOf(patterns.length + others.patterns, 'kind')}</strong>
        <span class="quiet"> · of {formatEvents(events)}</span>
        {without > 0 && <span class="quiet"> · {formatCount(without)} without a pattern</span>}
        {others.events > 0 && (
          <span class="quiet"> · {formatCount(others.events)} of other kinds</span>
        )}
        {!state.isComplete && <span class="warn"> · ▲ partial: {reasonText(state.reason)}</span>}
      </p>
      <ol class="findings">
        {patterns.map((row) => (
          <Row key={row.pattern_ids.join()} row={row} />
        ))}
      </ol>
    </>
  )
}

function Row({ row }: { row: PatternRow }) {
  const filter = (isExcluded: boolean) => filterBy(parse(row.query), isExcluded)
  return (
    <li>
      <span class="mono pattern-count" title={formatShare(row.share)}>
        {formatCount(row.count)}
      </span>
      <span class="mono">
        {row.is_new === true && <strong class="warn">▲ new </strong>}
        <Template parts={row.parts} />
        <Growth row={row} />
      </span>
      <span class="acts">
        <Sparkline counts={row.sparkline} />{' '}
        <button type="button" class="small" onClick={() => filter(false)}>
          Only these
        </button>{' '}
        <button type="button" class="small" onClick={() => filter(true)}>
          All but these
        </button>
      </span>
    </li>
  )
}

function Growth({ row: { is_new: isNew, factor, baseline_count: before } }: { row: PatternRow }) {
  if (isNew !== false || typeof factor !== 'number') return null
  return (
    <span class="quiet" title={`${formatCount(before ?? 0)} before`}>
      {' '}
      · {factor} times as frequent
    </span>
  )
}

function Template({ parts }: { parts: readonly PatternPart[] }) {
  if (parts.length === 0) return <span class="quiet">a text that is not there any more</span>
  return (
    <bdi>
      {parts.map((part, at) =>
        'text' in part ? (
          visibleLine(part.text)
        ) : (
          <span
            key={at}
            class="slot"
            title={`${part.slot}, such as ${part.examples.map(visibleLine).join(', ')}`}
          >
            {part.slot}
          </span>
        ),
      )}
    </bdi>
  )
}

const HEIGHT = 16
const STEP = 3

/** For the eye: when they came. */
function Sparkline({ counts }: { counts: readonly number[] }) {
  const highest = Math.max(1, ...counts)
  const width = counts.length * STEP
  return (
    <svg class="spark" viewBox={`0 0 ${width} ${HEIGHT}`} width={width} aria-hidden="true">
      {counts.map((count, at) => {
        const height = count === 0 ? 0 : Math.max(1, (HEIGHT * count) / highest)
        return <rect key={at} x={at * STEP} y={HEIGHT - height} width={STEP - 1} height={height} />
      })}
    </svg>
  )
}
