/**
 * Goal: events of many kilobytes can be asked like small ones, once they are projected: within the
 * memory of a read, and with the indexes that the stream says it has.
 * Method: a real service on the embedded engine; a stream of events of 8 KB, and one of 200 KB.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Api, NDJSON_TYPE, type Stream } from '../../support/api.ts'
import { ONLY_LONG } from '../../support/fuzzing.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const WORDS = 2_000
const dataDir = makeDataDir()
let service: Service
let api: Api

before(async () => {
  service = await Service.start({ dataDir })
  api = new Api(service)
})

after(async () => {
  await service?.kill()
  await removeDataDir(dataDir)
})

/** Of numbered words; the same for the same seed. */
function textOf(bytes: number, seed: number): string {
  const words: string[] = []
  let state = seed + 1
  for (let length = 0; length < bytes; ) {
    state = (state * 48_271) % 2_147_483_647
    const word = `word${state % WORDS}`
    words.push(word)
    length += word.length + 1
  }
  return words.join(' ')
}

/** Texts of events, which differ by what precedes them. */
const TEXTS = 100

/** Event `n` has the word `needle<n>` and the field `n`. */
async function fill(events: number, bytes: number): Promise<Stream> {
  const stream = await api.createStream()
  const each = Math.floor(8_000_000 / bytes)
  const texts = Array.from({ length: TEXTS }, (_, n) => textOf(bytes, n))
  for (let from = 0; from < events; from += each) {
    const lines = Array.from({ length: Math.min(each, events - from) }, (_, at) => {
      const n = from + at
      return JSON.stringify({ n, message: `needle${n} brown fox ${texts[n % TEXTS]}` })
    })
    const headers = { 'content-type': NDJSON_TYPE }
    const answer = await api.ingest(stream.key, lines.join('\n'), headers)
    assert.equal(answer.status, 200, answer.text)
  }
  await api.untilCounted(stream.id, events)
  return stream
}

type Asked = readonly [
  path: string,
  body: object,
  found: (answer: Found, events: number) => unknown,
]

interface Found {
  readonly complete: boolean
  readonly total: number
  readonly events: readonly unknown[]
  readonly rows: readonly Readonly<Record<string, number>>[]
  readonly buckets: readonly { readonly count: number }[]
}

interface Granules {
  readonly selected: number
  readonly total: number
}

const ids = ({ events }: Found) => events.length
const ASKED: readonly Asked[] = [
  ['search', { query: 'message:needle77', limit: 3 }, (found) => ids(found) === 1],
  ['search', { query: 'nosuchword', limit: 3 }, (found) => ids(found) === 0],
  ['search', { query: 'message:*zzqq*', limit: 3 }, (found) => ids(found) === 0],
  ['search', { query: 'message:/eedle(7)7 /', limit: 3 }, (found) => ids(found) === 1],
  ['search', { query: 'message:"brown fox"', limit: 3 }, (found) => ids(found) === 3],
  ['search', { query: '"needle5 brown fox"', order: 'oldest' }, (found) => ids(found) === 1],
  ['query', { query: 'message:"brown fox"' }, ({ total }, events) => total === events],
  ['query', { query: 'message:/zz8+q/' }, ({ total }) => total === 0],
  ['histogram', { query: 'message:*dle77*' }, ({ total }) => total >= 1],
  [
    'query',
    { aggregates: [{ fn: 'uniq', field: 'message', as: 'u' }] },
    ({ rows }, events) => Math.abs(rows[0]!.u! - events) < events / 50,
  ],
  ['facets', { fields: ['message'] }, ({ complete }) => complete],
]

for (const [size, events, bytes, skip] of [
  ['8 KB', 45_000, 8_000, false],
  ['200 KB', 1_800, 200_000, ONLY_LONG],
] as const) {
  test(`events of ${size} are found, counted, grouped; their parts have indexes`, {
    skip,
  }, async () => {
    const stream = await fill(events, bytes)
    for (const [path, body, isRight] of ASKED) {
      const answer = await api.tryRest(`/v1/streams/${stream.id}/${path}`, 'POST', body)
      const told = `${path} ${JSON.stringify(body)}: ${answer.status} ${answer.text.slice(0, 300)}`
      assert.equal(answer.status, 200, told)
      assert.ok(isRight(JSON.parse(answer.text) as Found, events), told)
    }
    const query = encodeURIComponent('message:needle77')
    const path = `/v1/streams/${stream.id}/explain?query=${query}`
    const { granules } = JSON.parse(await api.rest(path)) as { granules: Granules }
    assert.ok(granules.selected < granules.total / 2, JSON.stringify(granules))
  })
}
