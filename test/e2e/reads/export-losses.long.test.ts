/**
 * Goal: an export says at its end what is missing in it: events of damaged segments, and what was
 * removed while it ran; and of what is whole it says nothing.
 * Method: a real service; a segment's bytes are overwritten, and a mark is moved while a slow
 * reader has read some.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Postgres } from '../../../src/store/postgres.ts'
import { recordingLog } from '../../store/temporary.ts'
import { Api, call, NDJSON_TYPE, type Stream } from '../../support/api.ts'
import { makeDataDir, removeDataDir, Service } from '../../support/service.ts'
import { embeddedPostgresUrl } from '../../support/store-socket.ts'

const EVENTS = 5_000
const RANGE = 'from=2020-01-01T00:00:00Z'

const dataDir = makeDataDir()
let service: Service
let api: Api
let postgres: Postgres

before(async () => {
  service = await Service.start({ dataDir })
  api = new Api(service)
  postgres = new Postgres({ url: embeddedPostgresUrl(dataDir), log: recordingLog() })
})

after(async () => {
  await postgres?.end()
  await service?.kill()
  await removeDataDir(dataDir)
})

interface Token {
  readonly id: string
  readonly token: string
}

/** Segments of so many events each; the stream when all are in ClickHouse. */
async function fill(segments: number, pad = ''): Promise<Stream> {
  const stream = await api.createStream()
  for (let segment = 0; segment < segments; segment++) {
    const lines = Array.from({ length: EVENTS }, (_, n) => {
      return JSON.stringify({ n: segment * EVENTS + n, segment, message: `event ${n}${pad}` })
    })
    const answer = await api.ingest(stream.key, lines.join('\n'), { 'content-type': NDJSON_TYPE })
    assert.equal(answer.status, 200)
  }
  await api.untilCounted(stream.id, segments * EVENTS)
  return stream
}

/** Rows of the stream, the oldest first. */
async function segmentsOf({ id }: Stream) {
  const { rows } = await postgres.query<{ segment_id: string; event_count: number }>(
    'SELECT segment_id, event_count FROM segments WHERE stream_id = $1 ORDER BY segment_id',
    [Number(id)],
  )
  return rows
}

async function exported({ id }: Stream, accept: string, query: string): Promise<string[]> {
  const headers = { authorization: `Bearer ${api.token}`, accept }
  const url = `${api.url}/v1/streams/${id}/search?${RANGE}&${query}`
  const { status, text } = await call(url, { headers })
  assert.equal(status, 200, text)
  return text.trimEnd().split(/\r?\n/)
}

test('a damaged segment is reported after the last event, in lines and in CSV', async () => {
  const stream = await fill(3)
  const whole = await exported(stream, NDJSON_TYPE, 'query=event')
  assert.equal(whole.length, 3 * EVENTS, 'nothing is said of what is whole')
  const { segment_id: damaged, event_count: lost } = (await segmentsOf(stream))[2]!
  assert(lost > 1_000)
  await postgres.query('UPDATE segments SET payload = $1 WHERE segment_id = $2', [
    Buffer.of(99),
    damaged,
  ])
  const before = await api.metric('ingest_damaged_reads_total')
  for (const order of ['oldest', 'newest']) {
    const lines = await exported(stream, NDJSON_TYPE, `query=event&order=${order}`)
    assert.equal(lines.length, 3 * EVENTS - lost + 1)
    const { complete, reason, damaged: named } = JSON.parse(lines.at(-1)!)
    assert.equal(complete, false)
    assert.equal(reason, `${lost} events are in damaged segments`)
    const told = named as readonly { readonly segment_id: string; readonly events: number }[]
    assert(told.every(({ segment_id: id }) => id === damaged))
    assert.equal(
      told.reduce((sum, { events }) => sum + events, 0),
      lost,
    )
  }
  assert((await api.metric('ingest_damaged_reads_total')) > before)
  const csv = await exported(stream, 'text/csv', 'query=event&fields=n,segment')
  assert.equal(csv.length, 1 + 3 * EVENTS - lost + 1)
  assert.equal(csv.at(-1), `"incomplete: ${lost} events are in damaged segments",,,,`)
  const without = await exported(stream, NDJSON_TYPE, 'query=segment:2')
  assert.equal(without.length, EVENTS, 'it is not among what was asked for')
})

test('events that retention removes while an export runs are reported', async () => {
  const stream = await fill(8, 'x'.repeat(1_500))
  const newest = (await segmentsOf(stream)).at(-1)!
  const headers = { authorization: `Bearer ${api.token}`, accept: NDJSON_TYPE }
  const answer = await fetch(`${api.url}/v1/streams/${stream.id}/search?${RANGE}`, { headers })
  const chunks: Uint8Array[] = []
  // It waits for its reader, who has the first bytes when all but the newest segment are removed.
  for await (const chunk of answer.body!) {
    chunks.push(chunk)
    if (chunks.length > 1) continue
    await postgres.query(
      `INSERT INTO stream_storage (stream_id, removed_before) VALUES ($1, $2)
       ON CONFLICT (stream_id) DO UPDATE SET removed_before = excluded.removed_before`,
      [Number(stream.id), newest.segment_id],
    )
  }
  const lines = Buffer.concat(chunks).toString().trimEnd().split('\n')
  assert(lines.length < 8 * EVENTS, `${lines.length} lines`)
  const { complete, reason } = JSON.parse(lines.at(-1)!)
  assert.deepEqual([complete, reason], [false, 'retention removed events before they were read'])
})

test('an export ends without its end when its token is revoked', async () => {
  const stream = await fill(8, 'x'.repeat(1_500))
  const scopes = ['events:read']
  const made = JSON.parse(await api.rest('/v1/tokens', 'POST', { scopes })) as Token
  const headers = { authorization: `Bearer ${made.token}`, accept: NDJSON_TYPE }
  const url = `${api.url}/v1/streams/${stream.id}/search?${RANGE}`
  const answer = await fetch(url, { headers })
  assert.equal(answer.status, 200)
  let lines = 0
  let isFirst = true
  const readAll = async () => {
    for await (const chunk of answer.body!) {
      lines += Buffer.from(chunk).toString().split('\n').length - 1
      if (!isFirst) continue
      isFirst = false
      await api.rest(`/v1/tokens/${made.id}`, 'DELETE')
    }
  }
  await assert.rejects(readAll(), 'the connection is aborted')
  assert(lines > 0 && lines < 8 * EVENTS, `${lines} lines`)
  assert.equal((await fetch(url, { headers })).status, 401)
})
