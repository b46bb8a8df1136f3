/**
 * Goal: a review of stored events says what ingest would have changed in them with the rules on,
 * to the value; its query is that of searches; it tells no secret and stores nothing.
 * Method: the same random events (TEST_SEED) go to a stream without redaction and to one with it.
 * What differs between what the two stored, path by path, is what the review of the first must say.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Api, NDJSON_TYPE, type Stream } from '../../support/api.ts'
import { fewest, ONLY_LONG, someOf } from '../../support/fuzzing.ts'
import { createRandom } from '../../support/random.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const EVENTS = ONLY_LONG ? 2_500 : 4_000
const RANGE = { from: '2020-01-01T00:00:00Z', to: '2100-01-01T00:00:00Z' }
const HEADERS = { 'content-type': NDJSON_TYPE }
const REDACT_FIELDS = ['http.headers.x-internal', 'items[].card', 'tags', 'n.n.n']

const dataDir = makeDataDir()
const { seed, next } = createRandom()
let service: Service
let api: Api
let plain: Stream
let ruled: Stream

before(async () => {
  service = await Service.start({ dataDir })
  api = new Api(service)
  plain = await api.createStream()
  ruled = await api.createStream({ redact_sensitive: true, redact_fields: REDACT_FIELDS })
})

after(async () => {
  await service?.kill()
  await removeDataDir(dataDir)
})

interface Change {
  readonly path: string
  readonly reason: string
  readonly events: number
  readonly values: number
  readonly samples: readonly { readonly masked: string }[]
  readonly event_ids: readonly string[]
}

interface Review {
  readonly events: number
  readonly matched: number
  readonly changed: number
  readonly changes: readonly Change[]
  readonly partial: boolean
  readonly next: string | null
}

async function review(stream: Stream, body: object): Promise<Review & { readonly text: string }> {
  const path = `/v1/streams/${stream.id}/redact/review`
  const text = await api.rest(path, 'POST', { ...RANGE, ...body })
  return { ...(JSON.parse(text) as Review), text }
}

const chance = (share: number) => next() < share
const pick = <T>(list: readonly T[]): T => list[Math.floor(next() * list.length)]!

/** The parts of all secrets that are looked for afterwards. */
const markers: string[] = []

function marker(): string {
  const digits = () => Math.floor(next() * 2 ** 32).toString(36)
  const made = `Zq7${digits()}${digits()}`
  markers.push(made)
  return made
}

/** Few enough for all paths to be listed: at the root, and in what is nested. */
const KEYS = [
  ['a', 'n', 'http', 'items', 'tags', 'a.b'],
  ['n', 'headers', 'card', 'x-internal'],
] as const
const SECRET_KEYS = [
  ['password', 'Api-Key', 'db.secret', '_raw'],
  ['token', '_raw'],
] as const
const DEPTH = 2
/** Its text holds JSON: several values in it may change, which is one difference. */
const TEXT_KEY = 'body'
const SECRETS = [
  () => `postgres://app:${marker()}@db.internal:5432/shop`,
  () => `Bearer ${marker()}aB3dE5fG7hI9`,
  () =>
    `the key gh${'p_'}${`${marker()}aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX2`.slice(0, 36)} is lost`,
  () => `line\n"quoted" \u00e9 https://u:${marker()}@host/`,
]

function value(depth: number): unknown {
  if (depth > 0 && chance(0.3)) return object(depth - 1)
  if (depth > 0 && chance(0.2)) return Array.from({ length: 3 }, () => value(depth - 1))
  if (chance(0.08)) return pick(SECRETS)()
  if (chance(0.05)) return '[REDACTED]'
  return pick<unknown>([0, 1.5, -7, true, false, null, '', 'text', 'a longer line of text', {}, []])
}

function object(depth: number): Record<string, unknown> {
  const members = Array.from({ length: 1 + Math.floor(next() * 5) }, () => {
    const isSecret = chance(0.15)
    const held = isSecret && chance(0.6) ? marker() : value(depth)
    const keys = isSecret ? SECRET_KEYS : KEYS
    return [pick<string>(keys[depth === DEPTH ? 0 : 1]), held] as const
  })
  return Object.fromEntries(members)
}

function event(): Record<string, unknown> {
  const made = object(DEPTH)
  if (chance(0.1)) {
    // One of its own would be there twice, which `JSON.parse` of what is stored would not show.
    const { _raw, ...inner } = object(1)
    made.log = JSON.stringify(inner)
  }
  if (chance(0.05)) made.log = 'a plain line'
  if (chance(0.1)) made[TEXT_KEY] = `got ${JSON.stringify(object(1))}`
  return made
}

/** How many values differ by path, as the review names paths. */
function countDifferences(a: unknown, b: unknown, path: string, into: Map<string, number>): void {
  if (Array.isArray(a) && Array.isArray(b)) {
    for (const [i, element] of a.entries()) countDifferences(element, b[i], `${path}[]`, into)
  } else if (isObject(a) && isObject(b)) {
    assert.deepEqual(Object.keys(a), Object.keys(b))
    for (const key of Object.keys(a)) {
      countDifferences(a[key], b[key], path === '' ? key : `${path}.${key}`, into)
    }
  } else if (JSON.stringify(a) !== JSON.stringify(b)) {
    into.set(path, (into.get(path) ?? 0) + 1)
  }
}

const isObject = (a: unknown): a is Record<string, unknown> =>
  typeof a === 'object' && a !== null && !Array.isArray(a)

test(`what a review says is what ingest changes (seed ${seed})`, async () => {
  const lines = Array.from({ length: EVENTS }, () => JSON.stringify(event()))
  // Requests of all sizes: segments of one event and of many.
  for (let at = 0; at < EVENTS; ) {
    const many = 1 + Math.floor(next() ** 6 * 1_500)
    const body = lines.slice(at, at + many).join('\n')
    for (const { key } of [plain, ruled]) {
      const answer = await api.ingest(key, body, HEADERS)
      assert.equal(answer.status, 200, answer.text)
    }
    at += many
  }
  const [stored, redacted] = await Promise.all([api.events(plain.id), api.events(ruled.id)])
  assert.equal(stored.length, EVENTS)
  let changed = 0
  const expected = new Map<string, number>()
  const newest = new Map<string, string[]>()
  for (const [i, { id, payload }] of stored.entries()) {
    const own = new Map<string, number>()
    countDifferences(payload, redacted[i]!.payload, '', own)
    if (own.size > 0) changed++
    for (const [path, values] of own) {
      expected.set(path, (expected.get(path) ?? 0) + values)
      newest.set(path, [...(newest.get(path) ?? []), id])
    }
  }
  assert(changed > EVENTS / 10 && changed < EVENTS, 'some are changed, some are not')

  const told = await review(plain, { redact_fields: REDACT_FIELDS })
  assert.deepEqual([told.events, told.matched, told.changed], [EVENTS, EVENTS, changed])
  assert.deepEqual([told.partial, told.next], [false, null], `${expected.size} paths`)
  const values = new Map<string, number>()
  for (const change of told.changes) {
    values.set(change.path, (values.get(change.path) ?? 0) + change.values)
    assert(change.events <= change.values && change.samples.length > 0)
    const ids = newest.get(change.path) ?? []
    assert(change.event_ids.every((id) => ids.includes(id)))
    assert.deepEqual(change.event_ids, [...change.event_ids].sort(byNewest))
  }
  const inText = expected.get(TEXT_KEY) ?? 0
  assert(inText > 0 && (values.get(TEXT_KEY) ?? 0) >= inText)
  values.set(TEXT_KEY, inText)
  assert.deepEqual([...values].sort(), [...expected].sort())
  for (const each of markers) assert(!told.text.includes(each.slice(0, 6)), 'a secret is told')

  const again = await review(ruled, {})
  assert.deepEqual([again.events, again.changed], [EVENTS, 0], 'what ingest redacted stays')
})

function byNewest(a: string, b: string): number {
  const [[left = '', i], [right = '', j]] = [a.split('-'), b.split('-')]
  if (left !== right) return BigInt(left) < BigInt(right) ? 1 : -1
  return Number(j) - Number(i)
}

test(`its query means what it means to a search (seed ${seed})`, async () => {
  await api.untilProjected(plain.id)
  const fields = [
    'a',
    'n',
    'level',
    'a.b',
    'http.a',
    'n.n',
    'n.a.b',
    'log',
    'log.a',
    'tags',
    'none',
  ]
  const tests = ['0', '1.5', '"-7"', '-7', 'true', '""', 'text', '"[REDACTED]"', '"a plain"']
  const others = [
    ...fields.map((field) => `${field}:*`),
    'NOT n.n:*',
    'tags:(text OR true) -a:*',
    'log:line*',
  ]
  const each = fields.flatMap((field) => tests.map((value) => `${field}:${value}`))
  // None with `*` for a field: of so many shapes the catalog learns the first ones only.
  let matches = 0
  for (const query of [...someOf(each), ...others]) {
    const { total } = await api.count(plain.id, { query })
    const told = await review(plain, { query })
    assert.deepEqual([told.events, told.matched], [EVENTS, total], query)
    matches += total
  }
  assert(matches > fewest(EVENTS), 'queries match')
  // A count of words misses fields that were not learned; a review reads the events themselves.
  for (const query of ['text', 'line*']) {
    const { total } = await api.count(plain.id, { query })
    const { matched } = await review(plain, { query })
    assert(total > 0 && matched >= total, `${query}: ${matched} of ${total}`)
  }
})

test('it changes nothing: events, usage and the catalog are as they were', async () => {
  // What the projection holds follows by itself: it is no part of the state.
  const usage = async () => {
    const told = JSON.parse(await api.rest(`/v1/streams/${plain.id}/usage`))
    return { ...told, projection: undefined, stored_bytes: told.stored_bytes.raw }
  }
  const state = async () => [
    await usage(),
    await api.rest(`/v1/streams/${plain.id}`),
    JSON.stringify(await api.events(plain.id)),
  ]
  const [first] = [await state()]
  await review(plain, { redact_fields: REDACT_FIELDS })
  assert.deepEqual(await state(), first)
})
