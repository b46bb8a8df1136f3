/** The most frequent values of some fields among what is found; a click includes or excludes. */

import { useSignal } from '@preact/signals'
import {
  type EventField,
  fieldListText,
  fieldText,
  isCounted,
  readFieldText,
} from '../base/field.ts'
import { formatCount } from '../base/format.ts'
import { listText, readList, route, setParams } from '../base/route.ts'
import { isolated } from '../base/shown-value.ts'
import { formatTime } from '../base/time.ts'
import { LEVEL_SIGNS, LEVELS_SHOWN } from '../events/level.ts'
import { Failure } from '../parts/failure.tsx'
import { FieldInput } from '../parts/field-input.tsx'
import { tell } from '../parts/notices.tsx'
import { reasonText } from './answer-note.tsx'
import { ask } from './ask.ts'
import { type CountedAsk, isLabelled, useFacets } from './counted.ts'
import { clauseOfValue, type Facet, type FacetValue } from './facet.ts'
import { filterBy } from './filter-by.ts'
import { hasClause, withoutClause } from './filters.ts'
import { UnknownFields } from './unknown-fields.tsx'

const COUNTED = { isCounted: true }

/** Where the events come first. */
const NARROW = matchMedia('(max-width: 50rem)')

interface FacetsProps {
  readonly counted: CountedAsk
  /** How many events the screen says there are; undefined while that is not known. */
  readonly total: number | undefined
  /** A failure that is told already. */
  readonly told: string | undefined
}

export function Facets({ counted, total, told }: FacetsProps) {
  const { value, failure, isStale } = useFacets(counted)
  // What is there may be of another question; while live it is of this one, and a little old.
  const isLost = failure !== undefined && !counted.ask.isLive
  const { state, facets = [] } = isLost ? {} : (value ?? {})
  // Events come while answers are under way: then the figures would not add up.
  const isOther = state?.isComplete === true && total !== undefined && value?.total !== total
  return (
    <details
      class={isStale || (failure !== undefined && !isLost) ? 'facets is-stale' : 'facets'}
      open={isUnfolded()}
      onToggle={(event) => {
        const { open } = event.currentTarget
        if (event.target === event.currentTarget && open !== isUnfolded()) unfold(open)
      }}
    >
      <summary class="quiet">Most frequent values</summary>
      {failure !== undefined && failure !== told && <Failure text={`No values: ${failure}`} />}
      {state?.isSampled && (
        <p class="warn">
          ▲ counts with “about” are of the newest events
          {state.covered && `, since ${formatTime(Date.parse(state.covered.from), 0)}`}, multiplied
        </p>
      )}
      {state !== undefined && !state.isComplete && !state.isSampled && (
        <p class="warn">▲ partial: {reasonText(state.reason)}</p>
      )}
      {isOther && !state?.isSampled && (
        <p class="quiet">counts with “about” are of another moment than the total</p>
      )}
      {facets.map((facet) => {
        const shown = { ...facet, isEstimated: facet.isEstimated || isOther }
        return <FacetBox key={facet.label} facet={shown} />
      })}
      <AddFacet />
    </details>
  )
}

/** Folded where there is little room, unless the address says otherwise. */
function isUnfolded(): boolean {
  const said = route.value.params.get('values')
  return said === null ? !NARROW.matches : said !== 'folded'
}

function unfold(isOpen: boolean): void {
  const isUsual = isOpen === !NARROW.matches
  setParams({ values: isUsual ? undefined : isOpen ? 'shown' : 'folded' }, 'keep')
}

function AddFacet() {
  const path = useSignal('')
  const add = (text: string) => {
    const field = readFieldText(text)
    if (field === undefined) return
    if (!isCounted(field)) return tell('Values of this cannot be counted: name a whole array', true)
    if (isLabelled(field)) return tell(`${fieldText(field)} is counted already`)
    const { facets } = ask.value
    const others = facets.filter((one) => fieldText(one) !== fieldText(field))
    setParams({ facets: fieldListText([...others, field]) })
    path.value = ''
  }
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault()
        add(path.value)
      }}
    >
      <FieldInput
        label="Count the values of another field"
        placeholder="+ another field"
        streamId={ask.value.streamId}
        kind={COUNTED}
        value={path.value}
        onInput={(text) => {
          path.value = text
        }}
        onTake={add}
      />
    </form>
  )
}

function FacetBox({ facet }: { facet: Facet }) {
  const most = Math.max(1, ...facet.values.map(({ count }) => count))
  const folded = readList(route.value.params.get('folded'))
  const isOpen = !folded.includes(facet.label)
  const onToggle = ({
    currentTarget: { open },
  }: {
    readonly currentTarget: HTMLDetailsElement
  }) => {
    if (open === isOpen) return
    const others = folded.filter((label) => label !== facet.label)
    setParams({ folded: listText(open ? others : [...others, facet.label]) }, 'keep')
  }
  return (
    <details open={isOpen} class="facet" onToggle={onToggle}>
      <summary class="mono">
        <bdi>{facet.label}</bdi>
      </summary>
      {facet.values.length === 0 && <NoValues facet={facet} />}
      <ul>
        {facet.values.map((value) => (
          <FacetLine key={value.json} facet={facet} value={value} most={most} />
        ))}
      </ul>
      <RemoveFacet facet={facet} />
    </details>
  )
}

/** Of those that somebody added. */
function RemoveFacet({ facet: { field, label } }: { facet: Facet }) {
  const { facets } = ask.value
  const others = facets.filter((one) => fieldText(one) !== fieldText(field))
  if (others.length === facets.length) return null
  return (
    <button
      type="button"
      class="plain small quiet"
      aria-label={`Remove the values of ${isolated(label)}`}
      onClick={() => setParams({ facets: fieldListText(others) })}
    >
      ✕ remove
    </button>
  )
}

/** There is no such field, or none of what was found has it. */
function NoValues({ facet: { field } }: { facet: Facet }) {
  const { streamId, facets } = ask.value
  const instead = (unknown: EventField, name: string) => {
    const others = facets.filter((one) => fieldText(one) !== fieldText(unknown))
    setParams({ facets: [...others.map(fieldText), name].join(',') })
  }
  return (
    <UnknownFields streamId={streamId} fields={[field]} onInstead={instead}>
      <p class="quiet">no values</p>
    </UnknownFields>
  )
}

function countText({ isEstimated }: Facet, { count }: FacetValue): string {
  return `${isEstimated ? 'about ' : ''}${formatCount(count)}`
}

function LevelMark({ level }: { level: string }) {
  const known = LEVELS_SHOWN.find((one) => one === level)
  return known === undefined ? null : (
    <span class={`level is-${known}`} aria-hidden="true">
      <span class="sign">{LEVEL_SIGNS[known]}</span>{' '}
    </span>
  )
}

/** What no query can ask for, such as an array: it is seen and counted all the same. */
function PlainLine({ facet, value, most }: LineProps) {
  return (
    <li>
      <span class="facet-value" title={`${isolated(value.text)}: no query asks for exactly this`}>
        <span class="facet-bar" style={{ width: `${(100 * value.count) / most}%` }} />
        <span class="facet-text">
          <bdi>{value.text}</bdi>
        </span>
        <span class="facet-count">{countText(facet, value)}</span>
      </span>
    </li>
  )
}

interface LineProps {
  readonly facet: Facet
  readonly value: FacetValue
  readonly most: number
}

function FacetLine({ facet, value, most }: LineProps) {
  const { query } = ask.value
  const clause = clauseOfValue(facet, value)
  if (clause === undefined) return <PlainLine facet={facet} value={value} most={most} />
  const state = hasClause(query, clause)
  const apply = (isExcluded: boolean) => {
    const wanted = isExcluded ? 'excluded' : 'included'
    if (state === wanted) setParams({ q: withoutClause(query, clause) })
    else filterBy(clause, isExcluded, withoutClause(query, clause))
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
        title={`${isolated(value.text)}: only events with this value (f)`}
        onClick={() => apply(false)}
      >
        <span class="facet-bar" style={{ width: `${(100 * value.count) / most}%` }} />
        <span class="facet-text">
          {facet.label === 'level' && <LevelMark level={value.text} />}
          <bdi>{value.text}</bdi>
        </span>
        <span class="facet-count">{countText(facet, value)}</span>
      </button>
      <button
        type="button"
        class="plain small"
        aria-pressed={state === 'excluded'}
        aria-label={`Exclude ${isolated(value.text)}`}
        title="Only events without it (x)"
        onClick={() => apply(true)}
      >
        −
      </button>
    </li>
  )
}
