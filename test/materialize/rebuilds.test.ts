/**
 * Goal: small segments of a stream are rebuilt together, large ones by themselves, and a failure is
 * that of the segment alone. Method: a pool of the test's own, whose tasks end when it says so;
 * random segments of which some cannot be rebuilt.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import {
  REPLAY_TASK_EVENTS_MAX,
  REPLAY_TASKS_MAX,
  Rebuilds,
  type RunRebuild,
} from '../../src/materialize/rebuilds.ts'
import type { EncodedBlock } from '../../src/model/batch/encoded-block.ts'
import type { SegmentId } from '../../src/model/segment-id.ts'
import type { LoadedRow } from '../../src/model/stored-row.ts'
import type { StreamId } from '../../src/model/stream.ts'
import { fuzzed, testSeed } from '../support/fuzzing.ts'

const seed = testSeed()
console.log(`seed ${seed} (SLUICE_TEST_SEED=${seed} repeats this run)`)

const ALL = { first: 0, counts: [1] }

/** Its payload is a number of its own, which is also what its block has. */
function rowOf(n: number, streamId: number, eventCount = REPLAY_TASK_EVENTS_MAX): LoadedRow {
  const segmentId = BigInt(n) as SegmentId
  const payload = Uint8Array.of(n)
  return { streamId: streamId as StreamId, segmentId, eventCount, segments: [], payload }
}

function blockOf(payload: Uint8Array): EncodedBlock {
  return { bytes: payload.slice(), rows: 1 } as unknown as EncodedBlock
}

test('what gathers while tasks are under way goes with the next one', async () => {
  const tasks: { readonly streamId: number; readonly payloads: number[]; end: () => void }[] = []
  const run: RunRebuild = (streamId, segments) => {
    return new Promise((resolve) => {
      const payloads = segments.map(({ payload }) => payload[0]!)
      const end = () => resolve(segments.map(({ payload }) => blockOf(payload)))
      tasks.push({ streamId, payloads, end })
    })
  }
  const rebuilds = new Rebuilds(run)
  const half = REPLAY_TASK_EVENTS_MAX / 2
  const [a, b] = [1, 2]
  const segments = [
    ...Array.from({ length: REPLAY_TASKS_MAX }, (_, n) => rowOf(n, a, 10)),
    ...[rowOf(10, a, half), rowOf(11, a, half), rowOf(12, a, 1)],
    ...[rowOf(20, b, 10), rowOf(21, b, 2 * REPLAY_TASK_EVENTS_MAX), rowOf(22, b)],
  ]
  const blocks = Promise.all(segments.map((segment) => rebuilds.rebuild(segment, ALL)))
  for (let i = 0; i < tasks.length; i++) {
    tasks[i]!.end()
    await turn()
  }
  assert.deepEqual(
    tasks.map(({ streamId, payloads }) => [streamId, ...payloads]),
    [
      ...[
        [a, 0],
        [a, 1],
        [a, 2],
      ],
      ...[
        [a, 10, 11],
        [a, 12],
        [b, 20],
        [b, 21],
        [b, 22],
      ],
    ],
    'one alone is not held up; then as many as fit a task, of one stream',
  )
  assert.deepEqual(
    (await blocks).map(({ bytes }) => bytes[0]),
    segments.map(({ payload }) => payload[0]),
  )
})

test('each segment has its own outcome, whichever it goes with', async () => {
  const one = fc.record({
    streamId: fc.integer({ min: 1, max: 3 }),
    events: fc.integer({ min: 1, max: REPLAY_TASK_EVENTS_MAX }),
    isBad: fc.boolean(),
  })
  const property = fc.asyncProperty(fc.array(one, { maxLength: 60 }), async (all) => {
    let running = 0
    const rebuilds = new Rebuilds(async (streamId, segments) => {
      assert.ok(++running <= REPLAY_TASKS_MAX)
      await turn()
      running--
      for (const { payload } of segments) {
        assert.equal(all[payload[0]!]!.streamId, streamId)
        if (all[payload[0]!]!.isBad) throw new Error(`bad ${payload[0]}`)
      }
      return segments.map(({ payload }) => blockOf(payload))
    })
    const outcomes = await Promise.allSettled(
      all.map(({ streamId, events }, n) => rebuilds.rebuild(rowOf(n, streamId, events), ALL)),
    )
    for (const [n, outcome] of outcomes.entries()) {
      if (outcome.status === 'fulfilled') assert.equal(outcome.value.bytes[0], n)
      else assert.equal(outcome.reason.message, `bad ${n}`)
      assert.equal(outcome.status === 'rejected', all[n]!.isBad)
    }
  })
  await fc.assert(property, fuzzed(seed, 200, 2_000))
})
