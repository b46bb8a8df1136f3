/**
 * Saved views as the API tells them, and the address that each stands for. A view may hold more
 * than the screen can show, as clients of the API save them as well: that is told, and kept when
 * the view is saved again.
 */
import { visibleLine } from '../../src/language/visible-text.ts'
import { clockParam, readClock } from './clock.ts'
import {
  apiField,
  type EventField,
  fieldListText,
  fieldOfApi,
  fieldText,
  readColumns,
  readFieldList,
  readFieldText,
} from './field.ts'
import { widthsOf, widthsText } from './widths.ts'

export interface ViewAggregate {
  readonly fn: string
  readonly field?: string
  readonly as?: string
  readonly query?: string
}

export interface ViewChart {
  readonly aggregates?: readonly ViewAggregate[]
  readonly group_by?: readonly string[]
  readonly bucket?: string
  readonly type: string
}

export interface ViewInfo {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly query: string
  readonly time_basis: 'ingested_at' | 'event_time'
  readonly range: { readonly last: string } | { readonly from: string; readonly to: string } | null
  readonly columns: readonly { readonly path: string; readonly width?: number }[]
  readonly order: 'newest' | 'oldest'
  readonly chart: ViewChart | null
  readonly shared: boolean
  readonly tags: readonly string[]
  readonly created_by: string
  readonly updated_at: string
  readonly version: number
  readonly problem: string | null
}

/**
 * Of what the address shows: the settings of a view, but for its name. What the view that it was
 * opened from has beside that stays as it was.
 */
export function viewOf(params: URLSearchParams, opened?: ViewInfo) {
  const text = (name: string) => params.get(name) ?? ''
  const [from, to] = [text('from') || '-1h', text('to') || 'now']
  const isRelative = to === 'now' && /^-\d+[smhdw]$/.test(from)
  const widths = widthsOf(text('widths'))
  const columns = readColumns(params).map((field) => {
    const before = opened?.columns.find(({ path }) => isAt(path, field))
    const width = widths.get(fieldText(field))
    return { path: before?.path ?? apiField(field), ...(width !== undefined && { width }) }
  })
  // Without a range of its own it takes that of who looks, until one was chosen.
  const isOpen = opened?.range === null && text('from') === '' && text('to') === ''
  return {
    query: text('q'),
    time_basis: readClock(params),
    range: isOpen ? null : isRelative ? { last: from.slice(1) } : { from, to },
    columns,
    order: readOrder(params),
    chart: chartOf(params, opened?.chart ?? null),
    ...(opened !== undefined && { tags: opened.tags }),
  }
}

/** Which events of a list come first. */
export function readOrder(params: URLSearchParams): 'newest' | 'oldest' {
  return params.get('order') === 'oldest' ? 'oldest' : 'newest'
}

function chartOf(params: URLSearchParams, opened: ViewChart | null): ViewChart | null {
  const by = readFieldList(params.get('by') ?? '')
  if (by.length === 0) return opened !== null && !hasGroups(opened) ? opened : null
  const fn = params.get('fn') ?? 'count'
  const of = readFieldText(params.get('of') ?? '')
  const [first, ...others] = opened?.aggregates ?? []
  const before = figureParams(first)
  const isAsOpened =
    (params.get('fn') ?? '') === (before.fn ?? '') && (params.get('of') ?? '') === (before.of ?? '')
  const field = isOfEvents(fn) || of === undefined ? undefined : apiField(of)
  const chosen = { fn, ...(field !== undefined && { field }) }
  const shown = isAsOpened ? (first ?? chosen) : chosen
  const type = params.get('chart') === 'bars' ? 'bars' : 'lines'
  return {
    type: opened?.type === 'top' && type === 'lines' ? 'top' : type,
    group_by: by.map(
      (field) => opened?.group_by?.find((path) => isAt(path, field)) ?? apiField(field),
    ),
    ...(opened === null ? { bucket: 'auto' } : opened.bucket && { bucket: opened.bucket }),
    aggregates: [shown, ...others],
  }
}

/** Whether a view's path is this field, however it is written. */
function isAt(path: string, field: EventField): boolean {
  const named = fieldOfApi(path)
  return named !== undefined && fieldText(named) === fieldText(field)
}

function hasGroups({ group_by: groups = [] }: ViewChart): boolean {
  return groups.some((path) => fieldOfApi(path) !== undefined)
}

/** The figures that the screen can show. */
export const FUNCTIONS = [
  ...(['count', 'rate', 'uniq', 'sum', 'avg', 'min', 'max'] as const),
  ...(['p50', 'p75', 'p90', 'p95', 'p99', 'p99.9'] as const),
] as const

/** Whether it needs no field: it is of events, not of values. */
export function isOfEvents(fn: string): boolean {
  return fn === 'count' || fn === 'rate'
}

/** What the address has of a figure. */
function figureParams(figure: ViewAggregate | undefined) {
  if (figure === undefined) return { fn: undefined, of: undefined }
  const { fn, field } = figure
  const measured = isOfEvents(fn) || field === undefined ? undefined : fieldOfApi(field)
  return { fn: fn === 'count' ? undefined : fn, of: measured && fieldText(measured) }
}

/** What of the view the screen does not show, in words; nothing: it shows all. */
export function unshownOf({ chart, columns, problem }: ViewInfo): readonly string[] {
  const told: string[] = problem === null ? [] : [visibleLine(problem)]
  const hidden = columns.filter(({ path }) => fieldOfApi(path) === undefined)
  if (hidden.length > 0)
    told.push(`columns ${hidden.map(({ path }) => visibleLine(path)).join(', ')}`)
  if (chart === null) return told
  const { aggregates = [], bucket, type } = chart
  const isShown = hasGroups(chart)
  if (!isShown) told.push('figures that are not grouped by a field')
  for (const [index, aggregate] of aggregates.entries()) {
    const { fn, field, query } = aggregate
    const isKnown = (FUNCTIONS as readonly string[]).includes(fn)
    const isPlain = query === undefined && isKnown && (!isOfEvents(fn) || field === undefined)
    if (index > 0 || !isShown || !isPlain) told.push(visibleLine(aggregateText(aggregate)))
  }
  if (bucket !== undefined && bucket !== 'auto') told.push(`steps of ${visibleLine(bucket)}`)
  if (type === 'top') told.push('a list alone, without lines over time')
  return told
}

function aggregateText({ fn, field, as, query }: ViewAggregate): string {
  const of = field === undefined ? '' : ` of ${field}`
  const where = query === undefined ? '' : ` where ${query}`
  return `${fn}${of}${where}${as === undefined ? '' : ` (${as})`}`
}

/** What the address has of it, by parameter; undefined ones are left out. */
export function viewParams(view: ViewInfo): Readonly<Record<string, string | undefined>> {
  const { range, chart } = view
  const [aggregate] = chart?.aggregates ?? []
  return {
    q: view.query,
    from: range === null ? undefined : 'last' in range ? `-${range.last}` : range.from,
    to: range === null || 'last' in range ? undefined : range.to,
    basis: clockParam(view.time_basis),
    cols: fieldListText(view.columns.flatMap(({ path }) => knownField(path))),
    widths: viewWidths(view),
    order: view.order === 'oldest' ? view.order : undefined,
    by: fieldListText((chart?.group_by ?? []).flatMap(knownField)),
    ...figureParams(aggregate),
    chart: chart?.type === 'bars' ? 'bars' : undefined,
    view: view.id,
  }
}

function viewWidths({ columns }: ViewInfo): string {
  const widths = columns.flatMap(({ path, width }): [string, number][] => {
    return width === undefined ? [] : knownField(path).map((field) => [fieldText(field), width])
  })
  return widthsText(new Map(widths))
}

function knownField(path: string): readonly EventField[] {
  const field = fieldOfApi(path)
  return field === undefined ? [] : [field]
}
