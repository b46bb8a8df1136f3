/**
 * Goal: an event is found by the search that follows its acknowledgement, also by what nobody has
 * seen before: the first words of a stream, and paths that are new in an old one; and no other
 * event is found for it.
 * Method: a real service; from the acknowledgement on, searches without a pause until the catalog
 * has learned the paths, while the events go from the raw store into ClickHouse.
 */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { Api, type EventPage, type Stream } from '../../support/api.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'

const HEADERS = { 'content-type': 'application/json' }
const dataDir = makeDataDir()
let service: Service
let api: Api

before(async () => {
  // ClickHouse has the events before the catalog has learned from them.
  service = await Service.start({ dataDir, env: { SLUICE_MATERIALIZE_DELAY_MS: '20' } })
  api = new Api(service)
})

after(async () => {
  await service?.kill()
  await removeDataDir(dataDir)
})

async function send({ key }: Stream, event: object): Promise<void> {
  const { status } = await api.ingest(key, JSON.stringify(event), HEADERS)
  assert.equal(status, 200)
}

async function found({ id }: Stream, query: string): Promise<readonly unknown[]> {
  const text = await api.rest(`/v1/streams/${id}/search`, 'POST', { query, limit: 1_000 })
  const page = JSON.parse(text) as EventPage & { readonly complete: boolean }
  assert.equal(page.complete, true, text)
  return page.events.map(({ payload }) => payload.n)
}

async function knows({ id }: Stream, path: string): Promise<boolean> {
  const { fields } = JSON.parse(await api.rest(`/v1/streams/${id}/fields`)) as {
    readonly fields: readonly { readonly path: string }[]
  }
  return fields.some((field) => field.path === path)
}

/** Each query gives these events, from now until the stream's catalog has the path, and after. */
async function holdFrom(
  stream: Stream,
  path: string,
  expected: Readonly<Record<string, readonly number[]>>,
): Promise<void> {
  let rounds = 0
  for (let after = 0; after < 3; rounds++) {
    const isKnown = await knows(stream, path)
    for (const [query, numbers] of Object.entries(expected)) {
      assert.deepEqual(await found(stream, query), numbers, `${query}, round ${rounds}`)
    }
    if (isKnown) {
      // The catalog that queries use is up to a second old.
      after++
      await sleep(500)
    }
  }
}

// At once, as each waits for the catalog most of the time.
describe('found at once', { concurrency: true }, () => {
  test('the first events of a stream are found by their words', async () => {
    const newStream = async () => {
      const stream = await api.createStream()
      await send(stream, { n: 1, note: 'Card declined', who: { name: 'ann' } })
      await holdFrom(stream, 'who.name', {
        declined: [1],
        'note:"Card declined"': [1],
        'note:declined': [],
        'NOT declined': [],
        'who.*:ann': [1],
        '*:ann': [1],
        ann: [1],
      })
      await send(stream, { n: 2, remark: 'Declined, too' })
      await holdFrom(stream, 'remark', {
        declined: [2, 1],
        'NOT ann': [2],
        'remark:"Declined, too"': [2],
      })
    }
    await Promise.all([newStream(), newStream()])
  })

  test('a path that is new in an old stream is found by wildcards', async () => {
    const stream = await api.createStream()
    await send(stream, { n: 0, message: 'old', http: { status: 200 } })
    await api.untilCounted(stream.id, 1)
    while (!(await knows(stream, 'http.status'))) await sleep(100)
    for (let n = 1; n <= 3; n++) {
      await send(stream, { n, http: { [`new${n}`]: `x${n}` }, message: 'new' })
      const others = Array.from({ length: n }, (_, index) => n - 1 - index)
      await holdFrom(stream, `http.new${n}`, {
        [`http.*:x${n}`]: [n],
        [`*:x${n}`]: [n],
        [`NOT *:x${n}`]: others,
        'http.*:200': [0],
      })
    }
  })
})
