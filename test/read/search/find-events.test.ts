/**
 * Goal: whatever is in the projection, past the checkpoints or set aside, in pages of whatever size
 * and in whatever direction, search gives each matching event once, in order, and tells when it
 * could not.
 * Method: random segments of three nodes; the projection has all up to each checkpoint and some
 * beyond, of which none was ever asked for by a search that began before. Pages are compared with a
 * filter over all events.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parse } from '../../../src/language/parse.ts'
import {
  SEARCH_CHUNK_EVENTS,
  SEARCH_CHUNK_EVENTS_MAX,
  SEARCH_PENDING_EVENTS_MAX,
} from '../../../src/limits.ts'
import {
  boundaryCursor,
  compareEvents,
  type EventId,
  type EventKey,
  formatEventId,
} from '../../../src/model/event-id.ts'
import type { FieldCatalog, SourceStream } from '../../../src/model/field-catalog.ts'
import { makeSegmentId, type SegmentId, segmentIdNode } from '../../../src/model/segment-id.ts'
import type { PendingSegment } from '../../../src/model/segment-place.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { type EventSearch, findEvents } from '../../../src/read/search/find-events.ts'
import { type SearchSources, SourceFailure } from '../../../src/read/search/search-sources.ts'
import { SEARCH_WINDOW_ROWS } from '../../../src/read/search/window-size.ts'

const CATALOG = { observed: new Map() } as unknown as FieldCatalog
const STREAM = { streamId: 7 as StreamId, catalog: CATALOG } as SourceStream
const SIGNAL = new AbortController().signal

interface Stored {
  readonly segmentId: SegmentId
  readonly eventCount: number
  /** Ordinals that match. */
  readonly matching: readonly number[]
  readonly isSetAside: boolean
  readonly isProjected: boolean
}

interface World {
  readonly segments: readonly Stored[]
  readonly checkpoints: ReadonlyMap<number, bigint>
  /** Behind it the projection does not know what a query of `http.*` means. */
  readonly observed: ReadonlyMap<number, SegmentId>
  readonly listLimit: number
}

const stored = fc.record({
  ms: fc.nat(40).map((n) => 1_000_000 + n * 50),
  node: fc.nat(2),
  counter: fc.nat(2),
  eventCount: fc.integer({ min: 1, max: 5 }),
  bits: fc.nat(31),
  isSetAside: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  isEarly: fc.boolean(),
})
const world: fc.Arbitrary<World> = fc
  .record({
    rows: fc.array(stored, { maxLength: 40 }),
    passed: fc.tuple(fc.nat(45), fc.nat(45), fc.nat(45)),
    learned: fc.tuple(fc.nat(45), fc.nat(45), fc.nat(45)),
    listLimit: fc.integer({ min: 1, max: 6 }),
  })
  .map(({ rows, passed, learned, listLimit }) => {
    const upTo = (times: readonly number[]) =>
      new Map(
        times.map((n, node) => [node, makeSegmentId({ ms: 1_000_000 + n * 50, node, counter: 1 })]),
      )
    const [checkpoints, observed] = [upTo(passed), upTo(learned)]
    const byId = new Map<SegmentId, Stored>()
    for (const { ms, node, counter, eventCount, bits, isSetAside, isEarly } of rows) {
      const segmentId = makeSegmentId({ ms, node, counter })
      const all = Array.from({ length: eventCount }, (_, ordinal) => ordinal)
      const matching = all.filter((ordinal) => (bits >> ordinal) & 1)
      const isPassed = segmentId <= checkpoints.get(node)!
      const isAside = isSetAside && isPassed
      const isProjected = !isAside && (isPassed || isEarly)
      byId.set(segmentId, { segmentId, eventCount, matching, isSetAside: isAside, isProjected })
    }
    return { segments: [...byId.values()], checkpoints, observed, listLimit }
  })

const keysOf = ({ segmentId, matching }: Stored): EventKey[] => {
  return matching.map((ordinal) => ({ segmentId, ordinal, streamId: STREAM.streamId }))
}

/** Sources over a world; `awayAfter`: the projection answers so many questions, then no more. */
function sourcesOf(given: World, awayAfter = Infinity) {
  const { segments, checkpoints, observed: known, listLimit } = given
  let asked = 0
  const list = (isAll: boolean): SearchSources['listPending'] => {
    return async (_, { start, end, newestFirst, observed }) => {
      const passed = new Map(
        [...checkpoints].map(([node, id]) => [node, least(id, observed?.get(node) ?? id)]),
      )
      const sign = newestFirst ? -1 : 1
      const pending = segments
        .filter(({ segmentId: id }) => id >= start && id < end)
        .filter(({ segmentId: id, isSetAside }) => {
          return isAll || isSetAside || id > passed.get(segmentIdNode(id))!
        })
        .sort((a, b) => (a.segmentId < b.segmentId ? -sign : sign))
      const listed = pending.slice(0, listLimit)
      const last = listed.at(-1)
      const isCut = last !== undefined && listed.length === listLimit
      const complete = {
        start: isCut && newestFirst ? last.segmentId : start,
        end: isCut && !newestFirst ? last.segmentId + 1n : end,
      }
      const highest = [...passed.values()].sort((a, b) => (a < b ? 1 : -1))[0]!
      const passedMax = (isAll ? 0n : highest) as SegmentId
      const rows = listed.map((each) => ({ ...each, streamId: STREAM.streamId }))
      return { segments: rows, complete, projected: new Map([[1, passedMax]]) }
    }
  }
  const sources: SearchSources = {
    listPending: list(false),
    listAll: list(true),
    readExtent: async (_, { start, end }) => {
      const ids = segments.map(({ segmentId }) => segmentId)
      const inside = ids.filter((id) => id >= start && id < end).sort((a, b) => (a < b ? -1 : 1))
      if (inside.length === 0) return undefined
      const density = { eventsPerMs: SEARCH_WINDOW_ROWS / 50, eventBytes: 100 }
      return { start: inside[0]!, end: inside.at(-1)! + 1n, ...density }
    },
    findIds: async ({ range, before, after, newestFirst, limit, query, observed }) => {
      if (asked++ >= awayAfter) throw new SourceFailure('away', undefined)
      const sign = newestFirst ? -1 : 1
      return segments
        .filter(({ isProjected }) => isProjected)
        .filter(({ segmentId: id }) => id >= range.start && id < range.end)
        .filter(({ segmentId: id }) => id <= (observed?.get(segmentIdNode(id)) ?? id))
        .flatMap((each) => {
          const isKnown = each.segmentId <= (known.get(segmentIdNode(each.segmentId)) ?? 0n)
          return query.kind !== 'field' || query.field.kind === 'path' || isKnown
            ? keysOf(each)
            : keysOf({ ...each, matching: [0, 1, 2] })
        })
        .filter((key) => before === undefined || compareEvents(key, before) < 0)
        .filter((key) => after === undefined || compareEvents(key, after) > 0)
        .sort((a, b) => sign * compareEvents(a, b))
        .slice(0, limit)
    },
    findTimed: () => Promise.reject(new Error('not in the order of receipt')),
    match: async ({ isLate }, wanted) => {
      // However late it is, some are looked at.
      const read = isLate() ? wanted.slice(0, Math.ceil(wanted.length / 2)) : wanted
      const ids = new Set(read.map(({ segmentId }) => segmentId))
      const events = segments.filter(({ segmentId }) => ids.has(segmentId)).flatMap(keysOf)
      return { events, unread: wanted[read.length] }
    },
  }
  return sources
}

function searchOf(parts: Partial<EventSearch>): EventSearch {
  return {
    streams: [STREAM],
    query: parse('a:1'),
    queryText: 'a:1',
    start: 0n,
    end: 1n << 62n,
    before: undefined,
    after: undefined,
    newestFirst: true,
    limit: 10,
    deadlineMs: Infinity,
    ...parts,
  }
}

const least = (a: bigint, b: bigint) => (a < b ? a : b)
const texts = (events: readonly EventId[]) => events.map(formatEventId)

test('pages, end to end, are all events that match, each once and in order', async () => {
  const property = fc.asyncProperty(
    world,
    fc.boolean(),
    fc.integer({ min: 1, max: 9 }),
    fc.option(fc.nat(3), { nil: undefined }),
    fc.boolean(),
    async (given, newestFirst, limit, awayAfter, dependsOnCatalog) => {
      const catalog = { ...CATALOG, observed: given.observed }
      const what = dependsOnCatalog && {
        query: parse('http.*:1'),
        streams: [{ ...STREAM, catalog }],
      }
      const sources = sourcesOf(given, awayAfter)
      const seen: EventKey[] = []
      let cursor: EventId | undefined
      for (let pages = 0; pages < 300; pages++) {
        const at = newestFirst ? { before: cursor } : { after: cursor }
        const search = searchOf({ newestFirst, limit, ...at, ...what })
        const page = await findEvents(sources, search, SIGNAL, () => 0)
        assert.ok(page.events.length <= limit)
        assert.equal(page.shortfall, undefined)
        seen.push(...page.events)
        cursor = page.events.at(-1)
        if (!page.hasMore) break
      }
      const sign = newestFirst ? -1 : 1
      const all = given.segments.flatMap(keysOf).sort((a, b) => sign * compareEvents(a, b))
      assert.deepEqual(texts(seen), texts(all))
    },
  )
  await fc.assert(property, { numRuns: 500 })
})

test('a search that runs out of time tells how far it came, and goes on from there', async () => {
  let cutWindows = 0
  const property = fc.asyncProperty(world, fc.boolean(), async (given, newestFirst) => {
    const whole = sourcesOf(given)
    const match: SearchSources['match'] = async (...asked) => {
      const matched = await whole.match(...asked)
      if (matched.unread !== undefined) cutWindows++
      return matched
    }
    const sources = { ...whole, match }
    const seen: EventKey[] = []
    let cursor: EventId | undefined
    for (let pages = 0; pages < 300; pages++) {
      let clock = 0
      const at = newestFirst ? { before: cursor } : { after: cursor }
      const search = searchOf({ newestFirst, limit: 3, deadlineMs: 2, ...at })
      const page = await findEvents(sources, search, SIGNAL, () => clock++)
      seen.push(...page.events)
      if (!page.hasMore && page.shortfall === undefined) break
      cursor = page.hasMore ? page.events.at(-1) : boundaryCursor(page.frontier, newestFirst)
    }
    const sign = newestFirst ? -1 : 1
    const all = given.segments.flatMap(keysOf).sort((a, b) => sign * compareEvents(a, b))
    assert.deepEqual(texts(seen), texts(all))
  })
  await fc.assert(property, { numRuns: 300 })
  assert.ok(cutWindows > 100, 'also within what waits for the projection')
})

/** Segments of 8,192 events behind the checkpoint, none of which match. */
function farBehind(count: number): World {
  const segments = Array.from({ length: count }, (_, n) => ({
    segmentId: makeSegmentId({ ms: 1_000_000 + n * 10, node: 0, counter: 0 }),
    eventCount: 8_192,
    matching: [],
    isSetAside: false,
    isProjected: false,
  }))
  return { segments, checkpoints: new Map([[0, 1n]]), observed: new Map(), listLimit: 512 }
}

test('far behind, it evaluates SEARCH_PENDING_EVENTS_MAX at most, in growing chunks', async () => {
  const given = farBehind(400)
  const sources = sourcesOf(given)
  const chunks: number[] = []
  const match = (wanted: readonly PendingSegment[]) => {
    chunks.push(wanted.reduce((sum, { eventCount }) => sum + eventCount, 0))
  }
  const counting: SearchSources = {
    ...sources,
    match: async (wanted, segments, signal) => {
      match(segments)
      return sources.match(wanted, segments, signal)
    },
  }
  const page = await findEvents(counting, searchOf({}), SIGNAL, () => 0)
  assert.equal(page.shortfall, 'behind')
  assert.equal(chunks[0], SEARCH_CHUNK_EVENTS)
  assert.ok(chunks.every((events) => events <= SEARCH_CHUNK_EVENTS_MAX))
  const total = chunks.reduce((sum, events) => sum + events, 0)
  assert.ok(total <= SEARCH_PENDING_EVENTS_MAX && total > SEARCH_PENDING_EVENTS_MAX / 2)
  const evaluated = total / 8_192
  assert.equal(page.frontier, given.segments[400 - evaluated]?.segmentId)
})

test('without the projection, the raw store answers as far as it may', async () => {
  const given = farBehind(20)
  const projected = given.segments.map((each) => ({ ...each, isProjected: true, matching: [3] }))
  const all = { ...given, segments: projected, checkpoints: new Map([[0, 1n << 61n]]) }
  const few = await findEvents(sourcesOf(all, 0), searchOf({ limit: 100 }), SIGNAL, () => 0)
  assert.equal(few.shortfall, undefined)
  assert.equal(few.events.length, 20)
  const many = { ...all, segments: farBehind(400).segments }
  const away = await findEvents(sourcesOf(many, 0), searchOf({}), SIGNAL, () => 0)
  assert.equal(away.shortfall, 'away')
})
