/** What Grafana's data source makes of a panel's target: a header and a search of `_msearch`. */

// biome-ignore lint/suspicious/noExplicitAny: a target as dashboards have it.
type Any = any

export interface PanelRange {
  readonly fromMs: number
  readonly toMs: number
  readonly interval: string
}

export function panelLines(target: Any, range: PanelRange, index = ''): string {
  const header = { ignore_unavailable: true, index, search_type: 'query_then_fetch' }
  return `${JSON.stringify(header)}\n${JSON.stringify(panelSearch(target, range))}\n`
}

function panelSearch(target: Any, { fromMs, toMs, interval }: PanelRange): Any {
  const { timeField, query, metrics, bucketAggs } = target
  const range = { [timeField]: { gte: fromMs, lte: toMs, format: 'epoch_millis' } }
  const text = { query_string: { analyze_wildcard: true, query } }
  const base = { query: { bool: { filter: [{ range }, text] } } }
  const [metric] = metrics
  if (metric.type === 'logs') {
    const order = { order: 'desc' }
    return {
      ...base,
      size: Number(metric.settings.limit),
      sort: [{ [timeField]: { ...order, unmapped_type: 'boolean' } }, { _doc: order }],
      fields: [{ field: timeField, format: 'strict_date_optional_time_nanos' }],
      script_fields: {},
      highlight: {
        fields: { '*': {} },
        pre_tags: ['@HIGHLIGHT@'],
        post_tags: ['@/HIGHLIGHT@'],
        fragment_size: 2_147_483_647,
      },
      aggs: { '1': timeBuckets({ field: timeField, settings: {} }, { fromMs, toMs, interval }) },
    }
  }
  let aggs: Any = {}
  for (const { id, type, settings, field } of metrics) {
    if (type !== 'count') aggs[id] = { [type]: { field, ...settings } }
  }
  for (const bucket of [...bucketAggs].reverse()) {
    const of = bucketOf(bucket, { fromMs, toMs, interval })
    aggs = { [bucket.id]: Object.keys(aggs).length === 0 ? of : { ...of, aggs } }
  }
  return { ...base, size: 0, aggs }
}

function bucketOf(bucket: Any, range: PanelRange): Any {
  const { type, field, settings } = bucket
  if (type === 'date_histogram') return timeBuckets(bucket, range)
  const { size, order, orderBy, min_doc_count, missing } = settings
  const more = missing === undefined ? {} : { missing }
  const of = { field, size, order: { [orderBy]: order }, min_doc_count, ...more }
  return { terms: of }
}

function timeBuckets({ field, settings }: Any, { fromMs, toMs, interval }: PanelRange): Any {
  return {
    date_histogram: {
      field,
      fixed_interval: interval,
      min_doc_count: settings.min_doc_count ?? 0,
      extended_bounds: { min: fromMs, max: toMs },
      format: 'epoch_millis',
    },
  }
}
