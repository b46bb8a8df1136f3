/** `npm run bench:redaction`: what the secret scanner finds, misses, and takes for a secret. */
import { existsSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { loadCorpus } from '../corpus.ts'
import { formatTable } from '../table.ts'
import { measureReport } from './report.ts'

const ACCESS_LOG = '../shared/data/apache_access.log'

function readLines(path: string): string[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
}

const { values } = parseArgs({
  options: {
    samples: { type: 'string', default: '50' },
    lines: { type: 'string', default: ACCESS_LOG },
    seed: { type: 'string', default: '1' },
  },
})
const lines = [
  ...loadCorpus({ kind: 'json', count: 5_000 }),
  ...loadCorpus({ kind: 'text', count: 5_000 }),
]
if (existsSync(values.lines)) lines.push(...readLines(values.lines))
else console.log(`without real log lines: ${values.lines} is not there`)

const report = measureReport(Number(values.samples), lines, Number(values.seed))
const rows = report.formats.map(({ name, samples, found, missedIn }) => [
  name,
  String(samples),
  (found / samples).toFixed(4),
  missedIn === undefined ? '' : JSON.stringify(missedIn),
])
console.log(formatTable(['format', 'samples', 'recall', 'missed in'], rows))
console.log(`recall ${report.recall.toFixed(4)}`)
console.log(`false hits ${report.falseHits.length} of ${report.lookAlikes} that must stay`)
for (const hit of new Set(report.falseHits)) console.log(`  ${hit}`)
