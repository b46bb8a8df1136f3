/** The most frequent values of some fields among what is found; a click includes or excludes. */

import { useSignal } from '@preact/signals'
import { formatCount } from '../base/format.ts'
import { setParams } from '../base/route.ts'
import { formatTime } from '../base/time.ts'
import { LEVEL_SIGNS, LEVELS_SHOWN } from '../events/level.ts'
import { Failure } from '../parts/failure.tsx'
import { reasonText } from './answer-note.tsx'
import { ask } from './ask.ts'
import { type CountedAsk, useFacets } from './counted.ts'
import type { Facet, FacetValue } from './facet.ts'
import { clauseForField, hasClause, withClause, withoutClause } from './filters.ts'

/** Folded where there is little room: the events come first there. */
const NARROW = matchMedia('(max-width: 50rem)')

interface FacetsProps {
  readonly counted: CountedAsk
  /** A failure that is told already. */
  readonly told: string | undefined
}

export function Facets({ counted, told }: FacetsProps) {
  const { value, failure, isStale } = useFacets(counted)
  const { state, facets = [] } = value ?? {}
  return (
    <details
      class={isStale || failure !== undefined ? 'facets is-stale' : 'facets'}
      open={!NARROW.matches}
    >
      <summary class="quiet">Most frequent values</summary>
      {failure !== undefined && failure !== told && <Failure text={`No values: ${failure}`} />}
      {state?.isSampled && (
        <p class="warn">
          ▲ counted over the newest events only
          {state.covered && `, since ${formatTime(Date.parse(state.covered.from), 0)}`}
        </p>
      )}
      {state !== undefined && !state.isComplete && !state.isSampled && (
        <p class="warn">▲ partial: {reasonText(state.reason)}</p>
      )}
      {facets.map((facet) => (
        <FacetBox key={facet.field} facet={facet} />
      ))}
      <AddFacet />
    </details>
  )
}

function AddFacet() {
  const path = useSignal('')
  const add = (event: Event) => {
    event.preventDefault()
    const { facets } = ask.value
    setParams({ facets: [...new Set([...facets, path.value.trim()])].join(',') })
    path.value = ''
  }
  return (
    <form class="inline" onSubmit={add}>
      <input
        class="facet-input"
        aria-label="Count the values of another field"
        placeholder="+ another field"
        value={path.value}
        onInput={(event) => {
          path.value = event.currentTarget.value
        }}
      />
    </form>
  )
}

function FacetBox({ facet }: { facet: Facet }) {
  const most = Math.max(1, ...facet.values.map(({ count }) => count))
  return (
    <details open class="facet">
      <summary class="mono">{facet.label}</summary>
      {facet.values.length === 0 && <p class="quiet">no values</p>}
      <ul>
        {facet.values.map((value) => (
          <FacetLine key={value.json} facet={facet} value={value} most={most} />
        ))}
      </ul>
    </details>
  )
}

function LevelMark({ level }: { level: string }) {
  const known = LEVELS_SHOWN.find((one) => one === level)
  return known === undefined ? null : (
    <span class={`level is-${known}`} aria-hidden="true">
      <span class="sign">{LEVEL_SIGNS[known]}</span>{' '}
    </span>
  )
}

interface LineProps {
  readonly facet: Facet
  readonly value: FacetValue
  readonly most: number
}

function FacetLine({ facet, value, most }: LineProps) {
  const { query } = ask.value
  const clause = clauseForField(facet.field, value.json)
  if (clause === undefined) return null
  const state = hasClause(query, clause)
  const apply = (isExcluded: boolean) => {
    const wanted = isExcluded ? 'excluded' : 'included'
    const without = withoutClause(query, clause)
    setParams({ q: state === wanted ? without : withClause(without, clause, isExcluded) })
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if ((event.key !== 'f' && event.key !== 'x') || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    event.stopPropagation()
    apply(event.key === 'x')
  }
  return (
    <li class={state === undefined ? '' : `is-${state}`} onKeyDown={onKeyDown}>
      <button
        type="button"
        class="plain facet-value"
        aria-pressed={state === 'included'}
        title={`${value.text}: only events with this value (f)`}
        onClick={() => apply(false)}
      >
        <span class="facet-bar" style={{ width: `${(100 * value.count) / most}%` }} />
        <span class="facet-text">
          {facet.field === '_level' && <LevelMark level={value.text} />}
          <bdi>{value.text === '' ? '(empty)' : value.text}</bdi>
        </span>
        <span class="facet-count">{formatCount(value.count)}</span>
      </button>
      <button
        type="button"
        class="plain small"
        aria-pressed={state === 'excluded'}
        aria-label={`Exclude ${value.text}`}
        title="Only events without it (x)"
        onClick={() => apply(true)}
      >
        −
      </button>
    </li>
  )
}
