/**
 * Goal: a search never says that it is complete when events were passed over because nobody could
 * tell whether they match.
 * Method: the sources with a worker that leaves out a damaged segment and gives up on two events.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from '../../../src/language/parse.ts'
import type { SourceStream } from '../../../src/model/field-catalog.ts'
import type { SegmentId } from '../../../src/model/segment-id.ts'
import type { FoundSegment } from '../../../src/model/stored-row.ts'
import { TextNames } from '../../../src/model/text-fields.ts'
import type { MatchTask } from '../../../src/pool/messages.ts'
import { findEvents } from '../../../src/read/search/find-events.ts'
import { type SourceStores, storeSources } from '../../../src/read/search/store-sources.ts'

const STREAM = {
  streamId: 7,
  catalog: {
    textFields: ['message'],
    textNames: new TextNames(['message']),
    textPaths: ['message'],
    observed: new Map(),
  },
} as unknown as SourceStream
const SEGMENTS = [1n, 2n].map((id) => ({
  streamId: STREAM.streamId,
  segmentId: (id << 21n) as SegmentId,
  eventCount: 5,
}))

test('damaged segments and events that cost too much are told as undecided', async () => {
  const found = new Map(
    SEGMENTS.map(({ segmentId, eventCount }) => {
      const segment = { segmentId, eventCount, firstEvent: 0, payload: new Uint8Array(0) }
      return [segmentId, segment as unknown as FoundSegment]
    }),
  )
  const sources = storeSources({
    pending: {
      readExtent: async () => ({ start: 0n, end: 3n << 21n, eventsPerMs: 1, eventBytes: 9 }),
      list: async ({ start, end }: { start: bigint; end: bigint }) => ({
        segments: SEGMENTS,
        complete: { start, end },
        projected: new Map(),
      }),
    },
    listSegmentsOf: async () => new Map(),
    prefilter: () => () => true,
    onChosen: () => undefined,
    findIds: async () => [],
    readPayloads: async () => found,
    match: async ({ reads }: MatchTask) => ({
      kind: 'match',
      queries: [{ events: new Uint32Array(0), stopped: undefined, undecided: 2 }],
      events: { read: new Uint32Array(0), ordinal: new Uint32Array(0) },
      damaged: [{ index: reads.length - 1, reason: 'segment is cut off' }],
    }),
  } as unknown as SourceStores)
  const page = await findEvents(
    sources,
    {
      streams: [STREAM],
      query: parse('a:1'),
      queryText: 'a:1',
      start: 0n,
      end: 3n << 21n,
      before: undefined,
      after: undefined,
      newestFirst: false,
      limit: 10,
      deadlineMs: Infinity,
    },
    new AbortController().signal,
    () => 0,
  )
  assert.deepEqual([page.events, page.shortfall, page.undecided], [[], undefined, 5 + 2])
})
