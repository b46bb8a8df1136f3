/**
 * Goal: what a tool says when it found nothing is true at once after ingest: events that wait for
 * the projection are neither denied nor left out, and a name is hinted at only to who may read it.
 * Method: a real service whose blocks wait for a minute; what is told before they are projected.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { CommandLine } from '../../cli/run-cli.ts'
import { Api, type Stream } from '../../support/api.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'
import { type Agent, connectAgent, createToken } from './agent-client.ts'

const dataDir = makeDataDir()
let service: Service
let api: Api
let agent: Agent

before(async () => {
  service = await Service.start({ dataDir, args: ['--materialize-delay-ms', '60000'] })
  api = new Api(service)
  agent = await connectAgent(service, await createToken(api, ['streams:read', 'events:read']))
})

after(async () => {
  await agent?.close()
  await service?.kill()
  await removeDataDir(dataDir)
})

const PAST = { from: '2020-01-01T00:00:00Z', to: '2020-01-02T00:00:00Z' }
const DENIALS = /no event|holds no event|has no field|has no value|holds 0/

async function hintsOf(stream: Stream, query: string, more: object = {}): Promise<string> {
  const found = await agent.json('search_events', { stream: stream.id, query, ...more })
  assert.deepEqual(found.events, [])
  return (found.hints as readonly string[]).join('\n')
}

test('events that wait are in the range, and are what clauses are about', async () => {
  const stream = await api.createStream({ name: 'fresh' })
  const line = JSON.stringify({ level: 'error', code: 7, message: 'payment refused' })
  assert.equal((await api.ingest(stream.key, line)).status, 200)
  const level = await hintsOf(stream, 'level:warn')
  assert.doesNotMatch(level, DENIALS)
  assert.match(level, /events that came just now \(counts are \d+ s behind\)/)
  assert.match(level, /none matches the clause: level:warn/)
  const both = await hintsOf(stream, 'level:error code:8 refused')
  assert.doesNotMatch(both, DENIALS)
  assert.match(both, /none matches the clause: code:8/)
  assert.doesNotMatch(both, /clause: level:error|clause: refused/)
  assert.equal((await api.ingest(stream.key, '{"level":"info","code":8}')).status, 200)
  const apart = await hintsOf(stream, 'level:error code:8')
  assert.match(apart, /each clause alone matches some/)
  assert.doesNotMatch(apart, /\(0\)/)
  // What is denied is not there: this field was never sent, nothing came in that year.
  assert.match(await hintsOf(stream, 'nothing_like_it:1'), /no field nothing_like_it/)
  assert.match(
    await hintsOf(stream, 'level:error', PAST),
    /no event from 2020.*its newest came at/s,
  )
  const oldTimes = await hintsOf(stream, 'level:error', { ...PAST, time_basis: 'event_time' })
  assert.match(oldTimes, /no event from 2020.*by the time of the event/s)
})

test('events that wait count beside those that are projected', async () => {
  const stream = await api.createStream({ name: 'mixed' })
  assert.equal((await api.ingest(stream.key, '{"level":"info","host":"a"}')).status, 200)
  await agent.call('aggregate', { stream: stream.id })
  assert.equal((await api.ingest(stream.key, '{"level":"error","zone":"b"}')).status, 200)
  const told = await hintsOf(stream, 'level:error zone:c')
  assert.doesNotMatch(told, DENIALS)
  assert.match(told, /none matches the clause: zone:c/)
  assert.doesNotMatch(told, /clause: level:error/)
})

test('the command line denies nothing that waits, and says how far counts are behind', async () => {
  const stream = await api.createStream({ name: 'just-now' })
  const line = '{"level":"error","brand_new":7,"message":"payment refused"}'
  assert.equal((await api.ingest(stream.key, line)).status, 200)
  const cli = new CommandLine(service)
  const { code, err } = await cli.run(['search', 'just-now', 'level:error brand_new:8'])
  assert.equal(code, 1)
  assert.doesNotMatch(err, /no event is in|there is no field|none has level/)
  const word = await cli.run(['search', 'just-now', 'refus'])
  assert.match(word.err, /none has refus\nwords and values are matched whole: refus\* finds some/)
  assert.match(err, /events that came just now \(counts are \d+ s behind\).*none has brand_new:8/)
})

test('a stream is hinted at only to a token that may list streams', async () => {
  const secret = await api.createStream({ name: 'payroll-secrets' })
  const shared = await api.createStream({ name: 'open' })
  const wrong = ['payroll-secret', 'PAYROLL-SECRETS', String(Number(secret.id) + 500), 'opem']
  for (const scopes of [['events:write'], ['events:read'], ['events:read', 'events:write']]) {
    const narrow = await connectAgent(service, await createToken(api, scopes))
    const tools = scopes.map((scope) =>
      scope === 'events:read' ? 'search_events' : 'ingest_events',
    )
    for (const tool of tools) {
      for (const stream of wrong) {
        const more = tool === 'ingest_events' ? { events: [{ n: 1 }] } : {}
        const { isError, text } = await narrow.call(tool, { stream, ...more })
        assert.ok(isError)
        assert.match(text, /not_found: there is no such stream/)
        assert.doesNotMatch(text, /payroll-secrets|\(open\)|list_streams/)
        assert.ok(!text.includes(secret.id) && !text.includes(shared.id), text)
      }
    }
    await narrow.close()
  }
  const wide = await connectAgent(service, await createToken(api, ['streams:read', 'events:write']))
  const { text } = await wide.call('ingest_events', { stream: 'opem', events: [{ n: 1 }] })
  assert.match(text, /perhaps one of: \d+ \(open\)/)
  await wide.close()
})
