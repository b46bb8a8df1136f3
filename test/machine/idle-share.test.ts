/** Goal: the share of idle time is that of the last span, not of short ones nor of all time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { IdleShare } from '../../src/machine/idle-share.ts'

test('the share is that of the time since it was last looked at', () => {
  let times = { idle: 1_000, all: 10_000 }
  let nowMs = 0
  const idle = new IdleShare(
    () => times,
    () => nowMs,
  )
  assert.equal(idle.share, 1, 'nothing is known yet')
  times = { idle: 1_100, all: 10_400 }
  nowMs = 200
  assert.equal(idle.share, 1, 'too short')
  nowMs = 400
  assert.equal(idle.share, 0.25)
  nowMs = 800
  assert.equal(idle.share, 0.25, 'no time has passed')
  times = { idle: 1_100, all: 10_900 }
  nowMs = 1_200
  assert.equal(idle.share, 0)
})

test('of this machine it is a share', async () => {
  const idle = new IdleShare()
  await new Promise((resolve) => setTimeout(resolve, 300))
  assert.ok(idle.share >= 0 && idle.share <= 1)
})
