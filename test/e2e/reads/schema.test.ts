/**
 * Goal: what streams learn, of the whole service: the type conflict of the specification from its
 * appearance to its resolution, samples, states at the caps, usage.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { eventually } from '../../store/temporary.ts'
import { Api, NDJSON_TYPE, type Stream } from '../../support/api.ts'
import { type SharedService, shareService } from '../../support/service.ts'

let service: SharedService
let api: Api

before(async () => {
  service = await shareService()
  api = new Api(service)
})

after(async () => {
  await service?.close()
})

interface Field {
  readonly path: string
  readonly types: readonly string[]
  readonly conflict: boolean
  readonly samples: readonly unknown[]
}

interface Shape {
  readonly shape: string
  readonly events: number
  readonly example_event_id: string
  readonly paths: readonly { readonly path: string }[] | null
}

async function fieldsOf({ id }: Stream): Promise<Field[]> {
  const text = await api.rest(`/v1/streams/${id}/fields`)
  return (JSON.parse(text) as { fields: Field[] }).fields
}

async function shapesOf({ id }: Stream): Promise<Shape[]> {
  const text = await api.rest(`/v1/streams/${id}/shapes`)
  return (JSON.parse(text) as { shapes: Shape[] }).shapes
}

// biome-ignore lint/suspicious/noExplicitAny: looks into any part of the answer.
async function usageOf({ id }: Stream): Promise<any> {
  return JSON.parse(await api.rest(`/v1/streams/${id}/usage`))
}

const typesOf = async (stream: Stream) =>
  Object.fromEntries((await fieldsOf(stream)).map(({ path, types }) => [path, types.join('+')]))

async function send(stream: Stream, lines: readonly string[]): Promise<void> {
  const answer = await api.ingest(stream.key, lines.join('\n'), { 'content-type': NDJSON_TYPE })
  assert.equal(answer.status, 200, answer.text)
}

/** Events in all shapes together. */
async function countedOf(stream: Stream): Promise<number> {
  return (await shapesOf(stream)).reduce((sum, { events }) => sum + events, 0)
}

test('plain and nested `log` conflict; Resolve clears it', async () => {
  const stream = await api.createStream()
  await send(stream, ['{"log":"plain text"}'])
  await eventually('the string', async () => (await typesOf(stream)).log === 'string')
  assert.equal((await usageOf(stream)).schema.type_conflicts, 0)
  await send(stream, ['{"log":{"level":"info"}}', '{"log.level":"warn"}'])
  await eventually('the object', async () => (await typesOf(stream)).log === 'string+object')
  const [log, level] = await fieldsOf(stream)
  assert.deepEqual([log!.conflict, log!.samples], [true, ['plain text']])
  assert.deepEqual([level!.path, level!.samples], ['log.level', ['info', 'warn']])
  assert.equal((await usageOf(stream)).schema.type_conflicts, 1)
  const text = await api.rest(`/v1/streams/${stream.id}/fields/log/resolve`, 'POST')
  assert.deepEqual(JSON.parse(text).types, ['object'])
  assert.equal((await usageOf(stream)).schema.type_conflicts, 0)
  await send(stream, ['{"log":{"level":"error"}}'])
  await eventually('all counted', async () => (await countedOf(stream)) === 4)
  assert.deepEqual(await typesOf(stream), { log: 'object', 'log.level': 'string' })
})

test('a shape names an event that has it; statistics tell its values', async () => {
  const stream = await api.createStream()
  await send(stream, ['{"a":1}', '{"b":"x"}', '{"b":"y"}', '{"b":"x"}'])
  await eventually('all counted', async () => (await countedOf(stream)) === 4)
  for (const { shape, example_event_id: id, paths } of await shapesOf(stream)) {
    const event = JSON.parse(await api.rest(`/v1/streams/${stream.id}/events/${id}`))
    assert.equal(event.shape, shape)
    assert.deepEqual(
      Object.keys(event.payload),
      paths?.map(({ path }) => path),
    )
  }
  await api.untilCounted(stream.id, 4)
  const stats = JSON.parse(await api.rest(`/v1/streams/${stream.id}/fields/b/stats`))
  assert.deepEqual([stats.events, stats.count, stats.top[0]], [4, 3, { value: 'x', count: 2 }])
})

test('at the hard caps events are stored, and usage says so; rejects are counted', async () => {
  const caps = { field_soft_cap: 1, field_hard_cap: 2, shape_soft_cap: 3, shape_hard_cap: 9 }
  const stream = await api.createStream(caps)
  await send(stream, ['{"a":1}', '{"b":1}', '{"c":1}', '{', '[]', '7'])
  await eventually('the fields', async () => (await usageOf(stream)).schema.fields.count === 2)
  await eventually('the rejects', async () => (await usageOf(stream)).rejected_events.length === 2)
  const usage = await usageOf(stream)
  assert.equal(usage.events, 3)
  assert.equal(usage.schema_learning, 'hard_cap')
  assert.deepEqual([usage.schema.fields.state, usage.schema.shapes.state], ['hard_cap', 'soft_cap'])
  const rejected = usage.rejected_events as { reason: string; count: number }[]
  assert.deepEqual(rejected.map(({ reason, count }) => `${reason} ${count}`).sort(), [
    'malformed 1',
    'not_an_object 2',
  ])
  assert(usage.oldest_event_at !== null && usage.oldest_event_at <= usage.newest_event_at)
})
