/**
 * Goal: the dashboard and the alerts ask for what the service tells, and each alert says what to
 * do.
 * Method: expressions are parsed by Prometheus' own grammar; names and labels are compared with a
 * scrape of a running service, and with the table of docs/operations.md, whose labels are compared
 * with that scrape, too: a metric that nothing was counted in has no labels there.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { before, describe, test } from 'node:test'
import { parse } from 'yaml'
import { call } from '../support/api.ts'
import { shareService } from '../support/service.ts'
import { type Asked, parsePromql } from './promql.ts'
import {
  type DocumentedMetric,
  documentedMetrics,
  readScrape,
  type ServedMetric,
} from './service-metrics.ts'

const ROOT = new URL('../../../', import.meta.url)
const read = (path: string) => readFileSync(new URL(path, ROOT), 'utf8')

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly for?: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; h: number }
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[]
}

const rules: readonly Rule[] = parse(read('deploy/prometheus/rules.yaml')).groups.flatMap(
  (group: { readonly rules: readonly Rule[] }) => group.rules,
)
const dashboard = JSON.parse(read('deploy/grafana/service.json'))
const panels = dashboard.panels as readonly Panel[]

/** What Prometheus puts to each series that it asks a node for. */
const BY_PROMETHEUS = ['job', 'instance']
/** Series of others, with the labels that are used: of Prometheus, the kubelet, kube-state-metrics
 *  and node_exporter. */
const OTHERS: Readonly<Record<string, readonly string[]>> = {
  up: BY_PROMETHEUS,
  kubelet_volume_stats_available_bytes: ['persistentvolumeclaim'],
  kubelet_volume_stats_capacity_bytes: ['persistentvolumeclaim'],
  kube_statefulset_status_replicas_ready: ['statefulset'],
  kube_statefulset_replicas: ['statefulset'],
  node_filesystem_avail_bytes: ['mountpoint', 'instance'],
  node_filesystem_size_bytes: ['mountpoint', 'instance'],
}

let served: ReadonlyMap<string, ServedMetric>
const documented: ReadonlyMap<string, DocumentedMetric> = documentedMetrics()

before(async () => {
  const service = await shareService()
  served = readScrape((await call(`${service.url}/metrics`)).text)
  await service.close()
})

/** Undefined where there is no such series. */
function labelsOf(series: string): string[] | undefined {
  if (series in OTHERS) return [...OTHERS[series]!]
  const metric = served.get(series)
  if (metric === undefined) return undefined
  const bucket = series.endsWith('_bucket') ? ['le'] : []
  const base = series.replace(/_(bucket|sum|count)$/, '')
  const page = documented.get(base)?.labels ?? []
  // Nothing is counted in it before the first collection.
  const ofNode = base === 'nodejs_gc_duration_seconds' ? ['kind'] : []
  return [...Object.keys(metric.samples[0] ?? {}), ...page, ...ofNode, ...bucket, ...BY_PROMETHEUS]
}

/** What is wrong with an expression; what it yields has the labels that are returned. */
function check(expression: string, wrong: string[]): readonly string[] {
  const { selectors, grouped }: Asked = parsePromql(expression)
  const all = new Set<string>()
  for (const { metric, matchers } of selectors) {
    const labels = labelsOf(metric)
    if (labels === undefined) wrong.push(`${expression}: there is no ${metric}`)
    for (const [label, value] of matchers) {
      if (labels?.includes(label) === false) wrong.push(`${metric} has no label ${label}`)
      const page = documented.get(metric)?.row
      if (page === undefined || value.includes('$')) continue
      for (const one of value.split('|')) {
        if (!page.includes(one)) wrong.push(`${metric} is never said to have ${label}="${one}"`)
      }
    }
    for (const label of labels ?? []) all.add(label)
  }
  for (const label of grouped.filter((one) => !all.has(one))) {
    wrong.push(`${expression}: no label ${label}`)
  }
  return grouped.length > 0 ? grouped : [...all]
}

test('the page has the labels of all metrics that are served, and no metric that is not', () => {
  const wrong: string[] = []
  for (const [name, { labels }] of documented) {
    const metric = served.get(name) ?? served.get(`${name}_bucket`)
    if (metric === undefined) wrong.push(`${name} is not served`)
    const own = metric?.samples.map((sample) => Object.keys(sample).filter((key) => key !== 'le'))
    if (own?.[0] !== undefined && own[0].toSorted().join() !== labels.toSorted().join()) {
      wrong.push(`${name} has the labels ${own[0]}, the page says ${labels}`)
    }
  }
  assert.deepEqual(wrong, [])
  assert.ok(documented.size > 80)
})

describe('alerts', () => {
  test('ask for series and labels that there are', () => {
    const wrong: string[] = []
    for (const { alert, expr, annotations } of rules) {
      const labels = check(expr, wrong)
      for (const [, used = ''] of JSON.stringify(annotations).matchAll(/\$labels\.(\w+)/g)) {
        if (!labels.includes(used)) wrong.push(`${alert} shows a label ${used} that it lacks`)
      }
    }
    assert.deepEqual(wrong, [])
  })

  test('say what is the matter, what to do, and where that is written', () => {
    assert.equal(new Set(rules.map(({ alert }) => alert)).size, rules.length)
    for (const { alert, labels, annotations } of rules) {
      assert.match(alert, /^Sluice[A-Z]\w+$/)
      assert.match(labels.severity ?? '', /^(critical|warning)$/, alert)
      assert.deepEqual(Object.keys(annotations), ['summary', 'description', 'runbook'], alert)
      assert.ok(annotations.summary!.length <= 90, `${alert}: a summary is a line`)
      const [path = '', anchor = ''] = annotations.runbook!.split('#')
      assert.ok(anchorsOf(read(path)).includes(anchor), `${alert}: ${annotations.runbook}`)
    }
  })

  test('are those that the page asks for', () => {
    const asked = [...documented].filter(([, { row }]) => /Alert (on|at)\b/.test(row))
    const used = rules.map(({ expr }) => expr).join('\n')
    const without = asked.filter(([name]) => !used.includes(name)).map(([name]) => name)
    // Told by `ingest_listen_paused`, which is in the same row.
    assert.deepEqual(without, ['ingest_listen_pauses'])
    assert.ok(asked.length > 8)
  })
})

function anchorsOf(page: string): string[] {
  return [...page.matchAll(/^#+ (.+)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  )
}

describe('the dashboard', () => {
  test('asks for series and labels that there are', () => {
    const wrong: string[] = []
    for (const { title, targets = [] } of panels) {
      for (const { expr, legendFormat } of targets) {
        const labels = check(expr, wrong)
        for (const [, used = ''] of legendFormat.matchAll(/\{\{(\w+)\}\}/g)) {
          if (!labels.includes(used)) wrong.push(`${title}: ${expr} has no label ${used}`)
        }
      }
    }
    assert.deepEqual(wrong, [])
  })

  test('has panels that say what they show and lie beside each other', () => {
    assert.equal(new Set(panels.map(({ id }) => id)).size, panels.length)
    const taken = new Set<string>()
    for (const { type, title, description, targets, gridPos } of panels) {
      if (type !== 'row') assert.ok(description && targets && targets.length > 0, title)
      assert.ok(gridPos.x + gridPos.w <= 24, title)
      for (let cell = 0; cell < gridPos.w * gridPos.h; cell++) {
        const at = `${gridPos.x + (cell % gridPos.w)},${gridPos.y + Math.floor(cell / gridPos.w)}`
        assert.ok(!taken.has(at), `${title} lies on another panel`)
        taken.add(at)
      }
    }
  })

  test('asks what an operator chooses, and says nothing about one Grafana', () => {
    const names = dashboard.templating.list.map((one: { name: string }) => one.name)
    assert.deepEqual(names, ['datasource', 'job', 'instance'])
    for (const [, uid] of JSON.stringify(dashboard.panels).matchAll(/"uid":"([^"]+)"/g)) {
      assert.equal(uid, `\${${'datasource'}}`)
    }
  })
})
