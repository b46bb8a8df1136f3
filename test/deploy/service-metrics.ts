/** The metrics that there are: their labels as served, and as docs/operations.md says. */
import { readFileSync } from 'node:fs'

export interface ServedMetric {
  readonly type: string
  /** Of its samples; none where nothing was counted yet. */
  readonly samples: readonly Readonly<Record<string, string>>[]
}

const SUFFIXES: Readonly<Record<string, readonly string[]>> = {
  histogram: ['_bucket', '_sum', '_count'],
  summary: ['', '_sum', '_count'],
}

/** By the name of a series, as an expression names it: a histogram has three. */
export function readScrape(text: string): Map<string, ServedMetric> {
  const metrics = new Map<string, { type: string; samples: Record<string, string>[] }>()
  for (const [, name = '', type = ''] of text.matchAll(/^# TYPE (\S+) (\S+)$/gm)) {
    for (const suffix of SUFFIXES[type] ?? ['']) metrics.set(name + suffix, { type, samples: [] })
  }
  for (const [, name = '', labels = ''] of text.matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)]
    const sample = Object.fromEntries(pairs.map(([, key = '', value = '']) => [key, value]))
    metrics.get(name)?.samples.push(sample)
  }
  return metrics
}

export interface DocumentedMetric {
  readonly labels: readonly string[]
  /** All that the page says about it. */
  readonly row: string
}

/** The table of docs/operations.md, by name, as `# TYPE` has it. */
export function documentedMetrics(): Map<string, DocumentedMetric> {
  const page = readFileSync(new URL('../../../docs/operations.md', import.meta.url), 'utf8')
  const metrics = new Map<string, DocumentedMetric>()
  for (const [row, names = ''] of page.matchAll(/^\| (`ingest_[^|]+) \| .+$/gm)) {
    for (const [, name = '', labels] of names.matchAll(/`(ingest_\w+)(?:\{([\w,]+)\})?`/g)) {
      metrics.set(name, { labels: labels?.split(',') ?? [], row })
    }
  }
  return metrics
}
