/**
 * Goal: what was counted by time is there until it is too old, in coarser steps as it ages, and
 * its sums stay.
 */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  KEYS_KEPT,
  type KeyCounts,
  REFUSALS_KEPT,
  type RefusedRequests,
} from '../../../src/model/batch/usage-counts.ts'
import type { StreamId } from '../../../src/model/stream.ts'
import { UsageHistory } from '../../../src/store/raw/usage-history.ts'
import { startDatabase, type TestDatabase } from '../../serve/rest-harness.ts'

const [ONE, TWO] = [1 as StreamId, 2 as StreamId]
const [HOUR, DAY] = [60, 1_440]
/** At the start of a day. */
const NOW = 20_000 * DAY
const ALL = { from: 0, to: NOW + DAY, step: DAY }

let database: TestDatabase
let history: UsageHistory

before(async () => {
  database = await startDatabase()
  history = new UsageHistory(database.postgres)
})

after(() => database?.close())

function refused(start: number, more: Partial<RefusedRequests> = {}): RefusedRequests {
  const why = { keyId: 3, reason: 'rate_limited', cause: 'rate_budget' }
  const counts = { requests: 1, events: null, bytes: 10, lastAtMs: start * 60_000 }
  return { streamId: ONE, ...why, start, minutes: 1, ...counts, ...more }
}

async function steps(table: string, streamId: StreamId) {
  const { rows } = await database.postgres.query<{ at: string }>(
    `SELECT minutes || ' ' || start AS at FROM ${table} WHERE stream_id = $1
     ORDER BY start, minutes`,
    [streamId],
  )
  return rows.map(({ at }) => at)
}

test('refusals: nodes are added up, unknown events stay unknown, rows age', async () => {
  const { keptFine, keptCoarse } = REFUSALS_KEPT
  const dayAgo = NOW - keptFine
  const last = dayAgo - 1
  await history.recordRefusals(1, [
    refused(dayAgo),
    refused(last, { events: 5 }),
    // Two that became the same when their keys were known.
    refused(last, { events: 2, bytes: 1 }),
    refused(last - 30, { keyId: 4, cause: 'byte_budget' }),
    refused(NOW - keptCoarse - 1),
    refused(dayAgo, { streamId: TWO }),
  ])
  await history.recordRefusals(2, [refused(dayAgo, { requests: 7 })])
  await history.recordRefusals(2, [])
  const told = async () => {
    const rows = await history.readRefused(ALL, ONE)
    return rows.map(({ keyId, cause, requests, events, bytes }) => {
      return [keyId, cause, requests, events, bytes]
    })
  }
  const whole = [
    [3, 'rate_budget', 11, 7, 41],
    [4, 'byte_budget', 1, null, 10],
  ]
  assert.deepEqual(await told(), whole)
  assert.equal(await history.age(NOW * 60_000), false)
  const gone = [[3, 'rate_budget', 10, 7, 31], whole[1]]
  assert.deepEqual(await told(), gone, 'only the oldest is gone')
  const before = last - (last % HOUR)
  const fine = [`1 ${dayAgo}`, `1 ${dayAgo}`]
  const hours = [`60 ${before}`, `60 ${before}`]
  assert.deepEqual(await steps('stream_refusal_history', ONE), [...hours, ...fine])
  await history.recordRefusals(1, [refused(last, { requests: 100 })])
  await history.age(NOW * 60_000)
  assert.deepEqual((await told())[0], [3, 'rate_budget', 110, 7, 41], 'a late one is added')
  assert.deepEqual(await history.readRefusedOverTime({ ...ALL, from: before, step: HOUR }, ONE), [
    { start: before, reason: 'rate_limited', requests: 103, events: 7, bytes: 31 },
    { start: dayAgo, reason: 'rate_limited', requests: 8, events: null, bytes: 20 },
  ])
  assert.equal((await history.readRefused({ ...ALL, from: dayAgo }, TWO)).length, 1)
})

test('what keys sent ages likewise', async () => {
  const { keptFine, keptCoarse } = KEYS_KEPT
  const sent = (start: number, keyId: number, bytes: number): KeyCounts => {
    return { streamId: ONE, keyId, start, minutes: HOUR, requests: 1, events: 2, bytes }
  }
  const old = NOW - keptFine - HOUR
  await history.recordKeys(1, [sent(NOW, 1, 10), sent(old, 1, 1), sent(old - HOUR, 1, 1)])
  await history.recordKeys(1, [sent(NOW, 1, 10), sent(NOW, 2, 500)])
  await history.recordKeys(2, [sent(NOW, 1, 10), sent(NOW - keptCoarse - DAY, 2, 7)])
  await history.age(NOW * 60_000)
  assert.deepEqual(await history.readSent(ONE, ALL), [
    { keyId: 2, requests: 1, events: 2, bytes: 500 },
    { keyId: 1, requests: 5, events: 10, bytes: 32 },
  ])
  const day = NOW - keptFine - DAY
  assert.deepEqual(await history.readSentOverTime(ONE, ALL, [1]), [
    { start: day, keyId: 1, requests: 2, events: 4, bytes: 2 },
    { start: NOW, keyId: 1, requests: 3, events: 6, bytes: 30 },
  ])
  const now = [`60 ${NOW}`, `60 ${NOW}`, `60 ${NOW}`]
  assert.deepEqual(await steps('stream_key_usage', ONE), [`1440 ${day}`, ...now])
})
