/**
 * Goal: views are saved, found, changed by one at a time, run, and gone with their stream; nobody
 * sees what is not theirs, and nothing is saved that could not be run.
 * Method: the routes on a real control store; what a run asks for is looked at, not executed.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  VIEW_BYTES_MAX,
  VIEW_COLUMNS_MAX,
  VIEW_TAGS_MAX,
  VIEWS_PER_STREAM_MAX,
} from '../../src/limits.ts'
import type { ReadMembers } from '../../src/read/read-request.ts'
import type { ViewRun } from '../../src/read/views/run-view.ts'
import { aggregateMembers, searchMembers } from '../../src/read/views/view-settings.ts'
import { streamRoutes } from '../../src/serve/streams.ts'
import { tokenRoutes } from '../../src/serve/tokens.ts'
import { viewRoutes } from '../../src/serve/views.ts'
import { ViewStore } from '../../src/store/control/view-store.ts'
import { RestHarness, startDatabase, type TestDatabase } from './rest-harness.ts'

let database: TestDatabase
let harness: RestHarness
let path = ''
const runs: { kind: string; members: ReadMembers }[] = []

before(async () => {
  database = await startDatabase()
  const runAs =
    (kind: string, membersOf: typeof searchMembers) =>
    async ({ settings, changes }: ViewRun) => {
      runs.push({ kind, members: membersOf(settings, changes) })
      return `{"ran":"${kind}"}`
    }
  harness = await RestHarness.start(database.postgres, ({ resolveToken, control }) => [
    ...streamRoutes({ resolveToken, control }),
    ...tokenRoutes({ resolveToken, control }),
    ...viewRoutes({
      resolveToken,
      streams: control,
      views: new ViewStore(database.postgres),
      queryView: runAs('query', aggregateMembers),
      searchView: runAs('search', searchMembers),
    }),
  ])
  const stream = await harness.call('POST', '/v1/streams', { body: { name: 'viewed' } })
  path = `/v1/streams/${stream.json.id}/views`
})

after(async () => {
  await harness?.close()
  await database?.close()
})

const WHOLE = {
  name: 'Errors by service',
  description: 'what on call looks at first',
  query: 'level:error',
  time_basis: 'event_time',
  range: { last: '15m' },
  columns: [{ path: 'service', width: 120 }, { path: 'message' }],
  order: 'newest',
  chart: {
    aggregates: [{ fn: 'count' }, { fn: 'p99', field: 'took_ms', query: 'level:warn' }],
    group_by: ['service'],
    bucket: '5m',
    type: 'lines',
  },
  shared: true,
  tags: ['on-call'],
}

test('a view comes back as it was saved, with its version', async () => {
  const made = await harness.call('POST', path, { body: WHOLE })
  assert.equal(made.status, 201)
  assert.equal(made.headers.get('etag'), '"1"')
  const { id, created_by: by, created_at: at, updated_at: changed, ...rest } = made.json
  assert.deepEqual(rest, { ...WHOLE, version: 1, problem: null })
  assert.equal(by, 'admin')
  assert.equal(at, changed)
  assert.equal(made.headers.get('location'), `${path}/${id}`)
  assert.deepEqual((await harness.call('GET', `${path}/${id}`)).json, made.json)
  const { views, next } = (await harness.call('GET', path)).json
  assert.deepEqual([views, next], [[made.json], null])
  assert.equal((await harness.call('POST', path, { body: WHOLE })).status, 409)
})

test('a name alone is a view of all events', async () => {
  const { json } = await harness.call('POST', path, { body: { name: 'all' } })
  assert.deepEqual([json.query, json.range, json.chart, json.shared], ['', null, null, true])
})

test('of two who change a version at the same time one is told', async () => {
  const { json } = await harness.call('POST', path, { body: { name: 'raced' } })
  const one = `${path}/${json.id}`
  const change = (headers: Record<string, string>, body: object) =>
    harness.call('PATCH', one, { body, headers })
  const first = await change({ 'If-Match': '"1"' }, { query: 'a:1' })
  assert.deepEqual([first.status, first.json.version, first.json.query], [200, 2, 'a:1'])
  const second = await change({ 'If-Match': '"1"' }, { query: 'a:2' })
  assert.deepEqual([second.status, second.json.code], [412, 'precondition_failed'])
  assert.equal((await change({}, { tags: ['x'] })).json.version, 3)
  assert.equal(
    (await change({ 'If-Match': '"9", "3"' }, { name: 'raced again' })).json.query,
    'a:1',
  )
  assert.equal((await change({}, { name: 'all' })).status, 409)
  const removed = await harness.call('DELETE', one, { headers: { 'If-Match': '"1"' } })
  assert.equal(removed.status, 412)
  assert.equal((await harness.call('DELETE', one)).status, 204)
  assert.equal((await harness.call('DELETE', one)).status, 404)
})

test('a run is the view, with what the caller says in its place', async () => {
  const { json } = await harness.call('POST', path, { body: { ...WHOLE, name: 'run' } })
  runs.length = 0
  const run = (what: string, body: object) =>
    harness.call('POST', `${path}/${json.id}/${what}`, { body })
  assert.deepEqual((await run('query', {})).json, { ran: 'query' })
  await run('search', { from: '-2h', limit: 5 })
  const read = { query: 'level:error', time_basis: 'event_time' }
  assert.deepEqual(runs, [
    {
      kind: 'query',
      members: {
        ...read,
        from: '-15m',
        to: 'now',
        aggregates: WHOLE.chart.aggregates,
        group_by: ['service', { bucket: '5m' }],
      },
    },
    { kind: 'search', members: { ...read, order: 'newest', from: '-2h', limit: 5 } },
  ])
  assert.equal((await run('query', { query: 'x' })).status, 400)
})

test('what could not be run is not saved, and what is wrong is named', async () => {
  const refused: readonly (readonly [body: object, text: RegExp])[] = [
    [{}, /name/],
    [{ name: '' }, /name/],
    [{ name: 5 }, /name/],
    [{ name: 'x', query: '(' }, /"query": column/],
    [{ name: 'x', query: 5 }, /query/],
    [{ name: 'x', range: { last: 'x' } }, /range/],
    [{ name: 'x', range: { from: '-1h' } }, /range/],
    [{ name: 'x', columns: [{}] }, /path/],
    [{ name: 'x', columns: Array(VIEW_COLUMNS_MAX + 1).fill({ path: 'a' }) }, /columns/],
    [{ name: 'x', tags: Array(VIEW_TAGS_MAX + 1).fill('a') }, /tags/],
    [{ name: 'x', chart: { type: 'pie' } }, /type/],
    [{ name: 'x', chart: { type: 'top', aggregates: [{ fn: 'sum' }] } }, /field/],
    [{ name: 'x', chart: { type: 'top', bucket: '5 parsecs' } }, /bucket/],
    [{ name: 'x', description: 'x'.repeat(VIEW_BYTES_MAX) }, /description/],
    [{ name: 'x', more: 1 }, /more/],
  ]
  for (const [body, text] of refused) {
    const answer = await harness.call('POST', path, { body })
    assert.equal(answer.status, 400, JSON.stringify(body).slice(0, 80))
    assert.match(answer.json.detail, text)
  }
  const columns = Array(VIEW_COLUMNS_MAX).fill({ path: 'é'.repeat(1_024) })
  const large = await harness.call('POST', path, { body: { name: 'x', columns } })
  assert.match(large.json.detail, /VIEW_BYTES_MAX/)
  const odd = { name: 'odd', description: '\0 \ud800 \u202e', query: 'a:"\0"' }
  const made = await harness.call('POST', path, { body: odd })
  assert.deepEqual([made.status, made.json.description], [201, odd.description])
})

test('a view that cannot be read any more is kept, with its problem', async () => {
  const { json } = await harness.call('POST', path, { body: { name: 'old' } })
  await database.postgres.query(
    `UPDATE stream_views SET settings = replace(settings, '"query":""', '"query":"(("')
     WHERE view_id = $1`,
    [json.id],
  )
  const read = await harness.call('GET', `${path}/${json.id}`)
  assert.match(read.json.problem, /column/)
})

test('private views are for who made them and for admins, others are for all owners', async () => {
  const token = async (owner: string) => {
    const scopes = ['streams:read', 'streams:write', 'events:read']
    const body = { owner, scopes }
    return (await harness.call('POST', '/v1/tokens', { body })).json.token as string
  }
  const [ann, bob] = [await token('ann'), await token('bob')]
  const stream = await harness.call('POST', '/v1/streams', { body: { name: 's' }, token: ann })
  const own = `/v1/streams/${stream.json.id}/views`
  const hidden = { name: 'mine', shared: false }
  const byAdmin = await harness.call('POST', own, { body: hidden })
  const body = { name: 'hers', shared: false }
  await harness.call('POST', own, { body, token: ann })
  const names = async (who?: string) => {
    const { json } = await harness.call('GET', own, who === undefined ? {} : { token: who })
    return json.views?.map((view: { name: string }) => view.name)
  }
  assert.deepEqual(await names(ann), ['hers'])
  assert.deepEqual(await names(), ['mine', 'hers'])
  assert.equal((await harness.call('GET', own, { token: bob })).status, 404)
  const seen = await harness.call('GET', `${own}/${byAdmin.json.id}`, { token: ann })
  assert.equal(seen.status, 404)
})

test('a name is taken only to who sees the view that has it', async () => {
  const scopes = ['streams:read', 'streams:write', 'events:read']
  const body = { name: 'for names', owner: 'cid', scopes }
  const cid = (await harness.call('POST', '/v1/tokens', { body })).json.token as string
  const made = { token: cid, body: { name: 'cids' } }
  const stream = await harness.call('POST', '/v1/streams', made)
  const own = `/v1/streams/${stream.json.id}/views`
  const add = async (name: string, shared: boolean, token?: string) =>
    await harness.call('POST', own, { body: { name, shared }, ...(token && { token }) })
  // Hidden from its owner's token: the administrator's private view.
  assert.equal((await add('incident', false)).status, 201)
  const hers = await add('incident', false, cid)
  assert.equal(hers.status, 201, 'a hidden view is not told of')
  const other = await add('other', true, cid)
  const patch = (id: string, change: object, token?: string) =>
    harness.call('PATCH', `${own}/${id}`, { body: change, ...(token && { token }) })
  assert.equal((await patch(hers.json.id, { shared: true }, cid)).status, 200)
  assert.equal((await patch(hers.json.id, { description: 'x' })).status, 200)
  assert.equal((await add('hidden', false)).status, 201)
  assert.equal((await patch(other.json.id, { name: 'hidden' }, cid)).status, 200)
  // What one sees is a conflict, as it was.
  assert.equal((await add('incident', false, cid)).status, 409)
  assert.equal((await add('incident', true)).status, 409)
  assert.equal((await patch(other.json.id, { name: 'incident' }, cid)).status, 409)
  assert.equal((await patch(other.json.id, { name: 'incident' })).status, 409)
  const both = await Promise.all([add('race', false, cid), add('race', false, cid)])
  assert.deepEqual(both.map(({ status }) => status).sort(), [201, 409])
  const seen = await harness.call('GET', own, { token: cid })
  const names = seen.json.views.map(({ name }: { name: string }) => name)
  assert.deepEqual(names.toSorted(), ['hidden', 'incident', 'race'])
})

test('VIEWS_PER_STREAM_MAX of a stream, and none when it is deleted', async () => {
  const stream = await harness.call('POST', '/v1/streams', { body: { name: 'full' } })
  const own = `/v1/streams/${stream.json.id}`
  await database.postgres.query(
    `INSERT INTO stream_views (stream_id, name, shared, settings, created_by)
     SELECT $1, 'v' || n, true, '{"query":""}', 'admin' FROM generate_series(1, $2 - 1) AS n`,
    [stream.json.id, VIEWS_PER_STREAM_MAX],
  )
  const add = (name: string) => harness.call('POST', `${own}/views`, { body: { name } })
  assert.equal((await add('last')).status, 201)
  assert.match((await add('more')).json.detail, /VIEWS_PER_STREAM_MAX/)
  assert.equal((await harness.call('DELETE', own)).status, 204)
  const { rows } = await database.postgres.query<{ count: string }>(
    'SELECT count(*) FROM stream_views WHERE stream_id = $1',
    [stream.json.id],
  )
  assert.equal(rows[0]?.count, '0')
})
