/**
 * Goal: pages in the order of event times have each event that matches once, in order, both ways,
 * whatever is projected, and whatever time it took to arrive; what was not read is said.
 * Method: random segments of random times in memory, walked page by page.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parse } from '../../../src/language/parse.ts'
import { SEARCH_PENDING_EVENTS_MAX } from '../../../src/limits.ts'
import {
  compareTimed,
  formatTimedId,
  type TimedId,
  type TimedKey,
  timedBoundary,
  tryParseTimedId,
} from '../../../src/model/event-id.ts'
import { makeSegmentId, type SegmentId, segmentIdNode } from '../../../src/model/segment-id.ts'
import type { NodeMarks } from '../../../src/model/segment-place.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { findByEventTime, type TimedSearch } from '../../../src/read/search/find-by-event-time.ts'
import { type SearchSources, SourceFailure } from '../../../src/read/search/search-sources.ts'
import { unknownCatalog } from '../../store/projection/compile/test-catalog.ts'
import { fuzzed, testSeed } from '../../support/fuzzing.ts'

const STREAM_ID = 1 as StreamId
const STREAM = {
  streamId: STREAM_ID,
  catalog: unknownCatalog(STREAM_ID, []),
  removedBefore: 0n as SegmentId,
}
const NEVER = new AbortController().signal
const NOW_NS = 1_000_000_000_000n

interface Stored {
  readonly segmentId: SegmentId
  /** By ordinal; undefined: does not match. */
  readonly times: readonly (bigint | undefined)[]
  readonly isEarly: boolean
}

interface World {
  readonly segments: readonly Stored[]
  readonly checkpoints: NodeMarks
  readonly listLimit: number
}

/** Many are equal, some of years ago, some of years to come. */
const time = fc.oneof(
  fc.bigInt(0n, 20n).map((n) => NOW_NS + n),
  fc.bigInt(-5n, 5n).map((n) => NOW_NS + n * 60_000_000_000n),
  fc.bigInt(-3n, 3n).map((n) => NOW_NS + n * 31_536_000_000_000_000n),
)
const world: fc.Arbitrary<World> = fc
  .record({
    rows: fc.array(
      fc.record({
        ms: fc.nat(40).map((n) => 1_000_000 + n * 50),
        node: fc.nat(1),
        times: fc.array(fc.option(time, { nil: undefined, freq: 4 }), {
          minLength: 1,
          maxLength: 4,
        }),
        isEarly: fc.boolean(),
      }),
      { maxLength: 30 },
    ),
    passed: fc.tuple(fc.nat(45), fc.nat(45)),
    listLimit: fc.integer({ min: 1, max: 6 }),
  })
  .map(({ rows, passed, listLimit }) => ({
    segments: rows.map(({ ms, node, times, isEarly }, counter) => {
      return { segmentId: makeSegmentId({ ms, node, counter }), times, isEarly }
    }),
    checkpoints: new Map(
      passed.map((n, node) => [node, makeSegmentId({ ms: 1_000_000 + n * 50, node, counter: 0 })]),
    ),
    listLimit,
  }))

function keysOf({ segmentId, times }: Stored): TimedKey[] {
  return times.flatMap((timeNs, ordinal) => {
    return timeNs === undefined ? [] : [{ streamId: STREAM_ID, segmentId, ordinal, timeNs }]
  })
}

/** `awayAfter`: the projection answers so many questions, then no more. */
function sourcesOf(
  { segments, checkpoints, listLimit }: World,
  awayAfter = Infinity,
): SearchSources {
  let asked = 0
  const isPassed = (id: SegmentId) => id <= checkpoints.get(segmentIdNode(id))!
  const none = () => Promise.reject(new Error('not in the order of event times'))
  return {
    findIds: none,
    listAll: none,
    readExtent: async () => {
      if (segments.length === 0) return undefined
      return { start: 0n, end: 1n << 62n, eventsPerMs: 10, eventBytes: 100 }
    },
    listPending: async (_, { start, end }) => {
      const pending = segments
        .filter(({ segmentId: id }) => id >= start && id < end && !isPassed(id))
        .sort((a, b) => (a.segmentId < b.segmentId ? 1 : -1))
      const listed = pending.slice(0, listLimit)
      const isCut = listed.length === listLimit
      return {
        segments: listed.map(({ segmentId, times }) => {
          return { streamId: STREAM_ID, segmentId, eventCount: times.length }
        }),
        complete: { start: isCut ? listed.at(-1)!.segmentId : start, end },
        projected: checkpoints,
      }
    },
    findTimed: async ({ eventTime, before, after, newestFirst, limit }) => {
      if (asked++ >= awayAfter) throw new SourceFailure('away', undefined)
      const sign = newestFirst ? -1 : 1
      return segments
        .filter(({ segmentId, isEarly }) => isEarly || isPassed(segmentId))
        .flatMap(keysOf)
        .filter(({ timeNs }) => timeNs >= eventTime.fromNs && timeNs < eventTime.toNs)
        .filter((key) => before === undefined || compareTimed(key, before) < 0)
        .filter((key) => after === undefined || compareTimed(key, after) > 0)
        .sort((a, b) => sign * compareTimed(a, b))
        .slice(0, limit)
    },
    match: async ({ eventTime }, wanted) => {
      const ids = new Set(wanted.map(({ segmentId }) => segmentId))
      const events = segments
        .filter(({ segmentId }) => ids.has(segmentId))
        .flatMap(keysOf)
        .filter(({ timeNs }) => timeNs >= eventTime!.fromNs && timeNs < eventTime!.toNs)
      return { events, unread: undefined }
    },
  }
}

const RANGE = { fromNs: NOW_NS - 86_400_000_000_000n, toNs: NOW_NS + 86_400_000_000_000n }

function searchOf(parts: Partial<TimedSearch>): TimedSearch {
  return {
    streams: [STREAM],
    query: parse('a:1'),
    queryText: 'a:1',
    range: RANGE,
    ids: { start: 0n, end: 1n << 62n },
    before: undefined,
    after: undefined,
    newestFirst: true,
    limit: 3,
    deadlineMs: Infinity,
    ...parts,
  }
}

function expected({ segments }: World, newestFirst: boolean, range = RANGE): TimedKey[] {
  const sign = newestFirst ? -1 : 1
  return segments
    .flatMap(keysOf)
    .filter(({ timeNs }) => timeNs >= range.fromNs && timeNs < range.toNs)
    .sort((a, b) => sign * compareTimed(a, b))
}

const shown = (keys: readonly TimedId[]) => keys.map(formatTimedId)

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

test('pages have each event once, in order, both ways', async () => {
  const input = fc.tuple(world, fc.boolean(), fc.integer({ min: 1, max: 5 }))
  const property = fc.asyncProperty(input, async ([given, newestFirst, limit]) => {
    const all: TimedKey[] = []
    let cursor: TimedId | undefined
    for (let pages = 0; ; pages++) {
      const at = newestFirst ? { before: cursor } : { after: cursor }
      const search = searchOf({ newestFirst, limit, ...at })
      const found = await findByEventTime(sourcesOf(given), search, NEVER, () => 0)
      assert.equal(found.shortfall, undefined)
      const events = found.events as readonly TimedKey[]
      assert.ok(events.length <= limit && (events.length === limit || !found.hasMore))
      all.push(...events)
      if (!found.hasMore) break
      cursor = tryParseTimedId(formatTimedId(events.at(-1)!))
      assert.ok(pages < 200)
    }
    assert.deepEqual(shown(all), shown(expected(given, newestFirst)))
  })
  await fc.assert(property, fuzzed(seed, 300, 4_000))
})

test('when the projection goes away, it says how far it came, and goes on from there', async () => {
  const input = fc.tuple(world, fc.boolean(), fc.nat(6))
  const property = fc.asyncProperty(input, async ([given, newestFirst, awayAfter]) => {
    const sources = sourcesOf(given, awayAfter)
    const search = searchOf({ newestFirst, limit: 1_000 })
    const found = await findByEventTime(sources, search, NEVER, () => 0)
    const { frontier, shortfall } = found
    const range = newestFirst ? { ...RANGE, fromNs: frontier } : { ...RANGE, toNs: frontier }
    const events = found.events as readonly TimedKey[]
    assert.deepEqual(shown(events), shown(expected(given, newestFirst, range)))
    if (shortfall === undefined) return assert.deepEqual(range, RANGE)
    assert.equal(shortfall, 'away')
    // From there on it is found when it is back.
    const boundary = timedBoundary(frontier, newestFirst)
    const rest = await findByEventTime(
      sourcesOf(given),
      searchOf({
        newestFirst,
        limit: 1_000,
        ...(newestFirst ? { before: boundary } : { after: boundary }),
      }),
      NEVER,
      () => 0,
    )
    const both = [...events, ...(rest.events as readonly TimedKey[])]
    assert.deepEqual(shown(both), shown(expected(given, newestFirst)))
  })
  await fc.assert(property, fuzzed(seed, 200, 3_000))
})

test('without time, or with too much that waits, it says so', async () => {
  const id = makeSegmentId({ ms: 5, node: 0, counter: 0 })
  const one: World = {
    segments: [{ segmentId: id, times: [NOW_NS], isEarly: false }],
    checkpoints: new Map([[0, 0n as SegmentId]]),
    listLimit: 5,
  }
  const late = await findByEventTime(sourcesOf(one), searchOf({ deadlineMs: 0 }), NEVER, () => 1)
  assert.deepEqual([late.shortfall, late.events.length, late.frontier], ['late', 0, RANGE.toNs])
  const sources = sourcesOf(one)
  const crowded: SearchSources = {
    ...sources,
    listPending: async (streams, range) => {
      const list = await sources.listPending(streams, range)
      const eventCount = SEARCH_PENDING_EVENTS_MAX + 1
      return { ...list, segments: list.segments.map((segment) => ({ ...segment, eventCount })) }
    },
  }
  const behind = await findByEventTime(crowded, searchOf({}), NEVER, () => 0)
  assert.deepEqual([behind.shortfall, behind.events.length], ['behind', 0])
})

test('cursors are texts, whatever the time', () => {
  const id = { segmentId: 5n as SegmentId, ordinal: 7 }
  for (const timeNs of [0n, -1n, NOW_NS, 2n ** 63n - 1n, -(2n ** 63n)]) {
    assert.deepEqual(tryParseTimedId(formatTimedId({ ...id, timeNs })), { ...id, timeNs })
  }
  for (const text of ['', '5-7', '@5-7', '1@', '1@5', `${2n ** 63n}@5-7`, '1.5@5-7', '1@5-7 ']) {
    assert.equal(tryParseTimedId(text), undefined, text)
  }
})
