/**
 * Goal: the service answers queries as its events are, whatever their types, of streams with tables
 * of their own and of those that share one, one stream and several, while it learns their fields.
 * Method: random events sent to a real service; the same computed plainly from what was sent.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { PROMOTED_STREAMS_MAX } from '../../../src/limits.ts'
import { groupText, naiveAggregate } from '../../store/projection/reads/naive-aggregate.ts'
import { Api, type Stream } from '../../support/api.ts'
import { ONLY_LONG } from '../../support/fuzzing.ts'
import { createRandom } from '../../support/random.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const random = createRandom()
const EVENTS = 1_500
const VALUES = [
  ...['1', '1.0', '"1"', '2.5', '-7', 'true', 'false', 'null', '{}', '"x"', '""', '[1,2]'],
  ...['9007199254740993', '18446744073709551615', '1e300', '"é\\"\\n"'],
]
const LEVELS = ['"info"', '"WARN"', '"error"', '"nothing"']
const RANGE = { from: '-1h' }
/** What is told of each group, and of which field. */
const TOLD = [
  ['count', undefined],
  ['uniq', 'v'],
  ['sum', 'n'],
  ['max', 'n'],
  ['p90', 'n'],
] as const

type Fields = Readonly<Record<string, string>>

const dataDir = makeDataDir()
let service: Service
let api: Api
const sent = new Map<Stream, Fields[]>()

before(async () => {
  console.log(`TEST_SEED=${random.seed}`)
  service = await Service.start({ dataDir })
  api = new Api(service)
  const streams: Stream[] = []
  // The first ones have tables of their own.
  for (let at = 0; at <= PROMOTED_STREAMS_MAX; at++) streams.push(await api.createStream())
  for (const stream of [streams[0]!, streams.at(-1)!]) sent.set(stream, [])
  await send()
})

after(async () => {
  await service?.stop()
  await removeDataDir(dataDir)
})

const pick = <T>(values: readonly T[]): T => values[Math.floor(random.next() * values.length)]!

/** More random events of both streams, in several requests. */
async function send(): Promise<void> {
  for (const [stream, all] of sent) {
    for (let part = 0; part < 3; part++) {
      const events = Array.from({ length: EVENTS / 3 }, (): Fields => {
        const n = Math.floor(random.next() * 50)
        const fields = { level: pick(LEVELS), n: String(n), v: pick(VALUES) }
        return random.next() < 0.1 ? { level: fields.level, n: fields.n } : fields
      })
      const lines = events.map((fields) => {
        return `{${Object.entries(fields).map(([name, json]) => `"${name}":${json}`)}}`
      })
      const type = { 'content-type': 'application/x-ndjson' }
      const answer = await api.ingest(stream.key, lines.join('\n'), type)
      assert.equal(answer.status, 200, answer.text)
      all.push(...events)
    }
    await api.untilCounted(stream.id, all.length)
  }
}

/** A row for each group, as text; the value of `by` as the answer has it. */
async function told(path: string, by: string): Promise<string[]> {
  const aggregates = TOLD.map(([fn, field]) => ({ fn, ...(field && { field }), as: `${fn}!` }))
  const body = { ...RANGE, aggregates, group_by: by, limit: 1_000 }
  const text = await api.rest(path, 'POST', body)
  const rows = /"rows":\[(.*)\],"others"/.exec(text)?.[1] ?? ''
  return [...rows.matchAll(/\{"[^"]*":(.*?),"count!":(.*?)\}(?:,(?=\{)|$)/g)]
    .map(([, group = '', values = '']) => {
      const shown = values.replaceAll(/"[a-z0-9]+!":/g, '').replaceAll(',', ' ')
      return `${group} ${shown}`
    })
    .sort()
}

function expected(events: readonly Fields[], groupOf: (event: Fields) => string): string[] {
  const groups = new Map<string, Fields[]>()
  for (const event of events) {
    const group = groupOf(event)
    groups.set(group, [...(groups.get(group) ?? []), event])
  }
  return [...groups]
    .map(([group, all]) => {
      const values = TOLD.map(([fn, field]) => {
        const of = field && all.map((event) => event[field])
        return naiveAggregate(fn, of, all.length)
      })
      return `${group} ${values.join(' ')}`
    })
    .sort()
}

/** As the answer's JSON has it; arrays are told as text. */
function shownValue({ v }: Fields): string {
  const text = groupText(v).replace('e+', 'e')
  return text.startsWith('other ') ? text.slice('other '.length) : text
}

function shownLevel({ level }: Fields): string {
  const known = { '"info"': '"info"', '"WARN"': '"warn"', '"error"': '"error"' }
  return known[level as keyof typeof known] ?? 'null'
}

test('groups of all kinds, in either table, as fields are learned and more comes', {
  skip: ONLY_LONG,
}, async () => {
  for (let round = 0; round < 3; round++) {
    for (const [stream, events] of sent) {
      const path = `/v1/streams/${stream.id}/query`
      assert.deepEqual(await told(path, 'v'), expected(events, shownValue), `round ${round}`)
      assert.deepEqual(await told(path, '_level'), expected(events, shownLevel))
    }
    // Fields are learned within seconds: rows from before are read by their types then.
    if (round === 0) await sleep(3_000)
    if (round === 1) await send()
  }
})

test('several streams: all events, each with its stream', async () => {
  const all = [...sent.values()].flat()
  assert.deepEqual(await told('/v1/query', 'v'), expected(all, shownValue))
  const byStream = [...sent].flatMap(([{ id }, events]) => {
    return expected(events, () => JSON.stringify(id))
  })
  assert.deepEqual(await told('/v1/query', '_stream'), byStream.sort())
  const [first] = sent.keys()
  const named = await api.rest('/v1/query', 'POST', { ...RANGE, streams: [first!.id] })
  assert.equal(JSON.parse(named).total, sent.get(first!)!.length)
})

test('histograms, facets and statistics agree with it, and say how fresh they are', async () => {
  for (const [{ id }, events] of sent) {
    const errors = events.filter(({ level }) => level === '"error"')
    const read = async (what: string) => {
      const answer = JSON.parse(await api.rest(`/v1/streams/${id}/${what}`))
      assert.equal(answer.complete, true)
      assert.ok(Date.now() - Date.parse(answer.as_of) < 60_000 && answer.lag_ms < 60_000)
      return answer
    }
    const histogram = await read('histogram?from=-1h&query=_level:error')
    assert.equal(histogram.total, errors.length)
    const facets = await read('facets?from=-1h&fields=level,n&limit=100&query=level:error')
    const [level, n] = facets.facets
    assert.deepEqual(level.values, [{ value: 'error', count: errors.length }])
    const numbers = new Set(errors.map((event) => event.n))
    assert.deepEqual([n.events, n.distinct], [errors.length, numbers.size])
    const stats = await read('fields/n/stats?from=-1h&query=level:error')
    assert.deepEqual(
      [stats.events, stats.count, stats.distinct, stats.numbers.count],
      [errors.length, errors.length, numbers.size, errors.length],
    )
    const max = Math.max(...errors.map((event) => Number(event.n)))
    assert.equal(stats.numbers.max, max)
  }
})
