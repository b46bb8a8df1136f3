/**
 * Goal: a search of one stream keeps the records of what it has decoded to be matched, up to half a
 * page of bytes; searches of several streams keep none. Method: a worker in memory whose records
 * are large.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from '../../../src/language/parse.ts'
import { EVENTS_PAGE_BYTES_MAX, SEARCH_PAYLOADS_MAX } from '../../../src/limits.ts'
import type { SourceStream } from '../../../src/model/field-catalog.ts'
import { makeSegmentId, type SegmentId } from '../../../src/model/segment-id.ts'
import type { FoundSegment } from '../../../src/model/stored-row.ts'
import { TextNames } from '../../../src/model/text-fields.ts'
import type { MatchTask } from '../../../src/pool/messages.ts'
import { findEvents } from '../../../src/read/search/find-events.ts'
import { type SourceStores, storeSources } from '../../../src/read/search/store-sources.ts'

const COUNT = 3 * SEARCH_PAYLOADS_MAX
/** After the first task there is room left, after the second there is none. */
const RECORD_BYTES = Math.ceil(EVENTS_PAGE_BYTES_MAX / 2 / SEARCH_PAYLOADS_MAX / 1.5)
const texts = { textFields: ['message'], textNames: new TextNames(['message']) }
const catalog = { ...texts, textPaths: ['message'], observed: new Map() }
const streamOf = (streamId: number) => ({ streamId, catalog }) as unknown as SourceStream
const SEGMENTS = Array.from({ length: COUNT }, (_, n) => ({
  streamId: 1,
  segmentId: makeSegmentId({ ms: 1_000 + n, node: 1, counter: 0 }),
  eventCount: 1,
}))
const END = SEGMENTS.at(-1)!.segmentId + 1n

async function search(streams: readonly SourceStream[]) {
  const tasks: MatchTask[] = []
  const sources = storeSources({
    pending: {
      readExtent: async () => ({ start: 0n, end: END, eventsPerMs: 1, eventBytes: 1 }),
      list: async () => ({
        segments: SEGMENTS.toReversed(),
        complete: { start: 0n, end: END },
        projected: new Map(),
      }),
    },
    prefilter: () => () => true,
    onChosen: () => undefined,
    findIds: async () => [],
    readPayloads: async (keys: readonly { segmentId: SegmentId }[]) => {
      const place = { firstEvent: 0, eventCount: 1, payload: new Uint8Array(0) }
      return new Map(
        keys.map((key) => [key.segmentId, { ...key, ...place } as unknown as FoundSegment]),
      )
    },
    match: async (task: MatchTask) => {
      tasks.push(task)
      const all = Uint32Array.from(task.reads.keys())
      const bytes = task.withRecords ? RECORD_BYTES : 0
      return {
        queries: [{ events: all, stopped: undefined, undecided: 0 }],
        events: {
          read: all,
          ordinal: new Uint32Array(all.length),
          timeNs: new BigInt64Array(all.length),
          json: new Uint8Array(all.length * bytes),
          jsonEnd: all.map((n) => (n + 1) * bytes),
        },
        damaged: [],
      }
    },
  } as unknown as SourceStores)
  const format = { kind: 'list', fields: ['a'] } as const
  const { events } = await findEvents(
    sources,
    {
      ...{ streams, query: parse('a:1'), queryText: 'a:1', eventTime: undefined },
      ...{ start: 0n, end: END, before: undefined, after: undefined, newestFirst: true },
      ...{ limit: 1_000, deadlineMs: 1, shown: { format, includesStreamId: true } },
    },
    new AbortController().signal,
    () => 0,
  )
  return { tasks, events }
}

test('records are kept until they are half of EVENTS_PAGE_BYTES_MAX', async () => {
  const { tasks, events } = await search([streamOf(1)])
  const [first] = tasks
  assert.deepEqual(
    tasks.map(({ withRecords }) => withRecords),
    [true, true, false],
  )
  assert.deepEqual([first?.format?.fields, first?.reads[0]?.streamId], [['a'], '1'])
  const kept = events.map(({ record }) => record?.length)
  assert.deepEqual(
    kept,
    events.map((_, n) => (n < 2 * SEARCH_PAYLOADS_MAX ? RECORD_BYTES : undefined)),
  )
})

test('of several streams none is kept', async () => {
  const { tasks, events } = await search([streamOf(1), streamOf(2)])
  assert.ok(tasks.every(({ withRecords }) => !withRecords))
  assert.equal(events.length, COUNT)
  assert.ok(events.every(({ record }) => record === undefined))
})
