/** Saved views as the API tells them, and the address that each stands for. */
import { href } from './route.ts'

export interface ViewInfo {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly query: string
  readonly time_basis: 'ingested_at' | 'event_time'
  readonly range: { readonly last: string } | { readonly from: string; readonly to: string } | null
  readonly columns: readonly { readonly path: string }[]
  readonly chart: {
    readonly aggregates?: readonly { readonly fn: string; readonly field?: string }[]
    readonly group_by?: readonly string[]
    readonly type?: string
  } | null
  readonly shared: boolean
  readonly created_by: string
  readonly updated_at: string
  readonly version: number
  readonly problem: string | null
}

/** Of what the address shows: the settings of a view, but for its name. */
export function viewOf(params: URLSearchParams) {
  const text = (name: string) => params.get(name) ?? ''
  const [from, to] = [text('from') || '-1h', text('to') || 'now']
  const isRelative = to === 'now' && /^-\d+[smhdw]$/.test(from)
  const fn = text('fn') || 'count'
  return {
    query: text('q'),
    time_basis: text('basis') === 'event_time' ? 'event_time' : 'ingested_at',
    range: isRelative ? { last: from.slice(1) } : { from, to },
    columns: text('cols')
      .split(',')
      .filter((path) => path !== '')
      .map((path) => ({ path })),
    chart:
      text('by') === ''
        ? null
        : {
            type: text('chart') === 'bars' ? 'bars' : 'lines',
            group_by: [text('by')],
            bucket: 'auto',
            aggregates: [fn === 'count' ? { fn } : { fn, field: text('of') }],
          },
  }
}

export function viewHref(streamId: string, view: ViewInfo): string {
  const { range, chart } = view
  const [aggregate] = chart?.aggregates ?? []
  return href('explore', streamId, {
    q: view.query,
    from: range === null ? undefined : 'last' in range ? `-${range.last}` : range.from,
    to: range === null || 'last' in range ? undefined : range.to,
    basis: view.time_basis === 'event_time' ? 'event_time' : undefined,
    cols: view.columns.map(({ path }) => path).join(','),
    by: chart?.group_by?.[0],
    fn: aggregate?.fn === 'count' ? undefined : aggregate?.fn,
    of: aggregate?.field,
    chart: chart?.type === 'bars' ? 'bars' : undefined,
    view: view.id,
  })
}
