/**
 * Goal: what reads Prometheus' rules and alerts reads ours: their shape, states, filters, errors;
 * with the rights of the routes of alerts, and bounded.
 * Method: the routes on a real store, with states that are written into it.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { readRuleSettings, taskOf } from '../../src/alerts/rule-settings.ts'
import { PROMETHEUS_ALERTS_MAX, PROMETHEUS_ANSWER_CHARS_MAX } from '../../src/limits.ts'
import { prometheusRoutes } from '../../src/prometheus/prometheus-routes.ts'
import { ActiveStore } from '../../src/store/alerts/active-store.ts'
import { RuleStore } from '../../src/store/alerts/rule-store.ts'
import { RestHarness, startDatabase, type TestDatabase } from '../serve/rest-harness.ts'

let database: TestDatabase
let harness: RestHarness
let rules: RuleStore
let ann = ''
let bob = ''

before(async () => {
  database = await startDatabase()
  const { postgres } = database
  rules = new RuleStore(postgres)
  harness = await RestHarness.start(postgres, ({ resolveToken }) =>
    prometheusRoutes({ resolveToken, rules, active: new ActiveStore(postgres) }),
  )
  ann = await harness.token('ann', ['alerts:read'])
  bob = await harness.token('bob', ['alerts:read'])
})

after(async () => {
  await harness?.close()
  await database?.close()
})

async function put(owner: string, name: string, changes: object = {}): Promise<number> {
  const settings = readRuleSettings({
    ...{ condition: { op: '>', value: 20 }, window: '1m', query: 'level:error' },
    ...{ group_by: ['service'], labels: { team: 'web' }, annotations: { summary: 's' } },
    ...changes,
  })
  const { rule } = await rules.put({
    rights: { owner, asAdmin: false, streamIds: undefined },
    ...{ name, settings, ...taskOf(settings) },
    ...{ isOther: () => true, assertMatch: () => undefined },
  })
  return rule.ruleId
}

async function states(ruleId: number, state: string, from: number, to: number): Promise<void> {
  await database.postgres.query(
    `INSERT INTO alert_states (rule_id, fingerprint, group_json, state, breaches, since_ms,
       fired_ms, seen_ms, value)
     SELECT $1, $2 || n, '["' || $2 || n || '"]', $2, '1', 60000,
       CASE $2 WHEN 'firing' THEN 120000 END, 120000, 53
     FROM generate_series($3::int, $4::int) AS n`,
    [ruleId, state, from, to],
  )
}

const get = (path: string, token = ann, headers = {}) =>
  harness.call('GET', `/api/v1/${path}`, { token, headers })
const namesIn = ({ json }: Awaited<ReturnType<typeof get>>): string[] =>
  json.data.groups.flatMap(({ rules: own }: { rules: { name: string }[] }) =>
    own.map(({ name }) => name),
  )

test('rules and alerts have the shape that their readers know', async () => {
  const slow = await put('ann', 'slow', {
    ...{ aggregate: { fn: 'p99', field: 'ms' }, for: { of: 3, in: 5 }, keep_firing: 2 },
  })
  const failing = await put('ann', 'failing', { query: '', group_by: [] })
  await put('ann', 'quiet', { window: '5m', paused: true })
  await put('bob', 'own')
  await states(slow, 'firing', 1, 1)
  await states(slow, 'pending', 1, 1)
  await states(slow, 'inactive', 1, 1)
  const { postgres } = database
  const fail = "UPDATE alert_rules SET failures = 2, problem = 'no rights' WHERE rule_id = $1"
  await postgres.query(fail, [failing])
  for (const ruleId of [slow, failing]) {
    await postgres.query(
      `INSERT INTO alert_windows (rule_id, until_ms, from_ms, rule_version, outcome, event_count,
         group_count, uncounted, breach_count, decided_at)
       VALUES ($1, 60000, 0, 1, 'clear', 1, 1, 0, 0, to_timestamp(61.5))`,
      [ruleId],
    )
  }
  const { status, json } = await get('rules?type=alert&unknown=1')
  assert.equal(status, 200)
  assert.deepEqual(
    json.data.groups.map(({ rules: own, ...group }: { rules: object[] }) => [group, own.length]),
    [
      [
        {
          ...{ name: 'every 1m', file: 'ann', interval: 60, limit: 0, evaluationTime: 0 },
          lastEvaluation: '1970-01-01T00:01:01.500Z',
        },
        2,
      ],
      [
        {
          ...{ name: 'every 5m', file: 'ann', interval: 300, limit: 0, evaluationTime: 0 },
          lastEvaluation: '0001-01-01T00:00:00Z',
        },
        1,
      ],
    ],
  )
  const alert = (group: string, state: string, activeAt: string) => ({
    labels: { team: 'web', service: group, alertname: 'slow', severity: 'warning' },
    ...{ annotations: { summary: 's' }, state, activeAt, value: '5.3e+01' },
  })
  const alerts = [
    alert('firing1', 'firing', '1970-01-01T00:02:00.000Z'),
    alert('pending1', 'pending', '1970-01-01T00:01:00.000Z'),
  ]
  const [first, second] = json.data.groups[0].rules
  assert.deepEqual(first, {
    ...{ state: 'firing', name: 'slow', type: 'alerting', health: 'ok', evaluationTime: 0 },
    query: 'p99(ms, level:error) by (service) [1m] > 20',
    ...{ duration: 120, keepFiringFor: 120, labels: { team: 'web', severity: 'warning' } },
    ...{ annotations: { summary: 's' }, alerts, lastEvaluation: '1970-01-01T00:01:01.500Z' },
  })
  assert.deepEqual(
    [second.health, second.lastError, second.state, second.query],
    ['err', 'no rights', 'inactive', 'count(*) [1m] > 20'],
  )
  assert.equal(json.data.groups[1].rules[0].health, 'unknown')
  assert.deepEqual((await get('alerts')).json, { status: 'success', data: { alerts } })
})

test('filters, rights and errors are those of Prometheus', async () => {
  for (const [query, names] of [
    ['rule_name[]=slow&rule_name[]=quiet', ['slow', 'quiet']],
    ['rule_group[]=every%205m', ['quiet']],
    ['file[]=ann&state=firing', ['slow']],
    ['state=inactive', ['failing', 'quiet']],
    ['state=pending', []],
    ['file[]=bob', []],
    ['type=record', []],
  ] as const) {
    assert.deepEqual(namesIn(await get(`rules?${query}`)), names, query)
  }
  const without = await get('rules?exclude_alerts=true&state=firing')
  assert.deepEqual(without.json.data.groups[0].rules[0].alerts, [])
  assert.equal((await get('alerts?state=pending')).json.data.alerts.length, 1)
  assert.deepEqual(namesIn(await get('rules', bob)), ['own'])
  assert.deepEqual(namesIn(await get('rules', harness.adminToken)).sort(), [
    ...['failing', 'own', 'quiet', 'slow'],
  ])
  const limited = await harness.token('ann', ['alerts:read'], [1] as never)
  assert.deepEqual(namesIn(await get('rules', limited)), [], 'none is as limited')
  const basic = `Basic ${Buffer.from(`any:${ann}`).toString('base64')}`
  assert.equal((await get('rules', '', { Authorization: basic })).status, 200)
  for (const [path, token, status, errorType] of [
    ['rules?type=other', ann, 400, 'bad_data'],
    ['rules?match[]=up', ann, 400, 'bad_data'],
    ['alerts?state=on', ann, 400, 'bad_data'],
    ['rules', 'slt_nobody', 401, 'forbidden'],
    ['alerts', await harness.token('ann', ['events:read']), 403, 'forbidden'],
  ] as const) {
    const answer = await get(path, token)
    assert.equal(answer.status, status, path)
    assert.deepEqual([answer.json.status, answer.json.errorType], ['error', errorType])
    assert.equal(typeof answer.json.error, 'string')
  }
})

test('an answer is bounded, and no rule is shown without what fires of it', async () => {
  const owner = 'eve'
  const token = await harness.token(owner, ['alerts:read'])
  const many: number[] = []
  for (const name of ['a', 'b', 'c']) many.push(await put(owner, name))
  await states(many[0]!, 'firing', 1, PROMETHEUS_ALERTS_MAX - 1)
  await states(many[1]!, 'firing', 1, 2)
  await states(many[2]!, 'firing', 1, 1)
  const { json } = await get('rules', token)
  assert.deepEqual(
    json.data.groups[0].rules.map((rule: { name: string; alerts: object[] }) => [
      ...[rule.name, rule.alerts.length],
    ]),
    [
      ['a', PROMETHEUS_ALERTS_MAX - 1],
      ['b', 1],
    ],
  )
  assert.match(json.warnings[0], /PROMETHEUS_ALERTS_MAX \(5000\)/)
  assert.equal((await get('alerts', token)).json.data.alerts.length, PROMETHEUS_ALERTS_MAX)
  await database.postgres.query('DELETE FROM alert_states WHERE rule_id = $1', [many[1]])
  await database.postgres.query(
    `UPDATE alert_states SET group_json = to_jsonb(ARRAY[repeat($2, 1000)])::text
      WHERE rule_id = $1`,
    [many[0], 'x'],
  )
  const large = await get('rules', token)
  assert.match(large.json.warnings[0], /behind a .*PROMETHEUS_ANSWER_CHARS_MAX/)
  assert.ok(large.text.length > PROMETHEUS_ANSWER_CHARS_MAX)
  assert.deepEqual(namesIn(large), ['a'])
})
