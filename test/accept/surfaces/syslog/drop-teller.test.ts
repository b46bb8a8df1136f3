/**
 * Goal: a storm of lost messages is one refusal a second, with their number, and one line of the
 * log a minute, in which none is forgotten.
 * Method: a clock of the test's, timers too.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Refusal } from '../../../../src/accept/admission/refusal-history.ts'
import { DropTeller } from '../../../../src/accept/surfaces/syslog/drop-teller.ts'
import { IngestError } from '../../../../src/errors.ts'
import type { StreamId } from '../../../../src/model/stream.ts'

test('gathered by cause, told each second, logged each minute', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let nowMs = 0
  const refusals: Refusal[] = []
  const replies: string[] = []
  const lines: object[] = []
  const teller = new DropTeller({
    meter: {
      onReply: (surface, status) => void replies.push(`${surface} ${status}`),
      onRefused: (refusal) => void refusals.push(refusal),
    },
    log: { warn: (fields: object) => void lines.push(fields) } as never,
    listener: 'udp://h:1',
    streamId: 7 as StreamId,
    nowMs: () => nowMs,
  })
  const full = new IngestError('overloaded', 'no room (SYSLOG_QUEUE_BYTES_MAX)')
  for (let i = 0; i < 1_000; i++) teller.add(full, 1, 20)
  teller.add(new IngestError('overloaded', 'the kernel'), 5)
  assert.deepEqual(refusals, [])
  t.mock.timers.tick(1_000)
  assert.deepEqual(
    refusals.map(({ streamId, reason, events, bytes }) => [streamId, reason, events, bytes]),
    [
      [7, 'overloaded', 1_000, 20_000],
      [7, 'overloaded', 5, 0],
    ],
  )
  assert.deepEqual(replies, ['syslog 429', 'syslog 429'])
  assert.deepEqual(lines, [{ listener: 'udp://h:1', messages: 1_000, reason: full.message }])
  nowMs = 60_000
  teller.add(full, 2)
  teller.tell()
  assert.deepEqual(lines.slice(1), [{ listener: 'udp://h:1', messages: 7, reason: full.message }])
  t.mock.timers.tick(1_000)
  assert.equal(refusals.length, 3)
})
