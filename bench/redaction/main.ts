/**
 * `npm run bench:redaction`: what redaction finds, misses, and takes for a secret, on four sets
 * that were written apart from each other.
 */
import { existsSync, readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { loadCorpus } from '../corpus.ts'
import { Random } from '../random.ts'
import { formatTable } from '../table.ts'
import { measureLeaks, measurePlain, recallOf } from './measure-events.ts'
import { measureReport } from './measure-values.ts'
import {
  drawFieldLeaks,
  drawFieldPlain,
  drawManualLeaks,
  drawThirdLeaks,
  drawThirdPlain,
  HELD_OUT,
  manualPlain,
} from './sets.ts'

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
const fieldRandom = new Random(seed)
const field = measureLeaks(drawFieldLeaks(fieldRandom, Math.ceil(samples / 5)))
const fieldRows = field.map(({ kind, missed, ...counts }) => {
  return { name: kind, ...counts, missedIn: missed.map((place) => place.split(' (')[0]).join(', ') }
})
printRecall(fieldRows, recallOf(field))
const [ordinary] = measurePlain(drawFieldPlain(fieldRandom, Math.ceil(samples / 5)))
printFalseHits(ordinary!.hits, ordinary!.samples)

function printNames(what: string, name: string, names: readonly string[]): void {
  if (names.length > 0) console.log(`${what}, ${name}: ${names.join(' | ')}`)
}

console.log('\nThird set: events of many services, written without a look at the matcher')
const thirdRandom = new Random(seed)
const third = measureLeaks(drawThirdLeaks(thirdRandom, Math.ceil(samples / 10)))
const thirdRows = third.map(({ kind, samples, found, kept }) => [
  kind,
  String(samples),
  (found / samples).toFixed(4),
  (kept / samples).toFixed(4),
])
console.log(formatTable(['class', 'samples', 'recall', 'surroundings kept'], thirdRows))
console.log(`recall ${recallOf(third).toFixed(4)}`)
const stayed = measurePlain(drawThirdPlain(thirdRandom, lines))
const stayedRows = stayed.map(({ kind, distinct, samples, hits }) => {
  return [kind, String(distinct), String(samples), String(hits.length)]
})
console.log(formatTable(['must stay', 'distinct', 'samples', 'hit'], stayedRows))
for (const { kind, missed } of third) printNames('missed', kind, missed)
for (const { kind, lost } of third) printNames('surroundings lost', kind, lost)
for (const { kind, hits } of stayed) printNames('hit', kind, hits)

console.log('\nFourth set: names from manuals and example configurations')
const manual = measureLeaks(drawManualLeaks(new Random(seed)))
const manualRows = manual.map(({ kind, samples, found }) => [
  kind.replace(HELD_OUT, ''),
  kind.endsWith(HELD_OUT) ? 'held out' : 'learned from',
  String(samples),
  (found / samples).toFixed(4),
])
console.log(formatTable(['names', 'half', 'samples', 'recall'], manualRows))
for (const { kind, missed } of manual) {
  // Whoever reads what was missed of the other half learns from it as well.
  if (!kind.endsWith(HELD_OUT)) printNames('missed', kind, missed)
}
const [manualNames] = measurePlain(manualPlain())
printFalseHits(manualNames!.hits, manualNames!.samples)
