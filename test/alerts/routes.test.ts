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
import { channelRoutes } from '../../src/serve/alert-channels.ts'
import { silenceRoutes } from '../../src/serve/alerts/silences.ts'
import { alertRoutes } from '../../src/serve/alerts.ts'
import { streamRoutes } from '../../src/serve/streams.ts'
import { ChannelStore } from '../../src/store/alerts/channel-store.ts'
import { OutboxStore } from '../../src/store/alerts/outbox-store.ts'
import { readOwnerRights } from '../../src/store/alerts/owner-rights.ts'
import type { RuleSettings } from '../../src/store/alerts/rule.ts'
import { RuleStore } from '../../src/store/alerts/rule-store.ts'
import { SilenceStore } from '../../src/store/alerts/silence-store.ts'
import { TransitionStore } from '../../src/store/alerts/transition-store.ts'
import { WindowStore } from '../../src/store/alerts/window-store.ts'
import { ViewStore } from '../../src/store/control/view-store.ts'
import { RestHarness, startDatabase, type TestDatabase } from '../serve/rest-harness.ts'
import { CountedEvents } from './counted-events.ts'

const NOW_MS = Date.parse('2026-05-05T05:05:00Z')
const RULE = { condition: { op: '>', value: 1 }, window: '1m' }
const ask = new CountedEvents()
let database: TestDatabase
let harness: RestHarness
let ann = ''
let bob = ''
let streamId = ''

before(async () => {
  database = await startDatabase()
  const { postgres } = database
  harness = await RestHarness.start(postgres, ({ resolveToken, control }) => [
    ...streamRoutes({ resolveToken, control }),
    ...[alertRoutes, channelRoutes, silenceRoutes].flatMap((of) =>
      of({
        resolveToken,
        streams: control,
        views: new ViewStore(postgres),
        nowMs: () => NOW_MS,
        alerts: {
          rules: new RuleStore(postgres),
          silences: new SilenceStore(postgres),
          transitions: new TransitionStore(postgres),
          windows: new WindowStore(postgres),
          channels: new ChannelStore(postgres),
          outbox: new OutboxStore(postgres),
          send: async () => ({ outcome: 'delivered' }),
          closing: { read: async () => ({ closedMs: NOW_MS, nodeId: 0, nowMs: NOW_MS }) },
          ask,
        },
      }),
    ),
  ])
  const scopes = ['streams:read', 'streams:write', 'events:read', 'alerts:read', 'alerts:write']
  ann = await harness.token('ann', scopes as never)
  bob = await harness.token('bob', scopes as never)
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
  assert.deepEqual(await read('admin', true), ['web'])
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

test('silences: made, listed by their state, ended; an owner sees his own', async () => {
  const path = '/v1/alerts/silences'
  const call = (method: string, at = '', body?: unknown, token = ann) =>
    harness.call(method, `${path}${at}`, { token, body })
  const matchers = [{ name: 'service', value: 'web-.*', is_regex: true }]
  const to = '2999-01-01T00:00:00Z'
  const made = await call('POST', '', { matchers, to, comment: 'works' })
  assert.equal(made.status, 201, made.text)
  const { id, from, created_at: at, ...rest } = made.json
  assert.equal(made.headers.get('location'), `${path}/${id}`)
  assert.deepEqual(rest, {
    ...{ state: 'active', author: 'ann', to: '2999-01-01T00:00:00.000Z', comment: 'works' },
    matchers: [{ ...matchers[0], is_equal: true }],
  })
  const later = { matchers, from: '2998-01-01T00:00:00Z', to }
  const pending = await call('POST', '', later)
  assert.equal(pending.json.state, 'pending')
  const ids = async (query: string, token = ann) => {
    const { json } = await call('GET', query, undefined, token)
    return json.silences.map((one: { id: string }) => one.id)
  }
  assert.deepEqual(await ids(''), [id, pending.json.id])
  assert.deepEqual(await ids('?state=active'), [id])
  assert.deepEqual(await ids('?state=pending'), [pending.json.id])
  assert.deepEqual(await ids('?limit=1'), [id])
  assert.deepEqual(await ids('', await harness.token('eve', ['alerts:read'])), [])
  assert.equal((await ids('', harness.adminToken)).length, 2)
  const eve = await harness.token('eve', ['alerts:read', 'alerts:write'])
  for (const method of ['GET', 'DELETE']) {
    assert.equal((await call(method, `/${id}`, undefined, eve)).status, 404)
  }
  assert.equal((await call('DELETE', `/${id}`)).status, 204)
  assert.equal((await call('GET', `/${id}`)).json.state, 'expired')
  assert.deepEqual(await ids('?state=expired'), [id])
  const cases: [changes: object, problem: RegExp][] = [
    [{ matchers: [] }, /"matchers"/],
    [{ matchers: [{ name: 'a', value: '(', is_regex: true }] }, /matchers\[0\].value/],
    [{ matchers: [{ name: 'a', value: '.*', is_regex: true }] }, /that would be all/],
    [{ to: '2001-01-01T00:00:00Z' }, /"to" is over already/],
    [{ from: '3000-01-01T00:00:00Z' }, /"from" must be before "to"/],
    [{ to: 'tomorrow' }, /"to"/],
  ]
  for (const [changes, problem] of cases) {
    const answer = await call('POST', '', { matchers, to, ...changes })
    assert.equal(answer.status, 400, JSON.stringify(changes))
    assert.match(answer.json.detail, problem)
  }
})

test('acknowledging: of a group that fires, until it is resolved or taken back', async () => {
  const { json: rule } = await put('known', { ...RULE, group_by: ['service'] })
  await database.postgres.query(
    `INSERT INTO alert_states (rule_id, fingerprint, group_json, state, breaches, since_ms,
       fired_ms, seen_ms) VALUES ($1, 'f', '["web-1"]', 'firing', '1', 0, 0, 0),
         ($1, 'g', '["db"]', 'inactive', '0', 0, NULL, 0)`,
    [rule.id],
  )
  const path = (fingerprint: string) => `/v1/alerts/rules/known/groups/${fingerprint}/acknowledge`
  const call = (method: string, fingerprint: string, body?: unknown, token = ann) =>
    harness.call(method, path(fingerprint), { token, body })
  const done = await call('POST', 'f', { comment: 'looking' })
  assert.equal(done.status, 204, done.text)
  const [first] = (await get('/known/groups')).json.groups
  const { by, at, comment } = first.acknowledged
  assert.deepEqual([by, comment, first.silenced_by], ['ann', 'looking', []])
  assert.ok(Math.abs(Date.parse(at) - Date.now()) < 60_000)
  assert.equal((await call('POST', 'g', {})).status, 409, 'it does not fire')
  assert.equal((await call('POST', 'h', {})).status, 404)
  const eve = await harness.token('eve', ['alerts:write'])
  assert.equal((await call('POST', 'f', {}, eve)).status, 404, 'not her rule')
  const matchers = [{ name: 'service', value: 'web-.*', is_regex: true }]
  const body = { matchers, to: '2999-01-01T00:00:00Z' }
  const silence = await harness.call('POST', '/v1/alerts/silences', { token: ann, body })
  const { groups } = (await get('/known/groups')).json
  assert.deepEqual(
    groups.map((one: { fingerprint: string; silenced_by: string[]; acknowledged: unknown }) => [
      ...[one.fingerprint, one.silenced_by, one.acknowledged !== null],
    ]),
    [
      ['f', [silence.json.id], true],
      ['g', [], false],
    ],
  )
  assert.equal((await call('DELETE', 'f')).status, 204)
  assert.equal((await call('DELETE', 'f')).status, 404)
})
