/**
 * What is found, grouped: a list of the largest groups with a figure each, and the figure over time.
 * In the address as `by`, `fn` and `of`.
 */
import { useSignal } from '@preact/signals'
import { callText } from '../base/api.ts'
import { type JsonSpan, jsonElements, jsonObject, jsonText, wholeJson } from '../base/exact-json.ts'
import { formatCount } from '../base/format.ts'
import { useLoaded } from '../base/loaded.ts'
import { route, setParams } from '../base/route.ts'
import { Failure } from '../parts/failure.tsx'
import { type Ask, ask, readMembers, readPath } from './ask.ts'
import { clauseForField, withClause } from './filters.ts'
import { type Series, TimeChart } from './time-chart.tsx'

const FUNCTIONS = ['count', 'uniq', 'sum', 'avg', 'min', 'max', 'p50', 'p90', 'p95', 'p99'] as const
const GROUPS_SHOWN = 20
const LINES_SHOWN = 5

export function Groups({ askKey, turn }: { askKey: string; turn: number }) {
  const { params } = route.value
  const by = params.get('by') ?? ''
  const fn = FUNCTIONS.find((known) => known === params.get('fn')) ?? 'count'
  const of = params.get('of') ?? ''
  return (
    <details class="groups card" open={by !== ''}>
      <summary>Group by{by !== '' && `: ${by}`}</summary>
      <GroupForm key={`${by} ${fn} ${of}`} by={by} fn={fn} of={of} />
      {by !== '' && (fn === 'count' || of !== '') && (
        <Grouped ask={ask.value} askKey={`${askKey} ${turn}`} by={by} fn={fn} of={of} />
      )}
    </details>
  )
}

function GroupForm({ by, fn, of }: { by: string; fn: string; of: string }) {
  const field = useSignal(by)
  const name = useSignal<string>(fn)
  const argument = useSignal(of)
  const apply = (event: Event) => {
    event.preventDefault()
    const isCount = name.value === 'count'
    setParams({
      by: field.value.trim(),
      fn: isCount ? undefined : name.value,
      of: isCount ? undefined : argument.value.trim(),
    })
  }
  return (
    <form class="inline" onSubmit={apply}>
      <label class="inline">
        field
        <input
          value={field.value}
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
            placeholder="a path, such as took_ms"
            onInput={(event) => {
              argument.value = event.currentTarget.value
            }}
          />
        </label>
      )}
      <button type="submit">Group</button>
      {by !== '' && (
        <button
          type="button"
          onClick={() => setParams({ by: undefined, fn: undefined, of: undefined })}
        >
          Close
        </button>
      )}
    </form>
  )
}

interface GroupedProps {
  readonly ask: Ask
  readonly askKey: string
  readonly by: string
  readonly fn: string
  readonly of: string
}

interface Group {
  readonly json: string
  readonly text: string
  readonly value: number | null
}

function Grouped({ ask: asked, askKey, by, fn, of }: GroupedProps) {
  const aggregates = [{ fn, as: 'value', ...(fn !== 'count' && { field: of }) }]
  const query = (body: object, signal: AbortSignal) =>
    callText(readPath(asked, 'query'), {
      method: 'POST',
      body: { ...readMembers(asked), aggregates, ...body },
      signal,
    })
  const { value, failure } = useLoaded(`${askKey} ${by} ${fn} ${of}`, async (signal) => {
    const [totals, lines] = await Promise.all([
      query({ group_by: [by], limit: GROUPS_SHOWN, others: true }, signal),
      query({ group_by: [by, { bucket: 'auto' }], limit: LINES_SHOWN }, signal),
    ])
    return { ...readGroups(totals, by), ...readSeries(lines, by) }
  })
  if (failure !== undefined) return <Failure text={failure} />
  if (value === undefined) return <p class="quiet">Counting…</p>
  const largest = Math.max(1, ...value.groups.map((group) => group.value ?? 0))
  return (
    <div class="halves">
      <ol class="top-list">
        {value.groups.map((group) => (
          <li key={group.json}>
            <button
              type="button"
              class="plain facet-value"
              title="Only events of this group"
              onClick={() => includeGroup(asked, by, group)}
            >
              <span
                class="facet-bar"
                style={{ width: `${(100 * Math.max(0, group.value ?? 0)) / largest}%` }}
              />
              <span class="facet-text mono">{group.text}</span>
              <span class="facet-count">{figure(group.value)}</span>
            </button>
          </li>
        ))}
        {value.others !== undefined && <li class="quiet">all others: {figure(value.others)}</li>}
      </ol>
      <TimeChart times={value.times} series={value.series} />
    </div>
  )
}

function includeGroup({ query }: Ask, by: string, { json }: Group): void {
  const clause = clauseForField(by, json)
  if (clause) setParams({ q: withClause(query, clause, false) })
}

function figure(value: number | null): string {
  if (value === null) return '–'
  return Number.isInteger(value) ? formatCount(value) : value.toPrecision(4)
}

function readGroups(text: string, by: string) {
  const answer = jsonObject(wholeJson(text))
  const groups = [...jsonElements(answer.get('rows')!)].map((row) => readGroup(row, by))
  const [others] = [...jsonElements(answer.get('others')!)].map((row) => readGroup(row, by).value)
  return { groups, others }
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
