/**
 * Goal: a person at a terminal makes a stream and a key, sends, finds, follows and counts, with the
 * command line alone; scripts can go by its exit codes and by its output.
 * Method: the command line as a process of its own against a running service.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const ENTRY = fileURLToPath(new URL('../../../src/cli.js', import.meta.url))
const dataDir = makeDataDir()
let service: Service

before(async () => {
  service = await Service.start({ dataDir })
})

after(async () => {
  await service?.kill()
  await removeDataDir(dataDir)
})

function begin(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return spawn(process.execPath, [ENTRY, ...args], {
    env: { PATH: process.env.PATH, SLUICE_URL: service.url, SLUICE_TOKEN: service.token, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}

async function run(
  args: readonly string[],
  input = '',
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> {
  const child = begin(args, env)
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    out += text
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    err += text
  })
  child.stdin.end(input)
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, out, err }
}

const EVENTS = [
  { level: 'error', message: 'the disk is full', took_ms: 12, big: 1 },
  { level: 'info', message: 'served \u001b[31min red\u0007', took_ms: 7 },
  { level: 'warn', service: 'cart', other: true },
].map((event) => JSON.stringify(event))
const BIG = '12345678901234567890'

test('a stream, a key, and events through a pipe', async () => {
  assert.deepEqual(await run(['streams', 'create', 'web', '--retention', '7d']), {
    code: 0,
    out: '1\n',
    err: '',
  })
  const key = (await run(['keys', 'create', 'web', '--name', 'cli'])).out.trim()
  assert.match(key, /^lax_/)
  const input = `${EVENTS.join('\n').replace('"big":1', `"big":${BIG}`)}\n`
  const sent = await run(['send'], input, { SLUICE_KEY: key })
  assert.deepEqual(sent, { code: 0, out: '3 stored, 0 rejected\n', err: '' })
  const bad = await run(['send', '-'], '{"a":1}\nnope\n', { SLUICE_KEY: key })
  assert.deepEqual([bad.code, bad.out], [3, '1 stored, 1 rejected\n'])
  assert.match(bad.err, /line 2/)
  const text = await run(['send', '--text'], 'a plain line\n', { SLUICE_KEY: key })
  assert.equal(text.out, '1 stored, 0 rejected\n')
  const { out } = await run(['streams'])
  assert.match(out, /^ID {2}NAME.*\n1 {3}web {3}5 /)
  assert.match((await run(['keys', 'web'])).out, /cli {3}lax_/)
})

test('search: lines for people, records for programs', async () => {
  const found = await run(['search', 'web', 'level:(error info)', '--from', '-1h', '-n', '5'])
  assert.equal(found.code, 0)
  const lines = found.out.trimEnd().split('\n')
  assert.match(lines[0]!, /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\S* error the disk is full$/)
  assert.match(lines[1]!, / info {2}served \\u001b\[31min red\\u0007$/)
  const json = await run(['search', '*', 'disk', '--json'])
  const record = JSON.parse(json.out)
  assert.equal(record._stream, '1')
  assert.ok(json.out.includes(`"big":${BIG}`), 'digits stay')
  const all = await run(['search', 'web', '--all', '--json'])
  assert.equal(all.out.trimEnd().split('\n').length, 5)
  const coloured = await run(['search', 'web', 'disk', '--color', 'always'])
  assert.ok(coloured.out.includes('\u001b[31;1merror'))
  const behind = await run(['search', 'web', '--', '-level:*'])
  assert.equal(behind.out.trimEnd().split('\n').length, 2)
})

test('exit codes: nothing found, a wrong command line, a refusal', async () => {
  const nothing = await run(['search', 'web', 'nosuchword'])
  assert.deepEqual([nothing.code, nothing.out], [1, ''])
  assert.match(nothing.err, /^by event time \(UTC\)\nno event matches\n/)
  for (const args of [
    ['nope'],
    ['search'],
    ['search', 'no-such'],
    ['search', 'web', 'a', 'b'],
    ['search', 'web', '--time-basis', 'ingested_at'],
    ['search', 'web', '--time-basis', 'event', '--receipt'],
    ['search', 'web', '--json', '--csv'],
    ['search', 'web', '--fields', 'a,,b'],
    ['search', 'web', '--fields', 'a,a'],
    ['search', 'web', '-C', '101'],
    ['search', 'web', '-A', '1', '--all'],
    ['serve'],
    ['--port', '4800'],
    ['completion', 'csh'],
    [],
  ]) {
    assert.equal((await run(args)).code, 2, args.join(' '))
  }
  const wrong = await run(['search', 'web', 'a:('])
  assert.equal(wrong.code, 3)
  assert.match(wrong.err, /column 4/)
  const stranger = await run(['streams'], '', { SLUICE_TOKEN: 'lap_aaaaaaaa_x' })
  assert.equal(stranger.code, 3)
  const away = await run(['streams'], '', { SLUICE_URL: 'http://127.0.0.1:2' })
  assert.equal(away.code, 3)
  assert.match(away.err, /does not answer/)
  // A port that no program asks, as browsers have it: nobody was asked.
  const never = await run(['streams'], '', { SLUICE_URL: 'http://127.0.0.1:9' })
  assert.deepEqual([never.code, /does not answer/.test(never.err)], [2, false])
  assert.equal((await run(['streams', 'delete', 'web'])).code, 2)
})

test('--help of each command names all its options', async () => {
  const { code, out } = await run(['--help'])
  assert.equal(code, 0)
  const commands = [...out.matchAll(/^ {2}([a-z]+) {2,}/gm)].map(([, name]) => name!)
  const served = [
    'tail',
    'search',
    'query',
    'patterns',
    'compare',
    'schema',
    'views',
    'alerts',
    'send',
    'streams',
    'usage',
  ]
  const own = ['serve', 'backup', 'restore']
  assert.deepEqual(commands, [...served, 'keys', 'tokens', 'completion', ...own])
  for (const name of commands.filter((one) => !own.includes(one))) {
    const help = await run([name, '--help'])
    assert.equal(help.code, 0)
    assert.doesNotMatch(help.out, /\n {6}\n/, 'an option without its meaning')
  }
})

test('query: a table of groups', async () => {
  const { code, out } = await run(['query', 'web', '--by', '_level', '--show', 'count,max:took_ms'])
  assert.equal(code, 0)
  assert.match(out, /^_level {2}count {2}max\(took_ms\)\n/)
  assert.match(out, /^error {3}1 {6}12$/m)
})

test('the clock is when events happened, unless receipt is asked for; it is told', async () => {
  const key = (await run(['keys', 'create', 'web'])).out.trim()
  const happened = '2026-01-31T12:00:00.000Z'
  const event = { timestamp: happened, message: 'late', n: '200', 'a,b': 1 }
  const input = `${JSON.stringify(event)}\n${JSON.stringify({ ...event, n: 200 })}\n`
  assert.equal((await run(['send'], input, { SLUICE_KEY: key })).code, 0)
  const hour = await run(['search', 'web', 'late'])
  assert.deepEqual([hour.code, hour.out], [1, ''])
  assert.match(hour.err, /^by event time \(UTC\)/)
  const then = ['--from', '2026-01-31T11:00:00Z', '--to', '2026-01-31T13:00:00Z']
  const found = await run(['search', 'web', 'late', ...then])
  assert.match(found.out, /^2026-01-31 12:00:00\S* {7}late\n2026-01-31 12:00:00/)
  const received = await run(['search', 'web', 'late', '--time-basis', 'receipt'])
  assert.match(received.err, /^by receipt time \(UTC\)/)
  assert.match(received.out, /^20\d\d-.* late\n/)
  assert.doesNotMatch(received.out, /^2026-01-31 12:00/)
  let out = ''
  for (let turn = 0; turn < 50 && !out.includes('"200"'); turn++) {
    if (turn > 0) await sleep(500)
    out = (await run(['query', 'web', 'late', '--by', 'n,`a,b`', ...then])).out
  }
  assert.match(out, /^200 +1 +1$/m)
  assert.match(out, /^"200" +1 +1$/m)
  const byHour = await run(['query', 'web', 'late', '--bucket', '1h', ...then])
  assert.match(byHour.out, /^event time +count\n/)
  assert.equal((await run(['query', 'web', 'late', '--json'])).err, 'by event time (UTC)\n')
})

test('tail: events as they come, until Ctrl+C', async () => {
  const child = begin(['tail', 'web', 'level:warn', '--json'])
  try {
    let out = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text
    })
    const key = (await run(['keys', 'create', 'web'])).out.trim()
    for (let turn = 0; turn < 50 && out === ''; turn++) {
      await run(['send'], `{"level":"warn","n":${turn}}\n{"level":"info"}\n`, { SLUICE_KEY: key })
      await sleep(100)
    }
    assert.equal(JSON.parse(out.split('\n')[0]!).payload.level, 'warn')
    child.kill('SIGINT')
    assert.deepEqual(await once(child, 'close'), [0, null])
  } finally {
    child.kill('SIGKILL')
  }
})
