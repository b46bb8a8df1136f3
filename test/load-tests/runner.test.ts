/**
 * Goal: whoever runs a load test for the first time, wrongly, or without k6 is told what to do.
 * Method: the runner as a process, in an environment with nothing of ours in it.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { loadOptions, loadScenarios, RUNNER } from './modules.ts'

const { OPTIONS } = await loadOptions()
const { SCENARIOS } = await loadScenarios()
const folder = mkdtempSync(join(tmpdir(), 'sluice-load-test-'))

after(() => rmSync(folder, { recursive: true, force: true }))

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Nothing is found in this environment, not even by accident. */
function run(args: readonly string[], environment: Record<string, string> = {}): Promise<Ended> {
  const env = { PATH: '', HOME: folder, TMPDIR: folder, ...environment }
  const child = spawn(process.execPath, [fileURLToPath(RUNNER), ...args], { env })
  const printed = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text) => (printed.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text) => (printed.stderr += text))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, ...printed }))
  })
}

test('--help names every scenario and every option', async () => {
  const { code, stdout } = await run(['--help'])
  assert.equal(code, 0)
  for (const [name, { sentence }] of Object.entries(SCENARIOS)) {
    assert.ok(stdout.includes(`  ${name.padEnd(8)} ${sentence}`), name)
  }
  for (const { env, sentence, flag } of OPTIONS) {
    assert.ok(stdout.includes(`${env.padEnd(23)} ${sentence}`), env)
    if (flag !== undefined) assert.ok(stdout.includes(`  ${flag} `), flag)
  }
})

test('without k6 it says how to get it, and starts nothing', async () => {
  // Nothing found, nothing there, a folder.
  for (const K6 of ['', '/nowhere/k6', folder]) {
    const { code, stdout, stderr } = await run(['mixed'], { K6 })
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, /k6 was not found/)
    assert.match(stderr, /go install go\.k6\.io\/k6@latest/)
    assert.doesNotMatch(stderr, /starting/)
  }
})

const url = 'http://127.0.0.1:9'
for (const [args, environment, message] of [
  [['nope'], {}, /no such scenario: nope/],
  [['constructor'], {}, /no such scenario/],
  [['mixed', 'soak'], {}, /name one scenario/],
  [['--vus', '2'], {}, /name one scenario/],
  [['mixed', '--nope'], {}, /no such option: --nope/],
  [['mixed', '--token', 'x'], {}, /no such option: --token/],
  [['mixed', '--vus'], {}, /--vus needs a value/],
  [['mixed', '--surfaces', 'native,smoke'], {}, /SURFACES takes some of native,.*small/],
  [['mixed', '--vus=0'], {}, /VUS takes a whole number/],
  [['mixed'], { DURATION: 'long' }, /DURATION takes a time: 90s, 10m, 2h/],
  [['mixed', '--base-url', url], {}, /set TOKEN .* or API_KEY/],
  [['mixed', '--corpus', '/nowhere', '--prepare', folder], {}, /CORPUS cannot be used: ENOENT/],
  [['mixed', '--corpus', fileURLToPath(RUNNER), '--prepare', folder], {}, /CORPUS cannot be used/],
] as const) {
  test(`wrong: ${args.join(' ').replaceAll(folder, '…')} ${Object.keys(environment)}`, async () => {
    const { code, stdout, stderr } = await run(args, environment)
    assert.deepEqual([code, stdout], [2, ''])
    assert.match(stderr, message)
    assert.match(stderr, /^load: .*; see --help\n$/, 'one line, no stack')
  })
}

test('nothing given: usage, and the exit code of a wrong call', async () => {
  const { code, stdout } = await run([])
  assert.equal(code, 2)
  assert.match(stdout, /^usage: npm run load -- <scenario>/)
})

test('--prepare writes the bodies for another machine; needs no k6, no service', async () => {
  const bodies = join(folder, 'bodies')
  const args = [
    'mixed',
    '--surfaces',
    'native,small',
    '--prepare',
    bodies,
    '--events-per-request',
    '50',
  ]
  const { code, stdout } = await run(args, { BASE_URL: url })
  assert.equal(code, 0)
  assert.match(stdout, /k6 run load-tests\/mixed\.mjs/)
  assert.deepEqual(readdirSync(bodies).sort(), ['native-1.bodies', 'native-50.bodies'])
})
