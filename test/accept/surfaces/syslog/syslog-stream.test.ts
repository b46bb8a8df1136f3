/**
 * Goal: a listener sends by its stream's settings as they are now: those of keys are heard of no
 * later; what was known for too long is asked again before a commit.
 * Method: a clock and a catalog of the test's.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SyslogStream } from '../../../../src/accept/surfaces/syslog/syslog-stream.ts'
import { CONTROL_POLL_MS, CONTROL_STALE_MS_MAX } from '../../../../src/limits.ts'
import type { Stream } from '../../../../src/model/stream.ts'
import { stream } from '../../batching/batcher-harness.ts'

function setUp() {
  const clock = { nowMs: 0 }
  const catalog = { found: stream(1) as Stream | undefined, looks: 0 }
  const find = async () => {
    catalog.looks++
    return catalog.found
  }
  return { clock, catalog, known: new SyslogStream(stream(1), find, () => clock.nowMs) }
}

test('settings are looked up when they are old, once for all who ask', async () => {
  const { clock, catalog, known } = setUp()
  catalog.found = { ...stream(1), redactSensitive: true }
  assert.equal((await known.sender()).stream.redactSensitive, false)
  clock.nowMs = CONTROL_POLL_MS + 1
  const senders = await Promise.all([known.sender(), known.sender()])
  assert.deepEqual(
    senders.map((sender) => sender.stream.redactSensitive),
    [true, true],
  )
  assert.equal(catalog.looks, 1)
})

test('before a commit long after it asks again; a deleted stream takes nothing', async () => {
  const { clock, catalog, known } = setUp()
  const sender = await known.sender()
  clock.nowMs = CONTROL_STALE_MS_MAX
  assert.equal(sender.isCurrent(), true)
  clock.nowMs++
  assert.equal(sender.isCurrent(), false)
  await sender.confirm()
  assert.equal(sender.isCurrent(), true)
  catalog.found = undefined
  await assert.rejects(sender.confirm(), { code: 'not_found' })
  clock.nowMs += CONTROL_POLL_MS + 1
  await assert.rejects(known.sender(), { code: 'not_found' })
})
