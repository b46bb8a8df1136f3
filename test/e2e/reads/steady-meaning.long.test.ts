/**
 * Goal: whether a query is true for an event depends on the event and the query alone: not on other
 * events of the stream, and not on whether the event waits, is projected, or was learned from.
 * Method: a real service. Events come one after another, each of which changes what the catalog
 * knows; between them and for some seconds behind them all queries are asked, of searches, counts
 * and a tail that has been open all along, and compared with `test/language/naive.ts`.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { parse } from '../../../src/language/parse.ts'
import { TEXT_FIELDS_DEFAULT } from '../../../src/model/text-fields.ts'
import { naiveMatches } from '../../language/naive.ts'
import { Api, type EventPage, type Stream } from '../../support/api.ts'
import { someOf } from '../../support/fuzzing.ts'
import { type SharedService, shareService } from '../../support/service.ts'

const HEADERS = { 'content-type': 'application/json' }
let service: SharedService
let api: Api

before(async () => {
  service = await shareService()
  api = new Api(service)
})

after(async () => {
  await service?.close()
})

/** Each once changed what queries meant for those before it, or hid words that it has itself. */
const EVENTS: readonly object[] = [
  { Level: 'Error', Message: 'connection to db01 timed out' },
  { host: 'web-1' },
  { host: 'WEB', note: 'Timed out' },
  { Level: 'Error', Message: 'connection to db01 timed out' },
  { message: 'deploy marker' },
  { MESSAGE: 'timeout', ...strings(70) },
  { ...strings(70), z70: 'timeout' },
  { error: { reason: 'timed out' }, host: 'web' },
  { msg: '请求timeout，重试3次' },
  { msg: '“timeout” → retry—timeout' },
  { msg: 'ERROR：连接db01失败' },
  { msg: '\u001b[31mtimed\u001b[0m out \ufefftimeout\u00a0end' },
  { items: [{ name: 'web' }, { reason: 'Timed out' }], tags: ['web', 'x'] },
  { v: 'caf' },
  { v: '10 EUR', message: 5 },
]

const QUERIES = [
  ...['timed', 'timeout', 'db01', 'Message:timed', 'Level:error', 'Level:Error', 'deploy', 'web'],
  ...['host:web', 'host:WEB', 'NOT host:web', 'NOT web', '"timed out"', 'tim*', 'MESSAGE:timeout'],
  ...['error.reason:timed', 'error.*:timed', '重试', '失败', 'items[].reason:timed'],
  ...['/^café?$/', 'v:/^café?$/', 'v:/10 €? ?EUR/', 'retry', 'end', 'marker OR db01'],
]

function strings(count: number): object {
  return Object.fromEntries(Array.from({ length: count }, (_, n) => [`s${n}`, `value ${n}`]))
}

/** Ordinals of the events that the query is true for. */
function expectedOf(query: string, count: number): number[] {
  const tree = parse(query)
  return EVENTS.slice(0, count).flatMap((event, n) => {
    const json = JSON.stringify({ ...event, n })
    const naive = { json, id: '', ingestedAtNs: 0n, eventTimeNs: 0n, shape: '' }
    const labels = { level: undefined, service: undefined }
    return naiveMatches(tree, { ...naive, ...labels }, TEXT_FIELDS_DEFAULT) ? [n] : []
  })
}

async function assertFound({ id }: Stream, count: number): Promise<void> {
  for (const query of someOf(QUERIES)) {
    const text = await api.rest(`/v1/streams/${id}/search`, 'POST', { query, order: 'oldest' })
    const page = JSON.parse(text) as EventPage & { readonly complete: boolean }
    assert.equal(page.complete, true, text)
    const found = page.events.map(({ payload }) => payload.n)
    assert.deepEqual(found, expectedOf(query, count), `${query} among ${count}`)
  }
}

/** Counts of events that are in by their own word. */
async function assertCounted({ id }: Stream, sinceMs: number): Promise<void> {
  for (const query of someOf(QUERIES)) {
    const deadline = performance.now() + 30_000
    for (;;) {
      const text = await api.rest(`/v1/streams/${id}/query`, 'POST', { query, from: '-1h' })
      const { total, complete, as_of: asOf } = JSON.parse(text) as Counted
      assert.equal(complete, true, text)
      const expected = expectedOf(query, EVENTS.length).length
      assert.ok(total <= expected, `${query}: ${text}`)
      if (Date.parse(asOf) < sinceMs) {
        assert.ok(performance.now() < deadline, `${query} becomes fresh: ${text}`)
        await sleep(100)
        continue
      }
      assert.equal(total, expected, `${query}: ${text}`)
      break
    }
  }
}

interface Counted {
  readonly total: number
  readonly complete: boolean
  readonly as_of: string
}

/** The numbers of the events that a tail has shown so far; `stop` ends it. */
function openTail({ id }: Stream, query: string): { readonly seen: number[]; stop(): void } {
  const seen: number[] = []
  const controller = new AbortController()
  const url = `${service.url}/v1/streams/${id}/tail?${new URLSearchParams({ query })}`
  const headers = { authorization: `Bearer ${service.token}` }
  const read = async () => {
    const { body } = await fetch(url, { headers, signal: controller.signal })
    let text = ''
    for await (const chunk of body!) {
      text += Buffer.from(chunk).toString()
      for (const [, n] of text.matchAll(/"n":(\d+)\}/g)) {
        if (!seen.includes(Number(n))) seen.push(Number(n))
      }
    }
  }
  read().catch(() => undefined)
  return { seen, stop: () => controller.abort() }
}

const TAILED = ['timed', 'Level:error', 'host:web', 'timeout', 'NOT web']

test('what is found of an event stays found, whatever comes after it', async () => {
  const stream = await api.createStream()
  const tails = TAILED.map((query) => ({ query, tail: openTail(stream, query) }))
  await sleep(1_000)
  for (const [n, event] of EVENTS.entries()) {
    const { status } = await api.ingest(stream.key, JSON.stringify({ ...event, n }), HEADERS)
    assert.equal(status, 200)
    if (n % 4 === 3) await assertFound(stream, n + 1)
    // The catalog learns of some by themselves.
    if (n % 5 === 4) await sleep(1_500)
  }
  const sentMs = Date.now()
  for (let round = 0; round < 3; round++) {
    await assertFound(stream, EVENTS.length)
    await sleep(1_000)
  }
  await assertCounted(stream, sentMs)
  for (const { query, tail } of tails) {
    assert.deepEqual(tail.seen, expectedOf(query, EVENTS.length), `tail of ${query}`)
    tail.stop()
  }
})
