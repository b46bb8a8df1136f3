/**
 * Goal: every recipe of docs/query.md answers what it promises.
 * Method: its shell blocks are run as they are, over real access-log lines that were sent as JSON
 * and as text; what they should answer is computed from the lines.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Api, NDJSON_TYPE } from '../../support/api.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const run = promisify(execFile)
const DOC = fileURLToPath(new URL('../../../../docs/query.md', import.meta.url))
const LOG = fileURLToPath(new URL('../../../../../shared/data/apache_access.log', import.meta.url))
const skip = !existsSync(LOG) && 'no access log at ../shared/data'
const DEPLOY = '2026-11-24T09:30:00Z'
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const EVENT = '3706387219251200000-17'
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024

interface Event {
  readonly service: string
  readonly level: string
  readonly message: string
  readonly http: { route: string; status: number; ip: string; duration_ms: number }
  readonly trace: { trace_id: string }
  readonly error?: { type: string }
}

type Row = Readonly<Record<string, unknown>>

interface Told {
  readonly rows: readonly Row[]
  readonly others: readonly Row[] | null
  readonly total: number
  readonly events: readonly { readonly id: string; readonly payload: Event; _stream: string }[]
  readonly complete: boolean
}

const LINE = /^(\S+) \S+ \S+ \[[^\]]+\] "\S+ (\S+)[^"]*" (\d+) (\d+|-)/
const SERVICES = ['presentations', 'blog', 'images', 'projects', 'files']

/** A line's fields; what a log of an application would have and this one has not is made up. */
function toEvent(line: string): Event {
  const [, ip = '', path = '', status = '', bytes = ''] = LINE.exec(line) ?? []
  const [route = ''] = path.split('?')
  const [, first = '', name = ''] = /^\/([^/]*)(?:.*\.([a-z]+))?$/.exec(route) ?? []
  return {
    service: SERVICES.includes(first) ? first : 'www',
    level: Number(status) >= 400 ? 'error' : 'info',
    message: 'served',
    http: { route, status: Number(status), ip, duration_ms: (Number(bytes) || 0) / 1_000 },
    trace: { trace_id: createHash('md5').update(ip).digest('hex') },
    ...(Number(status) >= 400 && { error: { type: `${status} ${name}` } }),
  }
}

const dataDir = makeDataDir()
const lines = skip ? [] : readFileSync(LOG, 'utf8').trim().split('\n')
const events = lines.map(toEvent)
const [early, late] = [events.slice(0, 5_000), events.slice(5_000)]
/** The recipes' examples, and what stands for them here. */
const names = new Map<string, string>()
let service: Service

before(async () => {
  if (skip) return
  service = await Service.start({ dataDir })
  const api = new Api(service)
  const { id, key } = await api.createStream()
  assert.equal(id, '1')
  const type = { 'content-type': NDJSON_TYPE }
  const send = async (some: readonly Event[]) => {
    const body = some.map((event) => JSON.stringify(event)).join('\n')
    assert.equal((await api.ingest(key, body, type)).status, 200)
  }
  await send(early)
  const deployMs = Date.now() + 50
  while (Date.now() <= deployMs) await api.page(id, '?limit=1')
  await send(late)
  assert.equal((await api.ingestText(key, lines.join('\n'))).status, 200)
  await api.untilCounted(id, 2 * events.length)
  await api.untilProjected(id)
  const page = await api.page(id, '?limit=50')
  names.set(DEPLOY, new Date(deployMs).toISOString())
  names.set(TRACE, events[0]!.trace.trace_id)
  names.set(EVENT, page.events[9]!.id)
})

after(async () => {
  await service?.kill()
  await removeDataDir(dataDir)
})

/** The shell blocks under the headings of recipes. */
function readRecipes(): Map<string, string> {
  const [, section = ''] = /^## Recipes\n([\s\S]*?)^## /m.exec(readFileSync(DOC, 'utf8')) ?? []
  const recipes = new Map<string, string>()
  let heading = ''
  for (const [, title, shell] of section.matchAll(/^### (.*)$|^```sh\n([\s\S]*?)^```$/gm)) {
    if (title === undefined) recipes.set(heading, shell!)
    else heading = title
  }
  return recipes
}

const recipes = readRecipes()
const [prelude = ''] = recipes.values()

async function cook(heading: string): Promise<string> {
  const { host } = new URL(service.url)
  let shell = `${prelude}\n${recipes.get(heading)}`.replace(/^export .*$/gm, '')
  shell = shell.replaceAll('localhost:4800', host)
  for (const [written, meant] of names) shell = shell.replaceAll(written, meant)
  const env = { PATH: process.env.PATH, TOKEN: service.token }
  const options = { env, maxBuffer: OUTPUT_BYTES_MAX }
  return (await run('bash', ['-ec', shell], options)).stdout
}

function counted<T>(all: readonly T[], keyOf: (each: T) => string | undefined) {
  const counts = new Map<string, number>()
  for (const each of all) {
    const key = keyOf(each)
    if (key !== undefined) counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return counts
}

/** Sums of `member` by `name`. */
function summed(rows: readonly Row[], name: string, member: string) {
  const sums = new Map<string, number>()
  for (const row of rows) {
    const key = String(row[name])
    sums.set(key, (sums.get(key) ?? 0) + Number(row[member]))
  }
  return sums
}

function sorted(counts: ReadonlyMap<string, number>) {
  return [...counts].filter(([, count]) => count > 0).sort(([a], [b]) => (a < b ? -1 : 1))
}

const failed = events.filter(({ level }) => level === 'error')
const words = (line: string) => line.toLowerCase().split(/[^a-z0-9]+/)

const EXPECTED: Readonly<Record<string, (told: Told, printed: string) => void>> = {
  'Errors by service, in five-minute buckets': ({ rows }) => {
    assert.deepEqual(
      sorted(summed(rows, '_service', 'count')),
      sorted(counted(failed, (event) => event.service)),
    )
    for (const row of rows) assert.match(String(row._bucket), /T\d\d:\d[05]:00/)
    // Six hours, whole or begun, whether there were errors or not.
    const buckets = new Set(counted(rows, ({ _service }) => String(_service)).values())
    assert.deepEqual([...buckets], [rows.length / new Set(rows.map((row) => row._service)).size])
    assert.ok([...buckets][0]! >= 72)
  },
  'Share of failed requests': ({ rows }) => {
    const bad = events.filter(({ http }) => http.status >= 500)
    const json = rows.filter((row) => row._service !== null)
    assert.deepEqual(
      sorted(summed(json, '_service', 'all')),
      sorted(counted(events, (event) => event.service)),
    )
    assert.deepEqual(
      sorted(summed(json, '_service', 'failed')),
      sorted(counted(bad, (event) => event.service)),
    )
  },
  'p99 by route': ({ rows }) => {
    const times = new Map<string, number[]>()
    for (const { http } of events) {
      const all = times.get(http.route)
      if (all === undefined) times.set(http.route, [http.duration_ms])
      else all.push(http.duration_ms)
    }
    const p99 = [...times.values()].map((all) => {
      return all.sort((a, b) => a - b)[Math.min(all.length - 1, Math.floor(all.length * 0.99))]!
    })
    const slowest = p99.sort((a, b) => b - a).slice(0, 20)
    assert.deepEqual(
      rows.map((row) => row.p99),
      slowest,
    )
  },
  'What is new since the deploy': ({ rows }) => {
    const typeOf = (event: Event) => event.error?.type
    const known = counted(early, typeOf)
    const since = counted(late, typeOf)
    const fresh = [...since].filter(([type]) => !known.has(type))
    assert.ok(fresh.length > 0, 'there is something new')
    const first = rows.slice(0, fresh.length)
    assert.deepEqual(sorted(summed(first, 'error.type', 'since')), sorted(new Map(fresh)))
    assert.ok(first.every(({ before }) => before === 0))
    assert.ok(rows.slice(fresh.length).every(({ before }) => before !== 0))
  },
  'Follow a trace id': ({ events: found }) => {
    const trace = events[0]!.trace.trace_id
    const all = events.filter((event) => event.trace.trace_id === trace)
    assert.ok(all.length > 1)
    assert.deepEqual(
      found.map(({ payload, _stream }) => [payload, _stream]),
      all.slice(0, found.length).map((event) => [event, '1']),
    )
    assert.equal(found.length, Math.min(all.length, 100))
  },
  'What happened just before this event': ({ events: found }) => {
    const [, ordinal = 0] = names.get(EVENT)!.split('-').map(Number)
    const ordinals = found.map(({ id }) => Number(id.split('-')[1]))
    assert.deepEqual(
      ordinals,
      Array.from({ length: 20 }, (_, at) => ordinal - 1 - at),
    )
  },
  'Who gets the most 404s, and how many clients there are': ({ rows, others }, printed) => {
    const missing = events.filter(({ http }) => http.status === 404)
    const counts = [...counted(missing, ({ http }) => http.ip).values()].sort((a, b) => b - a)
    assert.deepEqual(
      rows.map(({ count }) => count),
      counts.slice(0, 10),
    )
    const rest = counts.slice(10).reduce((sum, count) => sum + count, 0)
    assert.deepEqual(
      others?.map(({ count }) => count),
      [rest],
    )
    const clients = new Set(events.map(({ http }) => http.ip)).size
    assert.match(printed, new RegExp(`"clients":${clients}\\b`))
  },
  'A line of plain text': ({ events: found }) => {
    const all = lines.filter((line) => {
      const [, ...rest] = ` ${words(line).join(' ')} `.split(' get files logstash ')
      return rest.length > 0 && words(line).includes('404')
    })
    assert.ok(all.length > 10)
    assert.deepEqual(found.map(({ payload }) => payload.message).sort(), all.sort())
  },
  'All server errors of a week, as a table': (_told, printed) => {
    const bad = events.filter(({ http }) => http.status >= 500)
    const [head, ...rows] = printed.trim().split(/\r?\n/)
    assert.match(head ?? '', /http\.route,http\.status$/)
    const ends = rows.map((row) => row.split(',').slice(3).join())
    assert.deepEqual(ends.sort(), bad.map(({ http }) => `${http.route},${http.status}`).sort())
  },
}

/** The first JSON that was printed; nothing is in it where none was. */
function firstJson(printed: string): Told {
  const nothing = { rows: [], others: null, events: [], total: 0, complete: true }
  if (!printed.startsWith('{')) return nothing
  const [first = '{}'] = printed.split(/(?<=\})\n?(?=\{"rows")/)
  return { ...nothing, ...(JSON.parse(first) as Partial<Told>) }
}

test('every recipe is known here', () => {
  const [, ...headings] = recipes.keys()
  assert.deepEqual(headings, Object.keys(EXPECTED))
})

for (const [heading, assertTold] of Object.entries(EXPECTED)) {
  test(heading, { skip }, async () => {
    const printed = await cook(heading)
    assert.doesNotMatch(printed, /urn:sluice:problem/)
    const told = firstJson(printed)
    assert.ok(told.complete)
    assertTold(told, printed)
  })
}
