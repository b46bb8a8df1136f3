/** The most frequent values of some fields among what is found; a click includes or excludes. */

import { useSignal } from '@preact/signals'
import { formatCount } from '../base/format.ts'
import { setParams } from '../base/route.ts'
import { ask } from './ask.ts'
import type { Facet, FacetValue } from './facet.ts'
import { clauseForField, hasClause, withClause, withoutClause } from './filters.ts'

export function Facets({ facets, isSampled }: { facets: readonly Facet[]; isSampled: boolean }) {
  return (
    <aside class="facets" aria-label="Most frequent values">
      {isSampled && <p class="warn">▲ counted over the newest events only</p>}
      {facets.map((facet) => (
        <FacetBox key={facet.field} facet={facet} />
      ))}
      <AddFacet />
    </aside>
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
  return (
    <li class={state === undefined ? '' : `is-${state}`}>
      <button
        type="button"
        class="plain facet-value"
        aria-pressed={state === 'included'}
        title="Only events with this value"
        onClick={() => apply(false)}
      >
        <span class="facet-bar" style={{ width: `${(100 * value.count) / most}%` }} />
        <span class="facet-text">{value.text}</span>
        <span class="facet-count">{formatCount(value.count)}</span>
      </button>
      <button
        type="button"
        class="plain small"
        aria-pressed={state === 'excluded'}
        aria-label={`Exclude ${value.text}`}
        title="Only events without it"
        onClick={() => apply(true)}
      >
        −
      </button>
    </li>
  )
}
