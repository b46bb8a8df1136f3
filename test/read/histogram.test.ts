/**
 * Goal: a histogram that has not the time for its whole range answers the newest part of it, says
 * which, and counts nothing twice.
 * Method: a stand-in for the projection that takes longer the longer the range is.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { IngestError } from '../../src/errors.ts'
import type { AggregateDeps } from '../../src/read/aggregate/aggregate.ts'
import { histogram, readHistogramRequest } from '../../src/read/aggregate/histogram.ts'
import type { AggregateTask } from '../../src/store/projection/reads/aggregate-store.ts'

const NOW_MS = Date.parse('2026-01-31T12:00:00Z')
const MINUTE_NS = 60_000_000_000n
const NO_SIGNAL = new AbortController().signal

/** One event a minute, in its middle; ranges over `minutesMax` are too long. */
function projection(minutesMax: number, asked: number[]): AggregateDeps {
  return {
    nowMs: () => NOW_MS,
    openStreams: async () => ({ sources: [], asOfMs: NOW_MS }),
    runAggregate: async ({ fromNs, toNs, keys, timeoutMs }: AggregateTask) => {
      const [bucket] = keys
      assert.ok(bucket?.kind === 'bucket')
      const { startMs, stepMs } = bucket.buckets
      const minutes = Number((toNs - fromNs) / MINUTE_NS)
      asked.push(minutes)
      if (minutes > minutesMax) {
        await sleep(Math.min(timeoutMs, 50))
        throw new IngestError('unavailable', 'too long', { members: { reason: 'timeout' } })
      }
      const counts = new Map<number, number>()
      const first = (fromNs + MINUTE_NS / 2n - 1n) / MINUTE_NS
      for (let minute = first; minute * MINUTE_NS + MINUTE_NS / 2n < toNs; minute++) {
        const atMs = Number(minute) * 60_000 + 30_000
        const index = Math.floor((atMs - startMs) / stepMs)
        counts.set(index, (counts.get(index) ?? 0) + 1)
      }
      const rows = [...counts].map(([index, count]) => ({
        group: [{ kind: 'string', text: 'info' } as const],
        isOthers: false,
        leftOut: [0],
        bucket: index,
        values: [String(count)],
      }))
      const stats = { rowsRead: 0, engineMs: 0 }
      return { rows, total: 0n, groups: rows.length, isEstimated: false, stats }
    },
  }
}

async function ask(minutesMax: number, asked: number[] = []) {
  const request = readHistogramRequest({ from: '-2h', bucket: '5m', timeout_ms: 1_000 }, NOW_MS)
  return JSON.parse(await histogram(projection(minutesMax, asked), request, [], NO_SIGNAL))
}

test('with time enough it is one statement, and whole', async () => {
  const asked: number[] = []
  const { buckets, total, complete, covered } = await ask(1_000, asked)
  assert.equal(asked.length, 1)
  assert.deepEqual([total, complete, covered], [120, true, null])
  assert.equal(buckets.length, 25)
  assert.deepEqual(buckets[3], {
    _bucket: '2026-01-31T10:15:00.000Z',
    count: 5,
    levels: { info: 5 },
  })
})

test('without, the newest part is answered, and which it is', async () => {
  for (const minutesMax of [11, 25, 50]) {
    const answer = await ask(minutesMax)
    const { total, complete, reason, covered } = answer
    assert.deepEqual([complete, reason], [false, 'timeout'])
    const from = Date.parse(covered.from)
    assert.ok(from > NOW_MS - 7_200_000 && from < NOW_MS, covered.from)
    assert.equal(total, Math.round((NOW_MS - from) / 60_000), `${minutesMax}`)
    const counts = answer.buckets.map(({ count }: { count: number }) => count)
    const sum = counts.reduce((all: number, one: number) => all + one, 0)
    assert.equal(sum, total)
  }
})

test('parts that are enough together are the whole', async () => {
  const { total, complete } = await ask(70)
  assert.deepEqual([total, complete], [120, true])
})

test('without even the newest part, and for other failures, it is an error', async () => {
  await assert.rejects(ask(0), { code: 'unavailable' })
  const request = readHistogramRequest({}, NOW_MS)
  const broken = {
    ...projection(0, []),
    runAggregate: () => Promise.reject(new IngestError('malformed', 'no')),
  }
  await assert.rejects(histogram(broken, request, [], NO_SIGNAL), { code: 'malformed' })
})
