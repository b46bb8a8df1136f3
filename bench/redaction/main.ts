/**
 * `npm run bench:redaction`: what redaction finds, misses, and takes for a secret, on four sets
 * that were written apart from each other.
 */
import { existsSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { loadCorpus } from '../corpus.ts'
import { formatTable } from '../table.ts'
import { measureField } from './field/measure.ts'
import { measureNames } from './names/measure.ts'
import { measureReport } from './report.ts'
import { measureThird } from './third/measure.ts'

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

interface Row {
  readonly name: string
  readonly samples: number
  readonly found: number
  readonly missedIn: string
}

function printRecall(rows: readonly Row[], recall: number): void {
  const cells = rows.map(({ name, samples, found, missedIn }) => [
    name,
    String(samples),
    (found / samples).toFixed(4),
    missedIn,
  ])
  console.log(formatTable(['format', 'samples', 'recall', 'missed in'], cells))
  console.log(`recall ${recall.toFixed(4)}`)
}

function printFalseHits(hits: readonly string[], count: number): void {
  console.log(`false hits ${hits.length} of ${count} that must stay`)
  for (const hit of new Set(hits)) console.log(`  ${hit}`)
}

const samples = Number(values.samples)
const seed = Number(values.seed)

console.log('First set: string values, by the scanner')
const report = measureReport(samples, lines, seed)
const formats = report.formats.map(({ missedIn, ...format }) => {
  return { ...format, missedIn: missedIn === undefined ? '' : JSON.stringify(missedIn) }
})
printRecall(formats, report.recall)
printFalseHits(report.falseHits, report.lookAlikes)

console.log('\nSecond set: events as services send them, through all of redaction')
const field = measureField(Math.ceil(samples / 5), seed)
const rows = field.formats.map(({ missedIn, ...format }) => {
  return { ...format, missedIn: missedIn.join(', ') }
})
printRecall(rows, field.recall)
printFalseHits(field.falseHits, field.ordinary)

function printNames(what: string, name: string, names: readonly string[]): void {
  if (names.length > 0) console.log(`${what}, ${name}: ${names.join(' | ')}`)
}

console.log('\nThird set: events of many services, written without a look at the matcher')
const third = measureThird(Math.ceil(samples / 10), lines, seed)
const thirdRows = third.classes.map(({ name, samples, found, kept }) => [
  name,
  String(samples),
  (found / samples).toFixed(4),
  (kept / samples).toFixed(4),
])
console.log(formatTable(['class', 'samples', 'recall', 'surroundings kept'], thirdRows))
console.log(`recall ${third.recall.toFixed(4)}`)
const stayedRows = third.stayed.map(({ name, distinct, samples, hits }) => {
  return [name, String(distinct), String(samples), String(hits.length)]
})
console.log(formatTable(['must stay', 'distinct', 'samples', 'hit'], stayedRows))
for (const { name, missed } of third.classes) printNames('missed', name, missed)
for (const { name, lost } of third.classes) printNames('surroundings lost', name, lost)
for (const { name, hits } of third.stayed) printNames('hit', name, hits)

console.log('\nFourth set: names from manuals and example configurations')
const named = measureNames(seed)
const nameRows = named.kinds.map(({ name, isHeldOut, samples, missed }) => [
  name,
  isHeldOut ? 'held out' : 'learned from',
  String(samples),
  (1 - missed.length / samples).toFixed(4),
])
console.log(formatTable(['names', 'half', 'samples', 'recall'], nameRows))
for (const { name, isHeldOut, missed } of named.kinds) {
  // Whoever reads what was missed of the other half learns from it as well.
  if (!isHeldOut) printNames('missed', name, missed)
}
printFalseHits(named.hits, named.plain)
