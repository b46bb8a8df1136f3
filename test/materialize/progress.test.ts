/** Goal: the checkpoint stands before the first outstanding segment, and never moves back. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Outstanding, Progress } from '../../src/materialize/progress.ts'
import type { SegmentId } from '../../src/model/segment-id.ts'
import type { StreamId } from '../../src/model/stream.ts'

const id = (value: number) => BigInt(value) as SegmentId
const STREAM = 1 as StreamId

test('the checkpoint moves over inserted segments, in order', () => {
  const progress = new Progress(id(5))
  const [first, second, third] = [7, 9, 12].map((value) => progress.add(id(value), STREAM))
  assert.deepEqual([progress.advance(), progress.oldest, progress.outstanding], [5n, 7n, 3])
  second!.isDone = true
  assert.equal(progress.advance(), 5n)
  first!.isDone = true
  assert.deepEqual([progress.advance(), progress.oldest, progress.outstanding], [9n, 12n, 1])
  third!.isDone = true
  assert.deepEqual([progress.advance(), progress.oldest, progress.last], [12n, undefined, 12n])
})

test("a stream's segments are handed over, and are no business of the checkpoint's then", () => {
  const progress = new Progress(id(5))
  const other = 2 as StreamId
  progress.add(id(6), STREAM)
  progress.add(id(7), other)
  progress.add(id(8), STREAM)
  const last = progress.add(id(9), other)
  assert.deepEqual([progress.oldestOf(other), progress.oldestOf('all')], [7n, 6n])
  progress.handOver(STREAM)
  assert.deepEqual([progress.advance(), progress.oldestOf(STREAM)], [6n, undefined])
  assert.throws(() => progress.pass(id(20)), 'something is outstanding')
  progress.handOver('all')
  last.isDone = true // Its insert ended after all.
  progress.pass(id(8))
  assert.deepEqual([progress.checkpoint, progress.last], [9n, 9n])
  progress.pass(id(20))
  assert.deepEqual([progress.advance(), progress.last], [20n, 20n])
  assert.throws(() => progress.add(id(20), STREAM), /order/)
})

test('segments must come in order, also after all are done', () => {
  const progress = new Progress(id(5))
  assert.throws(() => progress.add(id(5), STREAM), /order/)
  progress.add(id(6), STREAM).isDone = true
  assert.throws(() => progress.add(id(6), STREAM), /order/)
  progress.advance()
  assert.throws(() => progress.add(id(6), STREAM), /order/)
})

test('any order of completion: the checkpoint is the last before the first outstanding', () => {
  const steps = fc.array(
    fc.tuple(fc.constantFrom('add', 'done', 'advance', 'hand over'), fc.nat()),
    {
      maxLength: 200,
    },
  )
  fc.assert(
    fc.property(steps, (actions) => {
      const progress = new Progress(id(0))
      let entries: Outstanding[] = []
      let checkpoint = 0n
      let next = 0
      for (const [action, pick] of actions) {
        if (action === 'add' || action === 'done') {
          if (action === 'add') entries.push(progress.add(id(++next), STREAM))
          const entry = entries[pick % Math.max(1, entries.length)]
          if (action === 'done' && entry !== undefined) entry.isDone = true
          continue
        }
        for (const entry of entries) {
          if (!entry.isDone) break
          checkpoint = checkpoint > entry.segmentId ? checkpoint : entry.segmentId
        }
        if (action === 'hand over') {
          progress.handOver('all')
          entries = []
          checkpoint = BigInt(next)
        }
        assert.equal(progress.advance(), checkpoint)
      }
    }),
  )
})

test('it holds no more than what is outstanding, however many pass through', () => {
  const progress = new Progress(id(0))
  for (let i = 1; i <= 100_000; i++) {
    progress.add(id(i), STREAM).isDone = true
    if (i % 3 === 0) progress.advance()
  }
  assert.deepEqual([progress.advance(), progress.outstanding], [100_000n, 0])
})
