/**
 * Goal: rules are put, found, changed by one at a time and gone; nobody sees what is not theirs,
 * nothing is saved that could not be evaluated, and a rule's rights are those of who made it.
 * Method: the routes on a real control store; what a backtest asks is counted from a list.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { ALERTS_STREAM, streamsOfRule } from '../../src/alerts/rule-streams.ts'
import { IngestError } from '../../src/errors.ts'
import {
  ALERT_DELAY_MS_MAX,
  ALERT_FOR_WINDOWS_MAX,
  ALERT_GROUP_KEYS_MAX,
  ALERT_KEEP_WINDOWS_MAX,
  ALERT_RULE_BYTES_MAX,
  ALERT_WINDOW_MS_MAX,
  ALERT_WINDOW_MS_MIN,
} from '../../src/limits.ts'
import { formatDuration } from '../../src/model/duration.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { readViewSettings } from '../../src/read/views/view-settings.ts'
import { historySchema } from '../../src/serve/alert-pages.ts'
import { readOwnerRights } from '../../src/store/alerts/owner-rights.ts'
import type { RuleSettings } from '../../src/store/alerts/rule.ts'
import { ViewStore } from '../../src/store/control/view-store.ts'
import { type RestHarness, startDatabase, type TestDatabase } from '../serve/rest-harness.ts'
import { NOW_MS, RULE, RULE_SCOPES, startAlertRoutes } from './alert-routes-harness.ts'
import { CountedEvents } from './counted-events.ts'

const ask = new CountedEvents()
let database: TestDatabase
let harness: RestHarness
let ann = ''
let bob = ''
let streamId = ''

before(async () => {
  database = await startDatabase()
  harness = await startAlertRoutes(database, ask)
  ann = await harness.token('ann', RULE_SCOPES)
  bob = await harness.token('bob', RULE_SCOPES)
  const made = await harness.call('POST', '/v1/streams', { token: ann, body: { name: 'web' } })
  streamId = made.json.id
})

after(async () => {
  await harness?.close()
  await database?.close()
})

const put = (name: string, body: unknown, token = ann, headers = {}) =>
  harness.call('PUT', `/v1/alerts/rules/${name}`, { token, body, headers })
const remove = (name: string) => harness.call('DELETE', `/v1/alerts/rules/${name}`, { token: ann })
const get = (path: string, token = ann) => harness.call('GET', `/v1/alerts/rules${path}`, { token })

test("a rule may have a view's search, as it is when it is put", async () => {
  const views = new ViewStore(database.postgres)
  const settings = readViewSettings({ name: 'bad ones', query: 'level:error' }, undefined)
  const view = await views.create(
    { streamId: Number(streamId) as StreamId, createdBy: 'ann', settings },
    'ann',
  )
  const body = { ...RULE, streams: [streamId], view_id: String(view.viewId) }
  const made = await put('of-view', body)
  assert.equal(made.status, 201, made.text)
  assert.deepEqual([made.json.query, made.json.view_id], ['level:error', body.view_id])
  await views.update(view, { ...view.settings, query: 'level:fatal' }, 'ann')
  // What is read can be put as it is: the rule stays what it was.
  const same = await put('of-view', { ...body, query: made.json.query })
  assert.deepEqual([same.status, same.json.version], [200, 1])
  assert.deepEqual((await put('of-view', body)).json.query, 'level:fatal')
  const tested = await harness.call('POST', '/v1/alerts/backtest', {
    token: ann,
    body: {
      rule: body,
      from: new Date(NOW_MS - 60_000).toISOString(),
      to: new Date(NOW_MS).toISOString(),
    },
  })
  assert.equal(tested.status, 200, tested.text)
  for (const [wrong, token, status, message] of [
    [{ ...body, streams: '*' }, ann, 400, /a list of just that one/],
    [{ ...body, view_id: '99' }, ann, 404, /no view with this id/],
    [{ ...body, view_id: 'x' }, ann, 404, /no view with this id/],
    [body, bob, 404, /no stream with the id/],
  ] as const) {
    const refused = await put('of-view-2', wrong, token)
    assert.equal(refused.status, status, refused.text)
    assert.match(refused.text, message)
  }
  assert.equal((await remove('of-view')).status, 204)
})

test('put, the same again, changed by one at a time, deleted', async () => {
  const made = await put('web.errors', { ...RULE, streams: [streamId], query: 'level:error' })
  assert.equal(made.status, 201, made.text)
  assert.equal(made.headers.get('etag'), '"1"')
  const { json } = made
  assert.deepEqual(
    [json.every, json.for, json.no_data, json.severity, json.paused, json.problem],
    ['1m', { of: 1, in: 1 }, 'ok', 'warning', false, null],
  )
  const same = await put('web.errors', { ...RULE, streams: [streamId], query: 'level:error' })
  assert.deepEqual([same.status, same.json], [200, json])
  const stale = await put('web.errors', RULE, ann, { 'If-Match': '"7"' })
  assert.equal(stale.status, 412)
  const changed = await put('web.errors', RULE, ann, { 'If-Match': '"1"' })
  assert.deepEqual([changed.status, changed.json.version, changed.json.query], [200, 2, ''])
  assert.equal((await put('web.errors', RULE, ann, { 'If-None-Match': '*' })).status, 412)
  assert.equal((await put('none', RULE, ann, { 'If-Match': '*' })).status, 412)
  assert.deepEqual((await get('/web.errors')).json, changed.json)
  assert.deepEqual((await get(`/${json.id}`)).json, changed.json)
  await database.postgres.query(
    `INSERT INTO alert_states (rule_id, fingerprint, group_json, state, breaches, since_ms, seen_ms)
     VALUES ($1, 'a', '["a"]', 'firing', '1', 0, 0), ($1, 'b', '["b"]', 'firing', '1', 0, 0),
       ($1, 'c', '["c"]', 'pending', '1', 0, 0), ($1, 'd', '["d"]', 'inactive', '0', 0, 0)`,
    [json.id],
  )
  const { groups_firing: firing, groups_pending: pending } = (await get('')).json.rules[0]
  assert.deepEqual([firing, pending], [2, 1])
  await database.postgres.query('DELETE FROM alert_states WHERE rule_id = $1', [json.id])
  for (const list of ['groups', 'transitions', 'windows']) {
    assert.deepEqual((await get(`/web.errors/${list}`)).json[list], [])
  }
  const gone = await harness.call('DELETE', '/v1/alerts/rules/web.errors', { token: ann })
  assert.equal(gone.status, 204)
  assert.equal((await get('/web.errors')).status, 404)
})

test('an owner sees his own, an admin all, a limited token what is as limited', async () => {
  await put('own', RULE)
  assert.equal((await get('/own', bob)).status, 404)
  const { id } = (await get('/own')).json
  assert.equal((await get(`/${id}`, bob)).status, 404)
  assert.equal((await put('own', RULE, bob)).status, 201, 'another one')
  const names = async (token: string) => {
    return (await get('', token)).json.rules.map((rule: { owner: string }) => rule.owner)
  }
  assert.deepEqual([await names(ann), await names(bob)], [['ann'], ['bob']])
  assert.deepEqual(await names(harness.adminToken), ['ann', 'bob'])
  const foreign = await put('foreign', { ...RULE, streams: [streamId] }, bob)
  assert.equal(foreign.status, 404, 'not about streams that he does not see')
  const scopes = ['events:read', 'alerts:read', 'alerts:write'] as never
  const limited = await harness.token('ann', scopes, [Number(streamId)] as never)
  assert.equal((await get('/own', limited)).status, 404)
  assert.equal((await put('own', RULE, limited)).status, 409)
  assert.equal((await put('narrow', RULE, limited)).status, 201)
  assert.equal((await get('/narrow', limited)).status, 200)
  for (const [scope, status] of [
    ['alerts:read', 403],
    ['alerts:write', 403],
  ] as const) {
    const weak = await harness.token('ann', [scope])
    assert.equal((await put('weak', RULE, weak)).status, status, 'it must read events, too')
  }
})

test("an admin changes another owner's rule, which keeps its rights", async () => {
  const admin = harness.adminToken
  const at = (name: string, owner: string) => `${name}?owner=${owner}`
  const made = await put('shared', { ...RULE, streams: [streamId] })
  const stale = await put(at('shared', 'ann'), RULE, admin, { 'If-Match': '"9"' })
  assert.equal(stale.status, 412)
  const changed = await put(at('shared', 'ann'), { ...RULE, window: '5m' }, admin)
  assert.deepEqual(
    [changed.status, changed.json.id, changed.json.owner, changed.json.version],
    [200, made.json.id, 'ann', 2],
  )
  const { rows } = await database.postgres.query(
    'SELECT as_admin, stream_ids FROM alert_rules WHERE rule_id = $1',
    [made.json.id],
  )
  assert.deepEqual(rows, [{ as_admin: false, stream_ids: null }], 'not those of the admin')
  assert.equal((await get(`/${at('shared', 'ann')}`, admin)).json.version, 2)
  assert.equal((await get(`/${at('shared/groups', 'ann')}`, admin)).status, 200)
  assert.equal((await get('/shared', admin)).status, 404, 'his own are meant')
  assert.equal((await put(at('shared', 'ann'), RULE, bob)).status, 404)
  assert.equal((await get(`/${at('shared', 'ann')}`, bob)).status, 404)
  assert.equal((await put(at('shared', 'ann'), RULE)).status, 200, 'her own')
  assert.equal((await put(at('none', 'ann'), RULE, admin)).status, 404, 'she makes hers herself')
  const channel = { token: ann, body: { url: 'https://h.test/' } }
  await harness.call('PUT', '/v1/alerts/channels/hers', channel)
  const ofAnn = '/v1/alerts/channels?owner=ann'
  assert.equal((await harness.call('GET', ofAnn)).json.channels[0].name, 'hers')
  assert.equal((await harness.call('GET', ofAnn, { token: bob })).status, 403)
  await harness.call('DELETE', '/v1/alerts/channels/hers', { token: ann })
  const unseen = await harness.call('POST', '/v1/streams', { body: { name: 'of the admin' } })
  const wide = await put(at('shared', 'ann'), { ...RULE, streams: [unseen.json.id] }, admin)
  assert.equal(wide.status, 404, 'not about streams that she does not see')
  const path = `/v1/alerts/rules/${at('shared', 'ann')}`
  assert.equal((await harness.call('DELETE', path, { token: bob })).status, 404)
  assert.equal((await harness.call('DELETE', path)).status, 204)
})

test('histories are read on by "before", as their answers say', () => {
  const next = historySchema('windows', { type: 'object', properties: {} }).properties.next
  assert.match(JSON.stringify(next), /`before`/)
})

test('a rule reads what its owner sees now, and stops when he may not read', async () => {
  const settings = { streams: '*' } as RuleSettings
  const deps = {
    streams: harness.control,
    readRights: (owner: string) => readOwnerRights(database.postgres, owner),
  }
  const read = async (owner: string, asAdmin: boolean, streamIds?: readonly number[]) => {
    const rule = { owner, asAdmin, streamIds: streamIds as never, settings }
    return (await streamsOfRule(deps, rule)).map(({ name }) => name)
  }
  await harness.call('POST', '/v1/streams', { token: ann, body: { name: ALERTS_STREAM } })
  assert.deepEqual(await read('ann', false), ['web'], 'not what it writes itself')
  assert.deepEqual(await read('bob', false), [])
  assert.deepEqual(await read('bob', true), [], 'he is no admin any more')
  assert.deepEqual(await read('admin', true), ['web', 'of the admin'])
  assert.deepEqual(await read('ann', false, [99]), [])
  await database.postgres.query("UPDATE access_tokens SET revoked_at = now() WHERE owner = 'bob'")
  await assert.rejects(read('bob', false), (cause) => {
    return cause instanceof IngestError && cause.code === 'forbidden'
  })
  await assert.rejects(
    streamsOfRule(deps, {
      ...{ owner: 'ann', asAdmin: false, streamIds: undefined },
      settings: { streams: ['999'] } as unknown as RuleSettings,
    }),
    /no stream with the id 999/,
  )
})

test('what could not be evaluated is refused, and why', async () => {
  const long = (ms: number) => formatDuration(ms)
  const cases: [changes: object, problem: RegExp][] = [
    [{ query: 'level:(' }, /"query"/],
    [{ window: long(ALERT_WINDOW_MS_MIN - 1_000) }, /"window" must be a duration of 10s to 1d/],
    [{ window: long(ALERT_WINDOW_MS_MAX + 1_000), every: '1m' }, /"window"/],
    [{ window: '7m' }, /"every" must divide the day evenly/],
    [{ window: '1m', every: '2m' }, /"every" is over "window"/],
    [{ delay: '1m' }, /"delay" is for "time_basis": "event_time"/],
    [
      { time_basis: 'event_time', delay: long(ALERT_DELAY_MS_MAX + 1_000) },
      /at most 1d \(ALERT_DELAY_MS_MAX\)/,
    ],
    [{ for: { of: 3, in: 2 } }, /"for.of" is over "for.in"/],
    [{ for: { of: 1, in: ALERT_FOR_WINDOWS_MAX + 1 } }, /"for".in must be/],
    [{ keep_firing: ALERT_KEEP_WINDOWS_MAX + 1 }, /keep_firing/],
    [{ group_by: Array.from({ length: ALERT_GROUP_KEYS_MAX + 1 }, (_, n) => `f${n}`) }, /group_by/],
    [{ aggregate: { fn: 'avg' } }, /aggregates\[0\].field/],
    [{ labels: { 'a b': 'x' } }, /names of "labels"/],
    [{ repeat: 'often' }, /"repeat" must be a duration/],
    [{ unknown: 1 }, /unknown/],
    [
      {
        annotations: Object.fromEntries(
          Array.from({ length: 32 }, (_, n) => [`a${n}`, 'x'.repeat(1_000)]),
        ),
        labels: Object.fromEntries(
          Array.from({ length: 32 }, (_, n) => [`a${n}`, 'x'.repeat(1_024)]),
        ),
      },
      new RegExp(`over ALERT_RULE_BYTES_MAX \\(${ALERT_RULE_BYTES_MAX}\\)`),
    ],
  ]
  for (const [changes, problem] of cases) {
    const answer = await put('bad', { ...RULE, ...changes })
    assert.equal(answer.status, 400, JSON.stringify(changes).slice(0, 80))
    assert.match(answer.json.detail, problem)
  }
  assert.equal((await put('9', RULE)).status, 400, 'that is an id')
})

test('a backtest says what would have been', async () => {
  const fromMs = NOW_MS - 5 * 60_000
  ask.events = [1, 2, 61, 62, 63, 130].map((s) => ({ ms: fromMs + s * 1_000, service: 'a' }))
  const body = {
    rule: { ...RULE, condition: { op: '>', value: 2 }, group_by: ['service'] },
    from: new Date(fromMs).toISOString(),
  }
  const { status, json } = await harness.call('POST', '/v1/alerts/backtest', { token: ann, body })
  assert.equal(status, 200)
  assert.deepEqual(
    json.windows.map((one: { event_count: number; outcome: string }) => [
      one.event_count,
      one.outcome,
    ]),
    [
      [2, 'clear'],
      [3, 'breach'],
      [1, 'clear'],
      [0, 'no_data'],
      [0, 'no_data'],
    ],
  )
  assert.deepEqual(
    json.transitions.map((one: { kind: string; group: unknown }) => [one.kind, one.group]),
    [
      ['firing', ['a']],
      ['resolved', ['a']],
    ],
  )
  assert.deepEqual([json.gap, json.decided_until], [null, new Date(NOW_MS).toISOString()])
})

test('channels keep their secrets; only admins let them reach the inside', async () => {
  const url = 'https://hooks.test:8443/t/a-secret-path'
  const path = '/v1/alerts/channels/ops'
  const body = { url, secret: 'sixteen characters' }
  const made = await harness.call('PUT', path, { token: ann, body })
  assert.equal(made.status, 201, made.text)
  assert.deepEqual([made.json.host, made.json.is_signed], ['hooks.test:8443', true])
  const listed = await harness.call('GET', '/v1/alerts/channels', { token: ann })
  assert.deepEqual(listed.json.channels, [made.json])
  for (const { text } of [made, listed]) assert.doesNotMatch(text, /secret-path|sixteen/)
  assert.equal((await harness.call('PUT', path, { token: ann, body })).status, 200)
  const inside = { ...body, allow_private: true }
  assert.equal((await harness.call('PUT', path, { token: ann, body: inside })).status, 403)
  assert.equal((await harness.call('PUT', path, { body: inside })).status, 201, 'an admin, his own')
  for (const wrong of ['ftp://hooks.test/', 'hooks.test', 'https://user:pass@hooks.test/']) {
    const answer = await harness.call('PUT', path, { token: ann, body: { url: wrong } })
    assert.equal(answer.status, 400)
    assert.doesNotMatch(answer.text, /pass@/)
  }
  const messages = await harness.call('GET', '/v1/alerts/messages?state=waiting', { token: ann })
  assert.deepEqual(messages.json, { messages: [], next: null })
  const none = await harness.call('POST', '/v1/alerts/messages/5/send', { token: ann })
  assert.equal(none.status, 404)
  assert.equal((await harness.call('DELETE', path, { token: ann })).status, 204)
  assert.equal((await harness.call('DELETE', path, { token: ann })).status, 404)
})
