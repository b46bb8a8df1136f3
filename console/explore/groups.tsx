/**
 * The matching events, grouped: a list of the largest groups with a figure each, and the figure
 * over time. In the address as `by`, `fn`, `of` and `chart`.
 */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { callText } from '../base/api.ts'
import { type JsonSpan, jsonElements, jsonObject, jsonText, wholeJson } from '../base/exact-json.ts'
import { formatCount } from '../base/format.ts'
import { useLoaded } from '../base/loaded.ts'
import { route, setParams } from '../base/route.ts'
import { Failure } from '../parts/failure.tsx'
import { reasonText } from './answer-note.tsx'
import { type AnswerState, readState } from './answer-state.ts'
import { type Ask, readMembers, readPath } from './ask.ts'
import type { CountedAsk } from './counted.ts'
import { clauseForField, withClause } from './filters.ts'
import { type ChartKind, type Series, TimeChart } from './time-chart.tsx'

const FUNCTIONS = ['count', 'uniq', 'sum', 'avg', 'min', 'max', 'p50', 'p90', 'p95', 'p99'] as const
const GROUPS_SHOWN = 20
const LINES_SHOWN = 5
const LIVE_REFRESH_MS = 5_000

const CHARTS: readonly ChartKind[] = ['lines', 'bars']

interface GroupsProps {
  readonly counted: CountedAsk
  readonly onClose: () => void
}

export function Groups({ counted, onClose }: GroupsProps) {
  const { params } = route.value
  const by = params.get('by') ?? ''
  const fn = FUNCTIONS.find((known) => known === params.get('fn')) ?? 'count'
  const of = params.get('of') ?? ''
  const kind = CHARTS.find((known) => known === params.get('chart')) ?? 'lines'
  const isWhole = by !== '' && (fn === 'count' || of !== '')
  return (
    <section class="groups card" aria-label="Groups">
      <GroupForm key={`${by} ${fn} ${of}`} by={by} fn={fn} of={of} kind={kind} onClose={onClose} />
      {isWhole && counted.isAsked && (
        <Grouped
          ask={counted.ask}
          askKey={counted.key}
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
  useEffect(() => {
    // It was just opened, to type in.
    if (by === '') input.current?.focus()
  }, [])
  const apply = (event?: Event) => {
    event?.preventDefault()
    const isCount = name.value === 'count'
    setParams({
      by: field.value.trim(),
      fn: isCount ? undefined : name.value,
      of: isCount ? undefined : argument.value.trim(),
    })
  }
  const close = () => {
    onClose()
    setParams({ by: undefined, fn: undefined, of: undefined, chart: undefined })
  }
  return (
    <form class="inline" onSubmit={apply}>
      <label class="inline">
        Group by
        <input
          value={field.value}
          ref={input}
          placeholder="_level, _service or a path"
          onInput={(event) => {
            field.value = event.currentTarget.value
          }}
        />
      </label>
      <label class="inline">
        show
        <select
          value={name.value}
          onChange={(event) => {
            name.value = event.currentTarget.value
            if (by !== '' && name.value === 'count') apply()
          }}
        >
          {FUNCTIONS.map((known) => (
            <option key={known}>{known}</option>
          ))}
        </select>
      </label>
      {name.value !== 'count' && (
        <label class="inline">
          of
          <input
            value={argument.value}
            required
            placeholder="a path, such as took_ms"
            onInput={(event) => {
              argument.value = event.currentTarget.value
            }}
          />
        </label>
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
      <button type="button" class="plain" aria-label="Close the groups" onClick={close}>
        ✕
      </button>
    </form>
  )
}

interface GroupedProps {
  readonly ask: Ask
  readonly askKey: string
  readonly by: string
  readonly fn: string
  readonly of: string
  readonly kind: ChartKind
  readonly refreshMs: number | undefined
}

interface Group {
  readonly json: string
  readonly text: string
  readonly value: number | null
}

function Grouped({ ask: asked, askKey, by, fn, of, kind, refreshMs }: GroupedProps) {
  const aggregates = [{ fn, as: 'value', ...(fn !== 'count' && { field: of }) }]
  const query = (body: object, signal: AbortSignal) =>
    callText(readPath(asked, 'query'), {
      method: 'POST',
      body: { ...readMembers(asked), aggregates, ...body },
      signal,
    })
  const key = `${askKey} ${by} ${fn} ${of}`
  const { value, failure } = useLoaded(
    key,
    async (signal) => {
      const [totals, lines] = await Promise.all([
        query({ group_by: [by], limit: GROUPS_SHOWN, others: true }, signal),
        query({ group_by: [by, { bucket: 'auto' }], limit: LINES_SHOWN }, signal),
      ])
      return { ...readGroups(totals, by), ...readSeries(lines, by) }
    },
    refreshMs === undefined ? {} : { refreshMs },
  )
  if (failure !== undefined) return <Failure text={failure} />
  if (value === undefined) return <p class="quiet">Counting…</p>
  const largest = Math.max(1, ...value.list.map((group) => group.value ?? 0))
  return (
    <div class="halves">
      <ol class="top-list">
        {value.list.map((group) => (
          <li key={group.json} onKeyDown={(event) => filterByKey(event, asked, by, group)}>
            <button
              type="button"
              class="plain facet-value"
              title="Only events of this group (f), or without it (x)"
              onClick={() => filterByGroup(asked, by, group, false)}
            >
              <span
                class="facet-bar"
                style={{ width: `${(100 * Math.max(0, group.value ?? 0)) / largest}%` }}
              />
              <span class="facet-text mono">
                <bdi>{group.text}</bdi>
              </span>
              <span class="facet-count">{figure(group.value)}</span>
            </button>
          </li>
        ))}
        {value.others !== undefined && <li class="quiet">all others: {figure(value.others)}</li>}
      </ol>
      <div>
        <GroupNote value={value} fn={fn} of={of} />
        <TimeChart
          times={value.times}
          series={value.series}
          kind={kind}
          isStacked={fn === 'count' || fn === 'sum'}
          format={figure}
        />
      </div>
    </div>
  )
}

function filterByGroup({ query }: Ask, by: string, { json }: Group, isExcluded: boolean): void {
  const clause = clauseForField(by, json)
  if (clause) setParams({ q: withClause(query, clause, isExcluded) })
}

function filterByKey(event: KeyboardEvent, asked: Ask, by: string, group: Group): void {
  if ((event.key !== 'f' && event.key !== 'x') || event.ctrlKey || event.metaKey) return
  event.preventDefault()
  event.stopPropagation()
  filterByGroup(asked, by, group, event.key === 'x')
}

interface NoteProps {
  readonly value: {
    readonly groups: number
    readonly isEstimated: boolean
    readonly state: AnswerState
  }
  readonly fn: string
  readonly of: string
}

/** What the figures are worth, and of how many groups. */
function GroupNote({ value: { groups, isEstimated, state }, fn, of }: NoteProps) {
  return (
    <p class="answer-note" role="status">
      <strong>{fn === 'count' ? 'Events' : `${fn} of ${of}`}</strong>
      <span class="quiet"> · {formatCount(groups)} groups</span>
      {groups > LINES_SHOWN && <span class="quiet"> · the largest {LINES_SHOWN} over time</span>}
      {isEstimated && <span class="warn"> · ▲ estimated</span>}
      {state.isSampled && <span class="warn"> · ▲ sampled</span>}
      {!state.isComplete && <span class="warn"> · ▲ partial: {reasonText(state.reason)}</span>}
    </p>
  )
}

function figure(value: number | null): string {
  if (value === null) return '–'
  return Number.isInteger(value) ? formatCount(value) : value.toPrecision(4)
}

function readGroups(text: string, by: string) {
  const answer = jsonObject(wholeJson(text))
  const groups = [...jsonElements(answer.get('rows')!)].map((row) => readGroup(row, by))
  const [others] = [...jsonElements(answer.get('others')!)].map((row) => readGroup(row, by).value)
  const rest = ['complete', 'reason', 'covered', 'lag_ms', 'sampled', 'groups', 'estimated'].map(
    (name) => [name, JSON.parse(jsonText(answer.get(name)!))] as const,
  )
  const {
    groups: count,
    estimated,
    ...state
  } = Object.fromEntries(rest) as {
    readonly groups: number
    readonly estimated: boolean
  }
  return { list: groups, others, groups: count, isEstimated: estimated, state: readState(state) }
}

function readGroup(row: JsonSpan, by: string): Group {
  const members = jsonObject(row)
  const json = members.has(by) ? jsonText(members.get(by)!) : 'null'
  const parsed: unknown = JSON.parse(json)
  const text = typeof parsed === 'string' ? parsed : parsed === null ? '(no value)' : json
  const value: unknown = JSON.parse(jsonText(members.get('value')!))
  return { json, text, value: typeof value === 'number' ? value : null }
}

/** A line for each group over the same times. */
function readSeries(text: string, by: string) {
  const times = new Set<number>()
  const byGroup = new Map<string, Map<number, number | null>>()
  for (const row of jsonElements(jsonObject(wholeJson(text)).get('rows')!)) {
    const { text: label, value } = readGroup(row, by)
    const time = JSON.parse(jsonText(jsonObject(row).get('_bucket')!)) as string
    const seconds = Date.parse(time) / 1_000
    times.add(seconds)
    const line = byGroup.get(label) ?? new Map<number, number | null>()
    byGroup.set(label, line.set(seconds, value))
  }
  const sorted = [...times].sort((a, b) => a - b)
  const series: Series[] = [...byGroup].map(([label, line]) => ({
    label,
    values: sorted.map((time) => line.get(time) ?? null),
  }))
  return { times: sorted, series }
}
