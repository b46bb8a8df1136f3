/**
 * Goal: rules live in files: applied, applied again without a change, tried before; what they do is
 * looked at, paused and resumed, by words for people and JSON for programs.
 * Method: the command line against a service; silences need one that has them.
 */
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { Api, type Stream } from '../support/api.ts'
import { makeDataDir, removeDataDir, Service } from '../support/service.ts'
import { CommandLine, until } from './run-cli.ts'

const dataDir = makeDataDir()
const folder = mkdtempSync(join(tmpdir(), 'sluice-rules-'))
let service: Service
let api: Api
let cli: CommandLine
let stream: Stream

before(async () => {
  service = await Service.start({ dataDir })
  api = new Api(service)
  cli = new CommandLine(service)
  stream = await api.createStream({ name: 'web' })
  await api.ingest(stream.key, '{"level":"error","service":"cart"}')
  await api.untilProjected(stream.id)
})

after(async () => {
  rmSync(folder, { recursive: true })
  await service?.kill()
  await removeDataDir(dataDir)
})

async function said(...args: readonly string[]): Promise<string> {
  const { code, out, err } = await cli.run(['alerts', ...args])
  assert.equal(code, 0, `${args.join(' ')}: ${err}`)
  return out
}

const RULE = { query: 'level:error', condition: { op: '>', value: 0 }, window: '10s' }

test('a folder of rules is applied, again without a change, and says what changes', async () => {
  const rules = join(folder, 'rules')
  mkdirSync(rules)
  writeFileSync(join(rules, 'web-errors.json'), JSON.stringify({ ...RULE, group_by: ['service'] }))
  const other = {
    name: 'silent',
    condition: { op: '<', value: 1 },
    window: '1h',
    time_basis: 'event_time',
  }
  writeFileSync(join(rules, 'others.json'), JSON.stringify([other]))
  writeFileSync(join(rules, 'notes.txt'), 'not a rule')
  const dry = await said('apply', rules, '--dry-run')
  assert.equal(dry, 'silent: would be made\nweb-errors: would be made\n')
  assert.equal((await api.tryRest('/v1/alerts/rules/silent')).status, 404)
  assert.equal(await said('apply', rules), 'silent: made\nweb-errors: made\n')
  assert.equal(await said('apply', rules), 'silent: unchanged\nweb-errors: unchanged\n')
  // What is left out is what the service takes for it.
  assert.equal(
    await said('apply', rules, '--dry-run'),
    'silent: unchanged\nweb-errors: unchanged\n',
  )
  const changed = { ...other, for: { in: 2 }, condition: { op: '<', value: 2 } }
  writeFileSync(join(rules, 'others.json'), JSON.stringify([changed]))
  const what = 'silent: would be changed: condition, for\nweb-errors: unchanged\n'
  assert.equal(await said('apply', rules, '--dry-run'), what)
  assert.equal(await said('apply', rules), what.replace('would be ', ''))
  const relative = 'silent: would be changed: relative_to\nweb-errors: unchanged\n'
  for (const relative_to of [{ before: '1d' }, undefined]) {
    writeFileSync(join(rules, 'others.json'), JSON.stringify([{ ...changed, relative_to }]))
    assert.equal(await said('apply', rules, '--dry-run'), relative)
    assert.equal(await said('apply', rules), relative.replace('would be ', ''))
  }
  const all = join(folder, 'all.json')
  writeFileSync(all, await said('list', '--json'))
  const put = (await said('put', all)).trimEnd().split('\n').sort()
  assert.deepEqual(put, ['silent: unchanged', 'web-errors: unchanged'])
  const piped = await cli.run(['alerts', 'put', '-', '--json'], {
    input: JSON.stringify({ name: 'web-errors', ...RULE, severity: 'critical' }),
  })
  assert.deepEqual(JSON.parse(piped.out), {
    ...{ rule: 'web-errors', done: 'changed', members: ['group_by', 'severity'] },
  })
})

test('a rule that is refused is told with its place, the others are put', async () => {
  const file = join(folder, 'some.json')
  writeFileSync(
    file,
    JSON.stringify([
      { name: 'bad', ...RULE, window: '7m' },
      { name: 'good', ...RULE },
    ]),
  )
  for (const args of [
    ['apply', file, '--dry-run'],
    ['apply', file],
  ]) {
    const { code, out, err } = await cli.run(['alerts', ...args])
    assert.equal(code, 3)
    assert.match(err, /^bad \(.*some\.json\): "every" must divide the day/)
    assert.match(out, /^good: (?:would be )?made\n$/)
  }
  writeFileSync(file, '{"name": "x",}')
  for (const args of [['put', file], ['put', join(folder, 'none')], ['put'], ['nope'], ['show']]) {
    assert.equal((await cli.run(['alerts', ...args])).code, 2, args.join(' '))
  }
})

test('what fires and why is told; pausing and resuming; a backtest', async () => {
  const sending = setInterval(() => {
    void api.ingest(stream.key, '{"level":"error","service":"cart"}')
  }, 1_000)
  try {
    await until(async () => (await cli.run(['alerts', 'list', '--firing'])).code === 0)
  } finally {
    clearInterval(sending)
  }
  const list = await said('list')
  assert.match(
    list,
    /^STATE +RULE +FIRES WHEN .*TELLS\nfiring +good +count > 0 in 10s +- +level:error +-$/m,
  )
  assert.match(
    await said('show', 'good'),
    /\nfires when +count > 0 in 10s\n.*\nSTATE +GROUP .*\nfiring +all +\d/s,
  )
  const [told, groups] = (await said('show', 'good', '--json')).trimEnd().split('\n')
  assert.equal(JSON.parse(told!).groups_firing, 1)
  assert.equal(JSON.parse(groups!).groups[0].state, 'firing')
  assert.match(await said('history', 'good'), / firing +all +\d+ +\d+$/m)
  assert.match(
    await said('history', 'good', '--windows', '-n', '500'),
    / breach +\d+ +\d+ +1 of 1$/m,
  )
  await said('ack', 'good', '--comment', 'known')
  assert.match(await said('show', 'good'), /\nfiring, acknowledged +all /)
  await said('unack', 'good')
  const silence = await said('silence', 'alertname=good', 'severity!=critical', '--for', '4h')
  assert.match(await said('silences'), /^\d+ +alertname=good severity!=critical +2/m)
  assert.match(await said('show', 'good'), /\nfiring, silenced +all /)
  await said('unsilence', silence.trim())
  assert.equal((await cli.run(['alerts', 'silences'])).code, 1)
  assert.equal((await cli.run(['alerts', 'silence', 'good'])).code, 2)
  const { code, err } = await cli.run(['alerts', 'pause', 'good'])
  assert.deepEqual([code, err], [0, 'good is paused\n'])
  assert.match(await said('list'), /^firing, paused +good/m)
  await said('resume', 'good')
  const file = join(folder, 'test.json')
  writeFileSync(file, JSON.stringify({ name: 'test', ...RULE, group_by: ['service'] }))
  const tried = await cli.run(['alerts', 'backtest', file, '--from', '-10m'])
  assert.match(tried.out, / firing +cart +\d+ +\d+$/m)
  assert.match(tried.err, /^test would have fired [1-9]\d* times: (?:59|60) windows until /)
  await said('delete', 'good')
  assert.equal((await cli.run(['alerts', 'show', 'good'])).code, 3)
})

test('channels and messages that did not arrive', async () => {
  await api.rest('/v1/alerts/channels/ops', 'PUT', { url: 'http://127.0.0.1:9/never' })
  assert.match(await said('channels'), /^ops +webhook +127\.0\.0\.1:9 +no/m)
  assert.equal((await cli.run(['alerts', 'messages', '--dead'])).code, 1, 'none')
  const rule = {
    name: 'silent-now',
    condition: { op: '<', value: 99 },
    window: '10s',
    channels: ['ops'],
  }
  await cli.run(['alerts', 'put', '-'], { input: JSON.stringify(rule) })
  await until(async () => (await cli.run(['alerts', 'messages', '--dead'])).code === 0)
  const dead = await said('messages')
  assert.match(dead, / silent-now +firing +all +ops +1 +its address is not one of the internet$/m)
  const { id } = JSON.parse((await said('messages', '--json')).split('\n')[0]!)
  await said('send-again', id)
  assert.equal((await cli.run(['alerts', 'send-again', '999999'])).code, 3)
})
