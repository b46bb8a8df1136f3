/**
 * Goal: silences and acknowledgements hold back what they name; groups, which they name by values,
 * are told to the digit, and messages by their rule.
 * Method: the routes on a real control store.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { backtestText } from '../../src/serve/alert-answers.ts'
import { type RestHarness, startDatabase, type TestDatabase } from '../serve/rest-harness.ts'
import { RULE, RULE_SCOPES, startAlertRoutes } from './alert-routes-harness.ts'

let database: TestDatabase
let harness: RestHarness
let ann = ''
let bob = ''

before(async () => {
  database = await startDatabase()
  harness = await startAlertRoutes(database)
  ann = await harness.token('ann', RULE_SCOPES)
  bob = await harness.token('bob', RULE_SCOPES)
})

after(async () => {
  await harness?.close()
  await database?.close()
})

const put = (name: string, body: unknown, token = ann) =>
  harness.call('PUT', `/v1/alerts/rules/${name}`, { token, body })
const get = (path: string, token = ann) => harness.call('GET', `/v1/alerts/rules${path}`, { token })

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

test('values of groups keep their digits, and messages are found by their rule', async () => {
  const { json: rule } = await put('digits', { ...RULE, group_by: ['n'] })
  const { json: other } = await put('others', RULE)
  const { postgres } = database
  await postgres.query(
    `INSERT INTO alert_states (rule_id, fingerprint, group_json, state, breaches, since_ms,
       fired_ms, seen_ms) VALUES ($1, 'e', '[9007199254740993]', 'firing', '1', 0, 0, 0),
         ($1, 'f', '[9007199254740992]', 'firing', '1', 0, 0, 0)`,
    [rule.id],
  )
  const { rows } = await postgres.query<{ transition_id: string }>(
    `INSERT INTO alert_transitions (rule_id, rule_name, owner, rule_version, fingerprint,
       group_json, kind, from_ms, until_ms)
     VALUES ($1, 'digits', 'ann', 1, 'e', '[9007199254740993]', 'firing', 0, 60000)
     RETURNING transition_id`,
    [rule.id],
  )
  await postgres.query(
    `INSERT INTO alert_outbox (transition_id, rule_id, rule_name, owner, channel, idempotency_key,
       is_grouped, reason, alert_count, content, is_final, dead_at)
     SELECT $1, id, 'x', 'ann', 'ops', 'k' || id, true, 'new', 1, '{}', true, now()
       FROM unnest($2::integer[]) AS r (id)`,
    [rows[0]!.transition_id, [rule.id, other.id]],
  )
  const body = {
    matchers: [{ name: 'n', value: '9007199254740993' }],
    to: '2999-01-01T00:00:00Z',
  }
  const silence = await harness.call('POST', '/v1/alerts/silences', { token: ann, body })
  const groups = await get('/digits/groups')
  assert.match(groups.text, /"group":\[9007199254740993\]/)
  assert.deepEqual(
    groups.json.groups.map((one: { silenced_by: string[] }) => one.silenced_by),
    [[silence.json.id], []],
    'two groups, two labels',
  )
  assert.match((await get('/digits/transitions')).text, /"group":\[9007199254740993\]/)
  const messages = async (query: string, token = ann) => {
    return await harness.call('GET', `/v1/alerts/messages${query}`, { token })
  }
  const own = await messages('?rule=digits')
  assert.match(own.text, /"group":\[9007199254740993\]/)
  const keys = ({ json }: typeof own) =>
    json.messages.map((one: { idempotency_key: string }) => one.idempotency_key)
  assert.deepEqual(keys(own), [`k${rule.id}`])
  assert.deepEqual(keys(await messages(`?rule=${other.id}`)), [`k${other.id}`])
  assert.equal(keys(await messages('')).length, 2)
  assert.deepEqual(keys(await messages('?rule=digits&state=waiting')), [])
  assert.equal((await messages('?rule=digits', bob)).status, 404)
  const ofAnn = '?rule=digits&owner=ann'
  assert.deepEqual(keys(await messages(ofAnn, harness.adminToken)), [`k${rule.id}`])
  assert.equal(keys(await messages('?owner=ann', harness.adminToken)).length, 2)
  assert.deepEqual(keys(await messages('?owner=bob', harness.adminToken)), [])
  assert.equal((await messages('?owner=ann', bob)).status, 403)
  const change = { kind: 'firing' as const, groupJson: '[9007199254740993]', value: 2, events: 2 }
  const tested = backtestText({
    ...{ windows: [], transitions: [{ ...change, fromMs: 0, untilMs: 60_000 }] },
    ...{ transitionCount: 1, gap: undefined, untilMs: 60_000 },
  })
  assert.match(tested, /"group":\[9007199254740993\]/)
})
