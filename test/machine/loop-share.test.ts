/** Goal: the share is that of the last span, not of short ones nor of all time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LoopShare } from '../../src/machine/loop-share.ts'

test('the share is that of the time since it was last looked at', () => {
  let times = { active: 9_000, idle: 1_000 }
  const loop = new LoopShare(() => times)
  assert.equal(loop.share, 0, 'nothing is known yet')
  times = { active: 9_200, idle: 1_000 }
  assert.equal(loop.share, 0, 'too short')
  times = { active: 9_300, idle: 1_100 }
  assert.equal(loop.share, 0.75)
  times = { active: 9_300, idle: 1_500 }
  assert.equal(loop.share, 0)
})

test('of this process it is a share', async () => {
  const loop = new LoopShare()
  await new Promise((resolve) => setTimeout(resolve, 300))
  assert.ok(loop.share >= 0 && loop.share <= 1)
})
