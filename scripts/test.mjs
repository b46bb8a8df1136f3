/**
 * Runs the compiled tests: unit tests two files at a time, then those that start stores or whole
 * services one at a time. Ends with the totals of both, in the words of Node's own test runner.
 *
 *   npm test                     everything
 *   npm test -- tape http/       test files whose path contains one of these
 *   npm test -- --name=repaired  tests whose name matches
 */
import { readdirSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const testDir = join(root, 'dist', 'test')
/** Folders whose tests share the machine with nobody: they start stores and measure time. */
const ALONE = ['machine', 'embedded', 'store', 'e2e', 'crash']
/** A test file that takes longer hangs. */
const FILE_MS_MAX = 5 * 60_000
const TOTALS = ['tests', 'suites', 'pass', 'fail', 'cancelled', 'skipped', 'todo']

const totals = new Map(TOTALS.map((name) => [name, 0]))
const startMs = Date.now()
const args = process.argv.slice(2)
const names = args.filter((arg) => arg.startsWith('--name=')).map((arg) => arg.slice(7))
const filters = args.filter((arg) => !arg.startsWith('-'))
const unknown = args.filter((arg) => arg.startsWith('-') && !arg.startsWith('--name='))

const files = readdirSync(testDir, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.test.js'))
  .filter((path) => filters.length === 0 || filters.some((filter) => path.includes(filter)))
  .sort()
const isAlone = (path) => ALONE.includes(path.split(sep)[0])

if (unknown.length > 0 || files.length === 0) {
  console.error(unknown.length > 0 ? `unknown: ${unknown.join(' ')}` : 'no such test file')
  process.exitCode = 1
} else {
  await runGroup(
    files.filter((path) => !isAlone(path)),
    2,
  )
  await runGroup(files.filter(isAlone), 1)
  const seconds = ((Date.now() - startMs) / 1000).toFixed(1)
  console.log(`\n${files.length} files in ${seconds} s`)
  for (const [name, count] of totals) console.log(`# ${name} ${count}`)
  console.log(`# duration_ms ${Date.now() - startMs}`)
  if (totals.get('fail') + totals.get('cancelled') > 0) process.exitCode = 1
}

/** Runs files with Node's spec reporter, less its totals: those are added up here. */
async function runGroup(group, concurrency) {
  if (group.length === 0) return
  const events = run({
    files: group.map((path) => join(testDir, path)),
    concurrency,
    timeout: FILE_MS_MAX,
    testNamePatterns: names.length > 0 ? names.map((name) => new RegExp(name)) : undefined,
  })
  const reporter = new spec()
  reporter.on('data', (text) => process.stdout.write(text))
  for await (const event of events) {
    if (takesTotal(event)) continue
    if (event.type === 'test:fail' && event.data.nesting === 0) process.exitCode = 1
    reporter.write(event)
  }
  reporter.end()
  await new Promise((resolve) => reporter.on('end', resolve))
}

/** True for the totals line of a whole run, which it adds up. */
function takesTotal(event) {
  if (event.type !== 'test:diagnostic' || event.data.nesting !== 0) return false
  const match = /^(\w+) ([\d.]+)$/.exec(event.data.message)
  if (match === null) return false
  if (match[1] === 'duration_ms') return true
  if (!totals.has(match[1])) return false
  totals.set(match[1], totals.get(match[1]) + Number(match[2]))
  return true
}
