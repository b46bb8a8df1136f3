/** Goal: each part learns the segments of its events, however its batch was made up. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type BatchToCommit,
  type CommitSegments,
  commitParts,
} from '../../../src/accept/batching/commit-parts.ts'
import type { CommittedPart } from '../../../src/accept/dialect.ts'
import type { SegmentId } from '../../../src/model/segment-id.ts'
import type { StreamId } from '../../../src/model/stream.ts'

const STREAM = 7 as StreamId

/** `accepted`: events of each part. `runs`: for each segment, the streams that have a run. */
function batch(
  accepted: readonly number[],
  runs: readonly (readonly number[] | undefined)[],
  owners?: readonly (readonly [stream: number, parts: number])[],
): BatchToCommit {
  return {
    parts: accepted.map((count) => ({ accepted: count })),
    segments: runs.map((streams) => ({ runs: streams?.map((streamId) => ({ streamId })) })),
    ...(owners && { owners: owners.map(([streamId, parts]) => ({ streamId, parts })) }),
  } as unknown as BatchToCommit
}

/** Gives ids as commit does: from 1, one for each run, or for each segment without runs. */
const commit: CommitSegments = async (_, segments) => {
  const all = segments.flatMap<unknown>(({ runs }) => runs ?? [undefined])
  return all.map((_each, index) => BigInt(index + 1) as SegmentId)
}

const shown = (placed: readonly CommittedPart[]) =>
  placed.map(({ segmentIds, firstEvent }) => [segmentIds.map(Number), firstEvent])

test('parts of one stream share all of its segments, one after another', async () => {
  const placed = await commitParts(commit, STREAM, [batch([2, 0, 3], [undefined, undefined])])
  assert.deepEqual(shown(placed), [
    [[1, 2], 0],
    [[1, 2], 2],
    [[1, 2], 2],
  ])
  const mixed = await commitParts(commit, STREAM, [batch([2, 3], [[7], [7]], [[7, 2]])])
  assert.deepEqual(shown(mixed), [
    [[1, 2], 0],
    [[1, 2], 2],
  ])
})

test('parts of several streams are in the run of their own stream', async () => {
  const owners = [
    [7, 2],
    [8, 1],
    [9, 1],
  ] as const
  // Nothing of stream 8 was accepted, so it has no run.
  const placed = await commitParts(commit, STREAM, [batch([2, 3, 0, 4], [[7, 9]], owners)])
  assert.deepEqual(shown(placed), [
    [[1], 0],
    [[1], 2],
    [[], 0],
    [[2], 0],
  ])
})

test('each batch of a large request has its own ids; the remembered answer too', async () => {
  const batches = [batch([5], [undefined]), batch([0], []), batch([6], [[7], [7]])]
  let answered: readonly CommittedPart[] = []
  const remembering: CommitSegments = async (streamId, segments, answer) => {
    const ids = await commit(streamId, segments)
    assert.equal(answer?.body(ids), 'kept')
    return ids
  }
  const key = { keySha256: new Uint8Array(), fingerprint: new Uint8Array(), status: 200 }
  const placed = await commitParts(remembering, STREAM, batches, {
    ...key,
    body: (parts) => {
      answered = parts
      return 'kept'
    },
  })
  assert.deepEqual(shown(placed), [
    [[1], 0],
    [[], 0],
    [[2, 3], 0],
  ])
  assert.deepEqual(answered, placed)
})

test('batches without segments are not handed to commit', async () => {
  const placed = await commitParts(() => assert.fail('committed'), STREAM, [batch([0], [])])
  assert.deepEqual(shown(placed), [[[], 0]])
})
