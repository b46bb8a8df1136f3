/**
 * Goal: a search whose time is over while it evaluates what waits for the projection ends, says how
 * far it came, and the next one goes on from there.
 * Method: the sources with a worker that takes ten milliseconds of a clock of the test's own.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parse } from '../../../src/language/parse.ts'
import { SEARCH_PAYLOADS_MAX } from '../../../src/limits.ts'
import { boundaryCursor, type EventId } from '../../../src/model/event-id.ts'
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
const SEGMENTS = Array.from({ length: 3 * SEARCH_PAYLOADS_MAX }, (_, n) => ({
  streamId: STREAM.streamId,
  segmentId: (BigInt(n + 1) << 21n) as SegmentId,
  eventCount: 1,
}))
const END = BigInt(SEGMENTS.length + 1) << 21n
const MATCH_MS = 10

let clock = 0
const sources = storeSources({
  pending: {
    readExtent: async (_: unknown, { start, end }: { start: bigint; end: bigint }) => {
      const ids = SEGMENTS.map(({ segmentId }) => segmentId).filter((id) => id >= start && id < end)
      return ids.length === 0
        ? undefined
        : { start: ids[0]!, end: ids.at(-1)! + 1n, eventsPerMs: 1, eventBytes: 9 }
    },
    list: async ({
      start,
      end,
      newestFirst,
    }: {
      start: bigint
      end: bigint
      newestFirst: boolean
    }) => {
      const inside = SEGMENTS.filter(({ segmentId: id }) => id >= start && id < end)
      const segments = newestFirst ? inside.toReversed() : inside
      return { segments, complete: { start, end }, projected: new Map() }
    },
  },
  prefilter: () => () => true,
  onChosen: () => undefined,
  findIds: async () => [],
  readPayloads: async (keys: readonly { segmentId: SegmentId }[]) => {
    return new Map(
      keys.map(({ segmentId }) => {
        const segment = { segmentId, eventCount: 1, firstEvent: 0, payload: new Uint8Array(0) }
        return [segmentId, segment as unknown as FoundSegment]
      }),
    )
  },
  match: async ({ reads }: MatchTask) => {
    clock += MATCH_MS
    const all = Uint32Array.from(reads.keys())
    return {
      kind: 'match',
      queries: [{ events: all, stopped: undefined, undecided: 0 }],
      events: {
        read: all,
        ordinal: new Uint32Array(reads.length),
        timeNs: new BigInt64Array(reads.length),
      },
      damaged: [],
    }
  },
} as unknown as SourceStores)

function search(newestFirst: boolean, cursor: EventId | undefined, timeoutMs: number) {
  return findEvents(
    sources,
    {
      streams: [STREAM],
      query: parse('a:1'),
      queryText: 'a:1',
      start: 0n,
      end: END,
      before: newestFirst ? cursor : undefined,
      after: newestFirst ? undefined : cursor,
      newestFirst,
      limit: 1_000,
      deadlineMs: clock + timeoutMs,
    },
    new AbortController().signal,
    () => clock,
  )
}

for (const newestFirst of [true, false]) {
  test(`it ends when its time is over, ${newestFirst ? 'newest' : 'oldest'} first`, async () => {
    const segments = newestFirst ? SEGMENTS.toReversed() : SEGMENTS
    const pages: number[] = []
    const found: bigint[] = []
    let cursor: EventId | undefined
    while (pages.length < 10) {
      // Time for one and a half tasks.
      const page = await search(newestFirst, cursor, MATCH_MS * 1.5)
      pages.push(page.events.length)
      found.push(...page.events.map(({ segmentId }) => segmentId))
      if (page.shortfall === undefined) break
      assert.equal(page.shortfall, 'late')
      cursor = boundaryCursor(page.frontier, newestFirst)
    }
    assert.deepEqual(pages, [2 * SEARCH_PAYLOADS_MAX, SEARCH_PAYLOADS_MAX])
    assert.deepEqual(
      found,
      segments.map(({ segmentId }) => segmentId),
    )
  })
}
