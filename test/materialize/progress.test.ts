/** Goal: the checkpoint stands before the first outstanding segment, and never moves back. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Outstanding, Progress } from '../../src/materialize/progress.ts'
import type { SegmentId } from '../../src/model/segment-id.ts'

const id = (value: number) => BigInt(value) as SegmentId

test('the checkpoint moves over what is done, in order', () => {
  const progress = new Progress(id(5))
  const [first, second, third] = [7, 9, 12].map((value) => progress.add(id(value)))
  assert.deepEqual([progress.advance(), progress.oldest, progress.outstanding], [5n, 7n, 3])
  second!.isDone = true
  assert.equal(progress.advance(), 5n)
  first!.isDone = true
  assert.deepEqual([progress.advance(), progress.oldest, progress.outstanding], [9n, 12n, 1])
  progress.clear()
  assert.deepEqual([progress.checkpoint, progress.oldest, progress.outstanding], [9n, undefined, 0])
  third!.isDone = true // Its insert ended after all; catch-up will find it.
  assert.equal(progress.advance(), 9n)
  progress.add(id(12)).isDone = true
  assert.equal(progress.advance(), 12n)
})

test('segments must come in order, also after all are done or forgotten', () => {
  const progress = new Progress(id(5))
  assert.throws(() => progress.add(id(5)), /order/)
  progress.add(id(6)).isDone = true
  assert.throws(() => progress.add(id(6)), /order/)
  progress.advance()
  assert.throws(() => progress.add(id(6)), /order/)
  progress.clear()
  assert.throws(() => progress.add(id(6)), /order/)
})

test('any order of completion: the checkpoint is the last before the first outstanding', () => {
  const steps = fc.array(fc.tuple(fc.constantFrom('add', 'done', 'advance', 'clear'), fc.nat()), {
    maxLength: 200,
  })
  fc.assert(
    fc.property(steps, (actions) => {
      const progress = new Progress(id(0))
      let entries: Outstanding[] = []
      let checkpoint = 0n
      let next = 0
      for (const [action, pick] of actions) {
        if (action === 'add' || action === 'done') {
          if (action === 'add') entries.push(progress.add(id(++next)))
          const entry = entries[pick % Math.max(1, entries.length)]
          if (action === 'done' && entry !== undefined) entry.isDone = true
          continue
        }
        for (const entry of entries) {
          if (!entry.isDone) break
          checkpoint = checkpoint > entry.segmentId ? checkpoint : entry.segmentId
        }
        if (action === 'clear') {
          progress.clear()
          entries = []
          next = Math.max(next, Number(checkpoint))
        }
        assert.equal(progress.advance(), checkpoint)
      }
    }),
  )
})

test('it holds no more than what is outstanding, however many pass through', () => {
  const progress = new Progress(id(0))
  for (let i = 1; i <= 100_000; i++) {
    progress.add(id(i)).isDone = true
    if (i % 3 === 0) progress.advance()
  }
  assert.deepEqual([progress.advance(), progress.outstanding], [100_000n, 0])
})
