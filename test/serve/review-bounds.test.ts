/** Goal: a task of a review has REVIEW_TASK_BYTES of events, or one read that is larger. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cutIntoTasks, REVIEW_TASK_BYTES } from '../../src/read/review-walk.ts'

/** How many reads of these sizes each task has. */
function tasksOf(sizes: readonly number[]): number[] {
  const reads = sizes.map((bytes, index) => ({
    ...{ payload: Uint8Array.of(index), segmentId: String(index), ingestedAtMs: 0 },
    ...{ fromOrdinal: 0, toOrdinal: 1, newestFirst: true, bytes },
  }))
  const bytesOf = (read: (typeof reads)[number] | object) => (read as { bytes: number }).bytes
  return [...cutIntoTasks(reads, bytesOf)].map((task) => task.length)
}

test('a task is full at REVIEW_TASK_BYTES', () => {
  const half = REVIEW_TASK_BYTES / 2
  assert.deepEqual(tasksOf([half, half, 1]), [2, 1])
  assert.deepEqual(tasksOf([half, half + 1, 1]), [1, 2])
  assert.deepEqual(tasksOf([REVIEW_TASK_BYTES + 1, 1]), [1, 1])
})
