/**
 * Goal: nobody is acknowledged whose data is not durable, nobody is refused whose data is, and ids
 * rise, whatever the raw store does.
 * Method: a fake raw store that answers by script.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Committer, type RawStoreWriter, type WriteFailure } from '../../src/commit/committer.ts'
import { IngestError, OutcomeUnknownError } from '../../src/errors.ts'
import {
  COMMIT_GROUP_BYTES_MAX,
  COMMIT_QUEUE_BYTES_MAX,
  COMMIT_TRIES_MAX,
} from '../../src/limits.ts'
import type { CommittedGroup } from '../../src/model/batch/committed-group.ts'
import { MIXED_STREAM } from '../../src/model/mixed-runs.ts'
import { type SegmentId, SegmentIdGenerator, segmentIdMs } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'
import type { SegmentRow } from '../../src/store/raw/segment-store.ts'
import { someSegment } from './some-segments.ts'

const stream = (id: number) => id as StreamId
const turn = () => new Promise((resolve) => setImmediate(resolve))

type Answer = WriteFailure | undefined
type Write = { readonly rows: readonly SegmentRow[]; readonly answers: readonly string[] }

class FakeStore implements RawStoreWriter {
  readonly writes: Write[] = []
  readonly #script: (Answer | (() => Promise<Answer>))[]
  readonly #outcomes: (boolean | 'away')[]
  lookups = 0

  /** Answers writes by `script` (durable when it is used up), look-ups by `outcomes`. */
  constructor(
    script: (Answer | (() => Promise<Answer>))[] = [],
    outcomes: (boolean | 'away')[] = [],
  ) {
    this.#script = script
    this.#outcomes = outcomes
  }

  async write(
    rows: readonly SegmentRow[],
    answers: readonly { readonly body: string }[],
  ): Promise<Answer> {
    this.writes.push({ rows, answers: answers.map(({ body }) => body) })
    const next = this.#script.shift()
    return typeof next === 'function' ? next() : next
  }

  async wasCommitted(): Promise<boolean> {
    this.lookups++
    const outcome = this.#outcomes.shift() ?? 'away'
    if (outcome === 'away') throw new Error('away')
    return outcome
  }
}

function setUp(
  store: RawStoreWriter,
  resolveMsMax = 50,
  ids = new SegmentIdGenerator(3, () => 1_000),
) {
  const groups: CommittedGroup[] = []
  const released: Uint8Array[] = []
  const events: string[] = []
  const committer = new Committer({
    store,
    ids,
    forward: (group) => groups.push(group),
    observer: {
      onGroup: ({ segments }) => events.push(`group of ${segments}`),
      onRetry: () => events.push('retry'),
      onUnknown: (outcome) => events.push(outcome),
    },
    mustCatchUp: () => events.push('unforwarded'),
    release: (payload) => released.push(payload),
    resolveMsMax,
  })
  return { committer, groups, released, events }
}

const RETRY: WriteFailure = { kind: 'retry', message: 'away' }
const UNKNOWN: WriteFailure = { kind: 'unknown', message: 'connection lost' }
const hasCode = (code: string) => (error: unknown) => {
  assert(error instanceof IngestError, String(error))
  assert.equal(error.code, code)
  return true
}

test('what arrives while a group is written shares the next; ids rise over groups', async () => {
  let finish: (answer: Answer) => void = () => undefined
  const first = () => new Promise<Answer>((resolve) => (finish = resolve))
  const store = new FakeStore([first])
  const { committer, groups, released } = setUp(store)
  const ids = [committer.submit(stream(1), [someSegment(10), someSegment(20)])]
  await turn()
  ids.push(committer.submit(stream(2), [someSegment(30)]))
  ids.push(committer.submit(stream(1), [someSegment(40)]))
  await turn()
  assert.equal(store.writes.length, 1)
  assert.equal(committer.queueBytes, 70)
  assert.equal(groups.length + released.length, 0, 'nothing is told before it is durable')
  finish(undefined)
  const all = (await Promise.all(ids)).flat()
  assert.equal(committer.queueBytes, 0)
  assert.deepEqual(
    store.writes.map(({ rows }) => rows.length),
    [2, 2],
  )
  assert.deepEqual(
    all,
    [...all].sort((a, b) => Number(a - b)),
  )
  assert.equal(new Set(all).size, 4)
  const forwarded = groups.flatMap(({ segments }) => segments.map((each) => each.segmentId))
  assert.deepEqual(forwarded, all)
  assert.deepEqual(
    released.map(({ length }) => length),
    [10, 20, 30, 40],
  )
  const rows = store.writes.flatMap((write) => write.rows)
  assert.deepEqual(
    rows.map((row) => [row.segmentId, Number(row.streamId), row.payload.length]),
    [
      [all[0], 1, 10],
      [all[1], 1, 20],
      [all[2], 2, 30],
      [all[3], 1, 40],
    ],
  )
  assert(rows.every(({ ingestedAtMs }) => ingestedAtMs === 1_000))
})

test('a group holds COMMIT_GROUP_BYTES_MAX; one request is never split', async () => {
  let finish: () => void = () => undefined
  const store = new FakeStore([() => new Promise((resolve) => (finish = () => resolve(undefined)))])
  const { committer } = setUp(store)
  const half = COMMIT_GROUP_BYTES_MAX / 2
  const sizes = [1, half, half, 1, 2 * half + 5, 1]
  const all = sizes.map(async (size) => {
    await committer.submit(stream(1), [someSegment(size)])
    await turn()
  })
  await turn()
  finish()
  await Promise.all(all)
  const written = store.writes.map(({ rows }) => rows.map(({ payload }) => payload.length))
  assert.deepEqual(written, [[1], [half, half], [1], [2 * half + 5], [1]])
})

test('COMMIT_QUEUE_BYTES_MAX bytes wait; one more is refused and counts nothing', async () => {
  let finish: () => void = () => undefined
  const store = new FakeStore([() => new Promise((resolve) => (finish = () => resolve(undefined)))])
  const { committer } = setUp(store)
  const running = committer.submit(stream(1), [someSegment(1)])
  await turn()
  const quarter = someSegment(COMMIT_QUEUE_BYTES_MAX / 4)
  const waiting = [1, 2, 3, 4].map(() => committer.submit(stream(1), [quarter]))
  await assert.rejects(committer.submit(stream(1), [someSegment(1)]), hasCode('overloaded'))
  assert.equal(committer.queueBytes, COMMIT_QUEUE_BYTES_MAX)
  finish()
  await Promise.all([running, ...waiting])
  await committer.submit(stream(1), [someSegment(1)])
})

test('an unknown outcome that was committed is acknowledged, and written once', async () => {
  const store = new FakeStore([UNKNOWN], ['away', true])
  const { committer, groups, events } = setUp(store, 5_000)
  const [id] = await committer.submit(stream(1), [someSegment()])
  assert.equal(store.writes.length, 1)
  assert.equal(groups[0]?.segments[0]?.segmentId, id)
  assert.deepEqual(events, ['committed', 'group of 1'])
})

test('an unknown outcome that was not committed is written again under the same ids', async () => {
  const store = new FakeStore([UNKNOWN], [false])
  const { committer, events } = setUp(store)
  const [id] = await committer.submit(stream(1), [someSegment()])
  assert.deepEqual(
    store.writes.map(({ rows }) => rows[0]?.segmentId),
    [id, id],
  )
  assert.deepEqual(events, ['absent', 'retry', 'group of 1'])
})

test('an id that is there already is looked up as well', async () => {
  const store = new FakeStore([{ kind: 'exists', message: 'duplicate' }], [true])
  const { committer, events } = setUp(store)
  await committer.submit(stream(1), [someSegment()])
  assert.deepEqual([store.writes.length, events], [1, ['committed', 'group of 1']])
})

test('an outcome that stays unknown is neither acknowledged nor refused', async () => {
  const store = new FakeStore([UNKNOWN])
  const { committer, groups, released, events } = setUp(store, 0)
  await assert.rejects(committer.submit(stream(1), [someSegment()]), OutcomeUnknownError)
  assert.deepEqual([groups.length, released.length], [0, 0])
  assert.deepEqual(events, ['dropped', 'unforwarded'])
  // The next one does not inherit it.
  await committer.submit(stream(1), [someSegment()])
  assert.equal(groups.length, 1)
})

test('COMMIT_TRIES_MAX tries, then the clients hear that the store is away', async () => {
  const store = new FakeStore([RETRY, RETRY, RETRY, RETRY])
  const { committer, groups, released, events } = setUp(store)
  await assert.rejects(committer.submit(stream(1), [someSegment()]), hasCode('unavailable'))
  assert.equal(store.writes.length, COMMIT_TRIES_MAX)
  assert.deepEqual(events, Array(COMMIT_TRIES_MAX - 1).fill('retry'))
  assert.deepEqual([groups.length, released.length], [0, 0])
})

test('a refusal is passed on at once, and the queue continues', async () => {
  const error = new IngestError('unavailable', 'no space', { retryAfterSeconds: 30 })
  const store = new FakeStore([{ kind: 'refused', error }])
  const { committer, groups } = setUp(store)
  await assert.rejects(committer.submit(stream(1), [someSegment()]), error)
  const [id] = await committer.submit(stream(1), [someSegment()])
  assert.equal(groups[0]?.segments[0]?.segmentId, id)
  assert(id! > store.writes[0]!.rows[0]!.segmentId, 'ids rise over failed groups too')
})

const answer = (body: string) => ({
  keySha256: new Uint8Array(32),
  fingerprint: new Uint8Array(32),
  status: 200,
  body: () => body,
})

test('idempotent answers go with their rows', async () => {
  const store = new FakeStore()
  const { committer } = setUp(store)
  const named = { ...answer(''), body: (ids: readonly SegmentId[]) => `{"segments":[${ids}]}` }
  const ids = await committer.submit(stream(1), [someSegment(), someSegment()], named)
  await committer.submit(stream(1), [someSegment()])
  assert.deepEqual(
    store.writes.map(({ answers }) => answers),
    [[`{"segments":[${ids}]}`], []],
  )
})

test('a request that lost its Idempotency-Key fails; its neighbours are stored', async () => {
  let finish: () => void = () => undefined
  const first = () => new Promise<Answer>((resolve) => (finish = () => resolve(undefined)))
  const store = new FakeStore([first, { kind: 'answers' }])
  const { committer, groups } = setUp(store)
  const before = committer.submit(stream(1), [someSegment()])
  await turn()
  const losing = committer.submit(stream(1), [someSegment()], answer('x'))
  const neighbour = committer.submit(stream(2), [someSegment()])
  losing.catch(() => undefined)
  finish()
  await before
  await assert.rejects(losing, hasCode('conflict'))
  const [id] = await neighbour
  assert.equal(groups.at(-1)?.segments.length, 1)
  assert.equal(groups.at(-1)?.segments[0]?.segmentId, id)
})

test('stop commits queued segments and refuses later ones', async () => {
  let finish: () => void = () => undefined
  const store = new FakeStore([() => new Promise((resolve) => (finish = () => resolve(undefined)))])
  const { committer, groups } = setUp(store)
  const running = committer.submit(stream(1), [someSegment()])
  await turn()
  const queued = committer.submit(stream(1), [someSegment()])
  const stopping = committer.stop()
  await assert.rejects(committer.submit(stream(1), [someSegment()]), hasCode('unavailable'))
  finish()
  await Promise.all([running, queued, stopping, committer.stop()])
  assert.equal(groups.length, 2)
})

test('any mix of failures: what is durable is acknowledged, once and in id order', async () => {
  const durable = new Set<SegmentId>()
  let random = 12_345
  const next = () => (random = (Math.imul(random, 1_103_515_245) + 12_345) >>> 0) >>> 16
  const store: RawStoreWriter = {
    async write(rows) {
      await turn()
      const die = next() % 10
      if (die < 2) return { kind: 'refused', error: new IngestError('unavailable', 'no') }
      if (die === 2) return UNKNOWN // Rolled back.
      for (const { segmentId } of rows) {
        assert(!durable.has(segmentId), 'written twice')
        durable.add(segmentId)
      }
      return die === 3 || die === 4 ? UNKNOWN : undefined
    },
    wasCommitted: async ({ segmentId }) => durable.has(segmentId),
  }
  const { committer, groups } = setUp(store)
  const acknowledged: SegmentId[] = []
  const tasks = Array.from({ length: 60 }, async (_, i) => {
    for (let turns = i % 7; turns > 0; turns--) await turn()
    const count = 1 + (i % 3)
    const segments = Array.from({ length: count }, () => someSegment())
    await committer.submit(stream(i % 4), segments).then(
      (ids) => acknowledged.push(...ids),
      () => undefined,
    )
  })
  await Promise.all(tasks)
  const forwarded = groups.flatMap(({ segments }) => segments.map(({ segmentId }) => segmentId))
  assert.deepEqual(
    forwarded,
    [...forwarded].sort((a, b) => Number(a - b)),
  )
  assert.deepEqual(new Set(acknowledged), durable)
  assert.deepEqual(new Set(forwarded), durable)
  assert.equal(forwarded.length, durable.size)
})

test('each run of a mixed segment has an id, and its share of the payload', async () => {
  const store = new FakeStore()
  const { committer, groups } = setUp(store)
  const delta = { shapes: [], shapesSkipped: 0, largePaths: [] }
  const runs = [7, 8, 9].map((streamId, index) => ({
    streamId: stream(streamId),
    eventCount: index + 1,
    rawBytes: 10 * (index + 1),
    sentBytes: 11 * (index + 1),
    delta,
  }))
  const mixed = { ...someSegment(100), runs, eventCount: 6, rawBytes: 60, sentBytes: 66 }
  const ids = await committer.submit(MIXED_STREAM, [mixed, someSegment(5)])
  assert.equal(ids.length, 4)
  assert(ids.every((id, index) => index === 0 || id > ids[index - 1]!))
  const [row, plain] = store.writes[0]!.rows
  assert.equal(row?.segmentId, ids[0])
  assert.deepEqual(
    row?.runs?.map((run) => [run.streamId, run.segmentId, run.eventCount, run.storedBytes]),
    [
      [7, ids[0], 1, 17],
      [8, ids[1], 2, 33],
      [9, ids[2], 3, 50],
    ],
  )
  assert.deepEqual([plain?.segmentId, plain?.runs], [ids[3], undefined])
  const [segment] = groups[0]!.segments
  assert.deepEqual(
    segment?.runs,
    runs.map(({ streamId, eventCount }, index) => {
      return { streamId, segmentId: ids[index], eventCount, delta }
    }),
  )
})

test('while the clock is ahead nothing is committed; afterwards commits continue', async () => {
  const clock = { nowMs: 1_000, latestMs: 2_000 }
  const nowMs = () => clock.nowMs
  const latestMs = () => clock.latestMs
  const ids = new SegmentIdGenerator(3, nowMs, undefined, latestMs)
  const store = new FakeStore()
  const { committer } = setUp(store, 50, ids)
  const [first] = await committer.submit(stream(1), [someSegment(10)])
  clock.nowMs = 3_000
  const refused = committer.submit(stream(1), [someSegment(10)])
  await assert.rejects(refused, (error: IngestError) => {
    assert.match(error.message, /clock.*CLOCK_LEAD_MS_MAX/)
    assert.equal(error.retryAfterSeconds, 5)
    return hasCode('unavailable')(error)
  })
  assert.equal(committer.queueBytes, 0)
  assert.equal(store.writes.length, 1)
  clock.nowMs = 1_500
  const [second] = await committer.submit(stream(1), [someSegment(10)])
  assert.equal(segmentIdMs(first!), 1_000)
  assert.equal(segmentIdMs(second!), 1_500)
})
