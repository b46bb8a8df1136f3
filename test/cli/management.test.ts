/**
 * Goal: figures, fields, usage, views and tokens at the command line are what the API says.
 * Method: the command line against a service, on a stream of this test's own.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Api, NDJSON_TYPE, type Stream } from '../support/api.ts'
import { ONLY_LONG } from '../support/fuzzing.ts'
import { type SharedService, shareService } from '../support/service.ts'
import { CommandLine, until } from './run-cli.ts'

const BIG = '12345678901234567890'
/** What happened at noon of a day in January, and came today. */
const NOON = '2026-01-31T12:00:00.000Z'
const THEN = ['--from', '2026-01-31T11:30:00Z', '--to', '2026-01-31T12:30:00Z'] as const
let service: SharedService
let api: Api
let cli: CommandLine
let stream: Stream

before(async () => {
  service = await shareService()
  api = new Api(service)
  cli = new CommandLine(service)
  stream = await api.createStream()
  const events = ['error', 'info', 'info', 'info'].map((level, n) => {
    const rare = n === 0 ? `,"rare":${BIG},"od d,":1` : ''
    return `{"timestamp":"${NOON}","level":"${level}","took":{"ms":${n}}${rare}}`
  })
  await api.ingest(stream.key, events.join('\n'), { 'content-type': NDJSON_TYPE })
  await api.untilProjected(stream.id)
})

after(() => service?.close())

async function said(...args: readonly string[]): Promise<string> {
  const { code, out, err } = await cli.run(args)
  assert.equal(code, 0, `${args.join(' ')}: ${err}`)
  return out
}

test('query: buckets go by the clock; where a group has no event it has no row', async () => {
  const asked = ['query', stream.id, '--by', 'level', '--bucket', '5m', '--show', 'max:took.ms']
  assert.equal(
    await said(...asked, ...THEN),
    [
      'level  event time                max(took.ms)',
      `info   ${NOON}  3`,
      `error  ${NOON}  0`,
      '',
    ].join('\n'),
  )
  const today = (await said(...asked, '--receipt')).trimEnd().split('\n')
  assert.equal(today.length, 3)
  assert.match(today[0]!, /^level +receipt time +max\(took\.ms\)$/)
  assert.doesNotMatch(today[1]!, /2026-01-31/)
  const alone = (await said('query', stream.id, '--bucket', '5m', ...THEN)).trimEnd().split('\n')
  assert.equal(alone.length, 13, 'without groups the empty buckets are there')
  const csv = await said('query', stream.id, '--by', 'rare', '--csv', ...THEN)
  assert.equal(csv, `rare,count\r\n,3\r\n${BIG},1\r\n`)
})

test('compare: what is new, with a query for it, and what the range is compared to', {
  skip: ONLY_LONG,
}, async () => {
  const { id, key } = await api.createStream({ name: `compared ${Date.now()}` })
  const lines = Array.from({ length: 80 }, (_, n) => {
    const timestamp = `2026-03-01T1${n % 2}:${10 + (n % 50)}:00Z`
    return JSON.stringify({ timestamp, route: `/${n % 4}`, ...(n % 2 && { failed: 'disk' }) })
  })
  assert.equal((await api.ingest(key, lines.join('\n'))).status, 200)
  await api.untilProjected(id)
  const range = ['--from', '2026-03-01T11:00:00Z', '--to', '2026-03-01T12:00:00Z']
  const { code, out, err } = await cli.run(['compare', id, ...range])
  assert.equal(code, 0, err)
  const [text, query] = out.split('\n')
  assert.match(text!, /^failed="disk" is new: 40 events, 0 before/)
  assert.equal(query, '  failed="disk"')
  assert.match(err, /about as many events as before/)
  const json = JSON.parse(await said('compare', id, ...range, '--json', '-n', '1'))
  assert.equal(json.findings.length, 1)
  const same = ['--baseline', '2026-03-01T11:00:00Z..2026-03-01T12:00:00Z']
  assert.equal((await cli.run(['compare', id, ...range, ...same])).code, 1, 'nothing found')
  assert.equal((await cli.run(['compare', id, '--baseline', 'soon'])).code, 2)
})

test('schema: types, shares and samples, some of them by a part of the path', async () => {
  const all = (await said('schema', stream.id, ...THEN)).split('\n')
  assert.match(all[0]!, /^FIELD +TYPES +SHARE +LAST SEEN +SAMPLES$/)
  assert.ok(
    all.some((one) => /^level +string +100 % .*"info"/.test(one)),
    all.join('\n'),
  )
  assert.ok(all.some((one) => new RegExp(`^rare +integer +25 % .*${BIG}`).test(one)))
  assert.ok(all.some((one) => /^od d, +integer +25 %/.test(one)))
  assert.ok(all.some((one) => /^took +object +- /.test(one)))
  const some = (await said('schema', stream.id, 'K.M', '--json', ...THEN)).trimEnd().split('\n')
  assert.deepEqual(some.length, 1)
  const { path, types, share } = JSON.parse(some[0]!)
  assert.deepEqual([path, types, share], ['took.ms', ['integer'], 1])
  assert.ok((await said('schema', stream.id, 'rare', '--json')).includes(BIG), 'digits stay')
  assert.equal(some[0]!.split('"share"').length, 2 + types.length, 'the range has the last word')
  const none = await cli.run(['schema', stream.id, 'tok.ms'])
  assert.equal(none.code, 1)
  assert.match(none.err, /no event of this stream has tok\.ms; nearest: took\.ms/)
})

test('usage: of one stream, of all', async () => {
  assert.match(await said('usage', stream.id), /^STREAM .*\nevents +4\nbytes as sent +\d+ B\n/)
  assert.equal(JSON.parse(await said('usage', stream.id, '--json')).events, 4)
  assert.match(await said('usage'), /^STREAM +EVENTS +SENT +RAW +FOR READING /)
})

test('usage over time, by what makes it', async () => {
  // What keys sent, and refusals, are written a second after the first of them.
  await api.ingest(stream.key, 'not JSON')
  let refused = ''
  await until(async () => {
    refused = (await cli.run(['usage', '*', '--by', 'refusal'])).out
    return /^\S+ +test +malformed +- +1 +1 +8 B +20/m.test(refused)
  })
  assert.match(refused, /^STREAM +KEY +REASON +CAUSE +REQUESTS +EVENTS +BYTES +LAST\n/)
  assert.match(
    await said('usage', stream.id, '--by', 'key', '--from', '-1d'),
    /^KEY +REQUESTS +EVENTS +SENT +SENT OVER TIME\ntest +1 +4 +\d+ B +\s*█\s*\n$/,
  )
  const services = await said('usage', stream.id, '--by', 'service')
  assert.match(services, /^SERVICE .*\n\(none\) +4 +█\n$/)
  assert.equal((await cli.run(['usage', stream.id, '--from', '-1d'])).code, 2)
})

test('views: listed, run as events and as figures', async () => {
  const view = {
    name: 'Slow ones',
    query: 'took.ms:>=2',
    time_basis: 'event_time',
    columns: [{ path: 'level' }, { path: 'took.ms' }],
    chart: { aggregates: [{ fn: 'count' }], group_by: ['level'], type: 'bars' },
  }
  await api.rest(`/v1/streams/${stream.id}/views`, 'POST', view)
  assert.match(
    await said('views', stream.id),
    /^ID .*\n\d+ +Slow ones +- +yes +all +took\.ms:>=2\n/,
  )
  const run = ['views', 'run', stream.id, 'Slow ones', ...THEN]
  assert.equal(
    await said(...run),
    `_event_time               level  took.ms\n${NOON}  info   2\n${NOON}  info   3\n`,
  )
  assert.equal(await said(...run, '--fields', 'took.ms', '--csv'), 'took.ms\r\n2\r\n3\r\n')
  const records = (await said(...run, '--json')).trimEnd().split('\n')
  assert.deepEqual(
    records.map((one) => JSON.parse(one).payload.took.ms),
    [2, 3],
  )
  assert.equal(await said(...run, '--chart'), 'level  count\ninfo   2\n')
  assert.equal((await cli.run(['views', 'run', stream.id, 'None'])).code, 2)
})

test('views: renamed and edited, each by what changes', async () => {
  const path = `/v1/streams/${stream.id}/views`
  const view = { name: 'Old', query: 'level:info', columns: [{ path: 'level', width: 90 }] }
  const { id } = JSON.parse(await api.rest(path, 'POST', view))
  await said('views', 'rename', stream.id, 'Old', 'New')
  const edits = ['--query', 'level:error', '--columns', 'rare,level', '--shared', 'no']
  await said('views', 'edit', stream.id, id, ...edits, '--description', 'what broke')
  const { name, query, columns, shared, description, version } = JSON.parse(
    await api.rest(`${path}/${id}`),
  )
  assert.deepEqual([name, query, shared, version], ['New', 'level:error', false, 3])
  assert.deepEqual(columns, [{ path: 'rare' }, { path: 'level', width: 90 }])
  assert.equal(description, 'what broke')
  const wrong = await cli.run(['views', 'rename', stream.id, 'New'])
  assert.equal(wrong.code, 2)
})

test('alerts: a rule is put, again without a change, and listed', async () => {
  const name = `cli-${stream.id}`
  const rule = { name, query: 'no:where', condition: { op: '>', value: 5 }, window: '1h' }
  const put = async () => {
    return (await cli.run(['alerts', 'put', '-'], { input: JSON.stringify(rule) })).out
  }
  assert.equal(await put(), `${name}: made\n`)
  assert.equal(await put(), `${name}: unchanged\n`)
  assert.match(await said('alerts'), new RegExp(`^quiet +${name} +count > 5 in 1h `, 'm'))
  await said('alerts', 'delete', name)
})

test('tokens: made, used, listed, revoked', async () => {
  const made = await said('tokens', 'create', '--name', 'cli', '--expires', '90d', '--json')
  const { id, token, scopes, expires_at: expires } = JSON.parse(made)
  assert.deepEqual(scopes, ['streams:read', 'events:read'])
  const days = (Date.parse(expires) - Date.now()) / 86_400_000
  assert.ok(days > 89.9 && days <= 90, expires)
  const env = { SLUICE_TOKEN: token }
  assert.equal((await cli.run(['usage', stream.id], { env })).code, 0)
  assert.equal((await cli.run(['tokens'], { env })).code, 3)
  assert.match(await said('tokens'), new RegExp(`^${id} +cli .*streams:read,events:read`, 'm'))
  await said('tokens', 'revoke', id)
  const refused = await cli.run(['usage', stream.id], { env })
  assert.deepEqual([refused.code, refused.err], [3, 'sluice: a valid credential is required\n'])
  assert.match(await said('tokens', 'create'), /^lap_\w+\n$/)
})

test('no credential is ever shown', async () => {
  const wrong: readonly Readonly<Record<string, string>>[] = [
    { SLUICE_TOKEN: 'lap_secret\nsecret' },
    { SLUICE_URL: 'http://user:secret@localhost:4800' },
    { SLUICE_URL: 'ftp://user:secret@localhost' },
  ]
  for (const env of wrong) {
    const { code, err } = await cli.run(['streams'], { env })
    assert.deepEqual([code, err.includes('secret')], [2, false], err)
  }
  const key = await cli.run(['send'], { input: '{}', env: { SLUICE_KEY: 'lax secret' } })
  assert.deepEqual([key.code, key.err.includes('secret')], [2, false], key.err)
})
