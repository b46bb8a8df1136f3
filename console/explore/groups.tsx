/**
 * The matching events, grouped by one field or several: a list of the largest groups with a figure
 * each, and the figure over time. In the address as `by`, `fn`, `of` and `chart`.
 */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { visibleLine } from '../../src/language/visible-text.ts'
import { callText } from '../base/api.ts'
import type { FieldKind } from '../base/catalog.ts'
import {
  apiField,
  type EventField,
  FIGURE,
  fieldListText,
  fieldText,
  isCounted,
  readFieldList,
  readFieldText,
} from '../base/field.ts'
import { formatCount, formatFigure } from '../base/format.ts'
import { useLoaded } from '../base/loaded.ts'
import { route, setParams } from '../base/route.ts'
import { NO_VALUE } from '../base/shown-value.ts'
import { FUNCTIONS, isOfEvents } from '../base/view.ts'
import { Failure } from '../parts/failure.tsx'
import { FieldInput } from '../parts/field-input.tsx'
import { tell } from '../parts/notices.tsx'
import { reasonText } from './answer-note.tsx'
import { type Ask, readMembers, readPath } from './ask.ts'
import type { CountedAsk } from './counted.ts'
import { filterBy } from './filter-by.ts'
import { clauseForAny } from './filters.ts'
import { clauseOfGroup, type Group, type GroupList, readGroups, readSeries } from './grouped.ts'
import { type ChartKind, TimeChart } from './time-chart.tsx'
import { UnknownFields } from './unknown-fields.tsx'

const GROUPS_SHOWN = 20
const LINES_SHOWN = 5
const LIVE_REFRESH_MS = 5_000

const COUNTED: FieldKind = { isCounted: true }
const NUMBERS: FieldKind = { isCounted: true, type: 'number' }
/** What can be grouped by beside the fields of events. */
const OWN = ['_level', '_service', '_shape']

const CHARTS: readonly ChartKind[] = ['lines', 'bars']

interface GroupsProps {
  readonly counted: CountedAsk
  /** How many events the screen says there are; undefined while that is not known. */
  readonly total: number | undefined
  readonly onClose: () => void
}

export function Groups({ counted, total, onClose }: GroupsProps) {
  const { params } = route.value
  const by = readFieldList(params.get('by') ?? '')
  const fn = FUNCTIONS.find((known) => known === params.get('fn')) ?? 'count'
  const of = readFieldText(params.get('of') ?? '')
  const kind = CHARTS.find((known) => known === params.get('chart')) ?? 'lines'
  const isWhole = by.length > 0 && (isOfEvents(fn) || of !== undefined)
  const texts = { by: fieldListText(by), of: of === undefined ? '' : fieldText(of) }
  return (
    <section class="groups card" aria-label="Groups">
      <GroupForm
        key={`${texts.by} ${fn} ${texts.of}`}
        {...texts}
        fn={fn}
        kind={kind}
        onClose={onClose}
      />
      {isWhole && counted.isAsked && (
        <Grouped
          ask={counted.ask}
          askKey={counted.key}
          total={total}
          by={by}
          fn={fn}
          of={of}
          kind={kind}
          refreshMs={counted.ask.isLive ? LIVE_REFRESH_MS : undefined}
        />
      )}
    </section>
  )
}

interface FormProps {
  readonly by: string
  readonly fn: string
  readonly of: string
  readonly kind: ChartKind
  readonly onClose: () => void
}

function GroupForm({ by, fn, of, kind, onClose }: FormProps) {
  const field = useSignal(by)
  const name = useSignal<string>(fn)
  const argument = useSignal(of)
  const input = useRef<HTMLInputElement>(null)
  const { streamId } = route.value
  useEffect(() => {
    // It was just opened, to type in.
    if (by === '') input.current?.focus()
  }, [])
  const apply = (event?: Event) => {
    event?.preventDefault()
    const fields = readFieldList(field.value)
    const measured = isOfEvents(name.value) ? undefined : readFieldText(argument.value)
    if (![...fields, ...(measured ? [measured] : [])].every(isCounted)) {
      return tell('Values in arrays, ids and times are no groups: name a whole array', true)
    }
    setParams({
      by: fieldListText(fields),
      fn: name.value === 'count' ? undefined : name.value,
      of: measured && fieldText(measured),
    })
  }
  return (
    <form class="inline" onSubmit={apply}>
      <label for="group-by">Group by</label>
      <FieldInput
        id="group-by"
        value={field.value}
        inputRef={input}
        placeholder="_level, _service or paths"
        streamId={streamId}
        kind={COUNTED}
        own={streamId === undefined ? ['_stream', ...OWN] : OWN}
        isList
        onInput={(text) => {
          field.value = text
        }}
      />
      <label class="inline">
        show
        <select
          value={name.value}
          onChange={(event) => {
            name.value = event.currentTarget.value
            if (by !== '' && isOfEvents(name.value)) apply()
          }}
        >
          {FUNCTIONS.map((known) => (
            <option key={known}>{known}</option>
          ))}
        </select>
      </label>
      {!isOfEvents(name.value) && (
        <>
          <label for="group-of">of</label>
          <FieldInput
            id="group-of"
            value={argument.value}
            required
            placeholder="a path, such as took_ms"
            streamId={streamId}
            kind={name.value === 'uniq' ? COUNTED : NUMBERS}
            onInput={(text) => {
              argument.value = text
            }}
          />
        </>
      )}
      <button type="submit">Apply</button>
      <label class="inline">
        as
        <select
          value={kind}
          onChange={(event) => {
            const { value } = event.currentTarget
            setParams({ chart: value === 'lines' ? undefined : value })
          }}
        >
          {CHARTS.map((known) => (
            <option key={known}>{known}</option>
          ))}
        </select>
      </label>
      <span class="spring" />
      <button type="button" class="plain" aria-label="Close the groups" onClick={onClose}>
        ✕
      </button>
    </form>
  )
}

interface GroupedProps {
  readonly ask: Ask
  readonly askKey: string
  readonly total: number | undefined
  readonly by: readonly EventField[]
  readonly fn: string
  readonly of: EventField | undefined
  readonly kind: ChartKind
  readonly refreshMs: number | undefined
}

function Grouped({ ask: asked, askKey, total, by, fn, of, kind, refreshMs }: GroupedProps) {
  const measured = isOfEvents(fn) ? undefined : of && apiField(of)
  const aggregates = [{ fn, as: FIGURE, ...(measured !== undefined && { field: measured }) }]
  const keys = by.map(apiField)
  const query = (body: object, signal: AbortSignal) =>
    callText(readPath(asked, 'query'), {
      method: 'POST',
      body: { ...readMembers(asked), aggregates, ...body },
      signal,
    })
  const key = `${askKey} ${JSON.stringify([keys, fn, measured])}`
  const { value, failure } = useLoaded(
    key,
    async (signal) => {
      const [totals, lines] = await Promise.all([
        query({ group_by: keys, limit: GROUPS_SHOWN, others: true }, signal),
        query({ group_by: [...keys, { bucket: 'auto' }], limit: LINES_SHOWN }, signal),
      ])
      return { ...readGroups(totals, by), ...readSeries(lines, by) }
    },
    refreshMs === undefined ? {} : { refreshMs },
  )
  if (failure !== undefined) return <Failure text={failure} />
  if (value === undefined) return <p class="quiet">Counting…</p>
  // Events come while answers are under way: then the figures would not add up.
  const isOther = value.state.isComplete && total !== undefined && value.total !== total
  const about = isOther || (value.isEstimated && !isExact(fn)) ? 'about ' : ''
  const found = (
    <Found value={value} by={by} fn={fn} of={of} kind={kind} isOther={isOther} about={about} />
  )
  const empty = emptyOf(value, by, of)
  if (empty.length === 0) return found
  return (
    <UnknownFields streamId={asked.streamId} fields={empty} onInstead={groupInstead}>
      {found}
    </UnknownFields>
  )
}

/** Fields of which nothing was found, though there are events. */
function emptyOf(
  { list }: GroupList,
  by: readonly EventField[],
  of: EventField | undefined,
): readonly EventField[] {
  if (list.length === 0) return []
  const empty = by.filter((_, at) => list.every(({ values }) => values[at] === 'null'))
  const isUnmeasured = list.every(({ value }) => value === null || value === 0)
  return of !== undefined && isUnmeasured ? [...empty, of] : empty
}

/** The other field in its place, wherever it is named. */
function groupInstead(unknown: EventField, name: string): void {
  const { params } = route.value
  const text = fieldText(unknown)
  const by = readFieldList(params.get('by') ?? '').map(fieldText)
  setParams({
    by: by.map((one) => (one === text ? name : one)).join(','),
    of: params.get('of') === text ? name : (params.get('of') ?? undefined),
  })
}

interface FoundProps extends Pick<GroupedProps, 'by' | 'fn' | 'of' | 'kind'> {
  readonly value: GroupList & ReturnType<typeof readSeries>
  readonly isOther: boolean
  readonly about: string
}

function Found({ value, by, fn, of, kind, isOther, about }: FoundProps) {
  const largest = Math.max(1, ...value.list.map((group) => group.value ?? 0))
  return (
    <div class="halves">
      <div>
        <NoValueNote by={by} list={value.list} />
        <ol class="top-list">
          {value.list.map((group) => (
            <li
              key={group.values.join()}
              onKeyDown={(event) => filterByKey(event, by, group, value.list)}
            >
              <button
                type="button"
                class="plain facet-value"
                title="Only events of this group (f), or without it (x)"
                onClick={() => filterByGroup(by, group, value.list, false)}
              >
                <span
                  class="facet-bar"
                  style={{ width: `${(100 * Math.max(0, group.value ?? 0)) / largest}%` }}
                />
                <span class="facet-text mono">
                  <bdi>{group.text}</bdi>
                </span>
                <span class="facet-count">{aboutFigure(about, group.value)}</span>
              </button>
            </li>
          ))}
          {value.others !== undefined && (
            <li class="quiet">all others: {aboutFigure(about, value.others)}</li>
          )}
        </ol>
      </div>
      <div>
        <GroupNote
          value={value}
          isOther={isOther}
          fn={fn}
          of={of === undefined ? '' : fieldText(of)}
        />
        <TimeChart
          times={value.times}
          series={value.series}
          kind={kind}
          isStacked={isOfEvents(fn) || fn === 'sum'}
          format={formatFigure}
        />
      </div>
    </div>
  )
}

/** What groups without a value are, and how to leave them out. */
function NoValueNote({ by, list }: { by: readonly EventField[]; list: readonly Group[] }) {
  const lacking = by.filter((_, at) => list.some(({ values }) => values[at] === 'null'))
  return (
    <>
      {lacking.map((field) => {
        const has = clauseForAny(field)
        const name = <bdi class="mono">{visibleLine(fieldText(field))}</bdi>
        return (
          <p key={fieldText(field)} class="answer-note quiet">
            {NO_VALUE}: events without {name}, or with null{' '}
            {has !== undefined && (
              <button type="button" class="small" onClick={() => filterBy(has, false)}>
                leave them out
              </button>
            )}
          </p>
        )
      })}
    </>
  )
}

function filterByGroup(
  by: readonly EventField[],
  group: Group,
  all: readonly Group[],
  isExcluded: boolean,
): void {
  const clause = clauseOfGroup(by, group, all)
  if (clause !== undefined) filterBy(clause, isExcluded)
  else tell('No query asks for exactly this group')
}

function filterByKey(
  event: KeyboardEvent,
  by: readonly EventField[],
  group: Group,
  all: readonly Group[],
): void {
  if ((event.key !== 'f' && event.key !== 'x') || event.ctrlKey || event.metaKey) return
  event.preventDefault()
  event.stopPropagation()
  filterByGroup(by, group, all, event.key === 'x')
}

/** Whether its figures are exact where `estimated` is said: then that is of the groups' number. */
function isExact(fn: string): boolean {
  return !/^(uniq|p\d)/.test(fn)
}

interface NoteProps {
  readonly value: GroupList
  /** It was counted at another moment than the total. */
  readonly isOther: boolean
  readonly fn: string
  readonly of: string
}

/** What the figures are worth, and of how many groups. */
function GroupNote({ value: { groups, isEstimated, state }, isOther, fn, of }: NoteProps) {
  return (
    <p class="answer-note" role="status">
      <strong>
        <bdi>{figureName(fn, of)}</bdi>
      </strong>
      <span class="quiet">
        {' '}
        · {isEstimated || isOther ? 'about ' : ''}
        {formatCount(groups)} groups
      </span>
      {isOther && <span class="quiet"> · of another moment than the total</span>}
      {groups > LINES_SHOWN && <span class="quiet"> · the largest {LINES_SHOWN} over time</span>}
      {isEstimated && <span class="warn"> · ▲ estimated</span>}
      {state.isSampled && <span class="warn"> · ▲ sampled</span>}
      {!state.isComplete && <span class="warn"> · ▲ partial: {reasonText(state.reason)}</span>}
    </p>
  )
}

function figureName(fn: string, of: string): string {
  if (fn === 'count') return 'Events'
  return fn === 'rate' ? 'Events a second' : visibleLine(`${fn} of ${of}`)
}

/** What is none is not about anything. */
function aboutFigure(about: string, value: number | null): string {
  return (value === null ? '' : about) + formatFigure(value)
}
