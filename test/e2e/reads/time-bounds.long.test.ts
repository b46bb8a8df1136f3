/**
 * Goal: whatever time, event id or cursor a client gives, at either end of time and past it, is
 * answered, or refused as what it is; it never fails the server, nor breaks an answer off.
 * Method: every member of every route that takes one, found in the API's own description, with
 * times and ids at the bounds of what is calculated with: years, integers, ids, columns.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Api, call, JSON_TYPE, NDJSON_TYPE, type Stream } from '../../support/api.ts'
import { someOf } from '../../support/fuzzing.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'
import { connectAgent } from '../agents/agent-client.ts'

const TIMES = [
  '0000-01-01T00:00:00+23:59', // The year before 0.
  '0000-01-01T00:00:00Z',
  '0001-01-01T00:00:00Z',
  '1677-09-21T00:12:43.145224192Z', // Nanoseconds in 64 bits begin.
  '1677-09-21T00:12:43.145224191Z',
  '1899-12-31T23:59:59Z', // ClickHouse's DateTime64 begins.
  '1969-12-31T23:59:59.999999999Z',
  '1970-01-01T00:00:00Z',
  '2106-02-07T06:28:16Z', // Seconds in 32 bits end.
  '2109-05-15T07:35:11.103Z', // Ids end.
  '2109-05-15T07:35:11.103000001Z',
  '2109-05-15T07:35:11.104Z',
  '2262-04-11T23:47:16.854775807Z', // Nanoseconds in 64 bits end.
  '2262-04-11T23:47:16.854775808Z',
  '2300-01-01T00:00:00Z', // ClickHouse's DateTime64 ended.
  '9999-12-31T23:59:59.999999999Z',
  '9999-12-31T23:59:60Z',
  '9999-12-31T23:59:59-23:59', // The year 10000.
  '-999999999w',
  'now-999999999w',
  '-0s',
  'now',
]
const IDS = [
  '0-0',
  '0-2147483647',
  '9223372036854775807-0',
  '9223372036854775807-2147483647',
  '9223372036854775808-0',
  `${(2n ** 42n - 1n) << 21n}-0`,
  `.${Buffer.from('7fffffffffffffff', 'hex').toString('base64url')}`,
  `zzzzz.${Buffer.from('7fffffffffffffff', 'hex').toString('base64url')}`,
  `.${Buffer.from('ffffffffffffffff', 'hex').toString('base64url')}`,
  `0.${Buffer.from('0000000000000000', 'hex').toString('base64url')}`,
]
const VALUES = [...TIMES, ...IDS]

/** Members that are times or places in time. */
const MEMBERS = ['from', 'to', 'before', 'after', 'Last-Event-ID', 'expires_at', 'query']
/** Of a query, with the time in it. */
const CLAUSES = ['_ingested_at:>=', '_event_time:<', 'when:>=', '_id:']

interface Parameter {
  readonly name: string
  readonly in: string
}
interface Operation {
  readonly operationId: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: {
    readonly content: Readonly<
      Record<string, { readonly schema?: { readonly properties?: object } }>
    >
  }
}

/** One member of an operation. */
interface Place {
  readonly operation: string
  readonly method: string
  readonly path: string
  readonly where: 'query' | 'header' | 'body'
  readonly member: string
}

const dataDir = makeDataDir()
let service: Service
let api: Api
let stream: Stream
let viewId = ''

before(async () => {
  service = await Service.start({ dataDir })
  api = new Api(service)
  stream = await api.createStream()
  await api.ingest(stream.key, '{"level":"info","message":"it","when":"2026-01-31T12:00:00Z"}')
  await api.untilCounted(stream.id, 1)
  const view = await api.rest(`/v1/streams/${stream.id}/views`, 'POST', { name: 'it' })
  viewId = (JSON.parse(view) as { readonly id: string }).id
})

after(async () => {
  await service?.kill()
  await removeDataDir(dataDir)
})

async function places(): Promise<readonly Place[]> {
  const { paths } = JSON.parse(await api.rest('/v1/openapi.json')) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  }
  return Object.entries(paths).flatMap(([path, methods]) => {
    return Object.entries(methods).flatMap(([method, operation]) => {
      const { operationId, parameters = [], requestBody } = operation
      const at = { operation: operationId, method: method.toUpperCase(), path }
      const given = parameters.flatMap(({ name, in: where }) => {
        if (!MEMBERS.includes(name) || (where !== 'query' && where !== 'header')) return []
        return [{ ...at, where, member: name } as const]
      })
      const schema = requestBody?.content[JSON_TYPE]?.schema
      const members = Object.keys(schema?.properties ?? {})
      const inBody = members.filter((name) => MEMBERS.includes(name))
      return [...given, ...inBody.map((member) => ({ ...at, where: 'body', member }) as const)]
    })
  })
}

const FACETS = { fields: ['level'] }
let made = 0
const REQUIRED: Readonly<Record<string, () => object>> = {
  createToken: () => ({ scopes: ['events:read'] }),
  createView: () => ({ name: `view ${++made}` }),
  createStream: () => ({ name: `stream ${++made}` }),
}

function request(
  { operation, method, path, where, member }: Place,
  value: string,
  accept = JSON_TYPE,
) {
  const ids: Readonly<Record<string, string>> = { id: stream.id, view: viewId, path: 'level' }
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? '1')
  const url = new URL(api.url + filled)
  if (path.endsWith('/facets') && method === 'GET') url.searchParams.set('fields', 'level')
  if (where === 'query') url.searchParams.set(member, value)
  const required = REQUIRED[operation]?.() ?? (path.endsWith('/facets') ? FACETS : {})
  const body = where === 'body' ? { ...required, [member]: value } : required
  return {
    url: url.href,
    method,
    headers: {
      authorization: `Bearer ${api.token}`,
      'content-type': JSON_TYPE,
      accept,
      ...(where === 'header' && { [member]: value }),
    },
    ...(method !== 'GET' && { body: JSON.stringify(body) }),
  }
}

/** Status and text; of an answer that goes on what comes first. Throws when it breaks off. */
async function ask(place: Place, value: string, accept?: string) {
  const { url, ...options } = request(place, value, accept)
  if (place.operation !== 'tailEvents') return await call(url, options)
  const gone = new AbortController()
  const { status, body } = await fetch(url, { ...options, signal: gone.signal })
  const reader = body!.getReader()
  const { value: bytes } = await reader.read()
  // A tail that fails does so right after its beginning.
  const ended = await Promise.race([
    reader.read().then(({ done }) => done),
    new Promise((resolve) => setTimeout(resolve, 60, false)),
  ])
  gone.abort()
  if (status === 200) assert.equal(ended, false, 'the tail ended')
  return { status, text: Buffer.from(bytes ?? []).toString() }
}

/** What is wrong with the answer; undefined when nothing is. */
async function fault(place: Place, value: string, accept?: string): Promise<string | undefined> {
  const told = `${place.operation} ${place.member}=${value} ${accept ?? ''}`
  try {
    const { status, text } = await ask(place, value, accept)
    if (status === 200 || status === 201) return undefined
    if (status !== 400) return `${told}: ${status} ${text}`
    const { detail } = JSON.parse(text) as { readonly detail: string }
    const isNamed = MEMBERS.some((name) => detail.includes(`"${name}"`))
    return isNamed ? undefined : `${told}: ${detail}`
  } catch (cause) {
    return `${told}: ${String(cause)}`
  }
}

test('the members that are tried are those of all routes that take a time', async () => {
  const found = new Map<string, string[]>()
  for (const { operation, member } of await places()) {
    found.set(operation, [...(found.get(operation) ?? []), member])
  }
  for (const name of ['listEvents', 'search', 'searchByUrl', 'query', 'histogram', 'facets']) {
    assert.ok(found.has(name), name)
  }
  assert.deepEqual(found.get('tailEvents'), ['query', 'from', 'Last-Event-ID'])
  assert.deepEqual(found.get('reviewRedaction'), ['from', 'to', 'query', 'before'])
  assert.deepEqual(found.get('createToken'), ['expires_at'])
  assert.ok(found.size > 20, `${found.size} operations`)
})

test('a tail from past the last id is refused, and the last time is named', async () => {
  const path = `/v1/streams/${stream.id}/tail?from=`
  for (const time of ['2109-05-15T07:35:11.104Z', '9999-12-31T23:59:59Z']) {
    const { status, text } = await api.tryRest(path + time)
    assert.equal(status, 400)
    const { detail } = JSON.parse(text) as { readonly detail: string }
    const bound = '"from" must be before 2109-05-15T07:35:11.104Z, where ids of events end'
    assert.equal(detail, bound)
  }
  const { text } = await api.tryRest(`${path}-999999999w`)
  assert.match(text, /"from\\" must lie in the years 0000 to 9999, in UTC/)
})

test('every time, id and cursor is answered or refused, wherever it is given', async () => {
  const faults: (string | undefined)[] = []
  for (const place of await places()) {
    if (place.member === 'query') continue
    for (const value of someOf(VALUES)) faults.push(await fault(place, value))
    if (!/search/i.test(place.operation)) continue
    for (const value of someOf(VALUES)) faults.push(await fault(place, value, NDJSON_TYPE))
  }
  assert.deepEqual(
    faults.filter((one) => one !== undefined),
    [],
  )
  assertNothingFailed()
})

test('every time is answered or refused in a query, wherever one is given', async () => {
  const faults: (string | undefined)[] = []
  for (const place of await places()) {
    if (place.member !== 'query' || !/^\/v1\/streams\/\{id\}/.test(place.path)) continue
    for (const clause of CLAUSES) {
      const values = clause === '_id:' ? IDS.slice(0, 6) : TIMES.slice(0, 18)
      for (const value of someOf(values)) faults.push(await fault(place, `${clause}${value}`))
    }
  }
  assert.deepEqual(
    faults.filter((one) => one !== undefined),
    [],
  )
  assertNothingFailed()
})

test('a range from the one end of time to the other is answered everywhere', async () => {
  const whole = { from: '0000-01-01T00:00:00Z', to: '9999-12-31T23:59:59.999999999Z' }
  const paths = [
    ...['search', 'query', 'query?group_by=bucket:auto', 'histogram', 'facets?fields=level'],
    ...['explain', 'events', 'fields/level/stats'],
  ]
  for (const path of paths) {
    for (const basis of ['ingested_at', 'event_time']) {
      const url = new URL(`${api.url}/v1/streams/${stream.id}/${path}`)
      const parameters = { ...whole, ...(path !== 'events' && { time_basis: basis }) }
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
      const { status, text } = await api.tryRest(url.pathname + url.search)
      assert.equal(status, 200, `${path} ${basis}: ${text}`)
      if (path.startsWith('query')) assert.match(text, /"total":1/)
    }
  }
  for (const kind of ['search', 'query']) {
    await api.rest(`/v1/streams/${stream.id}/views/${viewId}/${kind}`, 'POST', whole)
  }
  assertNothingFailed()
})

test('tools of agents take the same times', async () => {
  const agent = await connectAgent(service, api.token)
  const { tools } = await agent.client.listTools()
  for (const { name, inputSchema } of tools) {
    const members = Object.keys(inputSchema.properties ?? {})
    for (const member of members.filter((one) => ['from', 'to', 'cursor'].includes(one))) {
      for (const value of someOf(VALUES)) {
        const args = { stream: stream.id, [member]: value }
        const { text } = await agent.call(name, args)
        assert.doesNotMatch(text, /^internal/, `${name} ${member}=${value}: ${text}`)
      }
    }
  }
  await agent.close()
  assertNothingFailed()
})

test('a view of any range is saved and run, or refused', async () => {
  const ranges = [
    { last: '999999999w' },
    ...someOf(TIMES.slice(0, 20)).flatMap((time) => [
      { from: time, to: 'now' },
      { from: '-1h', to: time },
    ]),
  ]
  for (const range of ranges) {
    const view = { name: `v${Math.random()}`, range }
    const made = await api.tryRest(`/v1/streams/${stream.id}/views`, 'POST', view)
    assert.ok([201, 400].includes(made.status), `${JSON.stringify(range)}: ${made.text}`)
    if (made.status === 400) continue
    const { id } = JSON.parse(made.text) as { readonly id: string }
    for (const kind of ['search', 'query']) {
      const run = await api.tryRest(`/v1/streams/${stream.id}/views/${id}/${kind}`, 'POST', {})
      assert.ok(run.status < 500, `${kind} ${JSON.stringify(range)}: ${run.text}`)
    }
    await api.tryRest(`/v1/streams/${stream.id}/views/${id}`, 'DELETE')
  }
  assertNothingFailed()
})

function assertNothingFailed(): void {
  const faults = service.output
    .split('\n')
    .filter((line) => /request failed|AssertionError/.test(line))
  assert.deepEqual(faults, [])
}
