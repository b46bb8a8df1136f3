/** Where the chart is, what is rendered of it, and by what one sees whether that is still so. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const HELM = fileURLToPath(new URL('../../../deploy/helm/', import.meta.url))
export const CHART = join(HELM, 'sluice')

/** Of both extremes: one node with embedded stores, and all that can be switched on. */
export const RENDERED = {
  'one-node': [],
  stores: [
    'replicas=3',
    'postgres.existingSecret=sluice-stores',
    'postgres.secretKey=postgres-url',
    'clickhouse.existingSecret=sluice-stores',
    'clickhouse.secretKey=clickhouse-url',
    'persistence.size=1Gi',
    'options.in-flight-bytes-max=67108864',
    'options.drain-timeout-ms=45000',
    'tls.existingSecret=sluice-tls',
    'ingress.enabled=true',
    'ingress.className=nginx',
    'ingress.host=logs.example.com',
    'ingress.tlsSecret=logs-example-com',
    'serviceMonitor.enabled=true',
  ],
} as const satisfies Record<string, readonly string[]>

/** The schema is not rendered: options come to it without Helm. */
const NOT_RENDERED = /^values\.schema\.json$|\.md$/

export function chartFile(name: string): string {
  return join(CHART, name)
}

export function renderedFile(name: string): string {
  return join(HELM, 'rendered', `${name}.yaml`)
}

export function readRendered(name: string): string {
  return readFileSync(renderedFile(name), 'utf8')
}

/** Of all that the manifests are made from. */
export function chartSum(name: string): string {
  const hash = createHash('sha256')
  const entries = readdirSync(CHART, { recursive: true, withFileTypes: true })
  const paths = entries
    .filter((entry) => entry.isFile() && !NOT_RENDERED.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
  for (const path of paths.toSorted()) {
    hash.update(`${path.slice(CHART.length)}\n`).update(readFileSync(path))
  }
  return hash
    .update(JSON.stringify(Object.entries(RENDERED).find(([key]) => key === name)))
    .digest('hex')
}

const SUM = /^# Of a chart with the checksum ([0-9a-f]{64})\.$/m

export function sumOf(rendered: string): string {
  return SUM.exec(rendered)?.[1] ?? ''
}

/** A rendered file: how it was made, and what Helm printed. */
export function renderedText(name: string, printed: string): string {
  const sets = Object.entries(RENDERED).find(([key]) => key === name)?.[1] ?? []
  const head = [
    '# Made by `helm template sluice deploy/helm/sluice`, with',
    ...sets.map((one) => `#   --set ${one}`),
    '# for those who want to see what the chart makes, or have no Helm.',
    `# Of a chart with the checksum ${chartSum(name)}.`,
  ]
  if (sets.length === 0) head[0] = head[0]!.replace(', with', ',')
  return `${head.join('\n')}\n${printed}`
}
