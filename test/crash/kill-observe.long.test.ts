/**
 * Goal: kill -9 while schemas are learned: every stored event counts once in its shape, no field,
 * type or shape is lost, and none appears that no stored event has.
 * Method: writers send events of known shapes, new fields and types among them all the time, while
 * the service is killed at random moments (seed printed; TEST_SEED repeats it) and started on the
 * same data. Then the catalog is compared with the events themselves.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '../store/temporary.ts'
import { Api, type EventRecord, NDJSON_TYPE, type Stream } from '../support/api.ts'
import { rounds } from '../support/fuzzing.ts'
import { createRandom } from '../support/random.ts'
import { makeDataDir, removeDataDir, Service } from '../support/service.ts'

const KILLS = rounds(4)
const KILL_MS_MIN = 300
/** Past OBSERVE_FLUSH_MS: some kills come amid a write of the catalog, some before the first. */
const KILL_MS_MAX = 1_800
const WRITERS = 4
const EVENTS_A_REQUEST = 25
/** Fields appear one after the other, so that there is something new in every stretch. */
const EVENTS_A_FIELD = 40
const FIELDS_MAX = 300

const dataDir = makeDataDir()
let service: Service

before(async () => {
  service = await Service.start({ dataDir })
})

after(async () => {
  await service?.kill()
  await removeDataDir(dataDir)
})

/** The field that the n-th event has beside those of all; its type changes on the way. */
function eventOf(n: number): Record<string, unknown> {
  const field = Math.floor(n / EVENTS_A_FIELD) % FIELDS_MAX
  return { n, [`field_${field}`]: n % 3 === 0 ? `text ${n}` : n, nested: { always: true } }
}

interface CatalogShape {
  readonly shape: string
  readonly events: number
  readonly paths: readonly { readonly path: string; readonly type: string }[] | null
  readonly example_event_id: string
}

interface CatalogField {
  readonly path: string
  readonly types: readonly string[]
}

async function readShapes(api: Api, { id }: Stream): Promise<readonly CatalogShape[]> {
  const text = await api.rest(`/v1/streams/${id}/shapes?limit=1000`)
  return (JSON.parse(text) as { shapes: CatalogShape[] }).shapes
}

async function readFields(api: Api, { id }: Stream): Promise<readonly CatalogField[]> {
  const text = await api.rest(`/v1/streams/${id}/fields?limit=10000`)
  return (JSON.parse(text) as { fields: CatalogField[] }).fields
}

/** What a catalog of these events must say of fields. */
function fieldsOf(events: readonly EventRecord[]): Map<string, Set<string>> {
  const types = new Map<string, Set<string>>()
  const add = (path: string, type: string) => {
    types.set(path, (types.get(path) ?? new Set()).add(type))
  }
  for (const { payload } of events) {
    for (const [key, value] of Object.entries(payload)) {
      if (key === 'nested') {
        add('nested', 'object')
        add('nested.always', 'boolean')
      } else add(key, typeof value === 'number' ? 'integer' : 'string')
    }
  }
  return types
}

test('kill -9 while schemas are learned: every stored event counts once', async (t) => {
  const { seed, next } = createRandom()
  t.diagnostic(`TEST_SEED=${seed}`)
  const api = new Api(service)
  const stream = await api.createStream()
  const headers = { 'content-type': NDJSON_TYPE }
  let sent = 0
  let isOn = true
  const write = async () => {
    while (isOn) {
      const first = sent
      sent += EVENTS_A_REQUEST
      const lines = Array.from({ length: EVENTS_A_REQUEST }, (_, i) => eventOf(first + i))
      const body = lines.map((line) => JSON.stringify(line)).join('\n')
      // Stored or not: the events tell afterwards.
      await api.ingest(stream.key, body, headers).catch(() => sleep(50))
      await sleep(10)
    }
  }
  for (let kill = 0; kill < KILLS; kill++) {
    isOn = true
    const writers = Promise.all(Array.from({ length: WRITERS }, write))
    await sleep(KILL_MS_MIN + next() * (KILL_MS_MAX - KILL_MS_MIN))
    await service.kill()
    isOn = false
    await writers
    service = await Service.start({ dataDir })
    api.url = service.url
  }
  const events = await api.events(stream.id)
  t.diagnostic(`${sent} events sent, ${events.length} stored`)
  assert(events.length > KILLS * EVENTS_A_REQUEST, 'there was a load')
  const counted = async () => {
    const shapes = await readShapes(api, stream)
    return shapes.reduce((sum, shape) => sum + shape.events, 0)
  }
  await eventually('counted', async () => (await counted()) >= events.length, 30_000)
  await eventually(
    'described',
    async () => (await readShapes(api, stream)).every(({ paths }) => paths !== null),
    30_000,
  )
  await sleep(1_500) // What counts twice would have counted by now.

  const expected = new Map<string, number>()
  for (const { shape } of events) expected.set(shape, (expected.get(shape) ?? 0) + 1)
  const shapes = await readShapes(api, stream)
  assert.deepEqual(new Map(shapes.map(({ shape, events: n }) => [shape, n])), expected)
  const byId = new Map(events.map((event) => [event.id, event]))
  for (const { example_event_id: id } of shapes) assert(byId.has(id), `example ${id} is stored`)
  const fields = await readFields(api, stream)
  const types = new Map(fields.map(({ path, types: all }) => [path, [...all].sort()]))
  const expectedTypes = [...fieldsOf(events)].map(([path, all]) => [path, [...all].sort()] as const)
  assert.deepEqual(types, new Map(expectedTypes))
})
