/**
 * Goal: a review tells what redaction would change in the stored events of a range, by path and
 * reason, shows nothing of a secret, and stores nothing.
 * Method: the route on real rows, with the worker's own pipeline in the pool's place.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { REVIEW_EVENT_IDS_MAX, REVIEW_EVENTS_MAX } from '../../src/limits.ts'
import { formatEventId } from '../../src/model/event-id.ts'
import type { SegmentId } from '../../src/model/segment-id.ts'
import { NOW_MS, RANGE, ReviewHarness } from './review-harness.ts'

/** Made here, so that no live-looking token is in the repository. */
const AWS_KEY = `AK${'IA'}${'Q3ZBW5XN'}${'7KDM2RTV'}`

let harness: ReviewHarness

before(async () => {
  harness = await ReviewHarness.start()
})

after(async () => {
  await harness?.close()
})

const idOf = (segmentId: SegmentId, ordinal: number) => formatEventId({ segmentId, ordinal })

test('what would change, by path and reason, with masked samples and newest events', async () => {
  const streamId = await harness.createStream()
  const [hidden, other] = ['hunter2-and-much-more', 'correct horse battery']
  const first = await harness.commit(streamId, 0, [
    JSON.stringify({ user: { password: hidden }, note: `key ${AWS_KEY}`, ok: 1 }),
    JSON.stringify({ user: { password: '[REDACTED]' }, headers: { cookies: { a: 1 } } }),
  ])
  const second = await harness.commit(streamId, 1, [
    JSON.stringify({
      user: { password: other, token_count: 7 },
      list: [{ pin: 1234 }, { pin: 99 }],
    }),
    JSON.stringify({ log: JSON.stringify({ password: hidden }), ok: true }),
  ])
  const answer = await harness.review(streamId, RANGE)
  assert.equal(answer.status, 200)
  const { changes, stats, bytes, ...counts } = answer.json
  assert.deepEqual(counts, {
    from: '2026-05-05T05:00:00.000Z',
    to: '2026-05-05T06:00:00.000Z',
    events: 4,
    matched: 4,
    changed: 4,
    partial: false,
    partial_reasons: [],
    next: null,
  })
  assert(Number.isInteger(stats.elapsed_ms) && bytes > 200)
  const rows = changes.map((row: Record<string, unknown>) => [
    row.path,
    String(row.reason).replace(/:.*/, ''),
    row.events,
    row.values,
    row.event_ids,
  ])
  assert.deepEqual(rows, [
    ['list[].pin', 'denylisted_key', 1, 2, [idOf(second, 0)]],
    ['user.password', 'denylisted_key', 2, 2, [idOf(second, 0), idOf(first, 0)]],
    ['headers.cookies', 'redact_field', 1, 1, [idOf(first, 1)]],
    ['log._raw', 'raw_cleared', 1, 1, [idOf(second, 1)]],
    ['log.password', 'denylisted_key', 1, 1, [idOf(second, 1)]],
    ['note', 'secret_value', 1, 1, [idOf(first, 0)]],
  ])
  assert.deepEqual(changes[0].samples, [
    { type: 'number', masked: '***', length: '0-8', characters: 'digits' },
  ])
  assert.deepEqual(changes[1].samples, [
    { type: 'string', masked: 'co***', length: '17-32', characters: 'words' },
    { type: 'string', masked: 'hu***', length: '17-32', characters: 'other' },
  ])
  assert.equal(changes[2].samples[0].type, 'object')
  for (const secret of [hidden, other, AWS_KEY, '1234']) assertNothingOf(secret, answer.text)
})

/** Nothing of four characters of it, in a row; ids and times are no secrets. */
function assertNothingOf(secret: string, text: string): void {
  const told = text.replace(/\d{19}-\d+|\d{4}-\d\d-\d\d/g, '')
  for (let at = 0; at + 4 <= secret.length; at++) {
    assert(!told.includes(secret.slice(at, at + 4)), secret.slice(at, at + 4))
  }
}

test('from is inclusive, to exclusive, in receipt time; the last hour when left out', async () => {
  const streamId = await harness.createStream()
  const at = (laterMs: number) => new Date(NOW_MS + laterMs).toISOString()
  for (const laterMs of [-3_600_001, -3_600_000 + 1, -1, 0, 1]) {
    const event = { password: String(laterMs), '@timestamp': '1999-01-01T00:00:00Z' }
    await harness.commit(streamId, laterMs, [JSON.stringify(event)])
  }
  const counted = async (body: object) => (await harness.review(streamId, body)).json.changed
  assert.equal(await counted({ from: at(-1), to: at(1) }), 2)
  assert.equal(await counted({ from: at(0), to: at(1) }), 1)
  assert.equal(await counted({ from: at(1), to: at(2) }), 1)
  assert.equal(await counted({ from: at(2), to: at(3) }), 0)
  assert.equal(await counted({}), 3, 'the hour up to now, which is in it')
  assert.equal(await counted({ to: at(0) }), 2)
  assert.equal(await counted({ from: '1998-01-01T00:00:00Z', to: '2000-01-01T00:00:00Z' }), 0)
})

test('it goes on where it stopped, and the parts add up to the whole', async () => {
  const streamId = await harness.createStream()
  const lines = (many: number, i: number) =>
    Array.from({ length: many }, (_, j) => JSON.stringify({ password: `p${i}-${j}`, [`k${j}`]: 1 }))
  for (let i = 0; i < 12; i++) await harness.commit(streamId, i, lines(1 + ((i * 7) % 40), i))
  const whole = (await harness.review(streamId, RANGE)).json
  assert.deepEqual([whole.partial, whole.next], [false, null])
  for (const limit of [1, 7, 50, whole.events - 1]) {
    let before: string | undefined
    const sum = { events: 0, changed: 0, values: 0, bytes: 0 }
    const ids = new Set<string>()
    for (let reviews = 0; before !== null; reviews++) {
      assert(reviews <= whole.events, 'it comes to an end')
      const body = { ...RANGE, limit, ...(before !== undefined && { before }) }
      const { json } = await harness.review(streamId, body)
      sum.events += json.events
      sum.changed += json.changed
      sum.bytes += json.bytes
      sum.values += json.changes[0]?.values ?? 0
      for (const id of json.changes[0]?.event_ids ?? []) ids.add(id)
      assert.deepEqual(json.partial_reasons, json.next === null ? [] : ['events'])
      assert.equal(json.partial, json.next !== null)
      before = json.next
    }
    const { events, changed, bytes } = whole
    assert.deepEqual(sum, { events, changed, bytes, values: whole.changes[0].values })
    if (limit === 1) assert.equal(ids.size, events, 'each event was looked at once')
  }
  assert.equal(whole.changes[0].event_ids.length, REVIEW_EVENT_IDS_MAX)
  assert.equal(whole.changes[0].samples.length, 1, 'equal samples are one')
})

test('a query: events that match only, others are counted as looked at', async () => {
  const streamId = await harness.createStream()
  await harness.commit(streamId, 0, [
    '{"level":"error","password":"a","n":9007199254740993}',
    '{"level":"info","password":"b","n":9007199254740992}',
    '{"lev\\u0065l":"err\\u006fr","password":"c"}',
    '{"level":"info","level":"error","password":"d"}',
    '{"level":["error"],"password":"e","a":{"b":true}}',
    '{"x.level":"error","password":"f","a.b":true,"message":"card declined"}',
  ])
  const matched = async (query: string) => {
    const { json, status, text } = await harness.review(streamId, { ...RANGE, query })
    assert.equal(status, 200, text)
    return [json.events, json.matched, json.changes[0]?.values ?? 0]
  }
  assert.deepEqual(await matched(''), [6, 6, 6])
  assert.deepEqual(await matched('level:error'), [6, 4, 4], 'in an array, too')
  assert.deepEqual(await matched('level="error" n:*'), [6, 1, 1])
  assert.deepEqual(await matched('x.level:error OR _level:info'), [6, 2, 2])
  assert.deepEqual(await matched('a.b:true'), [6, 2, 2])
  assert.deepEqual(await matched('NOT n:*'), [6, 4, 4])
  assert.deepEqual(await matched('none:x'), [6, 0, 0])
  assert.deepEqual(await matched('n:9007199254740993'), [6, 1, 1])
  assert.deepEqual(await matched('DECLINED'), [6, 1, 1], 'a word of the text fields')
})

test('events that a query cannot be decided of are told', async () => {
  const streamId = await harness.createStream()
  const text = 'ab'.repeat(200_000)
  await harness.commit(streamId, 0, [
    `{"message":${JSON.stringify(text)},"password":"a"}`,
    `{"message":"short","password":"b"}`,
  ])
  // Each looks through the whole text once more.
  const clauses = Array.from({ length: 200 }, (_, i) => `message:/(a|b)*a(a|b){20}${i}/`)
  const query = `short OR ${clauses.join(' OR ')}`
  const { json, text: answer } = await harness.review(streamId, { ...RANGE, query })
  assert(json.undecided > 0, answer)
  assert.equal(json.events, 2)
  assert.deepEqual([json.partial, json.partial_reasons], [true, ['cost']])
})

test('what is asked wrongly is told with its place and a repair', async () => {
  const streamId = await harness.createStream()
  const cases: readonly (readonly [unknown, RegExp])[] = [
    ['[]', /body must be a JSON object/],
    ['{', /not valid JSON/],
    [{ form: 1 }, /unknown field "form"; known are: from, to, query, redact_fields, limit, before/],
    [{ from: 'today' }, /"from" must be an RFC 3339 time such as/],
    [{ to: 7 }, /"to" must be an RFC 3339 time/],
    [{ from: RANGE.to, to: RANGE.from }, /"from" must be before "to"/],
    [{ before: '7' }, /"before" must be the id of an event/],
    [{ limit: 0 }, /"limit" must be an integer from 1 to 1,?000,?000/],
    [{ limit: REVIEW_EVENTS_MAX + 1 }, /"limit" must be/],
    [{ query: { field: 'a', equals: 1 } }, /"query" must be a string, not an object/],
    [{ query: 'level:error)' }, /"query": column 12: /],
    [{ redact_fields: ['a.*'] }, /"redact_fields"\[0\] .* no wildcards/],
    [{ redact_fields: 'a' }, /"redact_fields" must be a list/],
    [{ redact_sensitive: true }, /unknown field "redact_sensitive"/],
  ]
  for (const [body, detail] of cases) {
    const { status, json } = await harness.review(streamId, body)
    assert.equal(status, 400, JSON.stringify(body))
    assert.match(json.detail, detail)
  }
})

test('rules of the request take the place of the stream’s', async () => {
  const streamId = await harness.createStream()
  await harness.commit(streamId, 0, ['{"headers":{"cookies":"c"},"mail":"x","password":"p"}'])
  const paths = async (body: object) =>
    (await harness.review(streamId, { ...RANGE, ...body })).json.changes.map(
      (row: { path: string }) => row.path,
    )
  assert.deepEqual(await paths({}), ['headers.cookies', 'password'])
  assert.deepEqual(await paths({ redact_fields: ['mail'] }), ['mail', 'password'])
  assert.deepEqual(await paths({ redact_fields: [] }), ['password'])
})

test('who may ask: events:read on a stream that is visible', async () => {
  const streamId = await harness.createStream()
  const may = await harness.rest.token('owner', ['events:read'])
  const wrongScope = await harness.rest.token('owner', ['streams:read'])
  const stranger = await harness.rest.token('somebody', ['events:read'])
  const statuses = []
  for (const token of [may, wrongScope, stranger, '']) {
    statuses.push((await harness.review(streamId, RANGE, { token })).status)
  }
  assert.deepEqual(statuses, [200, 403, 404, 401])
})

test('it stores nothing', async () => {
  const streamId = await harness.createStream()
  await harness.commit(streamId, 0, ['{"password":"a"}', '{"b":1}'])
  // Of every table but those of credentials, whose last use is written now and then.
  const { rows: tables } = await harness.database.postgres.query<{ name: string }>(
    `SELECT tablename AS name FROM pg_tables
     WHERE schemaname = 'public' AND tablename NOT IN ('access_tokens', 'api_keys')`,
  )
  assert(tables.length > 10)
  const state = async () => {
    const texts: string[] = []
    for (const { name } of tables) {
      const sql = `SELECT md5(coalesce(string_agg(t::text, ',' ORDER BY t::text), '')) AS md5
        FROM "${name}" AS t`
      const { rows } = await harness.database.postgres.query<{ md5: string }>(sql)
      texts.push(`${name} ${rows[0]!.md5}`)
    }
    return texts
  }
  const stored = await state()
  assert.equal((await harness.review(streamId, RANGE)).json.changed, 1)
  assert.deepEqual(await state(), stored)
})
