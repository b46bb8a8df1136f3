/**
 * Goal: the answer of a search that ran out of time claims no range that it has not read, tells of
 * events that were passed over, and gets on where nothing but the raw store is asked.
 * Method: the sources with lists and a worker that take some of the clock of the test's own.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SEARCH_PAYLOADS_MAX } from '../../../src/limits.ts'
import { makeSegmentId, type SegmentId } from '../../../src/model/segment-id.ts'
import type { FoundSegment } from '../../../src/model/stored-row.ts'
import type { Stream } from '../../../src/model/stream.ts'
import { TextNames } from '../../../src/model/text-fields.ts'
import type { MatchTask } from '../../../src/pool/messages.ts'
import { REASONS, type SearchDeps, search } from '../../../src/read/search/search.ts'
import { readSearchRequest } from '../../../src/read/search/search-request.ts'
import { type SourceStores, storeSources } from '../../../src/read/search/store-sources.ts'

const FROM_MS = Date.parse('2026-01-01T00:00:00Z')
const COUNT = 3 * SEARCH_PAYLOADS_MAX
const TO_MS = FROM_MS + COUNT
const STREAM = {
  streamId: 7,
  catalog: { textFields: [], textNames: new TextNames([]), textPaths: [], observed: new Map() },
}
/** One each millisecond. */
const SEGMENTS = Array.from({ length: COUNT }, (_, n) => ({
  streamId: STREAM.streamId,
  segmentId: makeSegmentId({ ms: FROM_MS + n, node: 1, counter: 5 }),
  eventCount: 8,
}))
const LIST_MS = 5

let clock = 0
const sources = storeSources({
  pending: {
    readExtent: async () => {
      const [first, last] = [SEGMENTS[0]!, SEGMENTS.at(-1)!]
      return { start: first.segmentId, end: last.segmentId + 1n, eventsPerMs: 8, eventBytes: 100 }
    },
    list: async (asked: { start: bigint; end: bigint; newestFirst: boolean }) => {
      clock += LIST_MS
      const { start, end, newestFirst } = asked
      const segments = newestFirst ? SEGMENTS.toReversed() : SEGMENTS
      return { segments, complete: { start, end }, projected: new Map() }
    },
  },
  prefilter: () => () => true,
  onChosen: () => undefined,
  readPayloads: async (keys: readonly { segmentId: SegmentId }[]) => {
    return new Map(
      keys.map(({ segmentId }) => {
        const segment = { segmentId, eventCount: 8, firstEvent: 0, payload: new Uint8Array(0) }
        return [segmentId, segment as unknown as FoundSegment]
      }),
    )
  },
  match: async (_: MatchTask) => ({
    kind: 'match',
    queries: [{ events: new Uint32Array(0), stopped: undefined, undecided: 3 }],
    events: { read: new Uint32Array(0), ordinal: new Uint32Array(0), json: new Uint8Array(0) },
    damaged: [],
  }),
} as unknown as SourceStores)
const deps = { openStreams: async () => [STREAM], sources, nowMs: () => clock }

for (const order of ['newest', 'oldest'] as const) {
  test(`late, ${order} first: what was read is told, and no more`, async () => {
    const [from, to] = [FROM_MS, TO_MS].map((ms) => new Date(ms).toISOString())
    const asked = { query: 'a:1', from, to, order, timeout_ms: 1 }
    const request = readSearchRequest(asked, TO_MS)
    const streams = [STREAM as unknown as Stream]
    const task = { request, streams, includesStreamId: false }
    const { signal } = new AbortController()
    const body = await search(deps as unknown as SearchDeps, task, signal)
    const { complete, reason, covered, events } = JSON.parse(String(body))
    assert.deepEqual([complete, events], [false, []])
    assert.ok(reason.startsWith(REASONS.late) && reason.includes('; 3 events were passed'), reason)
    const bounds = [covered.from, covered.to].map((text) => Date.parse(text) - FROM_MS)
    const read = SEARCH_PAYLOADS_MAX
    assert.deepEqual(bounds, order === 'newest' ? [COUNT - read, COUNT] : [0, read])
  })
}
